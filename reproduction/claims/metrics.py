"""Curves, bands and restarts of runs.

A run without a feasible point has the value infinity, which takes part in every order statistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lcbo.compare.score import Spread
from reproduction.harness.results import Results

BASELINES = ("scbo", "hdsafebo", "cei-plain", "epbo")  # of the paper, as it describes them
STRONGER = ("scbo-original", "cei")  # two of them at their best
READINGS = ("lcbo-authors", "lcbo-paper")  # of the paper's LCBO: its authors' code, its text


def curves(
    results: Results, spec: str, task: str, label: str, column: str = "best", along: str = "evaluations"
) -> pd.DataFrame:
    """Return the curves of all runs of a label, ``along`` x seeds.

    Along evaluations, a run keeps its value from one checkpoint to the next and after its end: a method that
    stops early is not better for it. Along iterations, values between checkpoints are interpolated and the
    curves end with the shortest run.
    """
    rows = results.curve(spec, task, label)
    by_seed = {seed: rows[rows["seed"] == seed].set_index(along)[column] for seed in rows["seed"].unique()}
    if not by_seed:
        return pd.DataFrame()
    if along == "evaluations":
        return pd.DataFrame(by_seed).ffill()
    last = min(int(curve.index[-1]) for curve in by_seed.values())
    return pd.DataFrame({seed: _interpolated(curve, last) for seed, curve in by_seed.items()})


def _interpolated(curve: pd.Series, last: int) -> pd.Series:
    """Return a curve at 0, 1, ..., last; infinite up to the first checkpoint with a finite value."""
    ends = curve.groupby(level=0).last()
    at = np.arange(last + 1)
    known = np.isfinite(ends)
    if not known.any():
        return pd.Series(math.inf, index=at)
    finite = ends[known]
    values = np.interp(at, finite.index, finite.to_numpy())
    return pd.Series(np.where(at < finite.index[0], math.inf, values), index=at)


def band(wide: pd.DataFrame) -> pd.DataFrame:
    """Return ``low``, ``median`` and ``high`` over the columns (seeds), row by row; NaN is left out."""
    spreads = [Spread.of(row) for row in wide.to_numpy(dtype=np.float64)]
    columns = {"low": [s.low for s in spreads], "median": [s.median for s in spreads]}
    return pd.DataFrame(columns | {"high": [s.high for s in spreads]}, index=wide.index)


def pooled(wide: pd.DataFrame, width: int) -> pd.DataFrame:
    """Return for every row the values of the last ``width`` rows, all seeds side by side; NaN before."""
    return pd.concat([wide.shift(lag) for lag in range(max(width, 1))], axis=1)


def at(wide: pd.DataFrame, position: float) -> pd.Series:
    """Return the values of curves at the last checkpoint that is not beyond ``position``, by seed."""
    rows = wide.loc[:position]
    return rows.iloc[-1] if len(rows) else pd.Series(math.inf, index=wide.columns)


def after_design(results: Results, spec: str, task: str, label: str) -> pd.Series:
    """Return the best feasible value after the initial design (iteration 0), by seed."""
    rows = results.curve(spec, task, label)
    return rows[rows["iteration"] == 0].groupby("seed")["best"].last()


def late_gain(results: Results, spec: str, task: str, label: str) -> pd.Series:
    """Return by seed which share of a run's descent came in the second half of its budget.

        (best at half - best at end) / (first known best - best at end)

    The first known best is that of the last checkpoint within the initial design, or of the first feasible
    one where the design had none. NaN for a run that never gets below it: there is no descent to share.
    """
    wide = curves(results, spec, task, label)
    design = after_design(results, spec, task, label)
    shares = {}
    for seed in wide.columns:
        finite = wide[seed][np.isfinite(wide[seed])]
        if not len(finite):
            shares[seed] = math.nan
            continue
        half = float(at(wide, 0.5 * results.budget(spec, task))[seed])
        whole = min(float(design.get(seed, math.inf)), float(finite.iloc[0])) - float(finite.iloc[-1])
        late = whole if math.isinf(half) else half - float(finite.iloc[-1])
        shares[seed] = late / whole if whole > 0.0 else math.nan
    return pd.Series(shares, dtype=np.float64)


def strongest(results: Results, task: str, labels: Sequence[str]) -> str:
    """Return the label with the lowest median final value on a task of ``main``.

    Where one was not run, it is that one: it may be the strongest, and nothing can be said yet.
    """
    finals = {label: results.values("main", task, label) for label in labels}
    medians = {label: Spread.of(values).median for label, values in finals.items()}
    return min(medians, key=lambda label: -math.inf if math.isnan(medians[label]) else medians[label])


@dataclass(frozen=True)
class Restarts:
    """When the trust regions of a method restarted.

    Attributes:
        counts: restarts by seed.
        first: evaluations at the first restart, infinite for a run without.
        second: evaluations at the second.
    """

    counts: pd.Series
    first: Spread
    second: Spread


def restarts(results: Results, task: str, label: str) -> Restarts:
    """Return the restart statistics of a method on a main task."""
    events = results.events_of("main", task, label)
    times: dict[int, list[float]] = {}
    for seed in events["seed"].unique():
        again = events[(events["seed"] == seed) & (events["kind"] == "restart")]
        times[int(seed)] = sorted(float(count) for count in again["evaluations"])
    nth = [[t[i] if len(t) > i else math.inf for t in times.values()] for i in (0, 1)]
    counts = pd.Series({seed: len(t) for seed, t in times.items()}, dtype=np.int64)
    return Restarts(counts, Spread.of(nth[0]), Spread.of(nth[1]))
