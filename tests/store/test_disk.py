"""Disks that are full and folders that must not be written to."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lcbo
from lcbo import Optimizer, Problem, StoreError
from lcbo.store.store import read

NOBODY = 65534
PROBLEM = Problem([(0, 1)] * 3, ["c <= 0.5"], "f")

root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def values(x: np.ndarray) -> dict[str, float]:
    return {"f": float(np.sum((x - 0.3) ** 2)), "c": float(x[0])}


def finish(optimizer: Optimizer) -> None:
    while batch := optimizer.pending or optimizer.ask():
        optimizer.tell(batch[0].id, values(batch[0].x))


def in_child(action: Callable[[], Any]) -> Any:
    """Run ``action`` in a fork and return what it returned or the text of what it raised, through JSON."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = action()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(into, json.dumps(answer).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return answer


def test_file_that_may_not_grow(quick_folder: Path) -> None:
    """The system refuses to make the log longer; the run goes on in the same process once it may grow."""
    whole = Optimizer(PROBLEM, budget=30, rng=1)
    finish(whole)
    path = quick_folder / "run.db"

    def limited() -> dict[str, Any]:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        optimizer = Optimizer(PROBLEM, budget=30, rng=1, store=path)
        messages = []
        for size in (60_000, 100_000, 140_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            try:
                finish(optimizer)
            except StoreError as error:
                messages.append(str(error))
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        ended = optimizer.n_ended
        finish(optimizer)
        optimizer.close()
        return {"messages": messages, "ended": ended}

    told = in_child(limited)
    assert len(told["messages"]) == 3, told
    for message in told["messages"]:
        assert "cannot be written: the disk does not answer, or has no room (disk I/O error)" in message
        assert "could not be recorded" in message
        assert message.endswith("everything recorded before is intact")
    assert 0 < told["ended"] < 30
    again = lcbo.open_run(path).optimizer
    assert [o.x.tobytes() for o in again.log.evaluations] == [o.x.tobytes() for o in whole.log.evaluations]
    assert [o.outcomes for o in again.log.evaluations] == [o.outcomes for o in whole.log.evaluations]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(folder: Path, spare: int) -> Path:
    """Write a file that leaves ``spare`` blocks of the disk and return it."""
    disk = os.statvfs(folder)
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * (disk.f_bsize * (disk.f_bavail - spare)))
    return ballast


@pytest.mark.parametrize("spare", [0, 3, 8, 20])
def test_full_disk(small_disk: Path, spare: int) -> None:
    whole = Optimizer(PROBLEM, budget=20, rng=1)
    finish(whole)
    path = small_disk / "run.db"
    optimizer = Optimizer(PROBLEM, budget=20, rng=1, store=path)
    optimizer.ask()
    ballast = fill(small_disk, spare)
    with pytest.raises(StoreError, match="the disk is full: make room and go on.*could not be recorded"):
        finish(optimizer)
    kept = [e.id for e in read(path).entries if hasattr(e, "failed")]
    assert kept == list(range(optimizer.n_ended))
    assert len(kept) < 20
    ballast.unlink()
    finish(optimizer)
    optimizer.close()
    again = lcbo.open_run(path).optimizer
    assert [o.x.tobytes() for o in again.log.evaluations] == [o.x.tobytes() for o in whole.log.evaluations]


def test_closing_on_a_full_disk_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "run.db"
    optimizer = Optimizer(PROBLEM, budget=20, rng=1, store=path)
    for candidate in optimizer.ask():
        optimizer.tell(candidate.id, values(candidate.x))
    ballast = fill(small_disk, 0)
    optimizer.close()
    assert lcbo.open_run(path).status.ended == optimizer.n_ended
    ballast.unlink()
    assert lcbo.open_run(path).status.ended == optimizer.n_ended


