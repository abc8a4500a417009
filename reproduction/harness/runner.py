"""Running what is missing of an experiment: one process per run, several at a time, at any moment again.

A run in progress is a store file under the work folder; a finished run is one JSON file under the results
folder, and is never run again. Killing the runner loses nothing: the next one goes on from the stores. A run
whose method or optional package is not installed is skipped, not failed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lcbo.methods import registry
from lcbo.store.store import tells_in
from reproduction.harness.cell import run_cell
from reproduction.harness.spec import Cell, Spec, read_spec

RESULTS = "results"
LACKING = 69  # exit code of a run that needs an extra which is not installed


@dataclass(frozen=True)
class Places:
    """Where an experiment lies.

    Attributes:
        spec: the TOML file.
        results: folder of the finished runs, one JSON file each; kept in the repository.
        work: folder of the runs in progress and their logs; not kept.
        quick: whether the ``[quick]`` table of the spec applies.
    """

    spec: Path
    results: Path
    work: Path
    quick: bool = False

    @classmethod
    def of(cls, spec: str | Path, *, root: str | Path | None = None, quick: bool = False) -> Places:
        """Return the usual places: ``results/`` and ``work/`` beside the spec, or under ``root``."""
        path = Path(spec)
        root = path.parent if root is None else Path(root)
        return cls(path, root / RESULTS / path.stem, root / "work" / path.stem, quick)

    def read(self) -> Spec:
        """Return the experiment."""
        return read_spec(self.spec, quick=self.quick)

    def result(self, cell: Cell) -> Path:
        """Return the file of a finished run."""
        return self.results / f"{cell.name}.json"

    def store(self, cell: Cell) -> Path:
        """Return the file of a run in progress."""
        return self.work / f"{cell.name}.db"

    def log(self, cell: Cell) -> Path:
        """Return the file with what a run printed."""
        return self.work / f"{cell.name}.log"


@dataclass
class Progress:
    """How far an experiment is.

    Attributes:
        done: finished runs.
        running: runs in progress, with the evaluations they have.
        missing: runs not begun, or interrupted.
        failed: runs whose process ended without a result, with its last words.
        skipped: runs that need something which is not installed, with what it is.
        seconds: wall time of every run finished by this runner.
    """

    done: list[Cell] = field(default_factory=list)
    running: dict[str, int] = field(default_factory=dict)
    missing: list[Cell] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def progress_of(places: Places, cells: Iterable[Cell]) -> Progress:
    """Return which runs are finished and which are not."""
    progress = Progress()
    for cell in cells:
        (progress.done if places.result(cell).exists() else progress.missing).append(cell)
    return progress


def run_missing(
    places: Places,
    cells: Sequence[Cell],
    *,
    jobs: int,
    watch: Callable[[Progress], None] = lambda _: None,
    poll: float = 0.5,
) -> Progress:
    """Run every cell that has no result, ``jobs`` at a time.

    Args:
        places: where spec, results and work lie.
        cells: the runs wanted.
        jobs: processes at a time.
        watch: called again and again with the progress.
        poll: seconds between looks at the processes.
    """
    progress = progress_of(places, cells)
    for cell in list(progress.missing):
        if cell.entry.method not in registry.names():
            _skip(progress, cell, f"there is no method {cell.entry.method!r}")
    queue, alive = list(progress.missing), dict[str, tuple[Cell, subprocess.Popen[bytes], float]]()
    try:
        while queue or alive:
            while queue and len(alive) < jobs:
                cell = queue.pop(0)
                alive[cell.name] = cell, _start(places, cell), time.monotonic()
            for name, (cell, process, begun) in list(alive.items()):
                if process.poll() is None:
                    continue
                del alive[name]
                _close(process)
                if places.result(cell).exists():
                    progress.missing.remove(cell)
                    progress.done.append(cell)
                    progress.seconds[name] = time.monotonic() - begun
                elif process.returncode == LACKING:
                    _skip(progress, cell, _last_words(places.log(cell), LACKING))
                else:
                    progress.failed[name] = _last_words(places.log(cell), process.returncode)
            progress.running = {name: tells_in(places.store(cell)) for name, (cell, _, _) in alive.items()}
            watch(progress)
            if alive:
                time.sleep(poll)
    finally:
        for _, process, _ in alive.values():
            process.send_signal(signal.SIGTERM)
        for _, process, _ in alive.values():
            process.wait()
            _close(process)
    progress.running = {}
    return progress


def _skip(progress: Progress, cell: Cell, reason: str) -> None:
    progress.missing.remove(cell)
    progress.skipped[cell.name] = reason


def _start(places: Places, cell: Cell) -> subprocess.Popen[bytes]:
    """Start the process of one run; its output goes to the run's log."""
    places.log(cell).parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "reproduction.harness.runner", str(places.spec), cell.name]
    command += [str(places.store(cell)), str(places.result(cell))] + ["--quick"] * places.quick
    with places.log(cell).open("wb") as log:
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            stdin=subprocess.PIPE,  # closed when the runner ends, however it ends: see `_end_with_the_runner`
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def _end_with_the_runner() -> None:
    """End this process when the runner's end of its standard input closes; the store keeps what was done.

    Otherwise the runs of a runner that was killed would go on, and the next runner find them in use.
    """

    def watch() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _last_words(log: Path, code: int) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"


def main(arguments: Sequence[str]) -> None:
    """Run one cell, for the runner alone: ``SPEC CELL STORE RESULT [--quick]``."""
    spec, name, store, result, *rest = arguments
    cells = {cell.name: cell for cell in read_spec(spec, quick="--quick" in rest).cells()}
    try:
        run_cell(cells[name], Path(store), Path(result))
    except ImportError as error:
        if error.name is not None:  # a real one; where an extra is missing, we raise it with a message only
            raise
        sys.stderr.write(f"{error}\n")
        sys.exit(LACKING)


if __name__ == "__main__":
    _end_with_the_runner()
    main(sys.argv[1:])
