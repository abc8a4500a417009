"""Scores against answers computed by hand and by numpy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcbo import Objective, Problem
from lcbo.compare.score import Spread, best_feasible, checkpoints, first_feasible, quantile, rounded

INF = math.inf
numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)


@settings(deadline=None, max_examples=30)
@given(values=numbers, level=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_quantile_of_finite_values_is_numpys(values, level):
    assert quantile(values, level) == pytest.approx(np.quantile(values, level), abs=1e-9)


@pytest.mark.parametrize(
    ("values", "low", "median", "high"),
    [
        ([3.0, 1.0, INF], 2.0, 3.0, INF),  # the upper quartile is halfway between 3 and infinity
        ([1.0, 2.0, 3.0, 4.0, INF], 2.0, 3.0, 4.0),  # falls on order statistics
        ([1.0, INF], INF, INF, INF),
        ([INF, INF, INF], INF, INF, INF),
        ([5.0], 5.0, 5.0, 5.0),
    ],
)
def test_infinity_takes_part_in_order_statistics(values, low, median, high):
    assert Spread.of(values) == Spread(low, median, high, len(values))


def test_spread_leaves_missing_values_out():
    assert Spread.of([math.nan, 1.0, 2.0, 3.0]) == Spread(1.5, 2.0, 2.5, 3)
    empty = Spread.of([])
    assert empty.n == 0
    assert math.isnan(empty.median)


@pytest.mark.parametrize(
    ("maximize", "expected"), [(False, [INF, 3.0, 3.0, 3.0, 1.0]), (True, [INF, -3.0, -3.0, -7.0, -7.0])]
)
def test_best_feasible_leaves_out_what_is_infeasible_or_failed(maximize, expected):
    problem = Problem([(0.0, 1.0)], "c <= 1", Objective("f", maximize=maximize))
    told = [{"f": 0.0, "c": 2.0}, {"f": 3.0, "c": 1.0}, {}, {"f": 7.0, "c": 0.0}, {"f": 1.0, "c": 0.0}]
    best = best_feasible(problem, told)
    assert best.tolist() == expected
    assert first_feasible(best) == 2
    assert rounded(best)[0] is None


def test_first_feasible_of_a_run_without_one_is_unknown():
    assert first_feasible(np.array([INF, INF])) is None


def test_checkpoints_hold_the_budget_and_at_most_100_counts():
    assert checkpoints(3).tolist() == [1, 2, 3]
    assert checkpoints(1000)[-1] == 1000
    assert len(checkpoints(1000)) == 100
