"""One run of a comparison: durable while it runs, with the time the method takes for itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lcbo.compare.score import checkpoints
from lcbo.evaluation.evaluate import MAX_FAILURE_RATE
from lcbo.evaluation.evaluator import Finished, InProcess
from lcbo.loop.interrupt import Interrupts
from lcbo.loop.loop import Dispatch
from lcbo.loop.minimize import make_evaluator
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import Stopping
from lcbo.optimizer.optimizer import Optimizer


def run_to_end(
    optimizer: Optimizer,
    *,
    at_checkpoint: Callable[[Optimizer], Any] = lambda _: None,
    timeout: float | None = None,
    retries: int = 0,
    max_failure_rate: float = MAX_FAILURE_RATE,
) -> dict[str, Any]:
    """Evaluate the rest of a stored run with a budget as `minimize` does, and return what is kept of it.

    Returns:
        ``seconds``, the processor time of the method without the evaluations, and ``checkpoints``, what
        ``at_checkpoint`` gave as JSON by number of evaluations (a text). The store keeps both for a run
        that is made in several parts.
    """
    store, budget = optimizer.store, optimizer.budget
    assert store is not None
    assert budget is not None
    kept: dict[str, Any] = store.meta().get("comparison", {"checkpoints": {}, "seconds": 0.0})
    before, marks = kept["seconds"], checkpoints(budget)
    stopping = Stopping(max_failure_rate=max_failure_rate)
    clock = _Clocked(optimizer.problem)
    evaluator = clock if timeout is None else make_evaluator(optimizer.problem, timeout=timeout)

    def keep(_: object = None) -> None:
        if optimizer.n_ended in marks:
            kept["checkpoints"][str(optimizer.n_ended)] = at_checkpoint(optimizer)
            kept["seconds"] = before + time.process_time() - start - clock.seconds
            store.set_meta(comparison=kept)

    start = time.process_time()
    with evaluator, Interrupts() as interrupts, ProgressBar(optimizer, False, stopping) as bar:
        keep()  # it may have been killed between the tell and the checkpoint
        Dispatch(optimizer, evaluator, interrupts, retries).run(stopping, keep, bar)
    kept["seconds"] = before + time.process_time() - start - clock.seconds
    return kept


class _Clocked(InProcess):
    """Evaluates in this process and adds up the processor time that takes."""

    seconds = 0.0

    def wait(self, timeout: float | None = None) -> list[Finished]:
        """Evaluate the next candidate."""
        start = time.process_time()
        finished = super().wait(timeout)
        self.seconds += time.process_time() - start
        return finished


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write the result of a finished run; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    fresh.replace(path)
