"""The run file itself, without an optimizer."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lcbo import RunInUseError, StoreError, StoreWarning
from lcbo.optimizer.recorder import AskEntry, BudgetEntry, TellEntry
from lcbo.store import database
from lcbo.store.owner import Owner
from lcbo.store.store import Store, read, tells_in, unlock
from lcbo.types import Candidate, Record

EXTREMES = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, -1e-17]


@pytest.fixture
def path(quick_folder: Path) -> Path:
    return quick_folder / "run.db"


def asked(*ids: int) -> list[Candidate]:
    return [Candidate(i, np.array([i + 0.1, -0.0]), np.array([1 / (i + 3), 0.0]), "init", 0) for i in ids]


def told(run: Store, id: int, **outcomes: float) -> None:
    run.record_tell(TellEntry(id, outcomes, failed=None, final=False, record=Record()))


def fork(action) -> int:
    """Run ``action`` in a fork and return its exit code: 0 when it returned true, 1 when not, 2 on errors."""
    pid = os.fork()
    if pid == 0:
        try:
            code = 0 if action() else 1
        except BaseException:
            code = 2
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_everything_comes_back_as_it_went_in(path):
    run = Store.create(path, {"problem": {"a": [1.5, None]}, "seed": 2**40}, 50)
    handed = asked(0, 1)
    run.record_ask(AskEntry(None, {"iteration": 0, "step": np.float64(0.1)}, handed), {"x": EXTREMES})
    how = Record("w3 @ ü", 12.25, 1e-3, "Traceback:\n\x00 boom", 2)
    outcomes = dict(zip("abcdef", EXTREMES, strict=True))
    run.record_tell(TellEntry(1, outcomes, failed=None, final=True, record=how))
    run.record_tell(TellEntry(0, {}, failed="no 'luck' \udcff", final=False, record=Record()))
    run.record_tell(TellEntry(0, {"a": 1.0}, failed=None, final=True, record=Record(), late=True))
    run.record_budget(None)
    run.set_meta(note=[1, 2], seed=3)
    past = run.contents()
    run.close()
    for contents in (past, read(path)):
        assert contents.meta["problem"] == {"a": [1.5, None]}
        assert contents.meta["seed"] == 3
        assert contents.meta["note"] == [1, 2]
        assert contents.state == (1, {"x": EXTREMES})
        assert contents.first_budget == 50
        begin, ask, done, failed, late, budget = contents.entries
        assert [entry.seq for entry in contents.entries] == list(range(6))
        assert (begin, budget) == (BudgetEntry(50, 0), BudgetEntry(None, 5))
        assert isinstance(ask, AskEntry)
        assert (ask.n, ask.info) == (None, {"iteration": 0.0, "step": 0.1})
        for candidate, before in zip(ask.candidates, handed, strict=True):
            assert candidate.x.tobytes() == before.x.tobytes()
            assert candidate.u.tobytes() == before.u.tobytes()
            assert (candidate.id, candidate.role, candidate.iteration) == (before.id, "init", 0)
            assert not candidate.x.flags.writeable
        assert isinstance(done, TellEntry)
        assert list(done.outcomes) == list("abcdef")
        assert [value.hex() for value in done.outcomes.values()] == [value.hex() for value in EXTREMES]
        assert (done.id, done.failed, done.final, done.late, done.record) == (1, None, True, False, how)
        assert (failed.id, failed.failed, failed.outcomes) == (0, "no 'luck' ?", {})
        assert (late.id, late.late, late.outcomes) == (0, True, {"a": 1.0})


def test_numpy_numbers_are_taken(path):
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(np.int64(2), {"iteration": np.int64(4)}, asked(0)), None)
    how = Record(started=np.float64(3), seconds=2, attempts=np.int64(1))
    run.record_tell(
        TellEntry(np.int64(0), {"f": np.float64(0.5)}, failed=None, final=np.bool_(True), record=how)
    )
    run.close()
    _, ask, tell = read(path).entries
    assert (ask.n, ask.info) == (2, {"iteration": 4.0})
    assert (tell.id, tell.final, tell.record.started, tell.record.seconds) == (0, True, 3.0, 2.0)


def test_time_that_is_no_number_is_unknown(path):
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(None, {"step": math.nan}, asked(0, 1)), {"radius": math.inf})
    run.record_tell(
        TellEntry(0, {"f": 1.0}, failed=None, final=True, record=Record(started=math.nan, seconds=math.nan))
    )
    run.record_tell(
        TellEntry(1, {"f": 1.0}, failed=None, final=True, record=Record(started=0.0, seconds=math.inf))
    )
    run.close()
    _, ask, first, second = read(path).entries
    assert math.isnan(ask.info["step"])
    assert (first.record.started, first.record.seconds) == (None, None)
    assert (second.record.started, second.record.seconds) == (0.0, math.inf)
    assert read(path).state == (1, {"radius": math.inf})


ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["\udcff", "\x00", "'; DROP TABLE tells"]
)
ANY_NUMBER = st.none() | st.floats() | st.integers(-(2**53), 2**53)


@given(
    st.dictionaries(ANY_TEXT.filter(bool), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    st.none() | ANY_TEXT,
    st.builds(Record, ANY_TEXT, ANY_NUMBER, ANY_NUMBER, ANY_TEXT, st.integers(0, 2**62)),
)
@example({}, None, Record("", -0.0, -0.0, "", 1))  # SQLite forgets the sign
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_recorded_can_be_read(path, outcomes, failed, how):
    run = Store.open(path) if path.exists() else Store.create(path, {}, None)
    if len(run.contents().entries) == 1:
        run.record_ask(AskEntry(None, {}, asked(0)), None)
    run.record_tell(TellEntry(0, outcomes, failed=failed, final=True, record=how))
    run.close()
    last = read(path).entries[-1]
    assert last.outcomes == outcomes
    assert (last.failed is None) == (failed is None)
    assert last.record.attempts == how.attempts
    for before, after in ((how.started, last.record.started), (how.seconds, last.record.seconds)):
        assert after == (None if before is None or math.isnan(before) else before)


def test_closed_run_is_one_plain_file_and_reading_leaves_nothing(path):
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(None, {}, asked(0)), None)
    assert path.with_name("run.db-wal").exists()
    assert len(read(path).entries) == 2
    run.close()
    read(path)
    assert tells_in(path) == 0
    assert os.listdir(path.parent) == ["run.db"]


def test_reader_of_a_closing_run_does_not_hold_it_up(path):
    run = Store.create(path, {}, None)
    reader = database.connect(path, "ro")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM meta").fetchall()
    start = time.monotonic()
    run.close()
    assert time.monotonic() - start < 10.0  # the lock's timeout is 30 s
    reader.close()
    Store.open(path).close()
    assert os.listdir(path.parent) == ["run.db"]


def test_log_of_a_killed_process_is_read_and_taken_over(path):
    code = """
    import os, signal, sys
    from pathlib import Path
    from lcbo.store.store import Store
    from lcbo.optimizer.recorder import AskEntry, TellEntry
    from lcbo.types import Record
    import numpy as np
    from lcbo.types import Candidate
    run = Store.create(Path(sys.argv[1]), {}, None)
    run.record_ask(AskEntry(None, {}, [Candidate(0, np.zeros(1), np.zeros(1), "init", 0)]), None)
    run.record_tell(TellEntry(0, {"f": 0.1}, failed=None, final=False, record=Record()))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], check=False)
    assert process.returncode == -signal.SIGKILL
    past = read(path)
    assert past.writer is not None
    assert past.writer.alive() is False
    assert [type(entry) for entry in past.entries] == [BudgetEntry, AskEntry, TellEntry]
    run = Store.open(path)
    assert run.contents().entries[-1].outcomes == {"f": 0.1}
    run.close()
    assert read(path).writer is None


