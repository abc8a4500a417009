"""Stored runs of the suite and what they are worth: Moré and Wild's tests, gaps, tables.

J. J. Moré and S. M. Wild, Benchmarking derivative-free optimization algorithms, SIAM J. Optim. 20, 2009: a
run solves a problem to tau when its best feasible value is at most f_L + tau (f_0 - f_L). Here f_L is the
better of the known answer and of the best value of any run at hand, and f_0 is COCO's start where there is
one, else the median objective of 1000 uniform points, or f_L plus the objective's spread where that median is
no worse than f_L. The gap of a value is (f - f_L) / (f_0 - f_L), at least 1e-9 and at most 10; a run without
a truly feasible point has gap 10. Standard errors are those of the mean over problems, whose seeds are
averaged.
"""

from __future__ import annotations

import base64
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from suite_problems import BY_NAME, KINDS, NEAR_TOL, Posed, posed

from lcbo.types import Array

LEAST_GAP, WORST_GAP = 1e-9, 10.0
READ_AT = (5, 10, 20, 40)  # multiples of d; the first two are read off the run of 20 d

Key = tuple[str, float, int, int]  # problem, noise, multiple of d, seed


@dataclass(frozen=True)
class Record:
    """One run, scored without noise.

    Attributes:
        problem: its name.
        noise: standard deviation of the noise in spreads of each outcome.
        multiple: the budget in multiples of d, before the cap.
        seed: of the method and of the noise.
        evaluations: made.
        best: ``[n, value]`` whenever evaluation number n improved the best truly feasible value.
        feasible: a bit per evaluation, packed, in base 64.
        answer: true objective of the point the user is handed; None without one.
        violation: its largest true violation, in spreads of the outcome; 0 when truly feasible.
        success: what the result says of itself.
        seconds: processor time of the method.
        commit: of the code that ran.
        near: as ``best``, of points that violate by at most 1e-6 spreads; None in files from before it.
    """

    problem: str
    noise: float
    multiple: int
    seed: int
    evaluations: int
    best: list[list[float]]
    feasible: str
    answer: float | None
    violation: float | None
    success: bool
    seconds: float
    commit: str
    near: list[list[float]] | None = None

    @property
    def key(self) -> Key:
        """What tells it from the other runs of its file."""
        return self.problem, self.noise, self.multiple, self.seed

    def nearly(self) -> Record:
        """The run with points that nearly hold counted as feasible, but for the bits of `feasible`."""
        assert self.near is not None
        held = self.violation is not None and self.violation <= NEAR_TOL
        return replace(self, best=self.near, violation=0.0 if held else self.violation)

    def serves(self, multiple: int) -> bool:
        """Whether the state after ``multiple`` times d evaluations is read off this run.

        The cap on evaluations makes the runs of 20 d and of 40 d one where d is large.
        """
        budget = posed(self.problem).budget
        return self.multiple == max(multiple, 20) or (self.multiple == 20 and budget(multiple) == budget(20))

    def best_after(self, n: int) -> float:
        """Best truly feasible value of the first ``n`` evaluations, infinite without one."""
        return min((value for at, value in self.best if at <= n), default=math.inf)

    def evaluations_to(self, target: float) -> float:
        """Evaluations until the best truly feasible value is at most ``target``, infinite if it never is."""
        return next((at for at, value in self.best if value <= target), math.inf)

    @property
    def feasible_share(self) -> float:
        """Share of truly feasible points after the first third of the run."""
        bits = np.unpackbits(np.frombuffer(base64.b64decode(self.feasible), np.uint8))[: self.evaluations]
        later = bits[self.evaluations // 3 :]
        return float(later.mean()) if later.size else 0.0


def scored(problem: Posed, X: Array, x: Array | None) -> dict[str, Any]:
    """Return what a record says of the evaluated points ``X`` and of the answer ``x``."""
    values, violation = problem.judge(X)
    sign = problem.truth.objective.sign
    values, feasible = sign * values, violation == 0.0
    at = (None, None) if x is None else tuple(float(v[0]) for v in problem.judge(x[None]))
    return {
        "evaluations": len(X),
        "best": _improvements(values, feasible),
        "near": _improvements(values, violation <= NEAR_TOL),
        "feasible": base64.b64encode(np.packbits(feasible).tobytes()).decode(),
        "answer": None if at[0] is None else sign * at[0],
        "violation": at[1],
    }


def _improvements(values: Array, counted: np.ndarray) -> list[list[float]]:
    running = np.minimum.accumulate(np.where(counted, values, np.inf))
    better = np.flatnonzero(running < np.concatenate([[np.inf], running[:-1]]))
    return [[int(n) + 1, float(running[n])] for n in better]


# --- Files -------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[Key, Record]:
    """Return the runs of a results file; a line that was cut off by a crash is left out."""
    records = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = Record(**json.loads(line))
        except json.JSONDecodeError:
            continue
        records[record.key] = record
    return records


def append(path: Path, record: Record) -> None:
    """Add one run to a results file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file:
        file.write("\n" * torn + json.dumps(asdict(record)) + "\n")


def read_all(folder: Path) -> dict[str, dict[Key, Record]]:
    """Return all runs of a folder by label."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.jsonl"))}


