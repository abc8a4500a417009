"""A progress bar on a terminal or in a notebook; silent anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lcbo.run.optimizer import Optimizer


class ProgressBar:
    """Shows evaluations, the best feasible value or the violation, and the step size.

    Args:
        optimizer: the run to watch.
        show: ``False`` never shows anything.
    """

    def __init__(self, optimizer: Optimizer, show: bool) -> None:
        console = Console(stderr=True)
        self._optimizer = optimizer
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not show or not (console.is_terminal or console.is_jupyter),
        )
        self._task = self._bar.add_task(optimizer.method, total=optimizer.budget, state="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.update()
        self._bar.stop()

    def update(self) -> None:
        """Show the state of the run."""
        if not self._bar.disable:
            self._bar.update(self._task, completed=self._optimizer.n_ended, state=self._state())

    def _state(self) -> str:
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
        return " · ".join(parts)
