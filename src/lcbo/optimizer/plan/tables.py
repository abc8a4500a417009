"""Evaluations made elsewhere, out of a table, a file, a history, another run or its result."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.checks import is_number
from lcbo.errors import ArgumentError, DataWarning
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import FEASIBILITY_TOL, EvaluationTable
from lcbo.optimizer.recorder import run_files
from lcbo.problem import Problem
from lcbo.problem.sources import plain_problem
from lcbo.text import shown
from lcbo.types import Array, Evaluation

Pair = tuple[Array, dict[str, float]]
_EDGE = 1e-9  # of a variable's range: by how much a rounded number may lie outside
_NAMED = 8  # rows named in a message
_MISSING = ("", "nan", "null", "none", "na")


def pairs_of(data: Any, problem: Problem) -> list[Pair] | None:
    """Return the points and outcomes of whatever holds a table of them, ``None`` for anything else.

    That is a DataFrame, a ``.csv`` or ``.json`` file as `lcbo export` writes it, a run file, a stored run, a
    result or its history. Columns that are neither variables nor outcomes are ignored, rows without an
    outcome (failed ones) left out, and rows outside the bounds left out with a `DataWarning`; so it warns of
    an outcome that has no column, which may be misspelt.
    """
    columns = _columns(data, problem)
    if columns is None:
        return None
    n = max((len(values) for values in columns.values()), default=0)
    fixed = problem.fixed
    missing = [name for name in problem.variables if name not in columns and name not in fixed]
    outcomes = [name for name in problem.outcomes if name in columns]
    if missing or not outcomes:
        came = f"none for {missing[:_NAMED]}" if missing else "no outcome"
        wanted = f"columns for all variables and outcomes out of {list(problem.outcomes)}"
        raise ArgumentError("data", wanted, f"{came}; there are {shown(list(columns))}")
    if absent := [name for name in problem.outcomes if name not in columns]:
        words = f"data: no column for {', '.join(absent)}, so nothing is learned about that from the data"
        warnings.warn(f"{words}; there are {shown(list(columns))}", DataWarning, stacklevel=2)
    pairs, outside = [], []
    for row in range(n):
        named = {name: _cell(columns[name][row], name, row) for name in outcomes}
        known = {name: value for name, value in named.items() if math.isfinite(value)}
        if not known:
            continue
        x = np.array(
            [_cell(columns[v][row], v, row) if v in columns else fixed[v] for v in problem.variables]
        )
        room = _EDGE * (problem.ub - problem.lb)
        if not np.all((x >= problem.lb - room) & (x <= problem.ub + room)):
            outside.append(row)
            continue
        pairs.append((np.clip(x, problem.lb, problem.ub), known))
    if outside:
        listed = ", ".join(map(str, outside[:_NAMED])) + ", ..." * (len(outside) > _NAMED)
        words = f"data: {len(outside)} of {n} rows lie outside the bounds and are left out (rows {listed})"
        warnings.warn(words, DataWarning, stacklevel=2)
    return pairs


def _columns(data: Any, problem: Problem) -> Mapping[str, Sequence[Any]] | None:
    """Return the columns of a table by name, ``None`` where it is none."""
    if isinstance(data, str | Path):
        return _file(Path(data), problem)
    log = getattr(data, "log", None)  # of a stored run
    history = log.history() if log is not None else getattr(data, "history", data)  # of a result
    if isinstance(history, EvaluationTable):
        columns = {name: history.X[:, i].tolist() for i, name in enumerate(history.variables)}
        return columns | {name: values.tolist() for name, values in history.outcomes.items()}
    if hasattr(history, "columns") and hasattr(history, "to_dict"):  # a DataFrame
        return {str(name): history[name].tolist() for name in history.columns}
    return None


def _file(path: Path, problem: Problem) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a file; anything that is not ``.csv`` or ``.json`` is a run file."""
    kind = path.suffix.lower()
    if "\0" in str(path) or not path.is_file():
        raise ArgumentError("data", "a file that exists", repr(str(path)))
    if kind == ".csv":
        import pandas as pd

        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
        except (ValueError, UnicodeDecodeError) as error:
            raise ArgumentError("data", f"a table in {path}", error) from None
        return {str(name).strip(): frame[name].tolist() for name in frame.columns}
    if kind == ".json":
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
            names = dict.fromkeys(name for row in rows for name in row)
            return {name: [row.get(name) for row in rows] for name in names}
        except (ValueError, AttributeError, TypeError) as error:
            raise ArgumentError("data", f"a list of objects in {path}", error) from None
    past = run_files().read(path)
    begun_with = plain_problem(past.meta["problem"])
    data = brought_along(past.meta["data"], begun_with)
    ledger = Ledger.of(begun_with, None, FEASIBILITY_TOL, data, past.entries)
    return _columns(ledger.log.history(), problem) or {}


def brought_along(pairs: Sequence[Any], problem: Problem) -> list[Evaluation]:
    """Return ``(x, outcomes)`` pairs, checked or out of a run file, as evaluations that are done."""
    done: list[Evaluation] = []
    for point, outcomes in pairs:
        x = np.array(point, dtype=np.float64)
        if problem.known.broken(x, problem.space) is None:
            done.append(Evaluation(len(done), x, problem.space.to_unit(x), "data", 0, "done", outcomes))
    if len(done) < len(pairs):
        left_out = f"{len(pairs) - len(done)} of {len(pairs)} rows break a known condition and are left out"
        warnings.warn(f"data: {left_out}", DataWarning, stacklevel=2)
    return done


def _cell(value: Any, name: str, row: int) -> float:
    """Return a cell as a number, NaN where it is empty."""
    if value is None or (isinstance(value, str) and value.strip().lower() in _MISSING):
        return math.nan
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    if not is_number(value) or isinstance(value, str):
        raise ArgumentError("data", f"numbers in the column {name!r}", f"{shown(value)} in row {row}")
    return float(value)
