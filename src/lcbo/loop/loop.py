"""The loop of a run: keeps an evaluator busy, tells what comes back at once, and stops for a reason."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from lcbo.errors import EvaluationError, FunctionError, OutcomeError, TooManyFailuresError, WorkerError
from lcbo.evaluation.evaluate import Attempt
from lcbo.evaluation.evaluator import Evaluator
from lcbo.loop.interrupt import shield
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import Stopping
from lcbo.optimizer import answer
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.result import Snapshot
from lcbo.types import Evaluation

logger = logging.getLogger(__name__)
Callback = Callable[[Snapshot], object]


class Loop:
    """Evaluations on their way between an optimizer and an evaluator.

    Candidates handed out earlier and never told (a resumed run) come first, in their order. With one slot
    whole batches are asked for, so a run does not depend on where its evaluations take place; with more,
    every freed slot gets new work at once and nobody waits for a straggler. A failed evaluation is tried
    again ``retries`` times. Every candidate gets its seed on the way.
    """

    def __init__(
        self, optimizer: Optimizer, evaluator: Evaluator, retries: int, common_random_numbers: bool = False
    ) -> None:
        self._optimizer, self._evaluator, self._retries = optimizer, evaluator, retries
        self._common = common_random_numbers
        self._waiting: deque[Evaluation] = deque(optimizer.pending)
        self._running: dict[int, Evaluation] = {}
        self._ended: deque[Attempt] = deque()  # and not yet told
        self._late: list[Evaluation] = []
        self._succeeded = any(e.status == "done" and e.role != "data" for e in optimizer.log.evaluations)
        self._last: Attempt | None = None  # that failed
        self.raised: Exception | None = None  # by the callback

    def run(self, stopping: Stopping, callback: Callback | None, bar: ProgressBar) -> str:
        """Evaluate until something says stop and return the reason; the errors are those of `minimize`."""
        reason = None
        while reason is None:
            self._fill()
            bar.update(len(self._running), self._evaluator.slots)
            if not self._running and self._evaluator.slots > 0:
                reason = self._spent()
                break
            self._ended.extend(self._evaluator.wait(stopping.seconds_left(self._optimizer)))
            if not self._ended:
                stuck = "every worker of the executor is busy with an evaluation that timed out"
                reason = stopping.reason(self._optimizer) or (None if self._evaluator.slots > 0 else stuck)
            while self._ended:
                if self._settle_next():
                    bar.update(len(self._running), self._evaluator.slots)
                    reason = reason or self._called_back(callback) or stopping.reason(self._optimizer)
        self.collect()
        if self._optimizer.log.incumbent() is None:
            raise self._nothing_succeeded()
        return reason

    def collect(self) -> None:
        """Tell what has finished by now; nothing paid for is lost when a run stops."""
        with suppress(WorkerError):
            self._ended.extend(self._evaluator.wait(0.0))
        while self._ended:
            self._settle_next()

    def _fill(self) -> None:
        while (free := self._evaluator.slots - len(self._running)) > 0:
            if not self._waiting:
                with shield():
                    whole = self._evaluator.slots == 1 or self._evaluator.batches
                    new = self._optimizer.ask(None if whole else free)
                self._waiting.extend(new)
            if not self._waiting:
                return
            candidate = self._waiting[0]
            candidate = replace(
                candidate, seed=self._optimizer.evaluation_seed(candidate, common=self._common)
            )
            self._evaluator.submit(candidate)
            self._waiting.popleft()
            self._running[candidate.id] = candidate

    def _settle_next(self) -> bool:
        """Tell the next evaluation that has ended, or put it up for another try; True if it was told."""
        with shield():
            return self._settle(self._ended.popleft())

    def _settle(self, attempt: Attempt) -> bool:
        ended = attempt.evaluation
        if attempt.late:
            self._late.append(ended)
            self._tell_late()
            return False
        candidate = self._running.pop(ended.id)
        if ended.failed is not None:
            self._last = attempt
            if isinstance(attempt.error, OutcomeError) and not self._succeeded:
                raise attempt.error
            if attempt.broken and self._optimizer.n_ended == 0:
                raise _broken(attempt)
            if candidate.record.attempts <= self._retries:
                logger.info("candidate %d: tried again after %s", ended.id, ended.failed)
                again = replace(candidate.record, attempts=candidate.record.attempts + 1)
                self._waiting.appendleft(replace(candidate, record=again))
                return False
        seconds = ended.record.seconds or 0.0
        if ended.failed is not None:
            logger.warning("candidate %d failed after %.3g s: %s", ended.id, seconds, ended.failed)
        else:
            logger.info("candidate %d took %.3g s: %s", ended.id, seconds, dict(ended.outcomes))
        self._succeeded |= ended.failed is None
        self._optimizer.settle(ended)
        self._tell_late()
        return True

    def _tell_late(self) -> None:
        """Put late results on record; that of a candidate tried again waits until it has been told."""
        open_ids = {candidate.id for candidate in (*self._waiting, *self._running.values())}
        for ended in self._late:
            if ended.id not in open_ids:
                self._optimizer.late(ended)
        self._late = [ended for ended in self._late if ended.id in open_ids]

    def _called_back(self, callback: Callback | None) -> str | None:
        if callback is not None:
            try:
                callback(answer.snapshot(self._optimizer.log, self._optimizer.info()))
            except StopIteration:
                return "stopped by the callback"
            except Exception as error:
                self.raised = error
                raise
        return None

    def _spent(self) -> str:
        if self._optimizer.exhausted:
            return f"budget of {self._optimizer.budget} evaluations spent"
        return "the method has nothing more to propose"

    def _nothing_succeeded(self) -> TooManyFailuresError:
        log = self._optimizer.log
        last = log.evaluations[-1].failed if log.evaluations else "nothing was evaluated"
        n = self._optimizer.n_ended
        error = TooManyFailuresError(f"fun: expected outcomes; all {n} evaluations failed, the last: {last}")
        if self._last is not None:
            error.__cause__ = self._last.error
            trace = self._last.evaluation.record.traceback
            if self._last.error is None and trace:
                error.add_note(f"In the worker:\n{trace}")
        return error


def _broken(attempt: Attempt) -> FunctionError:
    """Return the error of a function that cannot work; the candidate stays pending for when it can."""
    ended = attempt.evaluation
    trace = "" if isinstance(attempt.error, EvaluationError) else ended.record.traceback
    error = FunctionError(f"fun: the first evaluation ended with a programming error: {ended.failed}", trace)
    error.__cause__ = attempt.error
    if attempt.error is None and trace:
        error.add_note(f"In the worker:\n{trace}")
    return error