@pytest.mark.parametrize("spare", [0, 1, 5])
def test_disk_without_room_for_a_new_run(small_disk: Path, spare: int) -> None:
    fill(small_disk, spare)
    with pytest.raises(StoreError, match="run.db: cannot be created: .*(the disk is full|No space left)"):
        Optimizer(PROBLEM, store=small_disk / "run.db")
    assert os.listdir(small_disk) == ["ballast"]


@pytest.fixture
def protected() -> Iterator[Path]:
    """A run in a folder that only root may change; others may read it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with Optimizer(PROBLEM, budget=9, n_init=2, store=folder / "run.db") as optimizer:
        optimizer.tell(optimizer.ask()[0].id, {"f": 1.0, "c": 0.0})
    yield folder
    shutil.rmtree(folder)


def as_nobody(action: Callable[[], Any]) -> Any:
    def dropped() -> Any:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return action()

    return in_child(dropped)


@root
class TestPermissions:
    def test_new_run_in_a_protected_folder(self, protected: Path) -> None:
        told = as_nobody(lambda: Optimizer(PROBLEM, store=protected / "new.db").n_asked)
        assert told == f"StoreError: {protected}/new.db: cannot be created: Permission denied"

    def test_run_that_may_only_be_read(self, protected: Path) -> None:
        path = protected / "run.db"
        assert as_nobody(lambda: lcbo.open_run(path).status.ended) == 1
        told = as_nobody(lambda: Optimizer.open(path).n_asked)
        assert told.startswith(
            f"StoreError: {path}: cannot be opened: the file or its directory does not allow it"
        )
        assert sorted(os.listdir(protected)) == ["run.db"]

    def test_file_that_may_be_written_in_a_folder_that_may_not(self, protected: Path) -> None:
        path = protected / "run.db"
        path.chmod(0o666)
        told = as_nobody(lambda: Optimizer.open(path).n_asked)
        assert told.startswith(
            f"StoreError: {path}: cannot be opened: the file or its directory does not allow it"
        )
        assert as_nobody(lambda: lcbo.open_run(path).status.ended) == 1

    def test_file_that_may_not_be_read(self, protected: Path) -> None:
        path = protected / "run.db"
        path.chmod(0o600)
        told = as_nobody(lambda: lcbo.open_run(path).status.ended)
        assert told.startswith(f"StoreError: {path}: cannot be read: ")

    def test_folder_that_may_not_be_entered(self, protected: Path) -> None:
        protected.chmod(0o700)
        told = as_nobody(lambda: Optimizer(PROBLEM, store=protected / "run.db").n_asked)
        assert told == f"StoreError: {protected}/run.db: cannot be opened: Permission denied"
        told = as_nobody(lambda: lcbo.open_run(protected / "run.db").status.ended)
        assert told == f"StoreError: {protected}/run.db: cannot be opened: Permission denied"

    def test_log_of_a_killed_process_in_a_protected_folder(self, protected: Path) -> None:
        path = protected / "run.db"
        code = """
        import os, signal, sys
        from pathlib import Path
        from lcbo.store.store import Store
        from lcbo.optimizer.recorder import TellEntry
        from lcbo.types import Record
        run = Store.open(Path(sys.argv[1]))
        run.record_tell(TellEntry(1, {"f": 2.0, "c": 0.0}, failed=None, final=False, record=Record()))
        os.kill(os.getpid(), signal.SIGKILL)
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], check=False)
        assert path.with_name("run.db-wal").stat().st_size > 0
        assert as_nobody(lambda: lcbo.open_run(path).status.ended) == 2
        path.with_name("run.db-shm").unlink()
        assert as_nobody(lambda: lcbo.open_run(path).status.ended) == 2

    def test_reading_while_another_user_writes(self, protected: Path) -> None:
        path = protected / "run.db"
        with Optimizer.open(path) as optimizer:
            optimizer.tell(1, failed="x")
            assert as_nobody(lambda: lcbo.open_run(path).status.ended) == 2
            told = as_nobody(lambda: Optimizer.open(path).n_asked)
            assert told.startswith("StoreError: ")
            assert "forked" in told