def test_new_file_never_replaces_another(path):
    path.write_text("precious")
    with pytest.raises(StoreError, match=r"exists already; Optimizer\.open"):
        Store.create(path, {}, None)
    assert path.read_text() == "precious"
    assert os.listdir(path.parent) == ["run.db"]


def test_folder_that_is_not_there(path):
    with pytest.raises(StoreError, match="run.db: cannot be created: No such file or directory$"):
        Store.create(path.parent / "none" / "run.db", {}, None)
    with pytest.raises(StoreError, match="there is no such run file"):
        Store.open(path)
    with pytest.raises(StoreError, match="there is no such run file"):
        read(path)
    with pytest.raises(StoreError, match="there is no such run file"):
        unlock(path)
    assert tells_in(path) == 0


class TestOwnership:
    def test_second_opening_by_this_process_is_refused(self, path):
        run = Store.create(path, {}, None)
        with pytest.raises(RunInUseError, match=rf"process {os.getpid()} on .*it is this one.*close"):
            Store.open(path)
        run.close()
        run.close()
        Store.open(path).close()

    def test_second_process_is_refused_and_may_read(self, path):
        run = Store.create(path, {}, None)
        code = "import sys; from pathlib import Path; from lcbo.store.store import Store, read\n"
        code += "read(Path(sys.argv[1])); Store.open(Path(sys.argv[1]))"
        other = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
        )
        assert f"RunInUseError: {path}: process {os.getpid()} on " in other.stderr
        assert "wait for it or stop it; reading is possible at any time" in other.stderr
        told_after = asked(0)
        run.record_ask(AskEntry(None, {}, told_after), None)
        run.close()

    def test_dead_owner_is_replaced(self, path, monkeypatch):
        me = Owner.this_process()
        with monkeypatch.context() as patch:
            patch.setattr(Owner, "this_process", lambda: replace(me, birth="1"))
            Store.create(path, {}, None)  # and never closed
        run = Store.open(path)
        assert read(path).writer == run.owner
        run.close()

    def test_owner_on_another_machine_is_left_alone_until_unlocked(self, path, monkeypatch):
        me = Owner.this_process()
        with monkeypatch.context() as patch:
            patch.setattr(Owner, "this_process", lambda: replace(me, host="cluster7", token="far"))
            far = Store.create(path, {}, None)
        hint = rf"process {os.getpid()} on cluster7 is writing.*lcbo unlock {path}"
        with pytest.raises(RunInUseError, match=hint):
            Store.open(path)
        unlock(path)
        with pytest.raises(RunInUseError, match="2 candidates.*taken over, it belongs to nobody now"):
            far.record_ask(AskEntry(None, {}, asked(0, 1)), None)
        run = Store.open(path)
        with pytest.raises(RunInUseError, match=f"belongs to process {os.getpid()}"):
            far.record_budget(3)
        far.close()  # does not take the new owner's right away
        run.record_budget(9)
        run.close()
        assert [entry.seq for entry in read(path).entries] == [0, 1]

    def test_owner_whose_farewell_was_not_recorded_is_replaced(self, path):
        """The disk was full when this process closed the run, or Ctrl-C came when it opened it."""
        run = Store.create(path, {}, None)
        run._db.execute("PRAGMA query_only=ON")
        run.close()
        assert read(path).writer == run.owner
        again = Store.open(path)
        with pytest.raises(RunInUseError, match="it is this one"):
            Store.open(path)
        again.close()
        assert read(path).writer is None

    @forks
    def test_fork_cannot_write_and_does_not_release_the_run(self, path):
        run = Store.create(path, {}, None)

        def misuse() -> bool:
            with pytest.raises(StoreError, match="before a fork"):
                run.record_budget(3)
            with pytest.raises(StoreError, match="before a fork"):
                run.contents()
            run.close()
            with pytest.raises(StoreError, match="open when this process was forked"):
                Store.open(path)
            return True

        assert fork(misuse) == 0
        assert read(path).writer == run.owner
        run.record_budget(3)
        run.close()
        assert fork(lambda: Store.open(path).close() is None) == 0

    @forks
    def test_fork_that_ends_as_python_does_leaves_the_run_alone(self, path):
        run = Store.create(path, {}, None)
        code = """
        import os, sys
        from pathlib import Path
        from lcbo.store.store import Store, read
        path = Path(sys.argv[1])
        run = Store.create(path, {}, 5)
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
        run.record_budget(6)
        assert read(path).writer == run.owner
        """
        run.close()
        path.unlink()
        subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], check=True)
        assert [entry.budget for entry in read(path).entries] == [5, 6]


