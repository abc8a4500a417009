"""Where noise hides a limit: evaluations around the answer that measure its slopes, as none can confirm it.

An equality may be narrower than what all evaluations left could show of one point. Repeating a shortlist then
chooses one but proves nothing, and what evaluations can still tell is what moves what at the answer, and what
its limits cost. They lie in pairs on either side of it, half of the variables moved at once: every one so
tells of many slopes, what bends cancels in the difference of a pair, and what moved tells where it bends.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from lcbo.methods.decision import Demand
from lcbo.methods.protocol import Setup
from lcbo.random import generator
from lcbo.types import Array

REACH = 0.3  # of the cube, by which a variable is moved


def hidden(demand: Demand, noise: Array, scale: Array, evaluations: int) -> bool:
    """Return whether so many evaluations of a point, in the middle of all limits, could not meet the demand.

    The mean of n observations is off by ``noise / sqrt(n)``: limits that are 2 w apart are met with a
    probability p when ``w >= z noise / sqrt(n)`` with z the quantile of ``(1 + p) / 2``.

    Args:
        demand: what an answer must meet.
        noise: ``B``, standard deviations of one observation.
        scale: ``B``, of the outputs, of which the tolerance is a part.
        evaluations: n.
    """
    level = np.where(np.isnan(demand.own), demand.confidence, demand.own)
    half = 0.5 * (demand.high - demand.low) + demand.tol * scale
    return bool((half < ndtri(0.5 * (1.0 + level)) * noise / np.sqrt(evaluations)).any())


def around(u: Array, count: int, setup: Setup) -> Array:
    """Return points around a point of the unit cube, ``count x d``, in pairs opposite to each other."""
    moves = generator(setup.seed, "survey").choice([-1.0, 0.0, 0.0, 1.0], ((count + 1) // 2, len(u)))
    moved = u + REACH * np.stack([moves, -moves], axis=1).reshape(-1, len(u))[:count]
    return np.array([setup.snapped(point) for point in moved.clip(0.0, 1.0)])
