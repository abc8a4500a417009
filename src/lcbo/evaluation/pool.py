"""Evaluations in worker processes of our own, any of which can die or be killed without harm to the run."""

from __future__ import annotations

import logging
import math
import os
import time
from collections import deque
from multiprocessing.connection import wait

from lcbo.errors import ArgumentError, WorkerError
from lcbo.evaluation.evaluate import Attempt
from lcbo.evaluation.evaluator import Evaluator
from lcbo.evaluation.supervised import SupervisedWorker
from lcbo.problem import Problem
from lcbo.types import Evaluation

THREAD_LIMITS = (  # each worker gets its share of the cores
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_FAILED_STARTS = 3  # in a row, after which the run gives up
logger = logging.getLogger(__name__)
_FAREWELL = 1.0  # seconds an idle worker gets to leave of its own accord


class ProcessPool(Evaluator):
    """Worker processes, each evaluating one candidate at a time.

    A worker that dies or exceeds the timeout costs its evaluation and is replaced. Whatever function
    cloudpickle can send will do, so a lambda or one of a notebook or of a script without a main guard works.
    With more ``slots`` than workers, evaluations wait for a free one.
    """

    slots = 0  # until it is made

    def __init__(
        self, problem: Problem, workers: int, timeout: float | None = None, slots: int | None = None
    ) -> None:
        if os.name != "posix":
            raise ArgumentError("workers", "an executor (worker processes need Linux or macOS)", workers)
        self._problem, self._timeout = problem, timeout
        self.slots = workers if slots is None else slots
        share = str(max(1, available_cores() // workers))
        self._environment = dict.fromkeys(THREAD_LIMITS, share) | dict(os.environ)  # the user's limits stay
        self._queue: deque[Evaluation] = deque()
        self._finished: list[Attempt] = []
        self._failed_starts, self._loaded, self._failure = 0, False, ""
        self._workers: list[SupervisedWorker] = []
        try:
            for _ in range(workers):
                self._workers.append(SupervisedWorker(problem, self._environment))
        except BaseException:
            self.close()
            raise

    def submit(self, candidate: Evaluation) -> None:
        """Give the candidate to a free worker, or keep it until there is one."""
        self._queue.append(candidate)
        self._assign()

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Return what has finished; `WorkerError` when the problem cannot be loaded in a worker."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while self._under_way() and not self._finished and not self._failure:
            self._poll(until)
            if time.monotonic() >= until:
                break
        finished, self._finished = self._finished, []
        if self._failure and not finished:
            raise WorkerError(self._failure)
        return finished

    def close(self) -> None:
        """Kill the workers; idle ones are given a moment to leave by themselves."""
        for worker in self._workers:
            if worker.idle:
                worker.dismiss()
            else:
                worker.kill("the run ended")
        staying = [worker.control for worker in self._workers if not worker.killed]
        until = time.monotonic() + _FAREWELL
        while staying and (left := until - time.monotonic()) > 0.0:
            gone = wait(staying, left)
            staying = [control for control in staying if control not in gone]
        for worker in self._workers:
            worker.kill("the run ended")
        for worker in self._workers:
            worker.last_words()
            worker.release()
        self._workers.clear()
        self._queue.clear()

    def _under_way(self) -> bool:
        return bool(self._queue) or any(worker.task is not None for worker in self._workers)

    def _assign(self) -> None:
        for worker in self._workers:
            if self._queue and worker.idle and not wait([worker.control], 0.0):
                worker.begin(self._queue.popleft(), self._timeout)

    def _poll(self, until: float) -> None:
        """Wait for one message, death or deadline, and deal with all there are."""
        now = time.monotonic()
        next_event = min([until, *(worker.deadline for worker in self._workers)])
        watched = [w.control for w in self._workers] + [w.connection for w in self._workers if w.listening]
        ready = wait(watched, None if math.isinf(next_event) else max(0.0, next_event - now))
        for worker in list(self._workers):
            if worker.connection in ready:
                self._hear(worker)
            if worker.control in ready:
                self._replace(worker)
            elif time.monotonic() >= worker.deadline:
                if worker.killed:  # nobody can end its tree: a process that hangs in the system
                    self._replace(worker)
                else:
                    worker.kill(worker.overdue)
        self._assign()

    def _hear(self, worker: SupervisedWorker) -> None:
        was_ready = worker.ready
        self._finished += worker.hear()
        if worker.ready and not was_ready:
            self._loaded, self._failed_starts = True, 0

    def _replace(self, worker: SupervisedWorker) -> None:
        """Bury a worker that has ended, count what it was doing as failed, and start another."""
        while worker.listening and worker.connection.poll():  # it may have finished before it died
            self._hear(worker)
        how, output = worker.last_words()
        worker.release()
        logger.warning("worker %s %s", worker.name, worker.killed or how)
        self._workers.remove(worker)
        self._finished += worker.lose_task(how, output)
        if not worker.ready:
            self._failed_starts += 1
            if (worker.broken and not self._loaded) or self._failed_starts >= _FAILED_STARTS:
                said = worker.broken or output
                self._failure = f"the function cannot be loaded in a worker process, which {how}:\n{said}"
                return
        self._workers.append(SupervisedWorker(self._problem, self._environment))


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
