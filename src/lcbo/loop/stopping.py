"""When a run stops, and the reason in words."""

from __future__ import annotations

import math
import time

from lcbo.checks import is_number, number, positive
from lcbo.errors import ArgumentError
from lcbo.optimizer.optimizer import Optimizer

# Of what a method chose. A design is drawn blindly: its failures only teach where not to go.
MAX_FAILURE_RATE = 0.5
MIN_EVALUATIONS, MIN_CHOSEN = 20, 10  # from which on it is judged
TOO_MANY_FAILED = "too many evaluations failed"  # how the reason begins
ALL_FAILED = 10  # so many failures and not one success: the function is broken


class Stopping:
    """Limits of a run beside its budget, as in `minimize`; the clock starts when it is made.

    One evaluation is waited for whatever the time limit. ``kkt_tol`` bounds ``r_s + spread_s`` and
    ``r_f + spread_f`` at the recommended point, the expected squared KKT residuals of `Result.kkt`.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        target: float | None = None,
        kkt_tol: float | None = None,
        max_failure_rate: float = MAX_FAILURE_RATE,
    ) -> None:
        self._time_limit = positive("time_limit", time_limit)
        self._kkt_tol = positive("kkt_tol", kkt_tol)
        if target is not None and (not is_number(target) or math.isnan(target)):
            raise ArgumentError("target", "a number", repr(target))
        self._max_failure_rate = number("max_failure_rate", max_failure_rate, 0, 1)
        self._target = target
        self.start = time.monotonic()
        self._iteration = -1.0

    def seconds_left(self, optimizer: Optimizer) -> float | None:
        """Return the time left, ``None`` without a limit and before the first evaluation has ended."""
        if self._time_limit is None or optimizer.n_ended == 0:
            return None
        return max(0.0, self.start + self._time_limit - time.monotonic())

    def reason(self, optimizer: Optimizer) -> str | None:
        """Return why the run should stop now, or ``None``."""
        log = optimizer.log
        n, n_failed = len(log.evaluations), log.n_failed
        enough = n >= MIN_EVALUATIONS and log.n_chosen >= MIN_CHOSEN
        many = enough and log.n_chosen_failed > self._max_failure_rate * log.n_chosen
        if many or n == n_failed >= ALL_FAILED:
            last = next(o.failed for o in reversed(log.evaluations) if o.failed)
            return f"{TOO_MANY_FAILED} ({n_failed} of {n}; the last: {last})"
        if self._time_limit is not None and time.monotonic() - self.start >= self._time_limit:
            return f"time limit of {self._time_limit:g} s reached"
        if self._target is not None and log.best is not None:
            objective = optimizer.problem.objective
            if objective.sign * (log.best.outcomes[objective.name] - self._target) <= 0.0:
                return f"target of {self._target:g} reached"
        if self._kkt_tol is not None and self._stationary(optimizer, self._kkt_tol):
            return f"KKT tolerance of {self._kkt_tol:g} reached"
        return None

    def _stationary(self, optimizer: Optimizer, tol: float) -> bool:
        """Return whether the recommended point is a KKT point within ``tol``; looked at once an iteration."""
        iteration = optimizer.info().get("iteration", 0.0)
        if iteration == self._iteration:
            return False
        self._iteration = iteration
        at = optimizer.stationarity()
        return at is not None and at.r_s + at.spread_s <= tol and at.r_f + at.spread_f <= tol
