"""Results of many evaluations in a CSV or JSON file, as read by ``lcbo tell --from``.

The columns that ``lcbo ask`` prints may stay in the file; they are ignored.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcbo.errors import ArgumentError
from lcbo.problem import Problem, outcome_value


@dataclass(frozen=True)
class TellRow:
    """One result: outcomes, or the reason of a failure."""

    id: int
    outcomes: Mapping[str, float] | None
    failed: str | None
    final: bool = False


def read_results(path: Path, problem: Problem) -> list[TellRow]:
    """Return the results in a file, all of them checked before any is told; ``-`` reads JSON lines.

    Rows without any outcome are not done yet and left out.
    """
    if str(path) == "-":
        entries = [(f"line {n}", entry) for n, entry in _lines("-", sys.stdin.read())]
    elif path.suffix.lower() == ".csv":
        text = path.read_text(encoding="utf-8-sig")
        rows = enumerate(csv.DictReader(io.StringIO(text)), 2)
        entries = [(f"{path}, line {n}", _cells(row)) for n, row in rows]
    elif path.suffix.lower() in (".json", ".jsonl"):
        lines = _lines(str(path), path.read_text(encoding="utf-8-sig"))
        entries = [(f"{path}, entry {n}", entry) for n, entry in lines]
    else:
        raise ArgumentError("--from", "a file ending in .csv, .json or .jsonl, or -", repr(str(path)))
    found = [_result(where, entry, problem) for where, entry in entries]
    told = [result for result in found if result is not None]
    if not told:
        raise ArgumentError(str(path), f"results with outcomes out of {list(problem.outcomes)}", "none")
    return told


def _lines(name: str, text: str) -> list[tuple[int, Any]]:
    """Return the objects of a JSON list, of one JSON object, or of JSON lines, numbered from 1."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    found.append((number, json.loads(line)))
                except json.JSONDecodeError as error:
                    raise ArgumentError(name, "JSON: a list, or one object per line", error) from None
        return found
    return list(enumerate(whole if isinstance(whole, list) else [whole], 1))


def _cells(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """Return the filled cells of a row, numbers as numbers."""
    cells: dict[str, Any] = {}
    for name, text in row.items():
        if name is None:
            raise ArgumentError("--from", "as many cells in every row as in the first", text)
        if text is None or not text.strip():
            continue
        try:
            cells[name.strip()] = text if name == "failed" else float(text)
        except ValueError:
            cells[name.strip()] = text
    return cells


def _result(where: str, entry: Any, problem: Problem) -> TellRow | None:
    """Return one result, ``None`` where there is nothing yet.

    An entry is ``{"id": 7, "weight": 5.1}``; its outcomes may also stand under ``"outcomes"``.
    """
    nested = entry.get("outcomes", {}) if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(nested, Mapping) or "id" not in entry:
        raise ArgumentError(where, "an id and outcomes", repr(entry))
    fields = {name: value for name, value in {**entry, **nested}.items() if value is not None}
    id = fields.pop("id")
    if isinstance(id, bool) or not isinstance(id, int | float) or id != int(id):
        raise ArgumentError(where, "the id of a candidate, a whole number", repr(id))
    failed, final = fields.pop("failed", ""), bool(fields.pop("final", False))
    ours = {"outcomes", "role", "iteration", "x", *problem.variables}
    unknown = [name for name in fields if name not in problem.outcomes and name not in ours]
    if unknown:
        raise ArgumentError(where, f"outcome names out of {list(problem.outcomes)}", unknown)
    if failed:
        return TellRow(int(id), None, str(failed))
    told = {name: outcome_value(name, fields[name]) for name in problem.outcomes if name in fields}
    return TellRow(int(id), told, None, final) if told else None
