"""Violations in a model's units against those of the design module in user units."""

from __future__ import annotations

import numpy as np
import torch

from lcbo.acquisition.conditions import Conditions
from lcbo.methods.base.design import violations
from lcbo.models.data import Scaling
from lcbo.types import Term

TERMS = (Term(1, 1.0, 0.3), Term(1, -1.0, -0.4), Term(2, 1.0, 5.0, True, 0.5))


def test_violation_is_that_of_the_user_over_each_scale() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal((400, 3)) * [1.0, 2.0, 3.0] + [0.0, 0.0, 5.0]
    scaling = Scaling.of(y)
    conditions = Conditions.of(TERMS, scaling)
    mine = conditions.violation(torch.from_numpy(((y - scaling.mean) / scaling.std).T))
    expected = (violations(y, TERMS) / scaling.std[[1, 1, 2]]).sum(1)
    assert (expected == 0.0).any()
    np.testing.assert_allclose(mine.numpy(), expected, atol=1e-12)


def test_problem_without_conditions_has_no_violation() -> None:
    conditions = Conditions.of((), Scaling.identity(1))
    assert torch.equal(conditions.violation(torch.ones(4, 1, 5)), torch.zeros(4, 5))
