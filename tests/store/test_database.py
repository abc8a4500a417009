import errno
import os
import sqlite3

import pytest

from lcbo import StoreError, StoreWarning
from lcbo.store import database
from lcbo.store.database import (
    clear_errors,
    connect,
    file_system,
    open_copy,
    publish,
    set_journal_mode,
    temporary_sibling,
)
from lcbo.store.records import seal


def failure(call):
    with (
        pytest.raises(StoreError) as raised,
        clear_errors(database.Path("run.db"), "written", "x could not be"),
    ):
        call()
    return str(raised.value)


def test_full_database_is_explained(tmp_path):
    db = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    db.execute("PRAGMA max_page_count=2")
    db.execute("CREATE TABLE t (x)")
    text = failure(lambda: db.execute("INSERT INTO t VALUES (zeroblob(100000))"))
    assert text == (
        "run.db: cannot be written: the disk is full: make room and go on "
        "(database or disk is full); x could not be"
    )
    db.close()


def test_lock_of_another_program_is_explained(tmp_path):
    holder, other = (sqlite3.connect(tmp_path / "a.db", isolation_level=None, timeout=0) for _ in range(2))
    holder.execute("BEGIN EXCLUSIVE")
    assert "another program holds a lock on it" in failure(lambda: other.execute("CREATE TABLE t (x)"))
    holder.close()
    other.close()


def test_missing_permission_is_explained(tmp_path):
    sqlite3.connect(tmp_path / "a.db").close()
    db = connect(tmp_path / "a.db", "ro")
    assert "does not allow it" in failure(lambda: db.execute("CREATE TABLE t (x)"))
    db.close()


def test_file_that_is_no_database_is_explained(tmp_path):
    (tmp_path / "a.db").write_text("a letter, long enough to be mistaken for something else" * 20)
    db = connect(tmp_path / "a.db", "ro")
    assert "damaged, or not a run file" in failure(lambda: db.execute("SELECT * FROM t"))
    db.close()


def test_quoted_garbage_is_cut(tmp_path):
    db = sqlite3.connect(tmp_path / "a.db")
    text = failure(lambda: db.execute("SELECT CAST(x'ff0a1b' || zeroblob(2000) AS TEXT)").fetchall())
    assert text.startswith(
        "run.db: cannot be written: the run file is damaged, or not a run file (Could not de"
    )
    assert "\n" not in text
    assert len(text) < 250
    db.close()


def test_error_of_the_system_is_explained():
    def fail():
        raise OSError(errno.EIO, "Input/output error", "/some/where/.hidden")

    assert failure(fail) == "run.db: cannot be written: Input/output error; x could not be"


def test_errors_of_the_library_itself_pass():
    with pytest.raises(StoreError, match="^mine$"), clear_errors(database.Path("run.db"), "read"):
        raise StoreError("mine")


def test_seal_tells_rows_apart():
    row = [1, "a", None, 0.1, b"\x00"]
    assert seal(row) == seal(tuple(row))
    changed = [[2, *row[1:]], [1, "b", *row[2:]], [*row[:3], 0.2, b"\x00"], [*row[:4], b"\x01"], row[:-1]]
    assert len({seal(r) for r in [row, *changed]}) == 6


@pytest.mark.parametrize("name", ["plain.db", "a b?c#d%20.db", "ü&mode=ro.db"])
def test_any_file_name_can_be_opened(tmp_path, name):
    sqlite3.connect(tmp_path / name).close()
    db = connect(tmp_path / name, "rw")
    db.execute("CREATE TABLE t (x)")
    db.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_opening_never_makes_a_file(tmp_path):
    for mode in ("ro", "rw"):
        with pytest.raises(sqlite3.OperationalError):
            connect(tmp_path / "none.db", mode)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def db(tmp_path):
    sqlite3.connect(tmp_path / "run.db").close()
    connection = connect(tmp_path / "run.db", "rw")
    yield connection
    connection.close()


def mode(db):
    return db.execute("PRAGMA journal_mode").fetchone()[0]


def test_write_ahead_log_on_a_local_disk(db, tmp_path):
    set_journal_mode(db, tmp_path / "run.db")
    assert mode(db) == "wal"


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "cifs"])
def test_rollback_journal_on_a_network_file_system(db, tmp_path, monkeypatch, kind):
    db.execute("PRAGMA journal_mode=WAL")  # as after a copy from a local disk
    monkeypatch.setattr(database, "file_system", lambda _path: kind)
    with pytest.warns(StoreWarning, match=f"{kind}.*rollback journal"):
        set_journal_mode(db, tmp_path / "run.db")
    assert mode(db) == "delete"


def test_rollback_journal_where_the_log_cannot_be_shared(tmp_path):
    """SQLite's dot-file locking has no shared memory, like many network file systems."""
    uri = f"{(tmp_path / 'run.db').as_uri()}?vfs=unix-dotfile"
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    with pytest.warns(StoreWarning, match="rollback journal"):
        set_journal_mode(db, tmp_path / "run.db")
    assert mode(db) == "delete"
    db.close()


def test_file_system_is_that_of_the_nearest_mount(tmp_path, monkeypatch):
    (tmp_path / "far away" / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far away" / "in")
    spaced = str(tmp_path / "far away").replace(" ", "\\040")
    (tmp_path / "mounts").write_text(
        f"/dev/a / ext4 rw 0 0\nserver:/x {spaced} nfs4 rw 0 0\nme@host: {tmp_path}/ssh fuse.sshfs rw 0 0\n"
    )
    monkeypatch.setattr(database, "MOUNTS", tmp_path / "mounts")
    assert file_system(tmp_path / "run.db") == "ext4"
    assert file_system(tmp_path / "far away" / "in" / "run.db") == "nfs4"
    assert file_system(tmp_path / "far away.db") == "ext4"
    assert file_system(tmp_path / "link" / "run.db") == "nfs4"
    assert file_system(tmp_path / "ssh" / "run.db") == "sshfs"
    monkeypatch.setattr(database, "MOUNTS", tmp_path / "none")
    assert file_system(tmp_path / "run.db") == "unknown"


@pytest.mark.parametrize("log", ["WAL", "DELETE"])
def test_copy_holds_what_was_committed(tmp_path, log):
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "run.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA journal_mode={log}")
    db.execute("CREATE TABLE t (x)")
    db.execute("INSERT INTO t VALUES (7)")
    assert path.with_name("run.db-wal").exists() == (log == "WAL")
    (tmp_path / "link.db").symlink_to(path)
    for name in (path, tmp_path / "link.db"):
        copied = open_copy(name)
        assert copied.execute("SELECT x FROM t").fetchall() == [(7,)]
        copied.close()
    db.close()


@pytest.mark.parametrize("hard_links", [True, False])
def test_file_appears_whole_and_never_over_another(tmp_path, monkeypatch, hard_links):
    if not hard_links:

        def refuse(_source, _target):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "run.db"
    first, second = temporary_sibling(path), temporary_sibling(path)
    first.write_text("first")
    second.write_text("second")
    publish(first, path)
    with pytest.raises(FileExistsError):
        publish(second, path)
    assert path.read_text() == "first"
