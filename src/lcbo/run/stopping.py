"""When a run stops, and the reason in words."""

from __future__ import annotations

import math
import time
from numbers import Real

from lcbo.errors import ArgumentError
from lcbo.run.evaluate import too_many_failed
from lcbo.run.optimizer import Optimizer


class Stopping:
    """Limits of a run beside its budget; the clock starts when it is made.

    Args:
        time_limit: wall time in seconds; a running evaluation is not cut short.
        target: stop at a feasible observation with at least this objective value.
        kkt_tol: stop when ``r_s + spread_s`` and ``r_f + spread_f`` at the recommended point are both
            below it, that is when the expected squared KKT residuals are (units as in `Result.kkt`).
    """

    def __init__(self, time_limit: float | None, target: float | None, kkt_tol: float | None) -> None:
        self._time_limit = _positive("time_limit", time_limit)
        self._kkt_tol = _positive("kkt_tol", kkt_tol)
        if target is not None and (not isinstance(target, Real) or math.isnan(target)):
            raise ArgumentError("target", "a number", repr(target))
        self._target = target
        self._start = time.monotonic()
        self._iteration = -1.0

    def reason(self, optimizer: Optimizer) -> str | None:
        """Return why the run should stop now, or ``None``."""
        log = optimizer.log
        if too_many_failed(len(log.observations), log.n_failed):
            last = next(o.failed for o in reversed(log.observations) if o.failed)
            return (
                f"too many evaluations failed ({log.n_failed} of {len(log.observations)}; the last: {last})"
            )
        if self._time_limit is not None and time.monotonic() - self._start >= self._time_limit:
            return f"time limit of {self._time_limit:g} s reached"
        if self._target is not None and log.best is not None:
            sign = -1.0 if optimizer.problem.objective.maximize else 1.0
            if log.objective(log.best) <= sign * self._target:
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


def _positive(argument: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0.0:
        raise ArgumentError(argument, "a number above 0", repr(value))
    return float(value)