def test_closed_run_says_so(path):
    run = Store.create(path, {}, None)
    run.close()
    for call in (lambda: told(run, 0, f=1.0), run.contents, run.meta, lambda: run.set_meta(a=1)):
        with pytest.raises(StoreError, match="the run was closed"):
            call()


def test_file_that_was_moved_away_is_noticed(path):
    """What is told after the file was moved would be lost with the log that was left behind."""
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(None, {}, asked(0)), None)
    path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(
        StoreError, match='candidate 0 could not be recorded: {"f": 0.5}: the file was moved or'
    ):
        told(run, 0, f=0.5)
    path.with_name("elsewhere.db").rename(path)
    told(run, 0, f=0.5)
    run.close()
    assert read(path).entries[-1].outcomes == {"f": 0.5}


def test_full_disk_keeps_what_was_recorded_and_goes_on_after_room_was_made(path):
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(None, {}, asked(*range(200))), None)
    run._db.execute(f"PRAGMA max_page_count={run._db.execute('PRAGMA page_count').fetchone()[0]}")
    message = ""
    for done in range(200):
        try:
            told(run, done, f=0.125 + done)
        except StoreError as error:
            message = str(error)
            break
    assert done > 0
    assert f'candidate {done} could not be recorded: {{"f": {0.125 + done}}}' in message
    assert "the disk is full: make room and go on" in message
    assert "everything recorded before is intact" in message
    assert "\n" not in message
    assert len(read(path).entries) == 2 + done
    run._db.execute("PRAGMA max_page_count=1000000")
    told(run, done, f=0.125 + done)
    run.close()
    assert [e.outcomes["f"] for e in read(path).entries[2:]] == [0.125 + i for i in range(done + 1)]


