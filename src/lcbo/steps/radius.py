"""Step-length control by the angle between consecutive steps.

Comparing noisy values would shrink the radius to nothing; the angle needs no values. Steps that keep
their direction lengthen the radius, steps that turn back shorten it, and the remaining budget caps it
so that a run ends with small steps.
"""

from __future__ import annotations

import math

import numpy as np

from lcbo.types import Array

RATE = 0.3


def adapted_radius(
    radius: float, step: Array, last_step: Array, bounds: tuple[float, float], spent: float | None
) -> float:
    """``radius * exp(0.3 cos(step, last_step))`` within bounds that tighten as the budget goes.

    Early a floor keeps one stiff direction from stopping progress in all others; late it falls to a
    tenth, for precision. The cap falls with the square root of what is left.

    Args:
        radius: of the step just computed.
        step: ``d``.
        last_step: ``d``; zero before the first step, which leaves the radius alone.
        bounds: least and most radius.
        spent: fraction of the budget used, or ``None`` without a budget.
    """
    least, most = bounds
    left = 0.25 if spent is None else max(1.0 - spent, 0.0)
    floor = least * max(left, 0.1)
    cap = most if spent is None else max(least, most * math.sqrt(left))
    size = float(np.linalg.norm(step) * np.linalg.norm(last_step))
    cosine = float(step @ last_step) / size if size > 0.0 else 0.0
    return min(max(radius * math.exp(RATE * cosine), floor), cap)
