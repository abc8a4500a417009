"""Statistics of the theory's runs: averages, slopes, growth with the dimension, the walk's curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lcbo.types import Array
from reproduction.theory.residuals import averaged

Run = Mapping[str, Any]
M = 1  # constraints of a draw


def dims(runs: Sequence[Run]) -> list[int]:
    """Return the dimensions, ascending."""
    return sorted({run["d"] for run in runs})


def boosts(runs: Sequence[Run]) -> list[int]:
    """Return the factors on the theorem's step, ascending."""
    return sorted(int(boost) for boost in runs[0]["series"])


def of_dim(runs: Sequence[Run], dim: int) -> list[Run]:
    """Return the runs of one dimension."""
    return [run for run in runs if run["d"] == dim]


def averages(runs: Sequence[Run], name: str, boost: int) -> Array:
    """``(1/K) sum_{k <= K}`` of a residual: one row per run, one column per K."""
    return np.array([averaged(run["series"][str(boost)][name]) for run in runs])


def exact(runs: Sequence[Run], name: str, boost: int) -> tuple[Array, Array]:
    """The values of K that were kept and the averages with exact gradients, one row per run."""
    series = [run["series"][str(boost)] for run in runs]
    return np.array(series[0]["exact_K"], dtype=np.float64), np.array([s[f"exact_{name}"] for s in series])


def oracle_calls(runs: Sequence[Run], boost: int) -> Array:
    """``n``, the values observed by the end of every iteration: ``(m + 1)`` per evaluation."""
    return (M + 1) * np.array(runs[0]["series"][str(boost)]["evaluations"], dtype=np.float64)


def at_end(runs: Sequence[Run], name: str, boost: int, source: str) -> Array:
    """The last averages, one per run: of ``lcbo-theory`` (``run``) or with ``exact`` gradients."""
    values: Array = (averages(runs, name, boost) if source == "run" else exact(runs, name, boost)[1])[:, -1]
    return values


def slopes(x: Array, rows: Array, span: tuple[float, float]) -> Array:
    """Least-squares exponents of every row over ``span``."""
    inside = (x >= span[0]) & (x <= span[1])
    found: Array = np.polyfit(np.log(x[inside]), np.log(rows[:, inside]).T, 1)[0]
    return found


def run_slopes(runs: Sequence[Run], name: str, boost: int) -> Array:
    """Exponents of the averages of ``lcbo-theory`` in K from K = 5 on."""
    rows = averages(runs, name, boost)
    k = np.arange(1, rows.shape[1] + 1, dtype=np.float64)
    return slopes(k, rows, (min(5.0, k[-1] / 2.0), k[-1]))


def exact_slopes(runs: Sequence[Run], name: str, boost: int) -> Array:
    """Exponents with exact gradients in K over the last decade."""
    k, rows = exact(runs, name, boost)
    return slopes(k, rows, (k[-1] / 10.0, k[-1]))


def tracking(runs: Sequence[Run], name: str, boost: int) -> Array:
    """The last average of ``lcbo-theory`` over that of exact gradients after as many iterations."""
    rows = averages(runs, name, boost)
    k, control = exact(runs, name, boost)
    last = np.log(rows.shape[1])
    ratios: Array = rows[:, -1] / np.array([np.exp(np.interp(last, np.log(k), np.log(c))) for c in control])
    return ratios


def growth(runs: Sequence[Run], name: str, boost: int, source: str) -> float:
    """Least-squares exponent in d of the median of the last averages."""
    medians = [float(np.median(at_end(of_dim(runs, d), name, boost, source))) for d in dims(runs)]
    return float(np.polyfit(np.log(dims(runs)), np.log(medians), 1)[0])


def best_curves(found: Mapping[str, Any], method: str) -> Array:
    """Return a method's best feasible values on its walk, one row per seed, infinite before the first."""
    rows = [run["best"] for run in found["runs"] if run["method"] == method]
    return np.array([[np.inf if v is None else v for v in row] for row in rows], dtype=np.float64)


def median_run(found: Mapping[str, Any], method: str) -> Mapping[str, Any]:
    """Return the run that ended in the middle; with an even number, the better of the two there."""
    runs = [run for run in found["runs"] if run["method"] == method]
    order = np.argsort(best_curves(found, method)[:, -1], kind="stable")
    middle: Mapping[str, Any] = runs[order[(len(runs) - 1) // 2]]
    return middle
