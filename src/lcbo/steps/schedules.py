"""Schedules over the iteration number k = 1, 2, ...: constants, powers, or the user's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lcbo.checks import number
from lcbo.errors import ArgumentError


@dataclass(frozen=True)
class Power:
    """``scale * k ** exponent``; the paper's penalty is ``Power(10, 1/4)``."""

    scale: float
    exponent: float

    def __call__(self, k: int) -> float:
        """Return the value at iteration ``k``."""
        return float(self.scale * k**self.exponent)


@dataclass(frozen=True)
class Growth:
    """``constant + linear * k + log * ln(k + 1)``, the growing batches of the paper's ablation."""

    constant: float
    linear: float = 0.0
    log: float = 0.0

    def __call__(self, k: int) -> float:
        """Return the value at iteration ``k``."""
        return self.constant + self.linear * k + self.log * math.log(k + 1)


Schedule = float | Callable[[int], float]


def at(schedule: Schedule, k: int, argument: str = "schedule") -> float:
    """Return a schedule's value at iteration ``k``, at least 0; the error otherwise names ``argument``."""
    if not callable(schedule):
        return number(argument, schedule, 0.0)
    try:
        value = schedule(k)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ArgumentError(argument, "a number or a function of the iteration k", reason) from error
    return number(f"{argument} at k = {k}", value, 0.0)
