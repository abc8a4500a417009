"""The default step: the linearised problem solved in a ball around the iterate.

    minimise  g.s   subject to   c_i + a_i.s <= 0 (= 0),   |s| <= r,   0 <= x + s <= 1.

Everything is made scale-free first (s in units of r, each gradient in units of its own norm), so
neither the objective's nor a constraint's units matter. When the linearised constraints cannot be
met inside the ball the multipliers grow until the step is the one that reduces the violation most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OUTER, INNER, PENALTY = 12, 30, 5.0


def linearised_step(
    x: Array, objective: Array, values: Array, slopes: Array, equality: NDArray[np.bool_], radius: float
) -> Array:
    """Return the step ``s``, ``d``; ``x + s`` is inside the unit cube.

    Args:
        x: ``d`` current point in the unit cube.
        objective: ``d`` gradient of f.
        values: ``T`` values of the terms, margins included.
        slopes: ``T x d`` gradients of the terms.
        equality: ``T`` flags.
        radius: of the ball, in unit-cube length.
    """
    low, high = -x / radius, (1.0 - x) / radius
    goal = _unit(objective)
    norms = np.linalg.norm(slopes, axis=1)
    useful = norms > 0.0
    rows, two_sided = slopes[useful] / norms[useful, None], equality[useful]
    offset = values[useful] / (norms[useful] * radius)
    # A term far out of reach must not drown the others: beyond a few radii only its sign matters.
    offset = np.clip(offset, -3.0, 3.0)
    multiplier = np.zeros(len(rows))
    step = project(-goal, low, high)
    curvature = PENALTY * max(float(np.linalg.norm(rows @ rows.T, 2)) if len(rows) else 0.0, 1.0)
    for _ in range(OUTER if len(rows) else 0):
        step = _inner(step, goal, rows, offset, multiplier, two_sided, low, high, curvature)
        shifted = multiplier + PENALTY * (offset + rows @ step)
        updated = np.where(two_sided, shifted, np.maximum(shifted, 0.0))
        if np.abs(updated - multiplier).max() <= 1e-6 * (1.0 + np.abs(updated).max()):
            break
        multiplier = updated
    return np.clip(x + radius * step, 0.0, 1.0) - x


def _inner(
    step: Array,
    goal: Array,
    rows: Array,
    offset: Array,
    multiplier: Array,
    two_sided: NDArray[np.bool_],
    low: Array,
    high: Array,
    curvature: float,
) -> Array:
    """Accelerated projected gradient on the augmented Lagrangian at fixed multipliers."""
    ahead, momentum = step, 1.0
    for _ in range(INNER):
        force = multiplier + PENALTY * (offset + rows @ ahead)
        force = np.where(two_sided, force, np.maximum(force, 0.0))
        new = project(ahead - (goal + force @ rows) / curvature, low, high)
        change = new - step
        if change @ change <= 1e-14:
            return new
        if (ahead - new) @ change > 0.0:  # the momentum points uphill: restart it
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / following) * change
        step, momentum = new, following
    return step


def project(s: Array, low: Array, high: Array) -> Array:
    """Euclidean projection onto the unit ball intersected with a box that contains the origin.

    The projection is ``clip(t * s)`` with the largest ``t <= 1`` that fits in the ball.
    """
    inside = np.clip(s, low, high)
    if inside @ inside <= 1.0:
        return inside
    factor = 1.0 / float(np.linalg.norm(s))
    for _ in range(len(s) + 1):
        scaled = factor * s
        inside = np.clip(scaled, low, high)
        free = (scaled > low) & (scaled < high)
        moving = float(s[free] @ s[free])
        # With the pinned coordinates fixed the sphere is met in closed form. Starting below it, each
        # round can only pin more, so the factor rises monotonically and ends after at most d rounds.
        pinned = float(inside[~free] @ inside[~free])
        following = np.sqrt((1.0 - pinned) / moving) if moving > 0.0 and pinned < 1.0 else factor
        if following <= factor * (1.0 + 1e-14):
            break
        factor = following
    return inside


def _unit(vector: Array) -> Array:
    norm = np.linalg.norm(vector)
    return vector / norm if norm > 0.0 else vector
