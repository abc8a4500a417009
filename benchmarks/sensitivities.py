"""Are the slopes and multipliers of the answer right, and do their error bars say so?

Runs `lcbo` on problems whose derivatives and multipliers are known, with noise of a level times the spread of
each outcome (its interquartile range over 1000 uniform points, over 1.35), which the run is not told. At
every answer the slopes are compared with differences of the noise-free functions, the multipliers with those
at the known optimum.

Run: python benchmarks/sensitivities.py [--problems truss25 beam50 eq_qp] [--noise 0.01] [--seeds 5]
         [--first 0]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

import lcbo
from lcbo.problems import Benchmark
from lcbo.types import Array

BUDGETS = {"truss25": 1000, "beam50": 1000, "eq_qp": 600}
KNOWN = {"truss25": {"g_disp": 465.6}, "beam50": {"g_disp": 53.29}}
SPREAD_PER_SD = 1.35
NEAR = 1e-2  # of an outcome's spread: a limit with less slack than this binds


def spreads(problem: Benchmark) -> dict[str, float]:
    """Spread of every outcome over the box."""
    points = np.random.default_rng(0).uniform(problem.lb, problem.ub, (1000, problem.dim))
    outcomes = problem.evaluate_batch(points)
    return {
        name: float(np.subtract(*np.percentile(outcomes[name], [75, 25]))) / SPREAD_PER_SD
        for name in problem.outcomes
    }


def derivatives(problem: Benchmark, x: Array) -> Array:
    """Slopes of every outcome at a point by differences, one-sided at a bound: ``B x d``."""
    step = 1e-5 * (problem.ub - problem.lb)
    low, high = (np.clip(x + s * np.diag(step), problem.lb, problem.ub) for s in (-1.0, 1.0))
    below, above = problem.evaluate_batch(low), problem.evaluate_batch(high)
    width = np.diag(high - low)
    return np.array([(above[name] - below[name]) / width for name in problem.outcomes])


def known_multipliers(name: str, problem: Benchmark) -> dict[str, float]:
    """Multipliers at the optimum; of an interior one with equalities alone by least squares."""
    if name in KNOWN:
        return KNOWN[name]
    assert problem.best_known is not None
    assert problem.best_known.x is not None
    slopes = derivatives(problem, problem.best_known.x)
    found = np.linalg.lstsq(slopes[1:].T, -slopes[0])[0]
    return dict(zip(problem.outcomes[1:], found.tolist(), strict=True))


@dataclass
class Score:
    """What one run says of itself, compared with the truth."""

    covered: Array  # B, part of the slopes within two standard errors
    error: Array  # B, median standard error over the largest slope
    multipliers: dict[str, tuple[float, float]]  # with a known truth: value and standard error
    zeros: int  # multipliers of 0 at limits that bind
    binding: int
    stationarity: str


def score(name: str, problem: Benchmark, noise: float, seed: int) -> Score:
    """Run once and compare."""
    spread = spreads(problem)
    view = problem.noisy(seed, {key: noise * sd for key, sd in spread.items()}) if noise else problem
    result = lcbo.minimize(view, budget=BUDGETS[name], rng=seed, progress=False)
    assert result.x is not None
    assert result.sensitivities is not None
    exact, found = derivatives(problem, result.x), result.sensitivities
    slack = {c.name: float(c.slack(result.constr[c.name])) for c in problem.constraints}
    binding = [key for key, room in slack.items() if room <= NEAR * spread[key]]
    return Score(
        covered=(np.abs(found.slopes - exact) <= 2.0 * found.errors).mean(1),
        error=np.median(found.errors, 1) / np.abs(exact).max(1),
        multipliers={
            key: (result.multipliers[key], result.multiplier_errors[key])
            for key in known_multipliers(name, problem)
        },
        zeros=sum(result.multipliers[key] == 0.0 for key in binding),
        binding=len(binding),
        stationarity=result.stationarity,
    )


def main() -> None:
    """Print one line per run and a summary per problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    given = parser.parse_args()
    for name in given.problems:
        problem = lcbo.problems.make(name)
        truth, runs = known_multipliers(name, problem), []
        print(f"{name}, noise {given.noise:g}, outcomes {', '.join(problem.outcomes)}")
        for seed in range(given.first, given.first + given.seeds):
            begun = time.perf_counter()
            runs.append(score(name, problem, given.noise, seed))
            last = runs[-1]
            bars = ", ".join(f"{key} {v:.4g} +- {e:.2g}" for key, (v, e) in last.multipliers.items())
            print(
                f"  seed {seed}: within 2 se {np.round(last.covered, 2)}, "
                f"se / largest {np.round(last.error, 3)}, {bars}; "
                f"{last.stationarity} ({time.perf_counter() - begun:.0f} s)",
                flush=True,
            )
        covered, error = np.array([r.covered for r in runs]), np.array([r.error for r in runs])
        print(f"  slopes within two standard errors: {covered.mean():.3f}, {np.round(covered.mean(0), 3)}")
        print(f"  median standard error over the largest slope: {np.round(np.median(error, 0), 3)}")
        for key, exact in truth.items():
            value, sd = np.array([r.multipliers[key] for r in runs]).T
            hit = np.abs(value - exact) <= 2.0 * sd
            width = np.median(4.0 * sd) / abs(exact)
            print(
                f"  multiplier of {key}, exactly {exact:.5g}: covered in {hit.sum()} of {len(hit)}, "
                f"median width of the bar {width:.2f} of it"
            )
        zeros, binding = sum(r.zeros for r in runs), sum(r.binding for r in runs)
        print(f"  multipliers of 0: {zeros} of {binding} binding limits")


if __name__ == "__main__":
    main()
