"""Projected L-BFGS of many functions at once, each in its box and until it has converged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lcbo.types import Array

Rows = NDArray[np.intp]

Functions = Callable[[Rows, Array], tuple[Array, Array]]
"""Maps which functions, ``q``, and a point for each, ``q x d``, to values ``q`` and gradients ``q x d``."""

BACKTRACKS = 15  # 0.3^15 is about 1e-8 of the quasi-Newton step


def lbfgs(
    functions: Functions,
    z: Array,
    steps: int,
    *,
    low: float | Array = 0.0,
    high: float | Array = 1.0,
    within: Callable[[Array], Array] | None = None,
    first: float = 0.1,
    memory: int = 10,
    tolerance: float = 1e-7,
    least_gain: float = 0.0,
) -> tuple[Array, Array]:
    """Maximize each function from its start (two-metric projection), with backtracking line searches.

    All paths are evaluated together, but each goes at its own pace: while one shortens its step, the others
    take theirs. A coordinate at a bound whose slope points outwards is held; the quasi-Newton direction is
    formed from gradients and steps with the held coordinates set to 0, and the trial points are projected.

    Args:
        functions: what to maximize.
        z: ``q x d`` starts in the box.
        steps: most of each path.
        low: lower bounds, ``d`` or one for all.
        high: upper bounds.
        within: projects ``... x d`` points onto where they must stay; onto the box by default.
        first: largest component of a step before anything is known of the curvature.
        memory: pairs of steps and gradient changes kept.
        tolerance: largest free slope at which a path has converged.
        least_gain: so has one whose step gains, or may be expected to gain, less than this share of its
            value, or of 1.

    Returns:
        The final points ``q x d`` and their values ``q``; a start whose value is not finite stays.
    """
    project = within or (lambda points: np.clip(points, low, high))
    value, ascent = functions(np.arange(len(z)), z)
    paths = _Paths(z.copy(), value, ascent, low, high, memory)
    live = paths.turn(np.flatnonzero(np.isfinite(value)), first, tolerance, least_gain)
    while len(live):
        trial = project(paths.z[live] + paths.length[live, None] * paths.direction[live])
        value, ascent = functions(live, trial)
        wanted = 1e-4 * (paths.slope[live] * (trial - paths.z[live])).sum(-1)
        before = paths.value[live]
        accepted = (value > before) & (value >= before + wanted)
        moved = live[accepted]
        paths.move(moved, trial[accepted], value[accepted], ascent[accepted])
        gained = value[accepted] - before[accepted] >= _least(value[accepted], least_gain)
        moved = paths.turn(moved[gained & (paths.steps[moved] < steps)], first, tolerance, least_gain)
        live = np.sort(np.concatenate([moved, paths.shorten(live[~accepted])]))
    return paths.z, paths.value


def _dot(a: Array, b: Array) -> Array:
    product: Array = (a * b).sum(-1, keepdims=True)
    return product


def _least(value: Array, least_gain: float) -> Array:
    least: Array = least_gain * np.maximum(np.abs(value), 1.0)
    return least


class _Paths:
    """Where each of ``q`` climbs is, and its line search, which no other waits for.

    Attributes:
        z: ``q x d``.
        value: ``q``.
        slope: ``q x d``, the gradient in the free coordinates.
        direction: ``q x d``, of the line search.
        length: ``q``, of its next trial.
        steps: ``q``, taken so far.
    """

    def __init__(
        self, z: Array, value: Array, ascent: Array, low: float | Array, high: float | Array, memory: int
    ) -> None:
        self.z, self.value, self.low, self.high = z, value.copy(), low, high
        self.slope, self.direction = np.zeros_like(z), np.zeros_like(z)
        self.length, self.steps = np.ones(len(z)), np.zeros(len(z), dtype=int)
        self._ascent, self._held = ascent.copy(), np.zeros(z.shape, dtype=bool)
        self._moves, self._bends = np.zeros((2, memory, *z.shape))  # the oldest first, 0 before there is one
        self._tries = np.zeros(len(z), dtype=int)

    def move(self, rows: Rows, z: Array, value: Array, ascent: Array) -> None:
        """Take a step, and learn the curvature along it."""
        for kept, latest in (
            (self._moves, z - self.z[rows]),
            (self._bends, self._ascent[rows] - ascent),
        ):
            kept[:, rows] = np.concatenate([kept[1:, rows], latest[None]])
        self.z[rows], self.value[rows], self._ascent[rows] = z, value, ascent
        self.steps[rows] += 1

    def turn(self, rows: Rows, first: float, tolerance: float, least_gain: float) -> Rows:
        """Begin a line search on each path that has not converged; return those."""
        z, ascent = self.z[rows], self._ascent[rows]
        held = ((z <= self.low) & (ascent < 0.0)) | ((z >= self.high) & (ascent > 0.0))
        self._held[rows], self.slope[rows] = held, np.where(held, 0.0, ascent)
        rows = rows[np.abs(self.slope[rows]).max(-1, initial=0.0) > tolerance]
        self.direction[rows] = self._quasi_newton(rows, first)
        # Where a quadratic promises less than is asked for, a line search would only find the rounding.
        promised = 0.5 * (self.slope[rows] * self.direction[rows]).sum(-1)
        rows = rows[(promised >= _least(self.value[rows], least_gain)) | (self.steps[rows] == 0)]
        self.length[rows], self._tries[rows] = 1.0, 0
        return rows

    def shorten(self, rows: Rows) -> Rows:
        """Try a shorter step, and return the paths on which there still is one."""
        self.length[rows] *= 0.3
        self._tries[rows] += 1
        return rows[self._tries[rows] < BACKTRACKS]

    def _quasi_newton(self, rows: Rows, first: float) -> Array:
        """Inverse-Hessian approximation times the slope, in the free coordinates: ``q x d``.

        Without a usable pair, or where the result is no ascent, the slope scaled to a first step.
        """
        slope, free = self.slope[rows], ~self._held[rows]
        plain = first / np.maximum(np.abs(slope).max(-1, keepdims=True, initial=0.0), 1e-300)
        s, y = self._moves[:, rows] * free, self._bends[:, rows] * free
        curvature, size = _dot(s, y), _dot(y, y)
        usable = curvature > 1e-12 * size
        inverse = usable / np.where(usable, curvature, 1.0)
        scale = np.where(usable[-1], curvature[-1] / np.where(usable[-1], size[-1], 1.0), plain)
        depth = int(self.steps[rows].max(initial=0))
        pairs = range(max(len(s) - depth, 0), len(s))
        direction, weight = slope, np.zeros_like(inverse)
        for k in reversed(pairs):
            weight[k] = inverse[k] * _dot(s[k], direction)
            direction = direction - weight[k] * y[k]
        direction = scale * direction
        for k in pairs:
            direction = direction + (weight[k] - inverse[k] * _dot(y[k], direction)) * s[k]
        ascent: Array = np.where(_dot(direction, slope) > 0.0, direction, plain * slope)
        return ascent
