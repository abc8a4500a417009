"""The initial design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lcbo.methods.base.queued import initial_design
from lcbo.methods.protocol import Setup
from lcbo.terms import Terms

SETUP = Setup(
    dim=3,
    n_outputs=2,
    terms=Terms(),
    noise_var=(None, None),
    budget=None,
    n_init=6,
    starts=np.zeros((0, 3)),
    seed=4,
)


def test_design_is_uniform_in_the_cube_and_repeatable() -> None:
    design = initial_design(SETUP)
    assert design.shape == (6, 3)
    assert np.all((design >= 0.0) & (design < 1.0))
    np.testing.assert_array_equal(initial_design(SETUP), design)
    assert not np.array_equal(initial_design(replace(SETUP, seed=5)), design)


@pytest.mark.parametrize("n_starts", [1, 6])
def test_the_user_s_starts_come_first(n_starts: int) -> None:
    starts = np.full((n_starts, 3), 0.25)
    design = initial_design(replace(SETUP, starts=starts))
    assert design.shape == (6, 3)
    np.testing.assert_array_equal(design[:n_starts], starts)


def test_more_starts_than_asked_for_are_all_kept() -> None:
    assert len(initial_design(replace(SETUP, starts=np.zeros((9, 3))))) == 9
