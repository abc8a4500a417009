"""Restarts: a descent that is at its end makes room for another, and nothing found is lost."""

import math
from functools import cache

import numpy as np
import pytest

import lcbo
from lcbo.methods.lcbo.evidence import PLAIN, POWERS, Choice

BUDGET = 140


def two_wells(x: np.ndarray) -> dict[str, float]:
    """A wide valley at 0.75 and a deeper one at 0.2, with a limit that neither minds."""
    wide = 1.0 - math.exp(-20.0 * float(np.sum((x - 0.75) ** 2)))
    deep = 1.0 - 1.5 * math.exp(-30.0 * float(np.sum((x - 0.2) ** 2)))
    return {"f": min(wide, deep), "c": float(x[0] - 0.9)}


def bowl(x: np.ndarray) -> dict[str, float]:
    return {"f": float(np.sum((x - 0.3) ** 2)), "c": float(0.5 - x[0])}


def solve(fun, budget, **arguments):
    arguments = {"rng": 0, **arguments}
    return lcbo.minimize(fun, [(0.0, 1.0)] * 2, ["c <= 0"], "f", budget=budget, progress=False, **arguments)


@cache
def whole_run():
    return solve(bowl, budget=BUDGET)


def test_a_converged_run_looks_elsewhere_and_keeps_the_best():
    result = solve(two_wells, 160, x0=[0.8, 0.75], rng=3)
    values = [basin.outcomes["f"] for basin in result.basins]
    assert values[0] == pytest.approx(0.0, abs=1e-6), "the first descent ends in the wide valley"
    assert result.fun == min(values) == pytest.approx(-0.5, abs=1e-6)
    assert all(basin.feasible for basin in result.basins)
    assert sum(basin.evaluations for basin in result.basins) == result.nfev == 160


def test_the_answer_is_explained_by_the_model_of_its_own_basin():
    result = whole_run()
    assert len(result.basins) > 1
    assert result.x == pytest.approx([0.5, 0.3], abs=1e-4)
    assert result.multipliers["c"] == pytest.approx(0.4, rel=0.02)


def test_the_option_keeps_a_run_in_its_place():
    assert len(solve(bowl, budget=100, options={"restart": False}).basins) == 1


def test_a_noisy_run_with_one_valley_stays_in_it():
    rng = np.random.default_rng(0)
    run = solve(lambda x: {k: v + 0.01 * rng.standard_normal() for k, v in bowl(x).items()}, budget=240)
    assert len(run.basins) == 1


def test_noisy_runs_that_have_settled_look_for_another_valley():
    """From the wide valley; what the models of both expect decides, not the luckiest observation.

    Which valley a design leads to is chance, and rounding, which is each processor's own, may decide it and
    whether a run settles in time: so it is asked of most of a few runs.
    """
    again = []
    for seed in range(1, 7):
        rng = np.random.default_rng(seed)
        run = solve(
            lambda x, rng=rng: {k: v + 0.003 * rng.standard_normal() for k, v in two_wells(x).items()},
            budget=240,
            rng=seed,
            x0=[0.8, 0.75],
        )
        assert run.success
        first, *later = [basin.outcomes["f"] for basin in run.basins]
        if later and first > -0.1:  # the first descent ended in the wide valley
            again.append((run.x, min(later)))
    assert len(again) >= 3
    found = [x for x, value in again if value < -0.4]
    assert found
    np.testing.assert_allclose(found, np.full((len(found), 2), 0.2), atol=0.02)


def test_a_noisy_run_that_began_again_resumes_bit_for_bit(tmp_path):
    def run(seed, **arguments):
        rng = np.random.default_rng(seed)
        given = np.array([rng.standard_normal(2) for _ in range(240)])

        def seen(x):
            seen.calls += 1
            noise = 0.003 * given[seen.calls - 1]
            return {k: v + e for (k, v), e in zip(two_wells(x).items(), noise, strict=True)}

        seen.calls = arguments.pop("first", 0)
        return solve(seen, budget=240, rng=seed, x0=[0.8, 0.75], **arguments)

    runs = ((seed, run(seed)) for seed in range(1, 4))  # one that does not settle in time is rare
    seed, whole = next((seed, whole) for seed, whole in runs if len(whole.basins) > 1)
    first, path = whole.basins[0].evaluations, tmp_path / "run.db"
    run(seed, store=path, callback=lambda s: s.nfev >= first + 10)
    again = run(seed, store=path, first=first + 10)
    np.testing.assert_array_equal(again.history.X, whole.history.X)
    np.testing.assert_array_equal(again.x, whole.x)


def test_a_restarted_run_resumes_bit_for_bit(tmp_path):
    path, whole = tmp_path / "run.db", whole_run()
    assert len(whole.basins) > 1
    for stop in (121, 131):
        solve(bowl, budget=BUDGET, store=path, callback=lambda s, n=stop: s.nfev >= n)
    again = solve(bowl, budget=BUDGET, store=path)
    np.testing.assert_array_equal(again.history.X, whole.history.X)
    assert again.multipliers == whole.multipliers
    assert [b.evaluations for b in again.basins] == [b.evaluations for b in whole.basins]


def test_remarks_say_how_the_outcomes_bend_and_that_the_run_began_again():
    assert PLAIN.in_words() is None
    assert "lower bounds" in str(Choice(POWERS.index(2.0), "rbf").in_words())
    assert "upper bounds" in str(Choice(0, "rbf").in_words())
    assert solve(bowl, budget=20).remarks == []
    (remark,) = whole_run().remarks
    assert remark == "the run converged and began again elsewhere once"
