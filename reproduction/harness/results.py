"""Finished runs as tables: one row per run, per run and checkpoint, per event, and what is still missing.

Runs are named by ``spec``, ``task``, ``label`` and ``seed`` everywhere. Values are signed so that less is
better; infinity means that no feasible point was there yet, NaN that there is nothing to report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lcbo.errors import ArgumentError
from lcbo.types import Array
from reproduction.harness.cell import description
from reproduction.harness.runner import Places
from reproduction.harness.spec import Cell, Task

KEYS = ["spec", "task", "label", "seed"]
RUN = [
    *KEYS,
    "method",
    "budget",
    "final",
    "regret",
    "first_feasible",
    "iterations",
    "seconds",
    "machine",
    "versions",
    "commit",
]
CURVE = [*KEYS, "evaluations", "iteration", "best", "regret", "recommended", "recommended_violation"]
EVENT = [*KEYS, "kind", "length", "iteration", "evaluations"]
CELL = ["spec", "task", "label", "wanted", "done"]


@dataclass(frozen=True)
class Results:
    """Everything that was run, and what was wanted.

    Attributes:
        runs: one row per finished run (`RUN`); ``regret`` is NaN where the optimum is unknown,
            ``first_feasible`` infinite without a feasible point.
        curves: one row per run and checkpoint (`CURVE`).
        events: one row per event of a method's trust region (`EVENT`).
        cells: by spec, task and label, runs wanted and done (`CELL`).
        references: by task and seed, the best known value, where one is known.
        varied: tasks on which every seed is another function: runs of different seeds do not compare.
    """

    runs: pd.DataFrame
    curves: pd.DataFrame
    events: pd.DataFrame
    cells: pd.DataFrame
    references: dict[str, dict[int, float]]
    varied: frozenset[str]

    def wide(self, spec: str, task: str, column: str = "final") -> pd.DataFrame:
        """Return one column of `runs` as seeds x labels; NaN where a run is missing."""
        found = {label: self.values(spec, task, label, column) for label in self.labels(spec, task)}
        return pd.DataFrame({label: values for label, values in found.items() if len(values)})

    def values(self, spec: str, task: str, label: str, column: str = "final") -> pd.Series:
        """Return one column of `runs` by seed; empty where nothing was run."""
        rows = self._runs.get((spec, task, label))
        return pd.Series(dtype=np.float64) if rows is None else rows.set_index("seed")[column].dropna()

    def curve(self, spec: str, task: str, label: str) -> pd.DataFrame:
        """Return the rows of `curves` of one label on one task; empty where nothing was run."""
        return self._curves.get((spec, task, label), self.curves.iloc[:0])

    def events_of(self, spec: str, task: str, label: str) -> pd.DataFrame:
        """Return the rows of `events` of one label on one task; empty where nothing happened."""
        e = self.events
        return e[(e["spec"] == spec) & (e["task"] == task) & (e["label"] == label)]

    def seeds(self, spec: str, task: str, label: str) -> set[int]:
        """Return the seeds that were run."""
        return set(self.values(spec, task, label).index)

    def reference(self, task: str, seeds: Collection[int] | None = None) -> float | None:
        """Return the median over seeds (all) of the best known value, ``None`` where none is known."""
        known = [v for seed, v in self.references.get(task, {}).items() if seeds is None or seed in seeds]
        return float(np.median(known)) if known else None

    def recommended(self, spec: str, task: str, label: str) -> pd.DataFrame:
        """Return ``value`` and ``violation`` of the points recommended at the end, by seed."""
        last = self.curve(spec, task, label).groupby("seed")[["recommended", "recommended_violation"]].last()
        return last.rename(columns={"recommended": "value", "recommended_violation": "violation"})

    def labels(self, spec: str, task: str) -> list[str]:
        """Return the labels a spec wants on a task, in the spec's order."""
        rows = self.cells[(self.cells["spec"] == spec) & (self.cells["task"] == task)]
        return list(rows["label"])

    def budget(self, spec: str, task: str) -> int:
        """Return the evaluations a run of a task had, 0 where nothing was run."""
        rows = self.runs[(self.runs["spec"] == spec) & (self.runs["task"] == task)]
        return int(rows["budget"].max()) if len(rows) else 0

    @cached_property
    def _runs(self) -> dict[Any, pd.DataFrame]:
        return {key: part for key, part in self.runs.groupby(CELL[:3])}

    @cached_property
    def _curves(self) -> dict[Any, pd.DataFrame]:
        return {key: part for key, part in self.curves.groupby(CELL[:3])}

    def table(self) -> pd.DataFrame:
        """Return one tidy table: the rows of `curves`, each with the columns of its run."""
        return self.curves.merge(self.runs, on=KEYS, how="left")


