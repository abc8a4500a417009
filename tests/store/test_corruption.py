"""A damaged run file gives an earlier state of the run or one clear sentence, no traceback of SQLite's."""

import os
import random
import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

import lcbo
from lcbo import Optimizer, Problem, Record, StoreError
from lcbo.store.owner import Owner
from lcbo.store.store import read, tells_in, unlock

pytestmark = pytest.mark.usefixtures("uniform")

PROBLEM = Problem([(0, 1)] * 6, ["c <= 0.5"], "f")


def entry_key(entry):
    """Return an entry as something that can be compared."""
    fields = dict(vars(entry))
    if "candidates" in fields:
        fields["candidates"] = [
            (c.id, c.x.tobytes(), c.role, c.iteration, c.u.tobytes()) for c in entry.candidates
        ]
    return type(entry).__name__, fields


@pytest.fixture
def killed(quick_folder, monkeypatch):
    """A folder with the files a killed process leaves, most of the run in the log, and the run's entries."""
    me = Owner.this_process()
    original, left = quick_folder / "original", quick_folder / "killed"
    original.mkdir()
    path = original / "run.db"

    def tell(optimizer, candidate):
        values = {"f": float(candidate.x.sum()), "c": float(candidate.x[0])}
        if candidate.id % 5 == 2:
            optimizer.tell(candidate.id, failed="it\nfailed", record=Record(traceback="line\n" * 20))
        else:
            optimizer.tell(candidate.id, values)

    with Optimizer(PROBLEM, "uniform", budget=60, rng=1, store=path) as optimizer:
        for candidate in optimizer.ask():
            tell(optimizer, candidate)
    with monkeypatch.context() as patch:
        patch.setattr(Owner, "this_process", lambda: replace(me, birth="1"))
        with Optimizer.open(path) as optimizer:
            for _ in range(30):
                tell(optimizer, (optimizer.pending or optimizer.ask())[0])
            shutil.copytree(original, left)
            finished = [entry_key(entry) for entry in optimizer.store.contents().entries]
    (left / "run.db-shm").unlink()  # made anew from the log
    return left, finished


@pytest.fixture
def closed(killed):
    """The same run, closed as it should be."""
    folder, finished = killed
    plain = folder.with_name("closed")
    shutil.copytree(folder, plain)
    Optimizer.open(plain / "run.db").close()
    assert os.listdir(plain) == ["run.db"]
    return plain, finished


def refused(call):
    """Return whether a call is refused with one clear sentence."""
    try:
        call()
    except StoreError as error:
        text = str(error)
    else:
        return False
    assert "run.db: " in text
    assert "\n" not in text
    assert len(text) < 400
    return True


def look(path):
    run = lcbo.open_run(path)
    assert run.status.ended == len(run.history)
    run.result()
    assert len(run.trace) <= run.status.asked


def go_on(path):
    with Optimizer.open(path) as optimizer:
        ended = optimizer.n_ended
        optimizer.tell((optimizer.pending or optimizer.ask())[0].id, failed="x")
        assert optimizer.n_ended == ended + 1


def examine(path, finished):
    """Look at a damaged run in every way; return how many entries are left, ``None`` when it is refused."""
    copy = path.parent.with_name("continued")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path.parent, copy)
    assert tells_in(path) >= 0
    left = None
    if not refused(lambda: look(path)):
        entries = [entry_key(entry) for entry in read(path).entries]
        left = len(entries)
        assert entries == finished[:left]
    if not refused(lambda: go_on(copy / "run.db")):
        entries = [entry_key(entry) for entry in read(copy / "run.db").entries]
        common = min(len(entries) - 2, len(finished))  # without the new tell, and perhaps an ask
        assert entries[:common] == finished[:common]
    return left


