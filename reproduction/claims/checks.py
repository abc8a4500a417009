"""The comparisons behind the claims: each returns checks with their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from lcbo.compare.score import Spread, checkpoints
from reproduction.claims.claims import LEAST, Check, check
from reproduction.claims.metrics import (
    BASELINES,
    after_design,
    at,
    curves,
    late_gain,
    paired,
    restarts,
    strongest,
)
from reproduction.claims.wording import against, number, percent, shares, spread
from reproduction.harness.results import Results

TIE = 0.02  # of a value: closer ones count as equal
STAGNANT = 0.1  # share of the descent in the second half of the budget below which a method stagnates
CLOSE = 0.15  # of LCBO's descent so far: a median nearer than this is comparable
RESTARTS = ((338.0, 383.0), (657.0, 756.0))  # the paper's quartiles of SCBO's first and second restart


def check_best_of_all(results: Results, ours: str, task: str, rivals: Sequence[str] = BASELINES) -> Check:
    """Check that our median final value is below that of every rival, each on the seeds both have run."""
    own = results.values("main", task, ours)
    seen, wins, counts = [f"{ours} {spread(own)}"], [], []
    for rival in rivals:
        theirs = results.values("main", task, rival)
        pair = paired(own, theirs)
        counts.append(pair.n)
        both = own.index.intersection(theirs.index)
        here = Spread.of(own[both]).median
        words = f"{rival} {spread(theirs)}"
        seen.append(f"{words}: {ours} {number(here)} there, {against(pair)}" if pair.n else words)
        if pair.n >= LEAST:
            wins.append(here < Spread.of(theirs[both]).median)
    n, lost = min(counts), [not won for won in wins]
    if n < LEAST and any(lost):  # one rival ahead decides, whatever the others do
        n = min(count for count in counts if count >= LEAST)
    return check(f"best-{task}", f"{ours} best on {task}", "; ".join(seen), bool(wins) and all(wins), n)


def check_lead_grows(results: Results, ours: str, tasks: Sequence[str]) -> Check:
    """Check that the lead over the strongest baseline (medians, common seeds) grows from task to task."""
    leads, seen, counts = [], [], []
    for task in tasks:
        rivals = {}
        for rival in BASELINES:
            own, theirs = _common(results, task, ours, rival)
            counts.append(len(own))
            if len(own):
                rivals[rival] = Spread.of(theirs).median - Spread.of(own).median, len(own)
        rival = min(rivals, key=lambda name: rivals[name][0], default=BASELINES[0])
        lead, n = rivals.get(rival, (math.nan, 0))
        leads.append(lead)
        seen.append(f"{task}: {number(lead)} over {rival} (n = {n})")
    rising = all(a < b for a, b in pairwise(leads))
    return check("lead-grows", f"the lead of {ours} grows with d", "; ".join(seen), rising, min(counts))


def check_early_lead(results: Results, ours: str, task: str, share: float) -> Check:
    """Check that our median after a share of the budget is below every baseline's at the end."""
    count = _mark(results.budget("main", task), share)
    seen, below, counts = [], True, []
    for rival in BASELINES:
        own, theirs = _common(results, task, ours, rival)
        early = _at(results, "main", task, ours, count).reindex(own.index)
        counts.append(len(own))
        below &= Spread.of(early).median < Spread.of(theirs).median
        seen.append(f"{ours} {spread(early)} against {rival}'s {spread(theirs)}")
    what = f"{ours} on {task} after {_after(share, count, 'evaluations')} below every baseline's end"
    return check(f"early-{task}", what, "; ".join(seen), below, min(counts))


def check_stagnates(results: Results, task: str, label: str) -> Check:
    """Check that most runs get below their start, with little of the descent in the second half."""
    share = late_gain(results, "main", task, label)
    stuck = 2 * share.count() > len(share) and Spread.of(share).median < STAGNANT
    return check(
        f"{label}-stagnates-{task}",
        f"{label} descends on {task}, then stagnates",
        _descent(share),
        stuck,
        len(share),
    )


