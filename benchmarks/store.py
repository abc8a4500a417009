"""What a store costs: milliseconds per evaluation beside the disk's own, opening a long run, size of a file.

The disk's own time is that of as many syncs of as many bytes as the store wrote, appended to a plain file in
the same folder. With and without a store and the disk alone are timed in turn, several times, and the best of
each are compared: the wall time with a store, less that without, less the disk's. The processor time the
store takes stands beside it; on a busy machine it is the better guide.

Run: python benchmarks/store.py                     everything (a minute)
     python benchmarks/store.py --dir /mnt/disk     on another disk
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import lcbo
from lcbo import Optimizer, Problem
from lcbo.optimizer.recorder import AskEntry, TellEntry
from lcbo.store.store import Store, read
from lcbo.types import Candidate, Record

LIMIT_MS, LIMIT_OPEN, LONG = 3.0, 2.0, 20_000


def problem(dim: int) -> Problem:
    """Return three outcomes in ``dim`` variables."""
    return Problem([(0.0, 1.0)] * dim, ["c <= 0.4", "h <= 0.3"], "f")


def outcomes(x: np.ndarray) -> dict[str, float]:
    """Return a smooth bowl and two constraints."""
    return {"f": float(np.sum((x - 0.3) ** 2)), "c": float(np.mean(x) - 0.1), "h": float(x[0] * x[1])}


class Watch:
    """Adds up wall and processor seconds of the blocks it is used around."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def __enter__(self) -> Watch:
        self._wall, self._processor = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._wall
        self.processor += time.process_time() - self._processor


def run(dim: int, count: int, ask: int | None, store: Path | None) -> Watch:
    """Return the time all asks and tells of a run take, without opening and closing."""
    optimizer = Optimizer(problem(dim), budget=count, store=store)
    watch = Watch()
    while True:
        with watch:
            batch = optimizer.ask(ask)
        if not batch:
            break
        for candidate in batch:
            values = outcomes(candidate.x)
            with watch:
                optimizer.tell(candidate.id, values)
    optimizer.close()
    return watch


def syncs(folder: Path, count: int, size: int) -> Watch:
    """Return the time ``count`` synced appends of ``size`` bytes take."""
    path, watch = folder / "plain", Watch()
    with path.open("wb") as file, watch:
        for _ in range(count):
            file.write(b"x" * size)
            file.flush()
            os.fdatasync(file.fileno())
    path.unlink()
    return watch


def overhead(folder: Path, dim: int, ask: int | None, count: int = 120, rounds: int = 5) -> None:
    """Print the cost of a store per evaluation."""
    plain, stored, disk = [], [], []
    for number in range(rounds):
        path = folder / f"{dim}-{ask}-{number}.db"
        plain.append(run(dim, count, ask, None))
        stored.append(run(dim, count, ask, path))
        commits = len(read(path).entries) - 1
        size = 2 * path.stat().st_size // commits  # the log and, later, the file
        disk.append(syncs(folder, commits, size))
    own, file, sync = (min(watch.wall for watch in part) * 1e3 / count for part in (plain, stored, disk))
    before, after = (min(watch.processor for watch in part) * 1e3 / count for part in (plain, stored))
    rest = file - own - sync
    how = "batches" if ask is None else f"ask({ask})"
    verdict = "ok" if rest <= LIMIT_MS else "TOO SLOW"
    print(
        f"d={dim:<4}{how:<8} ms per evaluation: without {own:6.2f}, with {file:6.2f}, disk {sync:6.2f}, "
        f"store {rest:6.2f} (at most {LIMIT_MS}) {verdict}; processor time of the store {after - before:5.2f}"
    )


def long_run(path: Path, dim: int, count: int) -> None:
    """Write a long run: its asks and tells as they would be, a state taken from a short one."""
    short = path.with_name("short.db")
    run(dim, 200, None, short)
    past = read(short)
    assert past.state is not None
    state, rng = dict(past.state[1]), np.random.default_rng(0)
    store = Store.create(path, past.meta, count)
    assert store._db is not None
    store._db.execute("PRAGMA synchronous=OFF")  # only here: the file is what matters, not how it came about
    space = problem(dim).space
    for first in range(0, count, 4):
        ids = range(first, first + 4)
        points = rng.random((4, dim))
        handed = [
            Candidate(id, space.from_unit(u), u, "explore", first // 4)
            for id, u in zip(ids, points, strict=True)
        ]
        keys = list(range(max(first - 75, 0), first))
        state.update(batch=list(ids), queue=[], model_keys=keys, iteration=first // 4)
        store.record_ask(AskEntry(None, {"iteration": first // 4, "rescues": 0, "step": 0.1}, handed), state)
        for candidate in handed:
            how = Record("worker 3", 1.7e9 + candidate.id, 60.0, "", 1)
            store.record_tell(
                TellEntry(candidate.id, outcomes(candidate.x), failed=None, final=False, record=how)
            )
    store.close()


def opening(folder: Path, dim: int = 25) -> None:
    """Print how long a run of 20,000 evaluations takes to open, and its size."""
    path = folder / "long.db"
    long_run(path, dim, LONG)
    Optimizer(problem(dim), budget=9).ask()  # imports
    assert len(lcbo.open_run(folder / "short.db").history) == 200
    times = {
        "open_run(path).status": lambda: lcbo.open_run(path).status,
        "open_run(path).history": lambda: lcbo.open_run(path).history,
        "open_run(path).result()": lambda: lcbo.open_run(path).result(),
        "Optimizer.open(path)": lambda: Optimizer.open(path).close(),
    }
    for name, call in times.items():
        watches = [Watch() for _ in range(5)]
        for watch in watches:
            with watch:
                call()
        wall, processor = min(w.wall for w in watches), min(w.processor for w in watches)
        verdict = "ok" if wall <= LIMIT_OPEN else "TOO SLOW"
        print(
            f"{LONG} evaluations, d={dim}: {name:<25}{wall:6.2f} s (at most {LIMIT_OPEN}) {verdict}", end=""
        )
        print(f"; processor time {processor:.2f} s")
    print(f"size: {path.stat().st_size / LONG:.0f} bytes per evaluation at d={dim}, three outcomes")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, default=None, help="where the run files are made")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.dir))
    try:
        for dim in (10, 25, 100):
            overhead(folder, dim, None)
        overhead(folder, 25, 1)
        opening(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