def test_lost_failure_is_in_the_message(path):
    run = Store.create(path, {}, None)
    run.record_ask(AskEntry(None, {}, asked(0)), None)
    run._db.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match="candidate 0 could not be recorded: mesh failed;"):
        run.record_tell(TellEntry(0, {}, failed="mesh failed", final=False, record=Record()))
    run.close()


class TestRollbackJournal:
    """A network file system: no write-ahead log, everything else the same."""

    @pytest.fixture(autouse=True)
    def network(self, monkeypatch):
        monkeypatch.setattr(database, "file_system", lambda _path: "nfs4")

    def test_run_is_written_read_and_continued(self, path):
        with pytest.warns(StoreWarning, match="nfs4.*rollback journal is used"):
            run = Store.create(path, {}, None)
        run.record_ask(AskEntry(None, {}, asked(0)), None)
        assert os.listdir(path.parent) == ["run.db"]
        assert len(read(path).entries) == 2
        told(run, 0, f=1.0)
        run.close()
        with pytest.warns(StoreWarning, match="rollback journal"):
            run = Store.open(path)
        assert len(run.contents().entries) == 3
        run.close()

    def test_writing_is_refused_to_a_second_process(self, path):
        with pytest.warns(StoreWarning, match="rollback"):
            run = Store.create(path, {}, None)
        with pytest.warns(StoreWarning, match="rollback"), pytest.raises(RunInUseError):
            Store.open(path)
        run.close()


