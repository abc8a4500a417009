"""One run in one SQLite file: what was asked, what came, and the state to go on from.

Tables
    meta        facts of the run by key, as JSON: schema, problem, arguments, versions, times
    owner       the process that writes, if any
    asks        every ask: how many were wanted, the method's numbers after it
    candidates  every point handed out; ``x`` as JSON in user units, ``u`` as float64 bytes in the unit cube
    tells       every outcome or failure, partial and late ones too, with how the evaluation went
    budgets     the budget from the beginning and whenever it grew
    state       the method's state after the latest ask

``seq`` numbers all asks, tells and budgets in the order they happened; replaying them is the run. Every
write is one transaction, on the disk (``synchronous=FULL``) before the call returns.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from lcbo.errors import RunInUseError, StoreError
from lcbo.run.database import (
    APPLICATION,
    SCHEMA,
    acquire,
    appear,
    check,
    connect,
    copy,
    explained,
    journal,
    require,
    unfinished,
)
from lcbo.run.owner import Owner
from lcbo.types import Array, Candidate, Record

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE owner (
    id INTEGER PRIMARY KEY CHECK (id = 1), host TEXT NOT NULL, boot TEXT NOT NULL, pid INTEGER NOT NULL,
    birth TEXT NOT NULL, since REAL NOT NULL
);
CREATE TABLE asks (seq INTEGER PRIMARY KEY, n INTEGER, time REAL NOT NULL, info TEXT NOT NULL);
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL REFERENCES asks, role TEXT NOT NULL,
    iteration INTEGER NOT NULL, x TEXT NOT NULL, u BLOB NOT NULL
);
CREATE TABLE tells (
    seq INTEGER PRIMARY KEY, id INTEGER NOT NULL REFERENCES candidates, time REAL NOT NULL,
    outcomes TEXT NOT NULL, failed TEXT, final INTEGER NOT NULL, late INTEGER NOT NULL,
    worker TEXT NOT NULL, started REAL, seconds REAL, traceback TEXT NOT NULL, attempts INTEGER NOT NULL
);
CREATE TABLE budgets (seq INTEGER PRIMARY KEY, budget INTEGER);
CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, state TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Asked:
    """One ask: the number wanted, the candidates handed out with their cube points, the method's numbers."""

    seq: int
    n: int | None
    time: float
    info: Mapping[str, float]
    candidates: Sequence[tuple[Candidate, Array]]


@dataclass(frozen=True)
class Reported:
    """One tell as it was made; ``late`` ones came after the evaluation had been given up."""

    seq: int
    id: int
    time: float
    outcomes: Mapping[str, float]
    failed: str | None
    final: bool
    late: bool
    record: Record


@dataclass(frozen=True)
class Budgeted:
    """The budget from here on."""

    seq: int
    budget: int | None


Entry = Asked | Reported | Budgeted


