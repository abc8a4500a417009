"""Conditions as arrays: values, violations and the best point, by hand and against `Constraint`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo import Constraint
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

UPPER = Term(row=1, sign=1.0, threshold=2.0)
LOWER = Term(row=1, sign=-1.0, threshold=-1.0)
EQUAL = Term(row=2, sign=1.0, threshold=0.5, equality=True, tol=0.1)
TERMS = Terms((Term(1, 1.0, 0.3), Term(1, -1.0, -0.4), Term(2, 1.0, 5.0, True, 0.5)))


def test_terms_are_feasible_at_or_below_zero() -> None:
    y = np.array([[0.0, 2.5, 0.45], [0.0, -1.5, 0.8], [0.0, 0.0, np.nan]])
    terms = Terms((UPPER, LOWER, EQUAL))
    expected = [[0.5, -3.5, -0.05], [-3.5, 0.5, 0.3], [-2.0, -1.0, np.nan]]
    np.testing.assert_allclose(terms.values(y), expected)
    np.testing.assert_allclose(terms.violation(y), [[0.5, 0.0, 0.0], [0.0, 0.5, 0.2], [0.0, 0.0, np.nan]])


def test_no_terms_give_no_columns() -> None:
    y = np.zeros((4, 1))
    assert Terms(()).values(y).shape == Terms(()).violation(y).shape == (4, 0)
    assert Terms(()).best(np.array([[3.0], [1.0], [2.0]])) == 1


def test_the_best_is_the_least_feasible_objective() -> None:
    y = np.array([[1.0, 9.0], [5.0, 1.0], [4.0, 0.0], [4.5, -0.5]])
    assert Terms((UPPER, LOWER)).best(y) == 2


def test_without_a_feasible_point_the_least_violation_in_deviations_counts() -> None:
    """Row 1 is a million times larger than row 2; each is measured by its own spread."""
    big, small = Term(1, 1.0, 0.0), Term(2, 1.0, 0.0)
    y = np.array([[0.0, 1e6, 3.0], [0.0, 2e6, 1.0], [0.0, 4e6, 1.1]])
    assert Terms((big, small)).best(y) == 1
    scaled = y * [1.0, 1e-9, 1e9]
    assert Terms((big, small)).best(scaled) == 1


def test_a_missing_constraint_counts_as_worst() -> None:
    y = np.array([[0.0, np.nan], [1.0, 50.0], [2.0, 60.0]])
    assert Terms((UPPER,)).best(y) == 1
    assert Terms((UPPER,)).best(np.array([[0.0, np.nan], [3.0, 1.0]])) == 1


def test_a_missing_objective_counts_as_worst() -> None:
    assert Terms((UPPER,)).best(np.array([[np.nan, 0.0], [3.0, 2.1], [1.0, 9.0]])) == 1


def test_a_missing_objective_does_not_win_among_feasible_points() -> None:
    assert Terms((UPPER,)).best(np.array([[np.nan, 0.0], [3.0, 1.0]])) == 1


def drawn() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((400, 3)) * [1.0, 2.0, 3.0] + [0.0, 0.0, 5.0]


def test_scaled_conditions_are_those_of_the_user_over_each_scale() -> None:
    y = drawn()
    scaling = Scaling.of(y)
    mine = TERMS.scaled(scaling).violation(scaling.apply(y))
    expected = TERMS.violation(y) / scaling.std[[1, 1, 2]]
    assert (expected == 0.0).any()
    np.testing.assert_allclose(mine, expected, atol=1e-12)


def test_tensors_give_tensors_along_the_other_axis() -> None:
    y = drawn()
    mine = TERMS.violation(torch.from_numpy(y.T.copy())[None], axis=-2)
    np.testing.assert_array_equal(mine[0].T.numpy(), TERMS.violation(y))
    assert Terms().violation(torch.ones(4, 1, 5), axis=-2).sum(-2).shape == (4, 5)


@pytest.mark.parametrize("text", ["y <= 2", "y >= -1", "-1 <= y <= 2", "y == 0.5 +/- 0.25"])
def test_a_constraint_and_its_terms_agree(text: str) -> None:
    constraint = Constraint.parse(text)
    terms = Terms(constraint.terms(1))
    values = np.linspace(-3.0, 3.0, 25)
    y = np.column_stack([np.zeros(25), values])
    total = terms.total(y, np.ones(2))
    np.testing.assert_array_equal(total, [constraint.violation(v) for v in values])
    np.testing.assert_array_equal(total, np.maximum(-constraint.slack(values), 0.0))
    low, high = terms.intervals(2)
    assert (low[1], high[1]) == constraint.interval
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_intervals_join_all_conditions_on_one_output() -> None:
    low, high = Terms((UPPER, LOWER, Term(1, 1.0, 1.5), EQUAL)).intervals(3)
    np.testing.assert_allclose(low, [-np.inf, -1.0, 0.4])
    np.testing.assert_allclose(high, [np.inf, 1.5, 0.6])


def test_given_values_are_not_changed() -> None:
    values = np.array([-0.3, 0.2])
    Terms((EQUAL, EQUAL)).excess(values)
    np.testing.assert_array_equal(values, [-0.3, 0.2])


def test_a_point_is_feasible_when_all_is_known_and_met() -> None:
    y = np.array([[1.0, 0.0, 0.45], [1.0, 3.0, 0.45], [np.nan, 0.0, 0.5], [1.0, 0.0, np.nan]])
    assert Terms((UPPER, LOWER, EQUAL)).feasible(y).tolist() == [True, False, False, False]


def test_slack_is_the_room_left() -> None:
    y = np.array([[0.0, 1.5, 0.45], [0.0, 2.5, 0.9]])
    terms = Terms((UPPER, LOWER, EQUAL))
    np.testing.assert_allclose(terms.slack(terms.values(y)), [[0.5, 2.5, 0.05], [-0.5, 3.5, -0.3]])