def check_descends_to_the_end(results: Results, task: str, label: str) -> Check:
    """Check that at least a tenth of the descent comes in the second half of the budget."""
    share = late_gain(results, "main", task, label)
    holds = Spread.of(share.fillna(0.0)).median >= STAGNANT
    return check(
        f"descends-{task}", f"{label} descends on {task} to the end", _descent(share), holds, len(share)
    )


def _descent(share: pd.Series) -> str:
    return (
        f"{share.count()} of {len(share)} runs get below their start; share of the descent in the second "
        f"half of the budget: {shares(share)}"
    )


def check_restarts_twice(results: Results, task: str) -> Check:
    """Check that every run of SCBO restarts at least twice."""
    found = restarts(results, task, "scbo")
    n = len(found.counts)
    id, what = f"restarts-twice-{task}", f"every scbo run on {task} restarts at least twice"
    if n == 0:
        return check(id, what, "not run (n = 0)", False, 0)
    counts = ", ".join(map(str, sorted(found.counts)))
    times = [f"{number(s.median)} [{number(s.low)}, {number(s.high)}]" for s in (found.first, found.second)]
    seen = f"restarts per run: {counts}; first at {times[0]}, second at {times[1]} evaluations (n = {n})"
    return check(id, what, seen, int(found.counts.min()) >= 2, n)


def check_restart_times(results: Results, task: str) -> Check:
    """Check that the medians of SCBO's first two restarts lie within the paper's quartiles."""
    found = restarts(results, task, "scbo")
    medians = [found.first.median, found.second.median]
    holds = all(low <= m <= high for m, (low, high) in zip(medians, RESTARTS, strict=True))
    seen = "; ".join(
        f"{number(m)} against {low:g} to {high:g}" for m, (low, high) in zip(medians, RESTARTS, strict=True)
    )
    n = len(found.counts)
    what = f"scbo restarts on {task} when it did in the paper"
    return check(f"restart-times-{task}", what, f"{seen} (n = {n})", holds, n)


def check_stuck_high(results: Results, ours: str, task: str, label: str = "epbo") -> list[Check]:
    """Check that no other method of the paper ends above one, nor a Sobol search."""
    wide = results.wide("main", task).reindex(columns=list(dict.fromkeys((label, ours, *BASELINES, "sobol"))))
    if wide.notna().any().all():
        wide = wide.dropna()  # the seeds all have run
    finals = {name: wide[name].dropna() for name in wide}
    medians = {name: Spread.of(values).median for name, values in finals.items()}
    others = [name for name in (ours, *BASELINES) if name != label]
    seen = "; ".join(f"{name} {spread(finals[name])}" for name in (label, *others))
    worst = all(medians[label] >= medians[name] for name in others)
    n = min(len(finals[name]) for name in (label, *others))
    sobol = f"{label} {spread(finals[label])}; sobol {spread(finals['sobol'])}"
    no_better = medians[label] >= medians["sobol"]
    return [
        check(f"highest-{task}", f"{label} ends highest on {task}", seen, worst, n),
        check(
            f"no-better-than-sobol-{task}",
            f"{label} no better than Sobol search on {task}",
            sobol,
            no_better,
            min(len(finals[label]), len(finals["sobol"])),
        ),
    ]


def check_never_feasible(results: Results, task: str, label: str) -> Check:
    """Check that no run of a method finds a feasible point."""
    first = results.values("main", task, label, "first_feasible")
    without = int(np.isinf(first).sum())
    seen = f"{without} of {len(first)} runs without a feasible point"
    id, what = f"never-feasible-{task}", f"{label} finds no feasible point on {task}"
    return check(id, what, seen, without == len(first), len(first))


def check_later(results: Results, ours: str, task: str, rivals: Sequence[str]) -> list[Check]:
    """Check that we need more evaluations than a rival to the first feasible point."""
    own, checks = results.values("main", task, ours, "first_feasible"), []
    for rival in rivals:
        theirs = results.values("main", task, rival, "first_feasible")
        both = own.index.intersection(theirs.index)
        holds = Spread.of(own[both]).median > Spread.of(theirs[both]).median
        seen = (
            f"evaluations to the first feasible point, on common seeds: {ours} {spread(own[both])}; "
            f"{rival} {spread(theirs[both])}"
        )
        checks.append(check(f"later-than-{rival}", f"{ours} later than {rival}", seen, holds, len(both)))
    return checks


