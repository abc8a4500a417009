"""Whether the limits have kinks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

RECENT = 0.15  # of the latest landing in the mean error
WRONG = 0.25  # a mean error of this share of the linear change is large
RIGHT = 0.02  # one this small later says that it was curvature after all
FALL = 4.0  # times shorter steps that are still wrong are enough
FIRST = 1.0  # a first error counts for no more: a flat term misses its change many times over


@dataclass
class Roughness:
    """Tells kinks from curvature where there is no noise: shorter steps do not land better.

    Where a term is smooth, the error of a landing over the linear change falls with the length of the step.
    A largest value among many, as of stresses, has kinks along which it does not, and a radius that
    follows such errors ends before the run does.

    Attributes:
        error: recent mean of the errors, each at most 1.
        since: the radius when that became large; ``None`` while it is not.
        first: the error then.
        found: whether errors fell less than the root of the radius, and have not become small since.
    """

    error: float = 0.0
    since: float | None = None
    first: float = 0.0
    found: bool = False

    def observe(self, error: float, radius: float) -> float | None:
        """Learn from the error of a landing; return the radius to go on with where kinks come to light."""
        self.error += RECENT * (min(error, 1.0) - self.error)
        if self.found:
            self.found = self.error > RIGHT
            return None
        if self.error < WRONG:
            self.since = None
            return None
        if self.since is None:
            self.since, self.first = radius, min(error, FIRST)
        fall = radius / self.since
        self.found = fall < 1.0 / FALL and error > math.sqrt(fall) * self.first
        return self.since if self.found else None

    def state(self) -> dict[str, Any]:
        """Return what was learned."""
        return asdict(self)

    @staticmethod
    def restored(state: Mapping[str, Any]) -> Roughness:
        """Return what `state` described."""
        return Roughness(**state)
