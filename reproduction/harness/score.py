"""Scoring one run without noise (facts: reading 10): what was truly reached, evaluation by evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lcbo.problems import Benchmark
from lcbo.types import Array

POINTS = 100  # at which a curve is kept


def checkpoints(budget: int) -> NDArray[np.int64]:
    """Return the evaluation counts at which curves are kept, evenly spaced, the budget included."""
    return np.unique(np.linspace(1, budget, min(POINTS, budget)).round().astype(np.int64))


def violation(problem: Benchmark, outcomes: Mapping[str, Array]) -> Array:
    """Return the largest violation over the constraints at each of ``n`` points, 0 where feasible."""
    n = len(next(iter(outcomes.values())))
    worst = np.zeros(n)
    for c in problem.constraints:
        worst = np.maximum(worst, -c.slack(outcomes[c.name]))
    return worst


def true_values(problem: Benchmark, outcomes: Mapping[str, Array]) -> Array:
    """Return the noise-free objective, signed so that less is better; infinite where infeasible."""
    objective = problem.objective
    value: Array = np.where(
        violation(problem, outcomes) <= 0.0, objective.sign * outcomes[objective.name], np.inf
    )
    return value


def best_feasible(values: Array) -> Array:
    """Return the best feasible value after 1, 2, ... evaluations, infinite before the first."""
    best: Array = np.minimum.accumulate(values)
    return best


def first_feasible(values: Array) -> int | None:
    """Return how many evaluations it took to the first truly feasible point, ``None`` without one."""
    found = np.flatnonzero(np.isfinite(values))
    return int(found[0]) + 1 if found.size else None


def rounded(values: Sequence[float] | Array) -> list[float | None]:
    """Return values with seven digits for a results file, ``None`` where infinite or missing."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in values]
