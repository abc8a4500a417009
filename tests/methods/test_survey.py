"""Where no repeat can confirm an answer, the last evaluations measure the slopes around it."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from lcbo import Constraint, Optimizer, Problem
from lcbo.methods.decision import Demand
from lcbo.methods.survey import REACH, hidden

SD = 0.05


def problem(tol: float) -> Problem:
    return Problem([(0, 1)] * 5, [Constraint("c", eq=0.5, tol=tol)], "f", noise=SD)


def run_on(optimizer: Optimizer, stop: int | None = None) -> list[tuple[str, list[float]]]:
    """Evaluate until the budget, or ``stop`` evaluations, are spent; return what was asked for."""
    asked = []
    while (stop is None or optimizer.n_asked < stop) and (batch := optimizer.pending or optimizer.ask()):
        for candidate in batch:
            noise = SD * np.random.default_rng([3, candidate.id]).standard_normal(2)
            x = candidate.x
            asked.append((candidate.role, x.tolist()))
            optimizer.tell(candidate.id, {"f": np.sum((x - 0.7) ** 2) + noise[0], "c": x.mean() + noise[1]})
    return asked


@pytest.mark.parametrize(("low", "high"), [(0.48, 0.52), (0.45, 0.55), (0.3, 0.7), (-np.inf, 0.5)])
@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_a_limit_is_hidden_where_the_best_of_points_would_not_be_sure(low, high, confidence):
    demand = Demand(
        np.array([-np.inf, low]), np.array([np.inf, high]), confidence, np.array([np.nan, np.nan]), 1e-6
    )
    noise, n = np.array([1.0, 0.1]), 9
    mean_error = norm(scale=0.1 / np.sqrt(n))
    best = mean_error.cdf((high - low) / 2) - mean_error.cdf((low - high) / 2)
    assert hidden(demand, noise, np.ones(2), n) == (best < confidence)


def test_a_level_of_its_own_hides_a_limit_too():
    low, high = np.array([-np.inf, 0.45]), np.array([np.inf, 0.55])
    own = np.array([np.nan, 0.9999])
    assert not hidden(Demand(low, high, 0.9, own * np.nan, 0.0), np.full(2, 0.05), np.ones(2), 9)
    assert hidden(Demand(low, high, 0.9, own, 0.0), np.full(2, 0.05), np.ones(2), 9)


def test_an_equality_below_the_noise_is_surveyed_in_pairs_around_the_answer():
    optimizer = Optimizer(problem(1e-3), budget=80, confirm=0.15)
    asked = run_on(optimizer)
    assert [role for role, _ in asked[68:]] == ["confirm"] * 12
    result = optimizer.result()
    assert result.rule == "confirmed"
    assert result.x.tolist() in [x for _, x in asked[68:72]]
    assert not result.success
    moves = np.array([x for _, x in asked[72:]]) - result.x
    inside = np.abs(moves) < REACH - 1e-9  # not moved, or cut off at a bound
    for one, other, cut in zip(moves[::2], moves[1::2], (inside[::2] | inside[1::2]), strict=True):
        np.testing.assert_allclose(one[~cut], -other[~cut], atol=1e-12)
    assert 0.2 < np.mean(moves == 0.0) < 0.8
    assert np.abs(moves).max() == pytest.approx(REACH)
    assert all(0.0 <= value <= 1.0 for _, x in asked for value in x)


def test_a_wide_equality_is_confirmed():
    optimizer = Optimizer(problem(0.2), budget=80, confirm=0.1)
    run_on(optimizer)
    assert optimizer.result().rule == "confirmed"


def test_a_survey_is_resumed_bit_for_bit_and_several_of_it_may_be_out(quick_folder: Path):
    made = {"budget": 60, "confirm": 0.2}
    expected = run_on(Optimizer(problem(1e-3), **made))
    path = quick_folder / "run.db"
    with Optimizer(problem(1e-3), store=path, **made) as optimizer:
        asked = run_on(optimizer, stop=53)
    with Optimizer.open(path) as optimizer:
        batch = optimizer.ask(4)
        assert [candidate.x.tolist() for candidate in batch] == [x for _, x in expected[53:57]]
        asked += run_on(optimizer)
        result = optimizer.result()
    assert asked == expected
    again = Optimizer(problem(1e-3), **made)
    run_on(again)
    np.testing.assert_array_equal(again.result().x, result.x)


def test_slopes_are_sharper_by_a_survey():
    """The same run with and without the evaluations of its survey."""
    surveyed = Optimizer(problem(1e-3), budget=80, confirm=0.2)
    run_on(surveyed)
    before = Optimizer(problem(1e-3), budget=80, confirm=0.2)
    run_on(before, stop=70)
    x, there = surveyed.result().x, before.result().x
    np.testing.assert_array_equal(x, there)
    with_it, without = surveyed.result().sensitivities, before.result().sensitivities
    assert (with_it.errors < without.errors).all()
