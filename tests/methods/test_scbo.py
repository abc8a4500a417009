"""What is SCBO's own: candidates that keep coordinates of the center, transforms, equalities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Method, Setup
from lcbo.terms import Term, Terms

UPPER = Terms((Term(1, 1.0, 0.0),))


def setup(dim: int, terms: Terms) -> Setup:
    outputs = 1 + max(t.row for t in terms)
    return Setup(dim, outputs, terms, (None,) * outputs, None, 6, np.zeros((0, dim)), 0)


def make(dim: int = 3, terms: Terms = UPPER, **options: Any) -> Method:
    return registry.make("scbo", setup(dim, terms), {"n_candidates": 200, **options})


@pytest.mark.parametrize(
    ("dim", "perturbation", "share"), [(3, None, 1.0), (60, None, 1 / 3), (60, 0.1, 0.1)]
)
def test_points_keep_coordinates_of_the_center(dim: int, perturbation: float | None, share: float) -> None:
    method = make(dim, perturbation=perturbation, batch=40)
    design = method.ask()
    for id, proposal in enumerate(design):
        method.tell(proposal.id, np.array([1.0 + id, -1.0]))
    moved = np.array([p.u for p in method.ask()]) != design[0].u
    assert moved.any(1).all()
    np.testing.assert_allclose(moved.mean(), share, atol=0.05)


def run(method: Method, outcome: Any, count: int) -> np.ndarray:
    seen = []
    while len(seen) < count:
        for proposal in method.ask():
            seen.append(outcome(proposal.u))
            method.tell(proposal.id, seen[-1])
    return np.array(seen)


@pytest.mark.parametrize("transforms", ["zscore", "bilog", "original"])
def test_bound_on_both_sides_is_met(transforms: str) -> None:
    """Minimize u_0 with 3 <= 10 u_0 u_1 <= 4, the objective with an outlier scale."""
    method = make(2, Terms((Term(1, 1.0, 4.0), Term(1, -1.0, 3.0))), transforms=transforms, batch=3)
    seen = run(method, lambda u: np.array([np.exp(6.0 * u[0]), 10.0 * u[0] * u[1]]), 60)
    feasible = (seen[:, 1] <= 4.0) & (seen[:, 1] >= 3.0)
    assert feasible[6:].mean() > 0.4
    assert seen[feasible, 0].min() < np.exp(6.0 * 0.33)  # the optimum is exp(1.8)


def test_equality_is_a_violation_beyond_its_tolerance() -> None:
    """Minimize |u|^2 with u_0 + u_1 + u_2 = 1.5 +/- 0.05: close to 0.7 with that tolerance."""
    method = make(3, Terms((Term(1, 1.0, 1.5, True, 0.05),)), batch=3)
    seen = run(method, lambda u: np.array([np.sum(u**2), np.sum(u)]), 70)
    feasible = np.abs(seen[:, 1] - 1.5) <= 0.05
    assert feasible[6:].mean() > 0.3
    assert seen[feasible, 0].min() < 0.8


def test_wrong_options_are_refused_by_name() -> None:
    with pytest.raises(
        ArgumentError, match="^options, transforms: expected 'zscore' or 'bilog' or 'original'"
    ):
        make(transforms="log")
    with pytest.raises(ArgumentError, match="^options, perturbation: expected a finite number above 0"):
        make(perturbation=0.0)
