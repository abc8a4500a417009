"""Evaluations on somebody else's workers: any ``concurrent.futures.Executor``, Dask's included.

Such a worker cannot be killed from here. An evaluation that exceeds its timeout is given up: it counts as
failed and keeps its slot until it ends; what comes of it then is reported as late.
"""

from __future__ import annotations

import math
import pickle
import time
import traceback
import uuid
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple

import cloudpickle

from lcbo.errors import ArgumentError, WorkerError
from lcbo.evaluation.evaluate import Attempt, evaluate, lost, shortened
from lcbo.evaluation.evaluator import Evaluator
from lcbo.problem import Problem
from lcbo.types import Evaluation

_REFRESH = 2.0  # seconds between looks at the size of a Dask cluster, which may grow and shrink


class _Task(NamedTuple):
    candidate: Evaluation
    began: float  # wall clock
    deadline: float  # monotonic clock


class FutureEvaluator(Evaluator):
    """Hands evaluations to an executor, which it does not shut down.

    The ``timeout`` runs from handing an evaluation over. There are as many slots as the executor has workers;
    with Dask, whose messages take a while, one more that waits at the scheduler: a freed worker has work at
    once. Not with a timeout, which would run while it waits.
    """

    def __init__(
        self, problem: Problem, executor: Executor, timeout: float | None = None, slots: int | None = None
    ) -> None:
        self._problem, self._executor, self._timeout = problem, executor, timeout
        self._client: Any = getattr(executor, "_client", None)
        self._dask = hasattr(self._client, "nthreads")
        self._stated_slots = slots
        self._known_size, self._looked = self._size(), time.monotonic()
        self._running: dict[Future[Any], _Task] = {}
        self._given_up: dict[Future[Any], _Task] = {}

    @property
    def slots(self) -> int:
        """How many evaluations may be under way now; those given up hold theirs until they end."""
        if self._dask and time.monotonic() - self._looked > _REFRESH:
            self._known_size, self._looked = self._size(), time.monotonic()
        return self._known_size - len(self._given_up)

    def submit(self, candidate: Evaluation) -> None:
        """Hand a candidate over; `WorkerError` when the executor is broken or was shut down."""
        try:
            future = self._hand_over(candidate)
        except RuntimeError as error:
            raise WorkerError(
                f"the executor takes no more evaluations ({type(error).__name__}: {error}); "
                "workers=n starts processes that are replaced when they die"
            ) from error
        until = math.inf if self._timeout is None else time.monotonic() + self._timeout
        self._running[future] = _Task(candidate, time.time(), until)

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Return what has finished, was given up or came late.

        When every slot is held by evaluations given up, it waits for them no longer than one more timeout.
        """
        until = math.inf if timeout is None else time.monotonic() + timeout
        if not self._running and self._timeout is not None:
            until = min(until, time.monotonic() + self._timeout)
        while futures := [*self._running, *self._given_up]:
            next_event = min([until, *(task.deadline for task in self._running.values())])
            left = None if math.isinf(next_event) else max(0.0, next_event - time.monotonic())
            finished = [self._collect(future) for future in wait(futures, left, FIRST_COMPLETED).done]
            finished += self._overdue()
            if finished or time.monotonic() >= until:
                return finished
        return []

    def close(self) -> None:
        """Cancel what has not begun and turn away from the rest; the executor stays open."""
        for future in [*self._running, *self._given_up]:
            future.cancel()
        self._running.clear()
        self._given_up.clear()

    def _size(self) -> int:
        if self._stated_slots is not None:
            return self._stated_slots
        if self._dask:
            only = getattr(self._executor, "_kwargs", {}).get("workers")
            threads = sum(self._client.nthreads(only).values())
            return max(1, int(threads)) + (1 if self._timeout is None else 0)
        for name in ("_max_workers", "num_workers"):  # the standard library and loky; mpi4py
            size = getattr(self._executor, name, None)
            if isinstance(size, int) and size > 0:
                return size
        raise ArgumentError("slots", "how many evaluations the executor runs at once (it does not say)", None)

    def _hand_over(self, candidate: Evaluation) -> Future[Any]:
        if isinstance(self._executor, ThreadPoolExecutor):
            return self._executor.submit(evaluate, self._problem, candidate)
        try:
            # Anew for every evaluation: a noisy benchmark gives each copy a noise of its own.
            payload = cloudpickle.dumps(self._problem)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ArgumentError("fun", "a function that can be sent to the executor", reason) from error
        # The token keeps a cluster from taking a repeated point for a result it has already.
        return self._executor.submit(evaluate_pickled, payload, candidate, token=uuid.uuid4().hex)

    def _collect(self, future: Future[Any]) -> Attempt:
        late = future in self._given_up
        task = (self._given_up if late else self._running).pop(future)
        try:
            attempt: Attempt = future.result()
        except (Exception, CancelledError) as error:  # the executor's own trouble
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            trace = shortened("".join(traceback.format_exception(error)))
            attempt = Attempt(lost(task.candidate, reason, task.began, trace), error)
        return replace(attempt, late=late)

    def _overdue(self) -> list[Attempt]:
        now = time.monotonic()
        overdue = {future: task for future, task in self._running.items() if now >= task.deadline}
        finished = []
        for future, task in overdue.items():
            del self._running[future]
            # Dask would let a running evaluation be canceled, and its result be lost.
            if self._dask or not future.cancel():
                self._given_up[future] = task
            reason = f"timeout: no result within {self._timeout:g} s"
            finished.append(Attempt(lost(task.candidate, reason, task.began)))
        return finished


def evaluate_pickled(payload: bytes, candidate: Evaluation, token: str) -> Attempt:  # noqa: ARG001
    """Evaluate with a pickled problem, on the executor's side; ``token`` makes every call a different one."""
    return evaluate(pickle.loads(payload), candidate).portable()