# --- Gaps --------------------------------------------------------------------------------------------------


class Yardstick:
    """f_L and f_0 of every problem, from the known answers and the runs at hand."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._least: dict[str, float] = defaultdict(lambda: math.inf)
        for record in records:
            self._least[record.problem] = min(
                self._least[record.problem], record.best_after(record.evaluations)
            )
        self._ends: dict[str, tuple[float, float]] = {}

    def ends(self, name: str) -> tuple[float, float]:
        """Return f_L and f_0."""
        if name not in self._ends:
            problem = posed(name)
            known = problem.truth.best_known
            low = min(math.inf if known is None else known.value, self._least[name])
            if math.isinf(low):  # nothing known, nothing found
                low = problem.f0 - problem.scale[problem.truth.objective.name]
            high = problem.f0
            if high <= low:
                high = low + problem.scale[problem.truth.objective.name]
            self._ends[name] = low, high
        return self._ends[name]

    def target(self, name: str, tau: float) -> float:
        """Return the value that solves a problem to ``tau``."""
        low, high = self.ends(name)
        return low + tau * (high - low)

    def gap(self, name: str, value: float) -> float:
        """Return the gap of a value, see the module."""
        low, high = self.ends(name)
        return float(np.clip((value - low) / (high - low), LEAST_GAP, WORST_GAP))

    def log_gap(self, record: Record) -> float:
        """Return log10 of the gap at the end of a run."""
        return math.log10(self.gap(record.problem, record.best_after(record.evaluations)))

    def answer_log_gap(self, record: Record) -> float:
        """Return log10 of the gap of what the user is handed; a point that violates counts as none."""
        handed = record.answer if record.answer is not None and record.violation == 0.0 else math.inf
        return math.log10(self.gap(record.problem, handed))


def mean_and_error(values: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """Return the mean over problems of their mean value, and its standard error; NaN where undefined."""
    by_problem: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        by_problem[name].append(value)
    means = np.array([np.mean(each) for each in by_problem.values()])
    if not means.size:
        return math.nan, math.nan
    return float(means.mean()), float(
        means.std(ddof=1) / math.sqrt(means.size)
    ) if means.size > 1 else math.nan


# --- Tables ------------------------------------------------------------------------------------------------


def groups(records: Sequence[Record]) -> Iterable[tuple[str, float | None, list[Record]]]:
    """Return the runs by kind and noise, then of all kinds by noise, then all."""
    noises = sorted({record.noise for record in records})
    for kind in (*KINDS, "all"):
        for noise in noises:
            found = [
                r for r in records if r.noise == noise and (kind == "all" or BY_NAME[r.problem].kind == kind)
            ]
            if found:
                yield kind, noise, found
    if len(noises) > 1:
        yield "all", None, list(records)


def _share(flags: Iterable[bool]) -> str:
    found = list(flags)
    return f"{100.0 * float(np.mean(found)):.0f}" if found else "-"


def _pm(pair: tuple[float, float]) -> str:
    mean, error = pair
    return "-" if math.isnan(mean) else f"{mean:.2f}" if math.isnan(error) else f"{mean:.2f}±{error:.2f}"


def table(records: Sequence[Record], yard: Yardstick, taus: Sequence[float]) -> list[list[str]]:
    """Return the rows of the table of one label, the header first; shares are in percent."""
    names = "/".join(f"{tau:.0e}".replace("e-0", "e-") for tau in taus)
    header = ["kind", "noise", "runs", *(f"{multiple}d" for multiple in READ_AT), "found", "inside"]
    header += ["answer", "gap 20d", "gap 40d", "answer gap", "s/run"]
    rows = [header, ["", "", "", *[names] * len(READ_AT), *[""] * 7]]
    for kind, noise, found in groups(records):
        solved = [
            "/".join(
                _share(
                    r.best_after(posed(r.problem).budget(multiple)) <= yard.target(r.problem, tau)
                    for r in found
                    if r.serves(multiple)
                )
                for tau in taus
            )
            for multiple in READ_AT
        ]
        gaps = [
            _pm(mean_and_error((r.problem, yard.log_gap(r)) for r in found if r.serves(multiple)))
            for multiple in (20, 40)
        ]
        rows.append(
            [
                kind,
                "all" if noise is None else f"{noise:g}",
                str(len(found)),
                *solved,
                _share(bool(r.best) for r in found),
                f"{100.0 * float(np.median([r.feasible_share for r in found])):.0f}",
                _share(r.violation == 0.0 for r in found),
                *gaps,
                _pm(mean_and_error((r.problem, yard.answer_log_gap(r)) for r in found)),
                f"{np.mean([r.seconds for r in found]):.1f}",
            ]
        )
    return rows


def standing(
    runs: Mapping[str, Mapping[Key, Record]], yard: Yardstick, tau: float, multiple: int
) -> list[list[str]]:
    """Return the percent solved to ``tau`` after ``multiple`` times d evaluations, labels side by side.

    A label that has fewer runs than the first is compared with the first on those: its cell names their
    number and what the first solved of them.
    """
    first, *_ = runs

    def solved(label: str, keys: Sequence[Key]) -> tuple[float, float]:
        target = {key: yard.target(key[0], tau) for key in keys}
        reached = {k: runs[label][k].best_after(posed(k[0]).budget(multiple)) <= target[k] for k in keys}
        return mean_and_error((key[0], 100.0 * flag) for key, flag in reached.items())

    def cell(label: str, keys: Sequence[Key]) -> str:
        own = [key for key in keys if key in runs[label]]
        if not own:
            return "-"
        mean, error = solved(label, own)
        text = f"{mean:.0f}" if math.isnan(error) else f"{mean:.0f} ± {error:.0f}"
        return (
            text if len(own) == len(keys) else f"{text} (of {len(own)}; {first} {solved(first, own)[0]:.0f})"
        )

    rows = [["kind", "noise", "runs", *runs]]
    for kind, noise, found in groups([r for r in runs[first].values() if r.serves(multiple)]):
        keys = [record.key for record in found]
        level = "all" if noise is None else f"{noise:g}"
        rows.append([kind, level, str(len(keys)), *(cell(label, keys) for label in runs)])
    return rows


def paired(
    mine: Mapping[Key, Record], theirs: Mapping[Key, Record], yard: Yardstick
) -> tuple[list[list[str]], list[tuple[float, str]]]:
    """Return the differences of log10 gap, ours less theirs, by kind and noise and by problem.

    Only runs in both are compared. Below zero is better than theirs.
    """
    common = [key for key in mine if key in theirs]
    change = {key: yard.log_gap(mine[key]) - yard.log_gap(theirs[key]) for key in common}
    answer = {key: yard.answer_log_gap(mine[key]) - yard.answer_log_gap(theirs[key]) for key in common}
    rows = [["kind", "noise", "runs", "gap", "answer gap", "better", "worse"]]
    for kind, noise, found in groups([mine[key] for key in common]):
        keys = [record.key for record in found]
        rows.append(
            [
                kind,
                "all" if noise is None else f"{noise:g}",
                str(len(keys)),
                _pm(mean_and_error((key[0], change[key]) for key in keys)),
                _pm(mean_and_error((key[0], answer[key]) for key in keys)),
                _share(change[key] < 0.0 for key in keys),
                _share(change[key] > 0.0 for key in keys),
            ]
        )
    names = {key[0] for key in common}
    by_problem = [(float(np.mean([change[k] for k in common if k[0] == name])), name) for name in names]
    return rows, sorted(by_problem)


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the header first."""
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in columns, the first to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
