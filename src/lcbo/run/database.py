"""Opening an SQLite file safely: clear errors, checks, journal, ownership, atomic appearance."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcbo.errors import RunInUseError, StoreError, StoreWarning
from lcbo.run.owner import Owner

SCHEMA = 1
APPLICATION = 0x4C43424F  # "LCBO", in the header of the file
# SQLite's write-ahead log needs memory shared between processes, which these do not have.
NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "lustre",
        "gpfs",
        "beegfs",
        "ceph",
        "glusterfs",
        "sshfs",
    ]
)


@contextmanager
def explained(path: Path, action: str, loss: str = "") -> Iterator[None]:
    """Turn what SQLite and the system raise into one sentence a user can act on."""
    because = f"; {loss}" if loss else ""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text:
            hint = "the disk is full: make room and go on"
        elif "locked" in text or "busy" in text:
            hint = "another program holds a lock on it"
        elif "readonly" in text or "unable to open" in text:
            hint = "the file or its directory cannot be written to"
        elif "disk I/O" in text:
            hint = "the disk does not answer or has no room"
        else:
            hint = "the run file is damaged, or not a run file"
        raise StoreError(f"{path}: cannot be {action}: {hint} ({text}){because}") from error
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path}: cannot be {action}: {error}{because}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path}: cannot be {action}: the run file is damaged ({error}){because}") from error


def require(path: Path) -> None:
    """Raise unless there is a file."""
    if not path.exists():
        raise StoreError(f"{path}: there is no such run file")
    if path.is_dir():
        raise StoreError(f"{path}: expected a run file; got a directory")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection; ``mode`` is ``ro`` or ``rw``, which never makes a file."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30.0, check_same_thread=False)


def check(db: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is a whole run of a schema we know."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        size = path.stat().st_size
        raise StoreError(
            f"{path}: expected a run file; got {'an empty file' if not size else 'something else'}"
        )
    damage = [text for (text,) in db.execute("PRAGMA quick_check") if text != "ok"]
    if damage:
        raise StoreError(f"{path}: the run file is damaged: {damage[0]}")
    row = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    if row is None or json.loads(row[0]) != SCHEMA:
        found = "none" if row is None else row[0]
        raise StoreError(
            f"{path}: expected a run file of schema {SCHEMA}; got {found}: use the lcbo that wrote it"
        )


def journal(db: sqlite3.Connection, path: Path) -> None:
    """Use a write-ahead log where the file system can, else a rollback journal."""
    kind = file_system(path)
    if kind not in NETWORK and db.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal":
        return
    db.execute("PRAGMA journal_mode=DELETE")
    warnings.warn(
        f"{path}: on this file system ({kind}) SQLite has no write-ahead log; a rollback journal is used, "
        "and programs that read the run may wait for its writes",
        StoreWarning,
        stacklevel=4,
    )


def file_system(path: Path) -> str:
    """Return the type of the file system a file lies on, ``unknown`` where it cannot be told."""
    best, kind = "", "unknown"
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text().splitlines():
            mount, name = line.split()[1:3]
            mount = mount.replace("\\040", " ")
            inside = str(path.absolute().parent) + "/"
            if inside.startswith(mount.rstrip("/") + "/") and len(mount) >= len(best):
                best, kind = mount, name.removeprefix("fuse.")
    return kind


def acquire(db: sqlite3.Connection, path: Path, owner: Owner) -> None:
    """Become the owner, unless another one lives."""
    db.execute("BEGIN IMMEDIATE")
    row = db.execute("SELECT host, boot, pid, birth FROM owner").fetchone()
    if row is not None:
        other = Owner(*row)
        alive = other.alive()
        if alive is not False:
            db.execute("ROLLBACK")
            if other == owner:
                hint = "close it first: optimizer.close()"
            elif alive:
                hint = "wait for it or stop it; reading is possible at any time"
            else:
                hint = f"from here nobody can see whether it lives; if it does not: lcbo unlock {path}"
            raise RunInUseError(f"{path}: {other} is writing to this run; {hint}")
    db.execute(
        "REPLACE INTO owner VALUES (1, ?, ?, ?, ?, ?)",
        [owner.host, owner.boot, owner.pid, owner.birth, time.time()],
    )
    db.execute("COMMIT")


def copy(path: Path) -> sqlite3.Connection:
    """Open a copy of the file and of its log, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal", "-journal"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, Path(folder) / part.name)
        source = sqlite3.connect(Path(folder) / path.name)
        target = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        source.backup(target)
        source.close()
    return target


def unfinished(path: Path) -> Path:
    """Return a new empty file beside ``path``, to be filled before it gets its name."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    fresh.touch(exist_ok=False)
    return fresh


def appear(fresh: Path, path: Path) -> None:
    """Give a finished file its name, never over another one, and make the name durable."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(f"{path} exists") from None
        os.rename(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