class Store:
    """An open run file.

    Args:
        path: the file.
        connection: open and checked.
        owner: the identity under which this process writes, ``None`` when it only reads.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, owner: Owner | None) -> None:
        self.path = path
        self.owner = owner
        self._db = connection
        self._next = 1 + max(self._latest(table) for table in ("asks", "tells", "budgets"))

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, Any], budget: int | None) -> Self:
        """Make a new run file; it appears complete or not at all."""
        with explained(path, "created"):
            fresh = unfinished(path)
            try:
                with sqlite3.connect(fresh, isolation_level=None) as db:
                    db.executescript(f"PRAGMA synchronous=FULL; BEGIN; {_TABLES}")
                    facts = {"schema": SCHEMA, "created": time.time(), **meta}
                    db.executemany(
                        "INSERT INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in facts.items()]
                    )
                    db.execute("INSERT INTO budgets VALUES (0, ?)", [budget])
                    db.execute("COMMIT")
                    db.execute(f"PRAGMA application_id={APPLICATION}")
                db.close()
                appear(fresh, path)
            finally:
                fresh.unlink(missing_ok=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run file for writing and become its owner."""
        require(path)
        owner = Owner.this_process()
        with explained(path, "opened"):
            db = connect(path, "rw")
            try:
                check(db, path)
                journal(db, path)
                db.execute("PRAGMA synchronous=FULL")
                acquire(db, path, owner)
            except BaseException:
                db.close()
                raise
            return cls(path, db, owner)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open a run file for reading, also while its owner writes."""
        require(path)
        with explained(path, "read"):
            try:
                db = connect(path, "ro")
                check(db, path)
            except sqlite3.OperationalError:
                db = copy(path)  # a log left by a killed process in a directory we may not write to
                check(db, path)
            return cls(path, db, None)

    def close(self) -> None:
        """Give the run back; a full disk must not hide what made the caller close."""
        if self.owner is not None and self.owner.pid == os.getpid():  # not in a forked child
            with suppress(sqlite3.Error):
                self._db.execute(
                    "DELETE FROM owner WHERE pid = ? AND birth = ?", [self.owner.pid, self.owner.birth]
                )
        with suppress(sqlite3.Error):
            self._db.close()

    def meta(self) -> dict[str, Any]:
        """Return the facts of the run."""
        with explained(self.path, "read"):
            return {key: json.loads(value) for key, value in self._db.execute("SELECT key, value FROM meta")}

    def writer(self) -> Owner | None:
        """Return the process that writes, or did when it died."""
        with explained(self.path, "read"):
            row = self._db.execute("SELECT host, boot, pid, birth FROM owner").fetchone()
        return None if row is None else Owner(*row)

    def entries(self) -> list[Entry]:
        """Return everything that happened, in order."""
        with explained(self.path, "read"), self._snapshot():
            handed: dict[int, list[tuple[Candidate, Array]]] = {}
            rows = self._db.execute("SELECT id, seq, role, iteration, x, u FROM candidates ORDER BY id")
            for id, seq, role, iteration, x, u in rows:
                point = np.array(json.loads(x))
                point.flags.writeable = False
                pair = Candidate(id, point, role, iteration), np.frombuffer(u)
                handed.setdefault(seq, []).append(pair)
            entries: list[Entry] = [
                Asked(seq, n, when, json.loads(info), handed.pop(seq, []))
                for seq, n, when, info in self._db.execute("SELECT seq, n, time, info FROM asks")
            ]
            entries += [
                Reported(
                    seq, id, when, json.loads(outcomes), failed, bool(final), bool(late), Record(*record)
                )
                for seq, id, when, outcomes, failed, final, late, *record in self._db.execute(
                    "SELECT seq, id, time, outcomes, failed, final, late,"
                    " worker, started, seconds, traceback, attempts FROM tells"
                )
            ]
            entries += [Budgeted(*row) for row in self._db.execute("SELECT seq, budget FROM budgets")]
        entries.sort(key=lambda entry: entry.seq)
        if handed or [entry.seq for entry in entries] != list(range(len(entries))):
            raise StoreError(f"{self.path}: the run file is damaged: its events are not complete")
        return entries

    def state(self) -> tuple[int, dict[str, Any]] | None:
        """Return the method's latest state and the ``seq`` it was taken after."""
        with explained(self.path, "read"):
            row = self._db.execute("SELECT seq, state FROM state").fetchone()
        return None if row is None else (row[0], json.loads(row[1]))

    def record_ask(
        self,
        n: int | None,
        candidates: Sequence[tuple[Candidate, Array]],
        info: Mapping[str, float],
        state: Mapping[str, Any] | None,
    ) -> None:
        """Commit one ask, together with the method's state after it."""
        with self._transaction(f"{len(candidates)} candidates could not be recorded") as seq:
            self._db.execute(
                "INSERT INTO asks VALUES (?, ?, ?, ?)", [seq, n, time.time(), json.dumps(dict(info))]
            )
            self._db.executemany(
                "INSERT INTO candidates VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (c.id, seq, c.role, c.iteration, json.dumps(c.x.tolist()), u.tobytes())
                    for c, u in candidates
                ],
            )
            if state is not None:
                self._db.execute("REPLACE INTO state VALUES (1, ?, ?)", [seq, json.dumps(state)])

    def record_tell(
        self,
        id: int,
        outcomes: Mapping[str, float],
        *,
        failed: str | None,
        final: bool,
        record: Record,
        late: bool = False,
    ) -> None:
        """Commit one tell."""
        told = json.dumps(dict(outcomes))
        with self._transaction(f"candidate {id} could not be recorded ({failed or told})") as seq:
            self._db.execute(
                "INSERT INTO tells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [seq, id, time.time(), told, failed, final, late, *astuple(record)],
            )

    def record_budget(self, budget: int | None) -> None:
        """Commit a new budget."""
        with self._transaction(f"the budget of {budget} could not be recorded") as seq:
            self._db.execute("INSERT INTO budgets VALUES (?, ?)", [seq, budget])

    def set_meta(self, **facts: Any) -> None:
        """Commit facts of the run."""
        with self._write("facts of the run could not be recorded"):
            self._db.executemany(
                "REPLACE INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in facts.items()]
            )

    @contextmanager
    def _transaction(self, loss: str) -> Iterator[int]:
        with self._write(loss):
            yield self._next
        self._next += 1

    @contextmanager
    def _write(self, loss: str) -> Iterator[None]:
        """Make one durable transaction as the owner of the run."""
        if self.owner is None:
            raise StoreError(f"{self.path}: {loss}: the run file was opened for reading only")
        with explained(self.path, "written", f"{loss}; everything recorded before is intact"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                row = self._db.execute("SELECT host, boot, pid, birth FROM owner").fetchone()
                if row is None or Owner(*row) != self.owner:
                    now = "nobody" if row is None else Owner(*row)
                    raise RunInUseError(f"{self.path}: {loss}: the run was taken over; it belongs to {now}")
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Make several reads see one moment of the run."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    def _latest(self, table: str) -> int:
        with explained(self.path, "read"):
            value = self._db.execute(f"SELECT max(seq) FROM {table}").fetchone()[0]
        return -1 if value is None else int(value)


def unlock(path: Path) -> None:
    """Take a run from an owner that cannot be asked, on another machine say; its user must be sure."""
    require(path)
    with explained(path, "unlocked"):
        db = connect(path, "rw")
        check(db, path)
        db.execute("DELETE FROM owner")
        db.close()


def tells_in(path: Path) -> int:
    """Return how many tells a run file holds, 0 where it cannot be read: cheap enough to be asked often."""
    with suppress(sqlite3.Error):
        db = connect(path, "ro")
        try:
            return int(db.execute("SELECT count(*) FROM tells").fetchone()[0])
        finally:
            db.close()
    return 0
