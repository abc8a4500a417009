"""Step-length control by the angle between consecutive steps.

Comparing noisy values would shrink the radius to nothing; the angle needs no values. Steps that keep
their direction lengthen the radius, steps that turn back shorten it, and the remaining budget caps it
so that a run ends with small steps.
"""

from __future__ import annotations

import math

import numpy as np

from lcbo.steps.penalty import Array

RATE = 0.3


def adapted_radius(
    radius: float, step: Array, last_step: Array, bounds: tuple[float, float], spent: float
) -> float:
    """``radius * exp(0.3 cos(step, last_step))`` within bounds.

    Args:
        radius: of the step just computed.
        step: ``d``.
        last_step: ``d``; zero before the first step, which leaves the radius alone.
        bounds: least and most radius.
        spent: fraction of the budget used; the most radius falls with ``sqrt(1 - spent)``.
    """
    least, most = bounds
    size = float(np.linalg.norm(step) * np.linalg.norm(last_step))
    cosine = float(step @ last_step) / size if size > 0.0 else 0.0
    cap = max(4.0 * least, most * math.sqrt(max(1.0 - spent, 0.0)))
    return min(max(radius * math.exp(RATE * cosine), least), cap)
