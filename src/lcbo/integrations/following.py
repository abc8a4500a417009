"""A run inside a tool that keeps its own list of trials: which of them are the run's candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lcbo.optimizer.optimizer import Optimizer
from lcbo.types import Candidate


@dataclass(frozen=True)
class Range:
    """A parameter of another tool: what the optimizer sees of it is continuous, its logarithm if ``log``."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    integer: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Bounds of the optimizer's variable."""
        return self.number(self.low), self.number(self.high)

    def number(self, value: float) -> float:
        """Return a parameter as the optimizer sees it."""
        if self.log:
            return math.log(value) if value > 0.0 else -math.inf
        return float(value)

    def value(self, number: float) -> float | int:
        """Return the parameter nearest to a number of the optimizer."""
        value = math.exp(number) if self.log else number
        step = 1 if self.integer and self.step is None else self.step
        if step is not None:
            value = self.low + round((value - self.low) / step) * step
        value = min(max(value, self.low), self.high)
        return round(value) if self.integer else float(value)


class Follower:
    """An optimizer that follows the trials of another tool, by their numbers.

    A trial with the parameters of a candidate is that candidate, any other an evaluation made elsewhere. So
    whoever tells the same trials in the same order gets the same candidates.
    """

    def __init__(self, optimizer: Optimizer, ranges: Mapping[str, Range]) -> None:
        self.optimizer = optimizer
        self._ranges = ranges
        self._spare: list[Candidate] = []  # asked for and not handed out
        self._own: dict[int, Candidate] = {}  # by number of the trial

    def hand_out(self, number: int) -> dict[str, Any]:
        """Return the parameters of a trial; none when the method has nothing to propose."""
        if number not in self._own:
            self._ask()
            if self._spare:
                self._own[number] = self._spare.pop(0)
        return self._params(self._own[number]) if number in self._own else {}

    def begin(self, number: int, params: Mapping[str, Any]) -> None:
        """Note a trial that somebody else handed out, or that was before; maybe it is the next candidate."""
        self._ask()
        for candidate in self._spare:
            if self._is_at(params, candidate):
                self._spare.remove(candidate)
                self._own[number] = candidate
                return

    def end(
        self, number: int, params: Mapping[str, Any], outcomes: Mapping[str, float] | None, reason: str = ""
    ) -> None:
        """Tell what came of a trial; ``None`` is a failure for that reason."""
        candidate = self._own.pop(number, None)
        if candidate is not None and not self._is_at(params, candidate):
            self._spare.insert(0, candidate)
            candidate = None
        if candidate is not None and outcomes is None:
            self.optimizer.tell(candidate.id, failed=reason)
        elif candidate is not None:
            self.optimizer.tell(candidate.id, outcomes, final=True)
        elif outcomes is not None and self.covers(params):
            point = [each.number(params[name]) for name, each in self._ranges.items()]
            self.optimizer.include([(point, outcomes)])

    def covers(self, params: Mapping[str, Any]) -> bool:
        """Whether parameters are a point within the ranges."""
        for name, each in self._ranges.items():
            low, high = each.ends
            if name not in params or not low <= each.number(params[name]) <= high:
                return False
        return True

    def _ask(self) -> None:
        if not self._spare:
            self._spare = self.optimizer.ask() or self.optimizer.ask(1)

    def _params(self, candidate: Candidate) -> dict[str, Any]:
        pairs = zip(self._ranges.items(), candidate.x.tolist(), strict=True)
        return {name: each.value(number) for (name, each), number in pairs}

    def _is_at(self, params: Mapping[str, Any], candidate: Candidate) -> bool:
        proposed = self._params(candidate)
        return all(
            name in params and math.isclose(params[name], value, rel_tol=1e-12)
            for name, value in proposed.items()
        )
