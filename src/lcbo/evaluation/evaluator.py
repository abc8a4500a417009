"""Where evaluations run: one small interface, and its simplest kind, this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Self

from lcbo.checks import MOST_POINTS
from lcbo.evaluation.evaluate import Attempt, evaluate, evaluate_many
from lcbo.problem import Problem
from lcbo.types import Evaluation


class Evaluator(ABC):
    """Evaluates candidates, ``slots`` of them at once; leaving it as a context closes it.

    Attributes:
        batches: whether it wants all the candidates of an iteration together.
    """

    batches = False

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many evaluations may be under way now."""

    @abstractmethod
    def submit(self, candidate: Evaluation) -> None:
        """Start a candidate's evaluation, now or when a worker is free."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Return what has finished, at least one unless ``timeout`` seconds pass or nothing is under way."""

    @abstractmethod
    def close(self) -> None:
        """Give up whatever is under way and free everything held; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Evaluator):
    """One evaluation after the other, in this process, while `wait` waits."""

    slots: int = 1

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._queue: deque[Evaluation] = deque()

    def submit(self, candidate: Evaluation) -> None:
        """Put the candidate in the queue."""
        self._queue.append(candidate)

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Evaluate the next candidate, unless there is no time left; once begun, it takes what it takes."""
        if not self._queue or (timeout is not None and timeout <= 0.0):
            return []
        return [evaluate(self._problem, self._queue.popleft())]

    def close(self) -> None:
        """Forget the queue."""
        self._queue.clear()


class Batched(InProcess):
    """All that is in the queue by one call of a vectorized function, in this process."""

    slots, batches = MOST_POINTS, True

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Evaluate the whole queue, unless there is no time left."""
        if not self._queue or (timeout is not None and timeout <= 0.0):
            return []
        whole = list(self._queue)
        self._queue.clear()
        return evaluate_many(self._problem, whole)
