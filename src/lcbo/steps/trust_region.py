"""The length of a trust region as a state machine: batches go in as successes and failures."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """When a region changes its length."""

    first: float  # length at the start and after a restart
    least: float  # a region shorter than this restarts
    most: float  # no region is longer
    successes: int  # consecutive successes that double the length
    failures: int  # consecutive failures that halve it

    @staticmethod
    def of(
        length: tuple[float, float, float],
        dim: int,
        batch: int,
        up: int | None = None,
        down: int | None = None,
    ) -> Rules:
        """Return the rules for a problem; tolerances that are not given are those of the paper's Table 1."""
        up = max(3, math.ceil(dim / 10)) if up is None else up
        return Rules(*length, up, math.ceil(dim / batch) if down is None else down)


@dataclass(frozen=True)
class RegionEvent:
    """What happened to a region after a batch; a failure that ends a region is followed by its restart."""

    kind: str  # start, success, failure or restart
    length: float  # after the event
    iteration: int  # number of the batch
    evaluations: int  # of the run so far, the batch and failed evaluations included


@dataclass(frozen=True)
class Region:
    """Length and counters of a trust region; counters are consecutive and start anew at a change."""

    length: float
    successes: int = 0
    failures: int = 0
    restarts: int = 0

    def judged(self, success: bool, rules: Rules) -> tuple[Region, tuple[tuple[str, float], ...]]:
        """Return the region after one more batch, and the kinds of its events with the lengths after them."""
        if success:
            count, length = self.successes + 1, self.length
            if count >= rules.successes:
                count, length = 0, min(2.0 * length, rules.most)
            return Region(length, count, 0, self.restarts), (("success", length),)
        count, length = self.failures + 1, self.length
        if count >= rules.failures:
            count, length = 0, 0.5 * length
        if length < rules.least:
            again = Region(rules.first, restarts=self.restarts + 1)
            return again, (("failure", length), ("restart", rules.first))
        return Region(length, 0, count, self.restarts), (("failure", length),)
