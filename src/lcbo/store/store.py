"""One run in one SQLite file: what was asked, what came, and the state to go on from.

Tables
    meta        facts of the run by key, as JSON: problem, arguments, versions, when it was begun
    owner       the process that writes, if any
    asks        every ask: how many were wanted and handed out, the method's numbers after it
    candidates  every point handed out; ``x`` as JSON in user units, ``u`` as float64 bytes in the unit cube
    tells       every outcome or failure, partial and late ones too, with how the evaluation went
    budgets     the budget from the beginning and whenever it grew
    amendments  what was changed, why, and the problem from there on; in files of amended runs alone
    state       the method's state after the latest ask

``seq`` numbers all asks, tells, budgets and amendments in the order they happened; replaying them is the run.
Every row ends with a checksum. Every write is one transaction, on the disk (``synchronous=FULL``) before the
call returns. A run that was closed is one plain file; while it is written, a log lies beside it.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from lcbo.errors import RunInUseError, StoreError
from lcbo.optimizer.recorder import AmendEntry, AskEntry, TellEntry
from lcbo.store import database
from lcbo.store.database import check, clear_errors, connect, exists, require_run_file
from lcbo.store.origin import origin_of
from lcbo.store.owner import Owner
from lcbo.store.records import StoredContents, contents_in, meta_in, next_seq, owner_in, put, with_errors

logger = logging.getLogger(__name__)
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE owner (
    id INTEGER PRIMARY KEY CHECK (id = 1), host TEXT NOT NULL, boot TEXT NOT NULL, pid INTEGER NOT NULL,
    birth TEXT NOT NULL, token TEXT NOT NULL, seal INTEGER NOT NULL
);
CREATE TABLE asks (
    seq INTEGER PRIMARY KEY, n INTEGER, handed INTEGER NOT NULL, time REAL NOT NULL, info TEXT NOT NULL,
    seal INTEGER NOT NULL
);
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL REFERENCES asks, role TEXT NOT NULL,
    iteration INTEGER NOT NULL, x TEXT NOT NULL, u BLOB NOT NULL, seal INTEGER NOT NULL
);
CREATE TABLE tells (
    seq INTEGER PRIMARY KEY, id INTEGER NOT NULL REFERENCES candidates, time REAL NOT NULL,
    outcomes TEXT NOT NULL, failed TEXT, final INTEGER NOT NULL, late INTEGER NOT NULL,
    worker TEXT NOT NULL, started REAL, seconds REAL, traceback TEXT NOT NULL, attempts INTEGER NOT NULL,
    seal INTEGER NOT NULL
);
CREATE TABLE budgets (seq INTEGER PRIMARY KEY, budget INTEGER, seal INTEGER NOT NULL);
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, state TEXT NOT NULL, seal INTEGER NOT NULL
);
"""
_AMENDMENTS = """
CREATE TABLE IF NOT EXISTS amendments (
    seq INTEGER PRIMARY KEY, time REAL NOT NULL, reason TEXT NOT NULL, changes TEXT NOT NULL,
    problem TEXT NOT NULL, seal INTEGER NOT NULL
)
"""


