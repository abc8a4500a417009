"""What happened in a run as rows of its file: written with a checksum, read only if it is still right."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.errors import StoreError
from lcbo.optimizer.plan.describe import renamed_options
from lcbo.optimizer.recorder import AmendEntry, AskEntry, BudgetEntry, Contents, LogEntry, TellEntry
from lcbo.problem.changes import Change
from lcbo.store.database import AMENDED
from lcbo.store.owner import Owner
from lcbo.types import Evaluation, Record

_ERRORS = ""  # no outcome has this name


@dataclass(frozen=True)
class StoredContents(Contents):
    """The contents of a run file, and the process that writes to it, or did when it died."""

    writer: Owner | None


def with_errors(outcomes: Mapping[str, float], sem: Mapping[str, float]) -> dict[str, Any]:
    """Return outcomes as a row has them; where standard errors are known, beside them under no name."""
    told: dict[str, Any] = {name: float(value) for name, value in outcomes.items()}
    return told | ({_ERRORS: {name: float(value) for name, value in sem.items()}} if sem else {})


def seal(row: Sequence[Any]) -> int:
    """Return the checksum behind a row: SQLite itself does not notice a byte that has changed."""
    return zlib.crc32(repr(tuple(row)).encode())


def contents_in(db: sqlite3.Connection, path: Path) -> StoredContents:
    """Return everything in a file, or raise where something is missing."""
    db.execute("BEGIN")  # all reads see one moment of the run
    try:
        entries = _entries(db, path)
        state = next(((seq, json.loads(state)) for _, seq, state in _rows(db, path, "state")), None)
        contents = StoredContents(path, meta_in(db, path), entries, state, owner_in(db, path))
    finally:
        db.execute("ROLLBACK")
    asks = {entry.seq for entry in entries if isinstance(entry, AskEntry)}
    begun = bool(entries) and isinstance(entries[0], BudgetEntry)
    whole = [entry.seq for entry in entries] == list(range(len(entries)))
    if not begun or not whole or (state is not None and state[0] not in asks):
        raise StoreError(f"{path}: the run file is damaged: its events are not complete")
    return contents


def _entries(db: sqlite3.Connection, path: Path) -> list[LogEntry]:
    rows = list(_rows(db, path, "candidates"))
    points = np.array(_parsed(row[4] for row in rows))
    points.flags.writeable = False
    handed: dict[int, list[Evaluation]] = {}
    for (id, seq, role, iteration, _, u), x in zip(rows, points, strict=True):
        handed.setdefault(seq, []).append(Evaluation(id, x, np.frombuffer(u, "<f8"), role, iteration))
    asks, tells = list(_rows(db, path, "asks")), list(_rows(db, path, "tells"))
    handed_out = all(len(handed.get(seq, [])) == count for seq, _, count, *_ in asks)
    if not handed_out or {row[1] for row in tells} - {row[0] for row in rows}:
        raise StoreError(f"{path}: the run file is damaged: candidates are missing")
    entries: list[LogEntry] = [
        AskEntry(n, numbers, handed.get(seq, []), when, seq)
        for (seq, n, _, when, _), numbers in zip(asks, _parsed(row[4] for row in asks), strict=True)
    ]
    entries += [
        TellEntry(id, told, failed, bool(final), Record(*how), bool(late), when, seq, told.pop(_ERRORS, {}))
        for (seq, id, when, _, failed, final, late, *how), told in zip(
            tells, _parsed(row[3] for row in tells), strict=True
        )
    ]
    entries += [BudgetEntry(budget, seq) for seq, budget in _rows(db, path, "budgets")]
    if _amended(db):
        entries += [
            AmendEntry([Change(**c) for c in json.loads(changes)], json.loads(problem), reason, when, seq)
            for seq, when, reason, changes, problem in _rows(db, path, "amendments")
        ]
    return sorted(entries, key=lambda entry: entry.seq)


def next_seq(db: sqlite3.Connection) -> int:
    """Return the number of what happens next."""
    tables = ["asks", "tells", "budgets", *(["amendments"] if _amended(db) else [])]
    latest = " UNION ALL ".join(f"SELECT max(seq) AS seq FROM {table}" for table in tables)
    return int(db.execute(f"SELECT 1 + max(seq) FROM ({latest})").fetchone()[0])


def _amended(db: sqlite3.Connection) -> bool:
    return bool(db.execute("PRAGMA user_version").fetchone()[0] == AMENDED)


def _parsed(texts: Iterable[str]) -> list[Any]:
    """Return what many JSON texts say; together they are read much faster than one by one."""
    values: list[Any] = json.loads(f"[{','.join(texts)}]")
    return values


def meta_in(db: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Return the facts of the run."""
    facts = {key: json.loads(value) for key, value in _rows(db, path, "meta")}
    if "options" in facts:
        facts["options"] = renamed_options(facts["options"], facts["method"])
    return facts


def owner_in(db: sqlite3.Connection, path: Path) -> Owner | None:
    """Return the process that writes, or did when it died."""
    return next((Owner(*fields) for _, *fields in _rows(db, path, "owner")), None)


def _rows(db: sqlite3.Connection, path: Path, table: str) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a table as they were written, or raise."""
    for row in db.execute(f"SELECT * FROM {table}"):
        values = row[:-1]
        if seal(values) != row[-1]:
            raise StoreError(f"{path}: the run file is damaged: a row of its table {table} has changed")
        yield values


def put(db: sqlite3.Connection, table: str, row: Sequence[Any]) -> None:
    """Write a row; only facts, owner and state are ever replaced."""
    verb = "REPLACE" if table in ("meta", "owner", "state") else "INSERT"
    db.execute(f"{verb} INTO {table} VALUES ({', '.join('?' * (len(row) + 1))})", [*row, seal(row)])
