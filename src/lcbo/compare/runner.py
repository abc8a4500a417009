"""Running what is missing of a comparison: one process per run, several at a time, at any moment again.

A run in progress is a store file; a finished run leaves a result file and is never run again. Stopping or
killing the runner loses nothing: the next one goes on from the stores. A run whose optional package is not
installed is skipped, not failed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.live import Live
from rich.table import Table

from lcbo.errors import LcboError
from lcbo.store.store import tells_in
from lcbo.text import duration

_LACKING = 69  # exit code of a run that needs an extra which is not installed
_PATIENCE = 10.0  # seconds an interrupted run has to clean up before it is ended


@dataclass(frozen=True)
class PlannedRun:
    """One run of a comparison, and the files it leaves.

    Attributes:
        task: what is solved; like ``label``, part of file names, tables and figures.
        label: under which name the method appears.
        seed: of the run.
        budget: evaluations in all.
        store: file of the run while it is in progress.
        result: file that is there when the run has finished.
        command: arguments of the Python process that does the run.
    """

    task: str
    label: str
    seed: int
    budget: int
    store: Path
    result: Path
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """Task, label and seed in one text."""
        return f"{self.task}/{self.label}/{self.seed}"


class Progress:
    """Where a comparison stands.

    Attributes:
        runs: the runs wanted.
        done: finished runs.
        running: by name, evaluations that runs under way have made.
        missing: runs not finished.
        failed: by name, the last line a run printed before it ended without a result.
        skipped: by name, why a run cannot be made here.
        seconds: how long the runs took that were finished since.
    """

    def __init__(self, runs: Iterable[PlannedRun]) -> None:
        self.runs = list(runs)
        self.done = [run for run in self.runs if run.result.exists()]
        done = {run.name for run in self.done}
        self.missing = [run for run in self.runs if run.name not in done]
        self.running: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.seconds: list[float] = []

    def table(self, jobs: int = 1) -> Table:
        """Return finished runs over wanted runs by label and task, what runs now, and the time left."""
        title = f"{len(self.done)} of {len(self.runs)} runs done"
        if self.seconds and self.missing:
            left = sum(1.0 - self.running.get(run.name, 0) / run.budget for run in self.missing)
            title += f", about {duration(left * fmean(self.seconds) / jobs)} left"
        if self.failed:
            title += f", {len(self.failed)} failed"
        tasks = list(dict.fromkeys(run.task for run in self.runs))
        table = Table("method", *tasks, title=title, title_justify="left")
        done = {run.name for run in self.done}
        for label in dict.fromkeys(run.label for run in self.runs):
            row = []
            for task in tasks:
                here = [r for r in self.runs if r.label == label and r.task == task]
                now = [f"{self.running[r.name] / r.budget:.0%}" for r in here if r.name in self.running]
                counts = f"{sum(r.name in done for r in here)}/{len(here)}"
                row.append(" ".join([counts, *now]) if here else "")
            table.add_row(label, *row)
        return table

    def troubles(self) -> list[str]:
        """Return one line for every reason to skip runs and for every run that failed."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            reasons.setdefault(reason, []).append(name)
        skipped = [f"skipped {len(names)} runs ({names[0]}, ...): {why}" for why, names in reasons.items()]
        return skipped + [f"failed {name}: {words}" for name, words in self.failed.items()]


def compare(
    runs: Iterable[PlannedRun], *, jobs: int, console: Console | None = None, poll: float = 0.5
) -> Progress:
    """Run everything that has no result in this order, ``jobs`` runs at a time, and return the end of it.

    A console that is a terminal shows the progress; ``poll`` is the time between looks at the processes.
    """
    progress = Progress(runs)
    queue, alive = list(progress.missing), dict[str, tuple[PlannedRun, subprocess.Popen[bytes], float]]()
    visible = console if console is not None and console.is_terminal else Console(quiet=True)
    with Live(console=visible, refresh_per_second=2) as live:
        try:
            while queue or alive:
                while queue and len(alive) < jobs:
                    run = queue.pop(0)
                    alive[run.name] = run, _start(run), time.monotonic()
                for name, (run, process, begun) in list(alive.items()):
                    if process.poll() is not None:
                        del alive[name]
                        _settle(progress, run, process, time.monotonic() - begun)
                if visible is console:  # nobody else looks
                    progress.running = {name: tells_in(run.store) for name, (run, _, _) in alive.items()}
                    live.update(progress.table(jobs))
                if alive:
                    time.sleep(poll)
        finally:
            for _, process, _ in alive.values():
                _hang_up(process)
            for _, process, _ in alive.values():
                process.wait()
    return progress


def run_in_process(work: Callable[[], object]) -> None:
    """Do the work of a run's own process, which ends when the runner does, however that ends.

    Otherwise the runs of a runner that was killed would go on, and the next runner find them in use.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have it ignored
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    try:
        work()
    except KeyboardInterrupt:
        sys.exit(130)
    except LcboError as error:
        traceback.print_exc()
        sys.exit(" ".join(str(error).split()))  # in one line, the last of the log
    except ImportError as error:
        if error.name is not None:  # a real one; where an extra is missing, we raise it with a message only
            raise
        sys.stderr.write(f"{error}\n")
        sys.exit(_LACKING)


def _end_with_the_runner() -> None:
    os.read(0, 1)  # returns when the runner's end of our standard input closes
    os.kill(os.getpid(), signal.SIGINT)  # so that a simulator under way is ended too
    time.sleep(_PATIENCE)
    os._exit(1)


def _start(run: PlannedRun) -> subprocess.Popen[bytes]:
    """Start the process of one run; its output goes to the run's log."""
    run.store.parent.mkdir(parents=True, exist_ok=True)
    with run.store.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *run.command],
            stdout=log,
            stderr=log,
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is the runner's alone, which then ends its runs
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )


def _settle(progress: Progress, run: PlannedRun, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Note how a run ended."""
    _hang_up(process)
    lines = run.store.with_suffix(".log").read_text(errors="replace").strip().splitlines()
    words = lines[-1] if lines else f"exit code {process.returncode}"
    if run.result.exists():
        progress.done.append(run)
        progress.seconds.append(seconds)
    elif process.returncode == _LACKING:
        progress.skipped[run.name] = words
    else:
        progress.failed[run.name] = words
        return
    progress.missing.remove(run)


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
