"""The initial design and the best of what was observed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lcbo.methods.base.design import best_index, initial_design, term_values, violations
from lcbo.methods.protocol import Setup, Term

SETUP = Setup(
    dim=3,
    n_outputs=2,
    terms=(),
    noise_var=(None, None),
    budget=None,
    n_init=6,
    starts=np.zeros((0, 3)),
    seed=4,
)
UPPER = Term(row=1, sign=1.0, threshold=2.0)
LOWER = Term(row=1, sign=-1.0, threshold=-1.0)
EQUAL = Term(row=2, sign=1.0, threshold=0.5, equality=True, tol=0.1)


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


def test_terms_are_feasible_at_or_below_zero() -> None:
    y = np.array([[0.0, 2.5, 0.45], [0.0, -1.5, 0.8], [0.0, 0.0, np.nan]])
    terms = (UPPER, LOWER, EQUAL)
    expected = [[0.5, -3.5, -0.05], [-3.5, 0.5, 0.3], [-2.0, -1.0, np.nan]]
    np.testing.assert_allclose(term_values(y, terms), expected)
    np.testing.assert_allclose(violations(y, terms), [[0.5, 0.0, 0.0], [0.0, 0.5, 0.2], [0.0, 0.0, np.nan]])


def test_no_terms_give_no_columns() -> None:
    y = np.zeros((4, 1))
    assert term_values(y, ()).shape == violations(y, ()).shape == (4, 0)
    assert best_index(np.array([[3.0], [1.0], [2.0]]), ()) == 1


def test_the_best_is_the_least_feasible_objective() -> None:
    y = np.array([[1.0, 9.0], [5.0, 1.0], [4.0, 0.0], [4.5, -0.5]])
    assert best_index(y, (UPPER, LOWER)) == 2


def test_without_a_feasible_point_the_least_violation_in_deviations_counts() -> None:
    """Row 1 is a million times larger than row 2; each is measured by its own spread."""
    big, small = Term(1, 1.0, 0.0), Term(2, 1.0, 0.0)
    y = np.array([[0.0, 1e6, 3.0], [0.0, 2e6, 1.0], [0.0, 4e6, 1.1]])
    assert best_index(y, (big, small)) == 1
    scaled = y * [1.0, 1e-9, 1e9]
    assert best_index(scaled, (big, small)) == 1


def test_a_missing_constraint_counts_as_worst() -> None:
    y = np.array([[0.0, np.nan], [1.0, 50.0], [2.0, 60.0]])
    assert best_index(y, (UPPER,)) == 1
    assert best_index(np.array([[0.0, np.nan], [3.0, 1.0]]), (UPPER,)) == 1


def test_a_missing_objective_counts_as_worst() -> None:
    assert best_index(np.array([[np.nan, 0.0], [3.0, 2.1], [1.0, 9.0]]), (UPPER,)) == 1


def test_a_missing_objective_does_not_win_among_feasible_points() -> None:
    assert best_index(np.array([[np.nan, 0.0], [3.0, 1.0]]), (UPPER,)) == 1
