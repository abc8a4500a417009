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
import pandas as pd

from lcbo.optimizer.log import FEASIBILITY_TOL
from lcbo.problem import Problem
from lcbo.scaling import Scaling
from lcbo.types import Array

_POINTS = 100  # at most so many checkpoints in a run


@dataclass(frozen=True)
class Score:
    """A finished run.

    Attributes:
        best: best feasible value after 1, 2, ... ``budget`` evaluations, signed so that less is better,
            infinite before the first; a run that ended early keeps its last value.
        seconds: processor time of the method, evaluations not counted.
    """

    best: Array
    seconds: float


def score_table(scores: Mapping[str, Sequence[Score]], sign: float) -> pd.DataFrame:
    """Return a row per method, best median first, with what it reached; ``sign`` is the objective's.

    ``median`` and quartiles are those of the best feasible value over all runs, one without a feasible point
    being the worst, and NaN where they fall on such a run. ``feasible`` counts the runs with a feasible
    point; ``first_feasible`` (evaluations to it) and ``seconds`` (of the method itself) are medians.
    """
    spreads = {method: Spread.of([run.best[-1] for run in runs]) for method, runs in scores.items()}
    rows = []
    for method, at in sorted(spreads.items(), key=lambda item: (item[1].median, item[1].low)):
        runs = scores[method]
        first = Spread.of([first_feasible(run.best) or math.inf for run in runs])
        rows.append(
            {
                "method": method,
                "median": sign * at.median,
                "lower_quartile": at.low if sign > 0 else -at.high,
                "upper_quartile": at.high if sign > 0 else -at.low,
                "runs": len(runs),
                "feasible": sum(math.isfinite(run.best[-1]) for run in runs),
                "first_feasible": first.median,
                "seconds": round(Spread.of([run.seconds for run in runs]).median, 2),
            }
        )
    return pd.DataFrame(rows).replace([math.inf, -math.inf], math.nan)


def checkpoints(budget: int) -> npt.NDArray[np.int64]:
    """Return at most 100 evaluation counts, evenly spaced, the budget included."""
    return np.unique(np.linspace(1, budget, min(_POINTS, budget)).round().astype(np.int64))


def best_feasible(problem: Problem, outcomes: Iterable[Mapping[str, float]]) -> Array:
    """Return the best feasible objective after 1, 2, ... evaluations; infinite before the first.

    Values are signed so that less is better. An evaluation that failed has no outcomes. What is feasible has
    the tolerance of a run: a solver that converges from outside is not denied its answer.
    """
    rows = np.array([problem.to_rows(y) for y in outcomes]).reshape(-1, len(problem.outcomes))
    feasible = problem.terms.feasible(rows, FEASIBILITY_TOL * Scaling.of(rows).std)
    best: Array = np.minimum.accumulate(np.where(feasible, rows[:, 0], np.inf))
    return best


def first_feasible(best: Array) -> int | None:
    """Return how many evaluations it took to the first feasible point, ``None`` without one."""
    found = np.flatnonzero(np.isfinite(best))
    return int(found[0]) + 1 if found.size else None


def rounded(values: Sequence[float] | Array) -> list[float | None]:
    """Return values with seven digits for a results file, ``None`` where infinite or missing."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in values]


def quantile(values: npt.ArrayLike, level: float) -> float:
    """Return the quantile by linear interpolation between order statistics; NaN without values."""
    v = np.sort(np.asarray(values, dtype=np.float64))
    if not v.size:
        return math.nan
    position = level * (v.size - 1)
    below, above = float(v[math.floor(position)]), float(v[math.ceil(position)])
    share = position % 1.0
    return (1.0 - share) * below + share * above if math.isfinite(above) else above


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
        return cls(quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75), v.size)