def read_results(places: Sequence[Places]) -> Results:
    """Return the finished runs of the specs; runs a spec does not want are left out.

    Raises:
        ArgumentError: if a result cannot be read, or was run with other options than the spec has now.
    """
    runs, curves, events, cells = [], list[pd.DataFrame](), list[pd.DataFrame](), dict[Any, list[int]]()
    best_known: dict[str, dict[int, float]] = {}
    varied = set()
    for place in places:
        spec = place.read()
        for cell in spec.cells():
            counts = cells.setdefault((spec.name, cell.task.name, cell.entry.label), [0, 0])
            counts[0] += 1
            if cell.task.function_seed:
                varied.add(cell.task.name)
            path = place.result(cell)
            if not path.exists():
                continue
            counts[1] += 1
            kept = _read(path, cell)
            known = reference(cell.task.problem, tuple(cell.task.variant.items()), _function_seed(cell))
            if not math.isnan(known):
                best_known.setdefault(cell.task.name, {})[cell.seed] = known
            keys: dict[str, Any] = dict(
                zip(KEYS, (spec.name, cell.task.name, cell.entry.label, cell.seed), strict=True)
            )
            runs.append({**keys, **_facts(kept, known)})
            curves.append(_curve(kept, known).assign(**keys))
            events.append(pd.DataFrame(kept["events"]).assign(**keys))
    return Results(
        pd.DataFrame(runs, columns=RUN) if runs else _empty(RUN),
        _joined(curves, CURVE),
        _joined(events, EVENT),
        pd.DataFrame([(*key, *counts) for key, counts in cells.items()], columns=CELL),
        best_known,
        frozenset(varied),
    )


@cache
def reference(problem: str, variant: tuple[tuple[str, Any], ...], seed: int | None) -> float:
    """Return the best known value of a task, NaN where none is known.

    HalfCheetah's is the end of one CMA-ES run and no optimum, so there is no regret to it.
    """
    if problem == "halfcheetah":
        return math.nan
    benchmark = Task("", problem, dict(variant), seed is not None).benchmark(seed or 0)
    known = benchmark.best_known
    return math.nan if known is None else benchmark.objective.sign * known.value


def write_table(results: Results, path: Path) -> None:
    """Write the tidy table as ``.csv`` or ``.parquet``.

    Raises:
        ArgumentError: for another ending, or Parquet without the package pyarrow.
    """
    table = results.table()
    table["versions"] = [json.dumps(versions) for versions in table["versions"]]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        try:
            table.to_parquet(path, index=False)
        except ImportError:
            raise ArgumentError("out", "a .csv file, or the package pyarrow for .parquet", path) from None
    else:
        raise ArgumentError("out", "a file name ending in .csv or .parquet", path)


def _read(path: Path, cell: Cell) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise ArgumentError("results", "JSON files as the runner writes them", f"{path}: {error}") from None
    for name, value in description(cell).items():
        if kept.get(name) != value:
            expected = f"{name} {value!r} as in the spec (delete the file to run it again)"
            raise ArgumentError(str(path), expected, repr(kept.get(name)))
    return kept


def _function_seed(cell: Cell) -> int | None:
    return cell.seed if cell.task.function_seed else None


def _facts(kept: dict[str, Any], known: float) -> dict[str, Any]:
    final, first = _number(kept["final"], math.inf), _number(kept["first_feasible"], math.inf)
    same = {name: kept[name] for name in ("method", "budget", "iterations", "seconds", "machine", "versions")}
    same["commit"] = kept.get("commit") or "unknown"  # code that is no checkout has none
    return {**same, "final": final, "regret": final - known, "first_feasible": first}


def _curve(kept: dict[str, Any], known: float) -> pd.DataFrame:
    best = _numbers(kept["best"], math.inf)
    return pd.DataFrame(
        {
            "evaluations": kept["evaluations"],
            "iteration": kept["iteration"],
            "best": best,
            "regret": best - known,
            "recommended": _numbers(kept["recommended"], math.nan),
            "recommended_violation": _numbers(kept["recommended_violation"], math.nan),
        }
    )


def _number(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)


def _numbers(values: Sequence[float | None], otherwise: float) -> Array:
    return np.array([_number(value, otherwise) for value in values])


def _joined(parts: Sequence[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True)[columns] if parts else _empty(columns)


def _empty(columns: list[str]) -> pd.DataFrame:
    """Return a table without rows whose columns have the types they have with rows."""
    text = {"spec", "task", "label", "method", "kind", "machine", "versions", "commit"}
    return pd.DataFrame({name: pd.Series(dtype=object if name in text else np.float64) for name in columns})