def test_file_of_a_later_schema_names_both(path):
    Store.create(path, {}, None).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=7")
    db.close()
    for look in (Store.open, read, unlock):
        with pytest.raises(
            StoreError, match="expected a run file of schema 1; got schema 7: use the lcbo that"
        ):
            look(path)


@pytest.mark.parametrize("content", ["nothing", "text", "sqlite", "directory", "pipe"])
def test_something_else_is_not_a_run(path, content):
    if content == "nothing":
        path.touch()
    elif content == "text":
        path.write_text("x0,x1,f\n" * 1000)
    elif content == "sqlite":
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE meta (key, value)")
        db.close()
    elif content == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = path.read_bytes() if path.is_file() else None
    expected = {
        "nothing": "expected a run file; got an empty file",
        "text": "damaged, or not a run file",
        "sqlite": "expected a run file; got something else",
        "directory": "expected a run file; got a directory",
        "pipe": "expected a run file; got no file",
    }[content]
    for look in (Store.open, read, unlock):
        with pytest.raises(StoreError, match=expected):
            look(path)
    assert tells_in(path) == 0 if content != "pipe" else True
    if before is not None:
        assert path.read_bytes() == before


def test_snapshots_are_consistent_while_another_process_writes(path):
    """The writer commits an ask of three, then three tells, over and over, until there is a file ``stop``."""
    code = """
    import sys
    from pathlib import Path
    import numpy as np
    from lcbo.store.store import Store
    from lcbo.optimizer.recorder import AskEntry, TellEntry
    from lcbo.types import Candidate, Record
    run, id = Store.create(Path(sys.argv[1]), {}, None), 0
    run._db.execute("PRAGMA synchronous=OFF")  # faster than any disk
    while not Path(sys.argv[1]).with_name("stop").exists():
        ids = range(id, id + 3)
        points = [Candidate(i, np.array([float(i)]), np.array([i / 7]), "explore", i) for i in ids]
        run.record_ask(AskEntry(3, {"iteration": id}, points), {"id": id})
        for i in ids:
            run.record_tell(TellEntry(i, {"f": float(i)}, failed=None, final=False, record=Record()))
        id += 3
    run.close()
    print(id)
    """
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), path], stdout=subprocess.PIPE, text=True
    )
    while not path.exists():
        time.sleep(0.01)
    looks, seen = 0, 0
    try:
        while looks < 25 or seen < 9:
            assert writer.poll() is None
            past = read(path)
            looks += 1
            asks = [entry for entry in past.entries if isinstance(entry, AskEntry)]
            tells = [entry for entry in past.entries if isinstance(entry, TellEntry)]
            assert [tell.id for tell in tells] == list(range(len(tells)))
            assert len(past.entries) >= seen
            seen = len(past.entries)
            assert 3 * len(asks) - 3 <= len(tells) <= 3 * len(asks)
            if asks:
                assert past.state == (asks[-1].seq, {"id": 3 * len(asks) - 3})
    finally:
        path.with_name("stop").touch()
    total = int(writer.communicate(timeout=60)[0])
    assert len(read(path).entries) == 1 + total + total // 3


def test_rows_are_readable_with_any_tool(path):
    run = Store.create(path, {"seed": 4}, 8)
    run.record_ask(AskEntry(None, {"step": 0.5}, asked(0)), None)
    told(run, 0, f=math.pi)
    run.close()
    db = sqlite3.connect(path)
    assert json.loads(db.execute("SELECT value FROM meta WHERE key = 'seed'").fetchone()[0]) == 4
    query = "SELECT x, json_extract(outcomes, '$.f') FROM tells JOIN candidates USING (id)"
    assert db.execute(query).fetchall() == [("[0.1, -0.0]", math.pi)]
    db.close()
