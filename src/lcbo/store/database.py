"""Opening an SQLite file safely: clear errors, checks, journal mode, atomic appearance."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from lcbo.errors import StoreError, StoreWarning
from lcbo.text import brief

SCHEMA = 1
AMENDED = 2  # of a file with amendments, which code that knows none of them must not continue
APPLICATION = 0x4C43424F  # "LCBO", in the header of the file
HEADER = f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={SCHEMA}"
# SQLite's write-ahead log needs memory shared between all who use the file, which these do not have.
# fmt: off
NETWORK = frozenset([
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "lustre", "gpfs", "beegfs", "ceph", "ceph-fuse",
    "glusterfs", "panfs", "orangefs", "sshfs", "s3fs", "rclone", "davfs", "vboxsf", "vmhgfs", "vmhgfs-fuse",
])
# fmt: on
MOUNTS = Path("/proc/mounts")
_NO_ACCESS = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
_HINTS = {
    "SQLITE_FULL": "the disk is full: make room and go on",
    "SQLITE_IOERR": "the disk does not answer, or has no room",
    "SQLITE_BUSY": "another program holds a lock on it",
    "SQLITE_LOCKED": "another program holds a lock on it",
} | dict.fromkeys(_NO_ACCESS, "the file or its directory does not allow it")


@contextmanager
def clear_errors(path: Path, action: str, loss: str = "") -> Iterator[None]:
    """Turn what SQLite and the system raise into one sentence a user can act on."""
    because = f"; {loss}" if loss else ""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # SQLite may quote damaged text even in its errors
        damaged = "the run file is damaged, or not a run file"
        hint = next((hint for name, hint in _HINTS.items() if _kind(error).startswith(name)), damaged)
        printable = "".join(c if c.isprintable() else " " for c in str(error))
        said = brief(" ".join(printable.split()), 100)
        raise StoreError(f"{path}: cannot be {action}: {hint} ({said}){because}") from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be {action}: {error.strerror or error}{because}") from error


def _kind(error: Exception) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def no_access(error: sqlite3.Error) -> bool:
    """Return whether permissions, rather than the file itself, were in the way."""
    return _kind(error).startswith(_NO_ACCESS)


def exists(path: Path) -> bool:
    """Return whether there is something of that name."""
    with clear_errors(path, "opened"):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def require_run_file(path: Path) -> None:
    """Raise unless there is a file."""
    if not exists(path):
        raise StoreError(f"{path}: there is no such run file")
    if not path.is_file():
        raise StoreError(f"{path}: expected a run file; got {'a directory' if path.is_dir() else 'no file'}")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection; ``mode`` is ``ro`` or ``rw``, which never makes a file."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30.0, check_same_thread=False)


def check(db: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is a whole run of a schema we know."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        got = "something else" if path.stat().st_size else "an empty file"
        raise StoreError(f"{path}: expected a run file; got {got}")
    schema = db.execute("PRAGMA user_version").fetchone()[0]
    if schema not in (SCHEMA, AMENDED):
        got = f"schema {schema}: use the lcbo that wrote it"
        raise StoreError(f"{path}: expected a run file of schema {SCHEMA}; got {got}")
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"{path}: the run file is damaged: {found.splitlines()[-1]}")


def set_journal_mode(db: sqlite3.Connection, path: Path) -> None:
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
    inside = str(path.resolve().parent) + "/"
    with suppress(OSError):
        for line in MOUNTS.read_text(errors="replace").splitlines():
            mount, name = line.split()[1:3]
            mount = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount)
            if inside.startswith(mount.rstrip("/") + "/") and len(mount) >= len(best):
                best, kind = mount, name.removeprefix("fuse.")
    return kind


def open_copy(path: Path) -> sqlite3.Connection:
    """Open a copy of the file and of its log, in memory."""
    real = path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal", "-journal"):
            part = real.with_name(real.name + suffix)
            if part.exists():
                shutil.copyfile(part, Path(folder) / part.name)
        target = sqlite3.connect(":memory:", isolation_level=None)
        with closing(sqlite3.connect(Path(folder) / real.name)) as source:
            source.backup(target)
    return target


def temporary_sibling(path: Path) -> Path:
    """Return a new empty file beside ``path``, to be filled before it gets its name."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    fresh.touch(exist_ok=False)
    return fresh


def publish(fresh: Path, path: Path) -> None:
    """Give a finished file its name, never over another one, and make the name durable."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if exists(path):
            raise FileExistsError(f"{path} exists") from None
        os.rename(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    with suppress(OSError):  # some network file systems cannot
        os.fsync(folder)
    os.close(folder)