def damage(folder, name, rng):
    """Flip, zero, swap or cut something at random."""
    file = folder / name
    data = bytearray(file.read_bytes())
    at = rng.randrange(len(data))
    kind = rng.choice(["flip", "flip", "zero", "noise", "cut", "page", "grow"])
    if kind == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "zero":
        data[at : at + rng.randrange(1, 600)] = b""
    elif kind == "noise":
        count = min(rng.randrange(1, 600), len(data) - at)
        data[at : at + count] = rng.randbytes(count)
    elif kind == "cut":
        del data[at:]
    elif kind == "page":
        other, here = (rng.randrange(max(len(data) // 4096, 1)) * 4096 for _ in range(2))
        data[here : here + 4096] = data[other : other + 4096]
    else:
        data += rng.randbytes(rng.randrange(1, 9000))
    file.write_bytes(data)
    return f"{kind} at {at} of {name}"


def try_all(source, finished, names, count, seed):
    """Damage a copy of the run ``count`` times; return how often it was still whole, shorter and refused."""
    rng = random.Random(seed)
    fates = {"whole": 0, "earlier": 0, "refused": 0}
    for number in range(count):
        folder = source.with_name("damaged")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        what = damage(folder, rng.choice(names), rng)
        try:
            left = examine(folder / "run.db", finished)
        except Exception as error:
            error.add_note(f"number {number}: {what}")
            raise
        fates["refused" if left is None else "whole" if left == len(finished) else "earlier"] += 1
    return fates


def test_undamaged_run_is_whole(killed, closed):
    for folder, finished in (killed, closed):
        assert examine(folder / "run.db", finished) == len(finished)


def test_random_damage_to_a_closed_run(closed):
    fates = try_all(*closed, ["run.db"], 40, seed=1)
    assert fates["refused"] > 10
    assert fates["whole"] > 0  # unused bytes


def test_random_damage_to_a_killed_run(killed):
    fates = try_all(*killed, ["run.db-wal", "run.db-wal", "run.db"], 40, seed=2)
    assert fates["earlier"] > 3
    assert fates["refused"] > 0


@pytest.mark.slow
def test_much_random_damage(closed, killed):
    try_all(*closed, ["run.db"], 1000, seed=3)
    try_all(*killed, ["run.db-wal", "run.db-wal", "run.db"], 1000, seed=4)


def test_truncation(closed, killed):
    source, finished = closed
    size = (source / "run.db").stat().st_size
    for length in [*range(0, 200, 19), *np.linspace(0, size - 1, 15).astype(int)]:
        folder = source.with_name("damaged")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        os.truncate(folder / "run.db", length)
        assert examine(folder / "run.db", finished) is None
    source, finished = killed
    size = (source / "run.db-wal").stat().st_size
    lefts = []
    for length in [*range(0, 100, 9), *np.linspace(0, size, 15).astype(int)]:
        folder = source.with_name("damaged")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        os.truncate(folder / "run.db-wal", length)
        lefts.append(examine(folder / "run.db", finished))
    assert lefts[0] is not None
    assert lefts == sorted(lefts)  # a shorter log is an earlier state, never a refusal
    assert lefts[-1] == len(finished)


def test_lost_log_gives_the_state_before_it(killed):
    folder, finished = killed
    (folder / "run.db-wal").unlink()
    left = examine(folder / "run.db", finished)
    assert left is not None
    assert 8 <= left < len(finished)


def test_log_of_another_run_is_not_mixed_in(killed, quick_folder):
    folder, finished = killed
    other = quick_folder / "other.db"
    with Optimizer(PROBLEM, "uniform", budget=9, rng=2, store=other) as optimizer:
        optimizer.tell(optimizer.ask()[0].id, failed="other")
        shutil.copy(f"{other}-wal", folder / "run.db-wal")
    left = examine(folder / "run.db", finished)
    assert left is None or left < len(finished)


def test_every_value_is_guarded(closed):
    """Change one stored value at a time, as a careless hand with a database tool would."""

    folder, _ = closed
    db = sqlite3.connect(folder / "run.db")
    tables = {
        table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        for table in ("meta", "asks", "candidates", "tells", "budgets")
    }
    db.close()
    for table, columns in tables.items():
        for column in columns:
            damaged = folder.with_name("damaged.db")
            shutil.copy(folder / "run.db", damaged)
            db = sqlite3.connect(damaged)
            key = columns[0]
            changed = f"UPDATE {table} SET {column} = coalesce({column}, 0) || '7' WHERE {key} ="
            db.execute(f"{changed} (SELECT max({key}) FROM {table})")
            db.commit()
            db.close()
            with pytest.raises(StoreError, match="the run file is damaged"):
                read(damaged)


@pytest.mark.parametrize("table", ["asks", "candidates", "tells", "budgets"])
def test_missing_rows_are_noticed(closed, table):

    folder, _ = closed
    db = sqlite3.connect(folder / "run.db", isolation_level=None)
    db.execute(f"DELETE FROM {table} WHERE rowid = (SELECT min(rowid) FROM {table})")
    db.close()
    with pytest.raises(
        StoreError, match="the run file is damaged: (its events are not complete|candidates are)"
    ):
        read(folder / "run.db")


def test_damaged_owner_can_be_removed(killed):

    folder, finished = killed
    db = sqlite3.connect(folder / "run.db", isolation_level=None)
    db.execute("UPDATE owner SET pid = pid + 1")
    db.close()
    with pytest.raises(StoreError, match="table owner has changed"):
        Optimizer.open(folder / "run.db")
    unlock(folder / "run.db")
    assert examine(folder / "run.db", finished) == len(finished)