class Store:
    """A run file opened for writing by this process, which is its owner until `close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, owner: Owner) -> None:
        self.path = path.resolve()
        self.owner = owner
        self._db: sqlite3.Connection | None = connection
        _opened.add(self)

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, Any], budget: int | None) -> Self:
        """Make a new run file; it appears complete or not at all."""
        if exists(path):
            raise StoreError(f"{path}: exists already; Optimizer.open(path) goes on with a run")
        facts = {"created": time.time(), "origin": origin_of(path), **meta}
        with clear_errors(path, "created"):
            fresh = database.temporary_sibling(path)
            try:
                with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
                    db.execute("PRAGMA journal_mode=OFF")  # nobody sees the file before it is complete
                    db.executescript(f"BEGIN; {database.HEADER}; {_TABLES}")
                    for key, value in facts.items():
                        put(db, "meta", [key, json.dumps(value)])
                    put(db, "budgets", [0, budget])
                    db.execute("COMMIT")
                database.publish(fresh, path)
            finally:
                fresh.unlink(missing_ok=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run file for writing and become its owner."""
        require_run_file(path)
        _refuse_inherited(path)
        owner = Owner.this_process()
        with clear_errors(path, "opened"):
            db = connect(path, "rw")
            try:
                check(db, path)
                database.set_journal_mode(db, path)
                db.execute("PRAGMA synchronous=FULL")
                _acquire(db, path, owner)
            except BaseException:
                db.close()
                raise
        logger.info("%s: opened for writing", path)
        return cls(path, db, owner)

    def close(self) -> None:
        """Give the run back; a full disk must not hide what made the caller close."""
        if self._db is None or self.owner.pid != os.getpid():
            return  # a fork must not change anything for its parent, so it does not even disconnect
        db, self._db = self._db, None
        logger.info("%s: closed", self.path)
        _opened.discard(self)
        with suppress(sqlite3.Error):
            db.execute("DELETE FROM owner WHERE token = ?", [self.owner.token])
        with suppress(sqlite3.Error):
            db.execute("PRAGMA busy_timeout=0")  # a reader keeps the log where it is
            db.execute("PRAGMA journal_mode=DELETE")
        with suppress(sqlite3.Error):
            db.close()

    def meta(self) -> dict[str, Any]:
        """Return the facts of the run."""
        with self._using("the facts of the run cannot be read") as db, clear_errors(self.path, "read"):
            return meta_in(db, self.path)

    def contents(self) -> StoredContents:
        """Return everything in the file."""
        with self._using("the run cannot be read") as db, clear_errors(self.path, "read"):
            return contents_in(db, self.path)

    def record_ask(self, entry: AskEntry, state: Mapping[str, Any] | None) -> None:
        """Commit one ask, together with the method's state after it."""
        numbers = json.dumps({name: float(value) for name, value in entry.info.items()})
        wanted, count = None if entry.n is None else int(entry.n), len(entry.candidates)
        with self._writing(f"{count} candidates could not be recorded") as (db, seq):
            put(db, "asks", [seq, wanted, count, time.time(), numbers])
            for c in entry.candidates:
                point = [json.dumps(c.x.tolist()), c.u.astype("<f8").tobytes()]
                put(db, "candidates", [int(c.id), seq, c.role, int(c.iteration), *point])
            if state is not None:
                put(db, "state", [1, seq, json.dumps(state)])

    def record_tell(self, entry: TellEntry) -> None:
        """Commit one tell."""
        told = json.dumps(with_errors(entry.outcomes, entry.sem))
        reason, record = None if entry.failed is None else _storable(entry.failed), entry.record
        what = [told, reason, int(entry.final), int(entry.late)]
        how = [_storable(record.worker), _known(record.started), _known(record.seconds)]
        how += [_storable(record.traceback), int(record.attempts)]
        with self._writing(f"candidate {entry.id} could not be recorded: {reason or told}") as (db, seq):
            put(db, "tells", [seq, int(entry.id), time.time(), *what, *how])

    def record_budget(self, budget: int | None) -> None:
        """Commit a new budget."""
        with self._writing(f"the budget of {budget} could not be recorded") as (db, seq):
            put(db, "budgets", [seq, budget])

    def record_amendment(self, entry: AmendEntry) -> None:
        """Commit one amendment; from the first on, older code refuses the file."""
        changes = json.dumps([asdict(change) for change in entry.changes])
        row = [entry.time, _storable(entry.reason), changes, json.dumps(entry.problem)]
        with self._writing("the amendment could not be recorded") as (db, seq):
            db.execute(_AMENDMENTS)
            db.execute(f"PRAGMA user_version={database.AMENDED}")
            put(db, "amendments", [seq, *row])

    def set_meta(self, **facts: Any) -> None:
        """Commit facts of the run."""
        with self._writing("facts of the run could not be recorded") as (db, _):
            for key, value in facts.items():
                put(db, "meta", [key, json.dumps(value)])

    @contextmanager
    def _using(self, loss: str) -> Iterator[sqlite3.Connection]:
        """Give the connection to this process, as long as the run is open."""
        if self._db is None:
            raise StoreError(f"{self.path}: {loss}: the run was closed")
        if self.owner.pid != os.getpid():
            raise StoreError(f"{self.path}: {loss}: it was opened by {self.owner}, before a fork")
        if not exists(self.path):  # SQLite would write on, to a file that nobody can open any more
            raise StoreError(f"{self.path}: {loss}: the file was moved or removed while the run was open")
        yield self._db

    @contextmanager
    def _writing(self, loss: str) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Make one durable transaction as the owner of the run; gives the number of what happens in it."""
        intact = f"{loss}; everything recorded before is intact"
        with self._using(loss) as db, clear_errors(self.path, "written", intact):
            db.execute("BEGIN IMMEDIATE")
            try:
                owner = owner_in(db, self.path)
                if owner != self.owner:
                    now = f"the run was taken over, it belongs to {owner or 'nobody'} now"
                    raise RunInUseError(f"{self.path}: {loss}: {now}")
                yield db, next_seq(db)
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise


_opened: set[Store] = set()


def read(path: Path) -> StoredContents:
    """Read a run file as it is now, also while its owner writes."""
    require_run_file(path)
    with clear_errors(path, "read"):
        try:
            with closing(connect(path, "ro")) as db:
                check(db, path)
                return contents_in(db, path)
        except sqlite3.OperationalError as error:
            if not database.no_access(error):
                raise
        # A log left by a killed process, in a directory where we may not write.
        with closing(database.open_copy(path)) as db:
            check(db, path)
            return contents_in(db, path)


def unlock(path: Path) -> None:
    """Take a run from an owner that cannot be asked, on another machine say; its user must be sure."""
    require_run_file(path)
    with clear_errors(path, "unlocked"), closing(connect(path, "rw")) as db:
        check(db, path)
        db.execute("DELETE FROM owner")


def tells_in(path: Path) -> int:
    """Return how many tells a run file holds, 0 where it cannot be read: cheap enough to be asked often."""
    with suppress(sqlite3.Error, UnicodeError), closing(connect(path, "ro")) as db:
        return int(db.execute("SELECT count(*) FROM tells").fetchone()[0])
    return 0


def _acquire(db: sqlite3.Connection, path: Path, owner: Owner) -> None:
    """Become the owner, unless another one lives."""
    db.execute("BEGIN IMMEDIATE")
    other = owner_in(db, path)
    ours = other is not None and other.same_process(owner)
    forgotten = ours and all(store.owner != other for store in _opened)  # ended without being recorded
    alive = other is not None and not forgotten and other.alive()
    if other is not None and alive is not False:
        if ours:
            hint = "it is this one: close the optimizer that has it, optimizer.close()"
        elif alive:
            hint = "wait for it or stop it; reading is possible at any time"
        else:
            hint = f"from here nobody can see whether it lives; if it does not: lcbo unlock {path}"
        raise RunInUseError(f"{path}: {other} is writing to this run; {hint}")
    put(db, "owner", [1, owner.host, owner.boot, owner.pid, owner.birth, owner.token])
    db.execute("COMMIT")


def _refuse_inherited(path: Path) -> None:
    """Raise in a fork of a process that has the run open: SQLite's locks do not survive a fork."""
    if any(store.owner.pid != os.getpid() and store.path == path.resolve() for store in _opened):
        raise StoreError(f"{path}: it was open when this process was forked; open it in a fresh process")


def _storable(text: str) -> str:
    """Return a text without the halves of surrogate pairs that broken program output leaves."""
    return str(text).encode(errors="replace").decode()


def _known(number: float | None) -> float | None:
    """Return a number as SQLite gives it back: ``None`` for NaN, 0 for -0."""
    return None if number is None or math.isnan(number) else float(number) + 0.0
