"""Step-length control by the angle between consecutive steps.

Comparing noisy values would shrink the radius to nothing; the angle needs no values. Steps that keep
their direction lengthen the radius, steps that turn back shorten it, and the remaining budget caps it
so that a run ends with small steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lcbo.types import Array

RATE = 0.3


@dataclass
class Radius:
    """The radius of the next step.

    Attributes:
        now: its value, in unit-cube length.
        least: early a floor, which keeps one stiff direction from stopping progress in all others; late
            the floor falls to a tenth of it, for precision.
        most: the cap at the start; it falls with the square root of what is left of the budget.
    """

    now: float
    least: float
    most: float

    def adapt(self, step: Array, last_step: Array, spent: float | None) -> None:
        """Multiply by ``exp(0.3 cos(step, last_step))``, within the floor and the cap.

        Args:
            step: ``d``, just computed.
            last_step: ``d``; zero before the first step, which leaves the radius alone.
            spent: fraction of the budget used, or ``None`` without a budget.
        """
        left = 0.25 if spent is None else max(1.0 - spent, 0.0)
        floor = self.least * max(left, 0.1)
        cap = self.most if spent is None else max(self.least, self.most * math.sqrt(left))
        size = float(np.linalg.norm(step) * np.linalg.norm(last_step))
        cosine = float(step @ last_step) / size if size > 0.0 else 0.0
        self.now = min(max(self.now * math.exp(RATE * cosine), floor), cap)
