"""The default step: the linearized problem solved in a ball around the iterate.

    minimize  g.s   subject to   c_i + a_i.s <= 0 (= 0),   |s| <= r,   0 <= u + s <= 1.

Everything is made scale-free first (s in units of r, each gradient in units of its own norm), so
neither the objective's nor a constraint's units matter. When the linearized constraints cannot be
met inside the ball the multipliers grow until the step is the one that reduces the violation most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcbo.steps.radius import Radius
from lcbo.steps.step import Iterate, LocalPosterior, Step
from lcbo.types import Array

# Rounds of the augmented Lagrangian, gradient steps in each, its penalty: on random problems the step
# then agrees with an SQP solver to a thousandth of the radius.
OUTER, INNER, PENALTY = 12, 30, 10.0
INSIDE = 1e-3  # of the radius: lands a step just inside an inequality that is known exactly


@dataclass(frozen=True)
class Margin:
    """``kappa * sigma_i + 1e-3 * r * |grad c_i|`` for an inequality, 0 for an equality.

    Attributes:
        deviations: ``kappa``, posterior standard deviations kept from an inequality.
    """

    deviations: float

    def __call__(self, local: LocalPosterior, radius: float) -> Array:
        """Return the margins, ``T``, to be added to the values of the terms."""
        inside = INSIDE * radius * np.linalg.norm(local.slopes, axis=1)
        return np.where(local.equality, 0.0, self.deviations * local.deviations + inside)


class LinearizedStep(Step):
    """Solves the linearized problem with a margin to the inequalities, then adapts the radius."""

    def __init__(self, radius: Radius, margin: Margin) -> None:
        self.radius = radius
        self.margin = margin

    def __call__(self, local: LocalPosterior, last_step: Array, k: int, spent: float | None) -> Iterate:  # noqa: ARG002
        """Return the next iterate; see `Step`."""
        step = linearized_step(local, self.margin(local, self.radius.now), self.radius.now)
        self.radius.adapt(step, last_step, spent)
        return Iterate(local.u + step, step)

    def info(self, k: int) -> dict[str, float]:  # noqa: ARG002
        """Return the radius of the next step."""
        return {"step": self.radius.now}

    def state(self) -> dict[str, Any]:
        """Return the radius."""
        return {"radius": self.radius.now}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.radius.now = state["radius"]


def linearized_step(local: LocalPosterior, margin: Array, radius: float) -> Array:
    """Return the step ``s``, ``d``, in a ball of a radius; ``u + s`` is inside the unit cube.

    Args:
        local: posterior at the iterate.
        margin: ``T``, added to the values of the terms.
        radius: of the ball, in unit-cube length.
    """
    u, slopes, values = local.u, local.slopes, local.values + margin
    low, high = -u / radius, (1.0 - u) / radius
    goal = _unit(local.objective)
    norms = np.linalg.norm(slopes, axis=1)
    useful = norms > 0.0
    rows, two_sided = slopes[useful] / norms[useful, None], local.equality[useful]
    # A term far out of reach must not drown the others: beyond a few radii only its sign matters.
    offset = np.clip(values[useful] / (norms[useful] * radius), -3.0, 3.0)
    step = project(-goal, low, high)
    if len(rows):
        step = _augmented_lagrangian(step, goal, rows, offset, two_sided, low, high)
    displacement: Array = np.clip(u + radius * step, 0.0, 1.0) - u
    return displacement


def _augmented_lagrangian(
    step: Array,
    goal: Array,
    rows: Array,
    offset: Array,
    two_sided: NDArray[np.bool_],
    low: Array,
    high: Array,
) -> Array:
    """Solve the scale-free problem; rows are ``T x d`` unit vectors, ``offset`` is ``T``."""

    def force(multiplier: Array, at: Array) -> Array:
        pressure = multiplier + PENALTY * (offset + rows @ at)
        return np.where(two_sided, pressure, np.maximum(pressure, 0.0))

    curvature = PENALTY * float(np.linalg.norm(rows @ rows.T, 2))
    multiplier = np.zeros(len(rows))
    for _ in range(OUTER):
        ahead, momentum = step, 1.0
        for _ in range(INNER):
            new = project(ahead - (goal + force(multiplier, ahead) @ rows) / curvature, low, high)
            change = new - step
            uphill = (ahead - new) @ change > 0.0
            step = new
            if change @ change <= 1e-10:
                break
            momentum = 1.0 if uphill else momentum  # restart a momentum that points uphill
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead = new + ((momentum - 1.0) / following) * change
            momentum = following
        updated = force(multiplier, step)
        settled = np.abs(updated - multiplier).max() <= 1e-4 * (1.0 + np.abs(updated).max())
        multiplier = updated
        if settled:
            break
    return step


def project(s: Array, low: Array, high: Array) -> Array:
    """Euclidean projection onto the unit ball intersected with a box that contains the origin.

    The projection is ``clip(t * s)`` with the largest ``t <= 1`` that fits in the ball. With the pinned
    coordinates fixed the sphere is met in closed form; starting below it, each round can only pin
    more, so ``t`` rises monotonically and ends after at most d rounds.
    """
    inside = np.minimum(np.maximum(s, low), high)
    if inside @ inside <= 1.0:
        return inside
    factor = 1.0 / math.sqrt(s @ s)
    for _ in range(len(s) + 1):
        scaled = factor * s
        inside = np.minimum(np.maximum(scaled, low), high)
        free = inside == scaled
        if free.all():
            break
        moving, pinned = float(s[free] @ s[free]), float(inside[~free] @ inside[~free])
        following = math.sqrt((1.0 - pinned) / moving) if moving > 0.0 and pinned < 1.0 else factor
        if following <= factor * (1.0 + 1e-14):
            break
        factor = following
    return inside


def _unit(vector: Array) -> Array:
    norm = np.linalg.norm(vector)
    unit: Array = vector / norm if norm > 0.0 else vector
    return unit
