"""Results of many evaluations in a CSV or JSON file, as read by ``lcbo tell --from``.

The columns that ``lcbo ask`` prints may stay in the file; they are ignored.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lcbo.checks import is_number
from lcbo.errors import ArgumentError
from lcbo.problem import Problem, outcome_value


def read_results(path: Path, problem: Problem) -> list[dict[str, Any]]:
    """Return the arguments of `Optimizer.tell` for the results in a file; ``-`` reads JSON lines.

    All of them are checked before any is told. Rows without any outcome are not done yet and left out.
    """
    piped = str(path) == "-"
    if piped or path.suffix.lower() in (".json", ".jsonl"):
        name = "standard input" if piped else str(path)
        text = sys.stdin.read() if piped else path.read_text(encoding="utf-8-sig")
        entries = [(f"{name}, entry {number}", entry) for number, entry in _objects(name, text)]
    elif path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = enumerate(csv.DictReader(file), 2)
            entries = [(f"{path}, line {number}", _cells(row)) for number, row in rows]
    else:
        raise ArgumentError("--from", "a file ending in .csv, .json or .jsonl, or -", repr(str(path)))
    told = [result for where, entry in entries if (result := _result(where, entry, problem))]
    if not told:
        raise ArgumentError(str(path), f"results with outcomes out of {list(problem.outcomes)}", "none")
    return told


def _objects(name: str, text: str) -> list[tuple[int, Any]]:
    """Return the objects of a JSON list, of one JSON object, or of JSON lines, numbered from 1."""
    with suppress(json.JSONDecodeError):
        whole = json.loads(text)
        return list(enumerate(whole if isinstance(whole, list) else [whole], 1))
    try:
        return [(n, json.loads(line)) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    except json.JSONDecodeError as error:
        raise ArgumentError(name, "JSON: a list, or one object per line", error) from None


def _cells(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """Return the filled cells of a row, numbers as numbers."""
    if None in row:
        raise ArgumentError("--from", "as many cells in every row as in the first", row[None])
    cells = {str(name).strip(): text for name, text in row.items() if text and text.strip()}
    for name in cells.keys() - {"failed"}:
        with suppress(ValueError):
            cells[name] = float(cells[name])
    return cells


def _result(where: str, entry: Any, problem: Problem) -> dict[str, Any] | None:
    """Return one result, ``None`` where there is nothing yet.

    An entry is ``{"id": 7, "weight": 5.1}``; its outcomes may also stand under ``"outcomes"``.
    """
    nested = entry.get("outcomes", {}) if isinstance(entry, Mapping) else None
    if not isinstance(nested, Mapping) or "id" not in entry:
        raise ArgumentError(where, "an id and outcomes", repr(entry))
    fields = {name: value for name, value in {**entry, **nested}.items() if value is not None}
    id, failed, final = fields.pop("id", None), fields.pop("failed", ""), bool(fields.pop("final", False))
    if not is_number(id) or id % 1:
        raise ArgumentError(where, "the id of a candidate, a whole number", repr(id))
    ignored = {"outcomes", "role", "iteration", "x", *problem.variables}
    unknown = [name for name in fields if name not in problem.outcomes and name not in ignored]
    if unknown:
        raise ArgumentError(where, f"outcome names out of {list(problem.outcomes)}", unknown)
    if failed:
        return {"id": int(id), "failed": str(failed)}
    told = {name: outcome_value(name, fields[name]) for name in problem.outcomes if name in fields}
    return {"id": int(id), "outcomes": told, "final": final} if told else None
