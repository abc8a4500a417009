"""Kill runs at random moments with ``kill -9`` and look for what is lost: it must be nothing.

A child process makes a run with a store; after every `tell` that returned it writes what it told to a log of
its own and syncs it. The parent kills the child, at any moment from the first millisecond on, then compares:
the file must open, every told evaluation must be in it with the same values, and the next child must go on.
When a run is complete it must equal, bit for bit, the same run without a store that nobody stopped.

Run: python benchmarks/crash.py                   200 kills, a few minutes
     python benchmarks/crash.py --kills 1000 --dir /mnt/disk --seed 7
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lcbo
from lcbo import Optimizer, Problem, StoreError
from lcbo.store.store import read

PAPER: Mapping[str, Any] = {"explorer_options": {"starts": 2, "steps": 5}}
METHODS: Mapping[str, Mapping[str, Any]] = {"lcbo": {}, "lcbo-paper": PAPER, "sobol": {}}
WAYS = ("ask and tell", "minimize", "open")
BUDGET = 40


@dataclass(frozen=True)
class Case:
    """One run: which method, how it is driven, which seed."""

    method: str
    way: str
    seed: int

    def problem(self) -> Problem:
        """Return a noisy benchmark, whose noise must go on where it stopped."""
        return lcbo.problems.make("welded_beam").noisy(rng=self.seed)

    def arguments(self) -> dict[str, Any]:
        """Return what the run is begun with."""
        return {"budget": BUDGET, "rng": self.seed, "options": METHODS[self.method]}


def told_in(path: Path) -> dict[int, dict[str, float]]:
    """Return what a child has told and logged; a line that was cut short was never acknowledged."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    pairs = [json.loads(line) for line in lines if line.endswith("\n")]
    return {id: values for id, values in pairs}


def work(case: Case, store: Path, log: Path) -> None:
    """Make or continue the run until it is complete."""
    with log.open("a") as file:

        def acknowledge(id: int, values: Mapping[str, float]) -> None:
            file.write(json.dumps([id, dict(values)]) + "\n")
            file.flush()
            os.fsync(file.fileno())

        def called(at: lcbo.Snapshot) -> None:
            assert at.latest is not None
            acknowledge(at.latest.id, at.latest.outcomes)

        if case.way == "minimize":
            problem = case.problem()
            arguments = case.arguments()
            lcbo.minimize(
                problem, method=case.method, store=store, callback=called, progress=False, **arguments
            )
            return
        if not store.exists():
            optimizer = Optimizer(case.problem(), case.method, store=store, **case.arguments())
        elif case.way == "open":
            optimizer = Optimizer.open(store)
        else:
            optimizer = Optimizer.open(store, case.problem(), method=case.method, **case.arguments())
        with optimizer:
            while batch := optimizer.pending or optimizer.ask():
                values = optimizer.problem.evaluate(batch[0].x)
                optimizer.tell(batch[0].id, values)
                acknowledge(batch[0].id, values)


def start(case: Case, store: Path, log: Path) -> int:
    """Fork a child at work and return its number; forking saves it the imports."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(case, store, log)
    except BaseException as error:
        print(f"  child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def whole(case: Case) -> list[tuple[int, bytes, dict[str, float]]]:
    """Return the evaluations of the run that nobody stops."""
    problem = case.problem()
    optimizer = Optimizer(problem, case.method, **case.arguments())
    while batch := optimizer.pending or optimizer.ask():
        optimizer.tell(batch[0].id, problem.evaluate(batch[0].x))
    return evaluations(optimizer)


def evaluations(optimizer: Optimizer) -> list[tuple[int, bytes, dict[str, float]]]:
    """Return a run as something to compare bit by bit."""
    return [(o.id, o.x.tobytes(), dict(o.outcomes)) for o in optimizer.log.evaluations]


@dataclass
class Tally:
    """What was seen."""

    kills: int = 0
    runs: int = 0
    told: int = 0
    lost: int = 0
    unreadable: int = 0
    stuck: int = 0
    different: int = 0
    before_the_file: int = 0
    moments: Counter[str] = field(default_factory=Counter)

    @property
    def failures(self) -> int:
        """Anything that must not happen."""
        return self.lost + self.unreadable + self.stuck + self.different


def inspect(store: Path, log: Path, tally: Tally) -> None:
    """Compare the file with what the killed child had acknowledged."""
    told = told_in(log)
    if not store.exists():
        tally.before_the_file += 1
        tally.lost += len(told)
        return
    try:
        stored = {e.id: dict(e.outcomes) for e in read(store).entries if hasattr(e, "outcomes")}
    except StoreError as error:
        print(f"  unreadable: {error}", file=sys.stderr)
        tally.unreadable += 1
        return
    tally.lost += sum(stored.get(id) != values for id, values in told.items())
    n = len(stored)
    tally.moments["no tell yet" if n == 0 else "first half" if n < BUDGET / 2 else "second half"] += 1


def torment(case: Case, folder: Path, kills: int, rng: random.Random, tally: Tally) -> None:
    """Make one run, killing it again and again, until it is complete or there were enough kills."""
    store, log = folder / "run.db", folder / "told.jsonl"
    failed = 0
    while True:
        child = start(case, store, log)
        patience = rng.choice([0.02, 0.1, 0.1, 0.4, 0.4, 1.0]) * rng.random()
        end = time.monotonic() + patience if tally.kills < kills else float("inf")
        done = 0
        while time.monotonic() < end and not done:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.0005)
        if not done:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            tally.kills += 1
            inspect(store, log, tally)
            continue
        if os.waitstatus_to_exitcode(status) == 0:
            break
        failed += 1
        if failed == 3:
            tally.stuck += 1
            return
    inspect(store, log, tally)
    told = told_in(log)
    tally.runs += 1
    tally.told += len(told)
    # The child may have been killed after a tell and before its acknowledgement, so the file may hold more.
    if evaluations(lcbo.open_run(store).optimizer) != whole(case):
        tally.different += 1
        print(f"  not the same run: {case}", file=sys.stderr)


def main() -> None:
    """Kill and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dir", type=Path, default=None, help="where the run files are made")
    given = parser.parse_args()
    rng, tally, begun = random.Random(given.seed), Tally(), time.monotonic()
    cases = [(method, way) for way in WAYS for method in METHODS]
    for case in cases:  # loads every library before the first fork
        whole(Case(*case, seed=10_000))
    litter = 0
    with tempfile.TemporaryDirectory(dir=given.dir) as place:
        for seed in range(10_000):
            if tally.kills >= given.kills and seed >= len(cases):
                break
            folder = Path(place) / str(seed)
            folder.mkdir()
            torment(Case(*cases[seed % len(cases)], seed), folder, given.kills, rng, tally)
            litter += sum(path.name.startswith(".") for path in folder.iterdir())
    print(f"kills -9                       {tally.kills}  ({tally.before_the_file} before there was a file)")
    print(f"  when                         {dict(sorted(tally.moments.items()))}")
    print(f"runs completed                 {tally.runs}")
    print(f"evaluations acknowledged       {tally.told}")
    print(f"  lost or changed              {tally.lost}")
    print(f"files that did not open        {tally.unreadable}")
    print(f"runs that did not go on        {tally.stuck}")
    print(f"runs not equal to the whole    {tally.different}")
    print(f"unfinished files left behind   {litter}")
    print(f"seconds                        {time.monotonic() - begun:.0f}")
    sys.exit(tally.failures > 0)


if __name__ == "__main__":
    main()