def check_close_then_behind(results: Results, ours: str, task: str, rival: str) -> list[Check]:
    """Check that a rival is comparable at 50, 65 and 80 % of the budget, ends behind and scatters more."""
    budget = results.budget("main", task)
    a, b = _common(results, task, ours, rival)
    n = len(a)
    start = Spread.of(after_design(results, "main", task, ours).reindex(a.index)).median
    middle, seen = True, []
    for share in (0.5, 0.65, 0.8):
        count = _mark(budget, share)
        own, theirs = (_at(results, "main", task, label, count).reindex(a.index) for label in (ours, rival))
        medians = Spread.of(own).median, Spread.of(theirs).median
        middle &= abs(medians[0] - medians[1]) <= CLOSE * (start - medians[0]) < math.inf
        seen.append(f"at {count}: {ours} {spread(own)}, {rival} {spread(theirs)}")
    low, high = Spread.of(a), Spread.of(b)
    wide = [s.high - s.low for s in (low, high)]
    end = f"at the end: {ours} {spread(a)}, {rival} {spread(b)}"
    return [
        check("comparable-in-the-middle", f"{rival} comparable in the middle", "; ".join(seen), middle, n),
        check("ahead-at-the-end", f"{ours} ahead at the end", end, low.median < high.median, n),
        check(
            "scatters-less",
            f"{ours} scatters less",
            f"interquartile range {number(wide[0])} against {number(wide[1])} (n = {n})",
            wide[0] < wide[1],
            n,
        ),
    ]


def check_fastest_start(results: Results, ours: str, task: str, rivals: Sequence[str]) -> list[Check]:
    """Check that we are ahead of rivals after a quarter of the budget."""
    count, checks = _mark(results.budget("main", task), 0.25), []
    for rival in rivals:
        both = _common(results, task, ours, rival)[0].index
        own, theirs = (_at(results, "main", task, label, count).reindex(both) for label in (ours, rival))
        holds = Spread.of(own).median < Spread.of(theirs).median
        what = f"{ours} ahead of {rival} after {_after(0.25, count, 'evaluations')}"
        checks.append(
            check(
                f"early-ahead-of-{rival}",
                what,
                f"{ours} {spread(own)}; {rival} {spread(theirs)}",
                holds,
                len(both),
            )
        )
    return checks


def check_best_variant(results: Results, spec: str, task: str, label: str, share: float) -> Check:
    """Check that a variant has the lowest median of its spec after a share of the budget."""
    count = _mark(results.budget(spec, task), share)
    values = {other: _at(results, spec, task, other, count) for other in results.labels(spec, task)}
    medians = {other: Spread.of(v).median for other, v in values.items()}
    own = medians.pop(label, math.nan)
    n = min((len(v) for v in values.values()), default=0)
    seen = "; ".join(f"{other} {spread(v)}" for other, v in values.items())
    what = f"{label} lowest on {task} after {_after(share, count, 'evaluations')}"
    id = f"lowest-{task}-{_hundredths(share)}"
    return check(id, what, seen, all(own < median for median in medians.values()), n)


def check_better_per_iteration(
    results: Results, task: str, label: str, reference: str, share: float
) -> Check:
    """Check that a schedule is lower than another after a share of the shortest schedule's iterations."""
    ends = [curves(results, "batch", task, name, along="iteration") for name in results.labels("batch", task)]
    last = round(share * min((int(end.index[-1]) for end in ends if len(end)), default=0))
    values = [_at(results, "batch", task, name, last, "iteration") for name in (label, reference)]
    seen = f"{label} {spread(values[0])}; {reference} {spread(values[1])}"
    holds = Spread.of(values[0]).median < Spread.of(values[1]).median
    what = f"{label} below {reference} on {task} after {_after(share, last, 'iterations')}"
    return check(f"{label}-{task}-{_hundredths(share)}", what, seen, holds, min(map(len, values)))


