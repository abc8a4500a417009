"""Scores of runs: the best feasible value so far, and medians and quartiles that respect infinity.

A run without a feasible point has the value infinity. Infinity takes part in every order statistic: a
quartile that would lie between a finite and an infinite value is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lcbo.problem import Problem
from lcbo.types import Array

_POINTS = 100  # at most so many checkpoints in a run


def checkpoints(budget: int) -> npt.NDArray[np.int64]:
    """Return at most 100 evaluation counts, evenly spaced, the budget included."""
    return np.unique(np.linspace(1, budget, min(_POINTS, budget)).round().astype(np.int64))


def best_feasible(problem: Problem, outcomes: Iterable[Mapping[str, float]]) -> Array:
    """Return the best feasible objective after 1, 2, ... evaluations; infinite before the first.

    Values are signed so that less is better. An evaluation that failed has no outcomes.
    """
    objective = problem.objective
    values = [
        objective.sign * y[objective.name] if objective.name in y and problem.feasible(y) else math.inf
        for y in outcomes
    ]
    best: Array = np.minimum.accumulate(np.array(values))
    return best


def first_feasible(best: Array) -> int | None:
    """Return how many evaluations it took to the first feasible point, ``None`` without one."""
    found = np.flatnonzero(np.isfinite(best))
    return int(found[0]) + 1 if found.size else None


def rounded(values: Sequence[float] | Array) -> list[float | None]:
    """Return values with seven digits for a results file, ``None`` where infinite or missing."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in values]


def quantile(values: npt.ArrayLike, level: float) -> float:
    """Return the quantile by linear interpolation between order statistics; NaN without values.

    Infinite as soon as an infinite value has a weight in it.
    """
    v = np.sort(np.asarray(values, dtype=np.float64))
    if not v.size:
        return math.nan
    position = level * (v.size - 1)
    below = math.floor(position)
    share = position - below
    if share < 1e-12:
        return float(v[below])
    if not math.isfinite(v[below + 1]):
        return math.inf
    return float((1.0 - share) * v[below] + share * v[below + 1])


@dataclass(frozen=True)
class Spread:
    """Lower quartile, median and upper quartile of ``n`` values."""

    low: float
    median: float
    high: float
    n: int

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Spread:
        """Return the spread of the values that are not NaN."""
        v = np.asarray(values, dtype=np.float64)
        v = v[~np.isnan(v)]
        low, median, high = (quantile(v, level) for level in (0.25, 0.5, 0.75))
        return cls(low, median, high, v.size)
