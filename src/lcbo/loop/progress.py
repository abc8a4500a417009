"""A progress bar on a terminal or in a notebook; silent anywhere else."""

from __future__ import annotations

import math
import time
from importlib import import_module
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lcbo.loop.stopping import Stopping
from lcbo.optimizer.optimizer import Optimizer
from lcbo.text import duration


class ProgressBar:
    """Shows how a run goes: evaluations, best value or violation, step size, pace, failures, time left."""

    def __init__(self, optimizer: Optimizer, show: bool, stopping: Stopping) -> None:
        console = Console(stderr=True)
        self._optimizer, self._stopping = optimizer, stopping
        self._notebook = NotebookLine() if show and console.is_jupyter else None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not show or console.is_jupyter or not console.is_terminal,
        )
        self._start, self._before = time.monotonic(), optimizer.n_ended
        self._task = self._bar.add_task(optimizer.method, total=optimizer.budget, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.update(last=True)
        self._bar.stop()

    def update(self, busy: int = 0, slots: int = 1, *, last: bool = False) -> None:
        """Show the state of the run; ``busy`` of ``slots`` evaluations are under way."""
        if self._notebook is not None and (last or self._notebook.due()):
            count = f"{self._optimizer.n_ended} of {self._optimizer.budget or 'open'}"
            self._notebook.show(" · ".join([self._optimizer.method, count, *self.state(busy, slots)]))
        if not self._bar.disable:
            state = " · ".join(self.state(busy, slots))
            self._bar.update(self._task, completed=self._optimizer.n_ended, state=state)

    def state(self, busy: int = 0, slots: int = 1) -> list[str]:
        """Return what is worth saying, most important first."""
        log, info = self._optimizer.log, self._optimizer.info()
        seen = log.incumbent()
        parts = []
        if log.best is not None:
            parts.append(f"best {log.best.outcomes[log.problem.objective.name]:.6g}")
        elif seen is not None:
            parts.append(f"violation {log.problem.infeasibility(seen.outcomes, log.scale()):.2g} sd")
        if "step" in info:
            parts.append(f"step {info['step']:.2g}")
        if log.n_failed:
            parts.append(f"{log.n_failed} failed")
        if slots > 1:
            parts.append(f"{busy}/{slots} busy")
        return parts + self._pace()

    def _pace(self) -> list[str]:
        """Return evaluations per minute in this process and the time left at that pace."""
        done, seconds = self._optimizer.n_ended - self._before, time.monotonic() - self._start
        if not done:
            return []
        limits = [self._stopping.seconds_left(self._optimizer)]
        if self._optimizer.budget is not None:
            limits.append((self._optimizer.budget - self._optimizer.n_ended) * seconds / done)
        left = min((limit for limit in limits if limit is not None), default=None)
        pace = [f"{60.0 * done / seconds:.3g}/min"]
        return pace if left is None else [*pace, f"{duration(left)} left"]


class NotebookLine:
    """One line below a cell of a notebook that is written anew, with nothing but IPython."""

    PAUSE = 0.2  # seconds between two lines, so that quick evaluations do not flood the page

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = -math.inf

    def due(self) -> bool:
        """Return whether the last line is old enough to be replaced."""
        return time.monotonic() - self._shown >= self.PAUSE

    def show(self, line: str) -> None:
        """Write the line, the first below the cell, the others in its place."""
        self._shown = time.monotonic()
        content = {"text/plain": line}
        if self._handle is None:
            display = import_module("IPython.display").display
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
