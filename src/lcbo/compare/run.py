"""One run of a comparison: durable while it runs, with the time the method takes for itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lcbo.compare.score import checkpoints
from lcbo.evaluation.evaluate import Attempt
from lcbo.evaluation.evaluator import InProcess
from lcbo.loop.loop import Loop
from lcbo.loop.minimize import make_evaluator
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import MAX_FAILURE_RATE, Stopping
from lcbo.optimizer.optimizer import Optimizer
from lcbo.problems import Benchmark
from lcbo.problems.base import NoisyView
from lcbo.types import Array


def run_to_end(
    optimizer: Optimizer,
    *,
    at_checkpoint: Callable[[Optimizer], Any] = lambda _: None,
    timeout: float | None = None,
    retries: int = 0,
    max_failure_rate: float = MAX_FAILURE_RATE,
) -> dict[str, Any]:
    """Evaluate the rest of a stored run with a budget, and return what is kept of the whole run.

    Args:
        optimizer: the run.
        at_checkpoint: gives what is to be kept, as JSON, at each of the `checkpoints` of the budget.
        timeout: seconds one evaluation may take.
        retries: how often a failed evaluation is tried again.
        max_failure_rate: the run stops when a larger part of at least 20 evaluations has failed.

    Returns:
        ``seconds``, the processor time of the method without the evaluations, and ``checkpoints``, what was
        kept by number of evaluations (a text). The store keeps both for a run that is made in several parts.
    """
    store, budget = optimizer.store, optimizer.budget
    assert store is not None
    assert budget is not None
    kept: dict[str, Any] = store.meta().get("comparison", {"checkpoints": {}, "seconds": 0.0})
    before, marks = kept["seconds"], set(checkpoints(budget).tolist())
    stopping = Stopping(max_failure_rate=max_failure_rate)
    clock = _Clocked(optimizer.problem)
    evaluator = clock if timeout is None else make_evaluator(optimizer.problem, None, None, timeout)

    def keep(_: object = None) -> None:
        if optimizer.n_ended in marks:
            kept["checkpoints"][str(optimizer.n_ended)] = at_checkpoint(optimizer)
            kept["seconds"] = before + time.process_time() - start - clock.seconds
            store.set_meta(comparison=kept)

    start = time.process_time()
    with evaluator, ProgressBar(optimizer, False, stopping) as bar:
        keep()  # it may have been killed between the tell and the checkpoint
        Loop(optimizer, evaluator, retries).run(stopping, keep, bar)
    kept["seconds"] = before + time.process_time() - start - clock.seconds
    return kept


class _Clocked(InProcess):
    """Evaluates in this process and adds up the processor time that takes."""

    seconds = 0.0

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Evaluate the next candidate."""
        start = time.process_time()
        finished = super().wait(timeout)
        self.seconds += time.process_time() - start
        return finished


class Truth:
    """A benchmark that evaluates every point once, and the view of it that a method gets.

    Attributes:
        benchmark: the noise-free problem.
        problem: what the method sees; the noise of evaluation i is the same for every method.
    """

    def __init__(self, benchmark: Benchmark, noise: float, seed: int) -> None:
        self.benchmark = benchmark
        self.problem: Benchmark | NoisyView = benchmark
        if noise > 0.0:
            self.problem = benchmark.noisy(rng=seed, sd=noise)
        self.problem.fun = self._observe
        self._seen: dict[bytes, dict[str, float]] = {}

    def exact(self, x: Array) -> dict[str, float]:
        """Return the noise-free outcomes of a point; an expensive benchmark is not asked twice."""
        key = x.tobytes()
        if key not in self._seen:
            self._seen[key] = self.benchmark.evaluate(x)
        return self._seen[key]

    def _observe(self, x: Array) -> dict[str, float]:
        exact = self.exact(x)
        return self.problem.observed(exact) if isinstance(self.problem, NoisyView) else exact


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write the result of a finished run; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    fresh.replace(path)