def check_equals_baseline(results: Results, task: str, label: str) -> Check:
    """Check that an ablated variant's median final value is not above that of the strongest baseline."""
    rival = strongest(results, task, BASELINES) or BASELINES[0]
    own, theirs = results.values("components", task, label), results.values("main", task, rival)
    both = own.index.intersection(theirs.index)
    own, theirs = own[both], theirs[both]
    seen = f"{label} {spread(own)}; strongest baseline {rival} {spread(theirs)}"
    holds = _not_above(Spread.of(own).median, Spread.of(theirs).median)
    run = [
        len(results.values("main", task, baseline)) for baseline in BASELINES
    ]  # one not run may be stronger
    return check(f"{label}-{task}", f"{label} on {task}", seen, holds, min(len(both), *run))


def check_stays_at_start(results: Results, task: str, label: str, reference: str) -> Check:
    """Check that a constant penalty gains less than a quarter of what the growing one gains."""
    gains, seen = [], []
    for name in (label, reference):
        start, end = after_design(results, "penalty", task, name), results.values("penalty", task, name)
        gain = start[np.isfinite(start)] - end
        gains.append(gain.dropna())
        seen.append(f"{name} {spread(gains[-1])}")
    holds = Spread.of(gains[0]).median < 0.25 * Spread.of(gains[1]).median
    words = "gain over the best feasible point of the design: " + "; ".join(seen)
    what = f"{label} stays near its start on {task}"
    return check(f"stays-at-start-{task}", what, words, holds, min(map(len, gains)))


def check_slowest(results: Results, task: str, label: str, labels: Sequence[str]) -> list[Check]:
    """Check that a constant is the highest of the constants at half of the budget and at its end."""
    checks = []
    for share in (0.5, 1.0):
        count = _mark(results.budget("penalty", task), share)
        values = {other: _at(results, "penalty", task, other, count) for other in labels}
        medians = {other: Spread.of(v).median for other, v in values.items()}
        worst = all(medians[label] > medians[other] for other in labels if other != label)
        seen = "; ".join(f"{other} {spread(v)}" for other, v in values.items())
        what = f"{label} highest on {task} after {_after(share, count, 'evaluations')}"
        id = f"highest-{task}-{_hundredths(share)}"
        checks.append(check(id, what, seen, worst, min(map(len, values.values()))))
    return checks


def check_never_worse(results: Results, task: str, label: str, labels: Sequence[str]) -> Check:
    """Check that the growing penalty's median final value is not above that of the best constant."""
    finals = {other: results.values("penalty", task, other) for other in (label, *labels)}
    medians = {other: Spread.of(v).median for other, v in finals.items()}
    holds = all(_not_above(medians[label], medians[other]) for other in labels)
    seen = "; ".join(f"{other} {spread(v)}" for other, v in finals.items())
    what = f"{label} at least as good as every constant on {task}"
    return check(f"never-worse-{task}", what, seen, holds, min(map(len, finals.values())))


def _common(results: Results, task: str, ours: str, rival: str) -> tuple[pd.Series, pd.Series]:
    """Return both final values on the seeds both have run."""
    own, theirs = results.values("main", task, ours), results.values("main", task, rival)
    both = own.index.intersection(theirs.index)
    return own[both], theirs[both]


def _mark(budget: int, share: float) -> int:
    """Return the last checkpoint of a curve within a share of the budget."""
    marks = checkpoints(budget)
    return int(marks[marks <= share * budget].max(initial=0))


def _at(
    results: Results, spec: str, task: str, label: str, x: float, along: str = "evaluations"
) -> pd.Series:
    wide = curves(results, spec, task, label, along=along)
    return at(wide, x) if len(wide) else pd.Series(dtype=np.float64)


def _after(share: float, count: int, unit: str) -> str:
    """Return a count, or which share of the yet unknown it will be."""
    return f"{count} {unit}" if count else f"{percent(share)} of the {unit}"


def _hundredths(share: float) -> str:
    return str(round(100 * share))


def _not_above(value: float, bound: float) -> bool:
    return value <= bound or value - bound <= TIE * abs(bound)
