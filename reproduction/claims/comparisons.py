"""The comparisons behind the claims, each over the seeds both sides have run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lcbo.compare.score import Spread, checkpoints
from reproduction.claims.metrics import after_design, at, curves, late_gain, restarts
from reproduction.claims.statistics import MARGIN, Comparison, Count, below
from reproduction.harness.results import Results

LATE = 0.1  # share of the descent in the second half of the budget below which a method stagnates
STUCK = 0.25  # of another's gain over the initial design, below which a method is stuck there


def ends_below(
    results: Results, task: str, ours: str, rival: str, *, spec: str = "main", tie: bool = False
) -> Comparison:
    """Our final value (of ``spec``) is below a rival's in ``main``; with ``tie`` it is not above it."""
    a, b = results.values(spec, task, ours), results.values("main", task, rival)
    return _pair(f"{ours} {_than(tie)} {rival} on {task}", a, b, tie=tie)


def ends_below_variant(results: Results, spec: str, task: str, ours: str, other: str) -> Comparison:
    """Our final value in ``main`` is not above that of a variant in ``spec``."""
    a, b = results.values("main", task, ours), results.values(spec, task, other)
    return _pair(f"{ours} {_than(True)} {other} on {task}", a, b, tie=True)


def variants_below(results: Results, spec: str, task: str, ours: str, other: str, share: float) -> Comparison:
    """One variant of a spec is below another after a share of the budget."""
    a, b = (_after(results, spec, task, label, share) for label in (ours, other))
    return _pair(f"{ours} below {other} at {share:.0%} on {task}", a, b)


def early_below(results: Results, task: str, ours: str, rival: str, share: float) -> Comparison:
    """Our value after a share of the budget is below the rival's at the end."""
    early = _after(results, "main", task, ours, share)
    theirs = results.values("main", task, rival)
    return _pair(f"{ours} at {share:.0%} below {rival} at the end on {task}", early, theirs)


def below_after(results: Results, task: str, ours: str, rival: str, share: float) -> Comparison:
    """Our value is below the rival's after a share of the budget."""
    a, b = (_after(results, "main", task, label, share) for label in (ours, rival))
    return _pair(f"{ours} below {rival} at {share:.0%} on {task}", a, b)


def lead_grows(results: Results, ours: str, rival: str, first: str, last: str) -> Comparison:
    """Our lead over a rival is larger on the last task than on the first, seed by seed."""
    leads = [
        below(results.values("main", task, ours), results.values("main", task, rival))
        for task in (first, last)
    ]
    gap = (leads[1] - leads[0]).dropna()
    return Comparison(f"the lead of {ours} over {rival} grows from {first} to {last}", gap)


def schedule_below(
    results: Results, tasks: Sequence[str], ours: str, other: str, share: float, along: str = "evaluations"
) -> Comparison:
    """A batch schedule is below another after a share of evaluations or of the shortest one's iterations.

    The functions of all tasks are pooled.
    """
    found = []
    for task in tasks:
        wide = {
            name: curves(results, "batch", task, name, along=along) for name in results.labels("batch", task)
        }
        lasts = [int(curve.index[-1]) for curve in wide.values() if len(curve)]
        if ours in wide and other in wide and lasts:
            place = share * min(lasts)
            pair = [at(wide[name], place) if len(wide[name]) else _nothing() for name in (ours, other)]
            gaps = below(*pair)
            gaps.index = pd.Index([f"{task}/{seed}" for seed in gaps.index])
            found.append(gaps)
    values = pd.concat(found) if found else _nothing()
    return Comparison(f"{ours} below {other} at {share:.0%} of the {along}", values)


def stagnates(results: Results, task: str, label: str, *, descends: bool = False) -> Comparison:
    """Less than a tenth of a run's descent comes in the second half; with ``descends`` at least that.

    A run that never gets below its start has no descent: for the claim that it descends to the end its
    share is 0.
    """
    share = late_gain(results, "main", task, label)
    gap = share.fillna(0.0) - LATE if descends else (LATE - share).dropna()
    words = "descends to the end" if descends else "stagnates"
    return Comparison(f"{label} {words} on {task}", gap, 0.0)


def stuck_at_start(results: Results, spec: str, task: str, label: str, reference: str) -> Comparison:
    """A method gains less than a quarter of what the reference gains over the design (feasible ones)."""
    gains = []
    for where, name in ((spec, label), ("main", reference)):
        start, end = after_design(results, where, task, name), results.values(where, task, name)
        gains.append((start[np.isfinite(start)] - end).dropna())
    common = gains[0].index.intersection(gains[1].index)
    size = abs(Spread.of(gains[1][common]).median) or 1.0
    gap = (STUCK * gains[1][common] - gains[0][common]) / size
    return Comparison(f"{label} stays near its start on {task}", gap, 0.0, gains[0][common], gains[1][common])


def later_feasible(results: Results, task: str, ours: str, rival: str) -> Comparison:
    """We need more evaluations than a rival to the first feasible point."""
    a, b = (results.values("main", task, label, "first_feasible") for label in (ours, rival))
    return _pair(f"{ours} later than {rival} to a feasible point on {task}", a, b, sign=-1.0)


def restarts_twice(results: Results, task: str) -> Count:
    """Every run of SCBO restarts at least twice."""
    counts = restarts(results, task, "scbo").counts
    return Count(f"every scbo run restarts at least twice on {task}", int((counts >= 2).sum()), len(counts))


def never_feasible(results: Results, task: str, label: str) -> Count:
    """No run of a method finds a feasible point."""
    first = results.values("main", task, label, "first_feasible")
    return Count(f"{label} finds no feasible point on {task}", int(np.isinf(first).sum()), len(first))


def _pair(
    what: str, ours: pd.Series, theirs: pd.Series, *, tie: bool = False, sign: float = 1.0
) -> Comparison:
    return Comparison(what, sign * below(ours, theirs), -MARGIN if tie else MARGIN, ours, theirs)


def _than(tie: bool) -> str:
    return "not above" if tie else "below"


def _after(results: Results, spec: str, task: str, label: str, share: float) -> pd.Series:
    """Return by seed the value at the last checkpoint within a share of the budget."""
    wide = curves(results, spec, task, label)
    if not len(wide):
        return _nothing()
    marks = checkpoints(results.budget(spec, task))
    return at(wide, float(marks[marks <= share * results.budget(spec, task)].max(initial=0)))


def _nothing() -> pd.Series:
    return pd.Series(dtype=np.float64)
