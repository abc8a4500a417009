"""Multi-start maximization of an acquisition function over the unit cube, all starts as one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain

Flags = NDArray[np.bool_]

AcquisitionFunction = Callable[[Array], tuple[Array, Array]]
"""Maps ``q x d`` points to values ``q`` and gradients ``q x d``; the points do not interact."""

BACKTRACKS = 15  # 0.3^15 is about 1e-8 of the quasi-Newton step


class Maximizer(Protocol):
    """Finds the point of the unit cube with the largest value."""

    def __call__(
        self,
        objective: AcquisitionFunction,
        near: Array,
        rng: np.random.Generator,
        domain: Domain | None = None,
    ) -> Array:
        """Return one ``d`` point, of a domain where there is one; ``near``, ``p x d``, are worth a search."""


@dataclass(frozen=True)
class Adam:
    """Projected Adam from uniform starts; the best point seen is returned."""

    starts: int = 10  # paper, Table 1
    steps: int = 100  # paper is silent
    rate: float = 0.01  # paper, Table 1

    def __call__(
        self,
        objective: AcquisitionFunction,
        near: Array,
        rng: np.random.Generator,
        domain: Domain | None = None,
    ) -> Array:
        """Return the best point of all paths; ``near`` is not used."""
        shape = self.starts, near.shape[-1]
        starts = rng.random(shape) if domain is None else domain.sample(rng, self.starts)
        path, values = adam(objective, starts, self.steps, self.rate, domain)
        best: Array = path[values.argmax()]
        return best


@dataclass(frozen=True)
class Lbfgs:
    """Projected L-BFGS from the most promising of many raw points.

    Half of the raw points are a scrambled Sobol sequence, half are clouds around ``near``; each half gives
    half of the starts.
    """

    starts: int = 10
    steps: int = 100
    raw: int = 512

    def __call__(
        self,
        objective: AcquisitionFunction,
        near: Array,
        rng: np.random.Generator,
        domain: Domain | None = None,
    ) -> Array:
        """Return the best point of all paths."""
        count, half = self.raw // 2, max(self.starts // 2, 1)
        kept = []
        for points in (qmc.Sobol(near.shape[-1], rng=rng).random(count), cloud(near, count, rng)):
            points = points if domain is None else domain.pulled(points, near[0])
            values, _ = objective(points)
            kept.append(points[np.argsort(-values, kind="stable")[:half]])
        path, values = lbfgs(objective, np.concatenate(kept), self.steps, domain=domain)
        best: Array = path[values.argmax()]
        return best


MAXIMIZERS: dict[str, Callable[..., Maximizer]] = {"adam": Adam, "lbfgs": Lbfgs}


def cloud(near: Array, count: int, rng: np.random.Generator) -> Array:
    """Points around the rows of ``near``, at distances from 0.001 to 0.3 per moved coordinate: ``count x d``.

    On average at most 20 coordinates move: in many dimensions a step in all of them is a step far away.
    """
    dim = near.shape[-1]
    scale = 10.0 ** rng.uniform(-3.0, -0.5, (count, 1))
    moved = rng.random((count, dim)) < min(1.0, 20.0 / dim)
    points: Array = near[np.arange(count) % len(near)] + scale * moved * rng.standard_normal((count, dim))
    return points.clip(0.0, 1.0)


def _within(z: Array, domain: Domain | None) -> Array:
    """Return points projected onto the cube, or onto a domain in it."""
    z = z.clip(0.0, 1.0)
    return z if domain is None else domain.nearest(z)


def adam(
    objective: AcquisitionFunction, z: Array, steps: int, rate: float, domain: Domain | None = None
) -> tuple[Array, Array]:
    """Exactly ``steps`` projected Adam steps from every start, decay rates 0.9 and 0.999.

    The explorers have a loop of their own: theirs walks whole batches as tensors in a local box and keeps the
    end of a path, this one walks single points as arrays in the cube and keeps the best of a path.

    Args:
        objective: the function to maximize.
        z: ``q x d`` starts in the unit cube.
        steps: number of steps.
        rate: learning rate.
        domain: where the points must stay, the cube by default.

    Returns:
        The best point of every path, ``q x d``, and its value, ``q``.
    """
    best, best_value = z.copy(), np.full(len(z), -np.inf)
    first, second = np.zeros_like(z), np.zeros_like(z)
    for t in range(1, steps + 1):
        value, ascent = objective(z)
        _keep_better(best, best_value, z, value)
        first = 0.9 * first + 0.1 * ascent
        second = 0.999 * second + 0.001 * ascent * ascent
        scale = np.sqrt(second / (1.0 - 0.999**t)) + 1e-8
        z = _within(z + rate / (1.0 - 0.9**t) * first / scale, domain)
    _keep_better(best, best_value, z, objective(z)[0])
    return best, best_value


def _keep_better(best: Array, best_value: Array, z: Array, value: Array) -> None:
    better = value > best_value
    best[better], best_value[better] = z[better], value[better]


def lbfgs(
    objective: AcquisitionFunction,
    z: Array,
    steps: int,
    memory: int = 10,
    tolerance: float = 1e-7,
    domain: Domain | None = None,
) -> tuple[Array, Array]:
    """Projected L-BFGS from every start (two-metric projection), with backtracking line searches.

    A coordinate at a bound whose slope points outwards is held; the quasi-Newton direction is formed from
    gradients and steps with the held coordinates set to 0, and the trial points are clipped to the cube.

    Args:
        objective: the function to maximize.
        z: ``q x d`` starts in the unit cube.
        steps: most iterations.
        memory: pairs of steps and gradient changes kept.
        tolerance: largest free slope at which a path has converged.
        domain: where the points must stay, the cube by default.

    Returns:
        The final points ``q x d`` and their values ``q``; a start whose value is not finite stays.
    """
    z = z.copy()
    value, ascent = objective(z)
    pairs: list[tuple[Array, Array]] = []
    live = np.isfinite(value)
    for _ in range(steps):
        held = ((z <= 0.0) & (ascent < 0.0)) | ((z >= 1.0) & (ascent > 0.0))
        slope = np.where(held, 0.0, ascent)
        live = live & (np.abs(slope).max(-1) > tolerance)
        if not live.any():
            break
        direction = _quasi_newton(slope, held, pairs)
        before, before_ascent = z.copy(), ascent.copy()
        live = _line_search(objective, z, value, ascent, slope, direction, live, domain)
        pairs = [*pairs[1 - memory :], (z - before, before_ascent - ascent)]
    return z, value


def _dot(a: Array, b: Array) -> Array:
    product: Array = (a * b).sum(-1, keepdims=True)
    return product


def _quasi_newton(slope: Array, held: Flags, pairs: list[tuple[Array, Array]]) -> Array:
    """Inverse-Hessian approximation times the slope, in the free coordinates: ``q x d``.

    Without a usable pair, or where the result is no ascent, the slope scaled to a largest component of 0.1.
    """
    stack: list[tuple[Array, Array, Array, Array]] = []
    plain = 0.1 / np.maximum(np.abs(slope).max(-1, keepdims=True), 1e-300)
    direction, scale = slope, plain
    for move, dgrad in reversed(pairs):
        s, y = np.where(held, 0.0, move), np.where(held, 0.0, dgrad)
        curvature, size = _dot(s, y), _dot(y, y)
        usable = curvature > 1e-12 * size
        inverse = usable / np.where(usable, curvature, 1.0)
        if not stack:
            scale = np.where(usable, curvature / np.where(usable, size, 1.0), plain)
        weight = inverse * _dot(s, direction)
        direction = direction - weight * y
        stack.append((s, y, inverse, weight))
    direction = scale * direction
    for s, y, inverse, weight in reversed(stack):
        direction = direction + (weight - inverse * _dot(y, direction)) * s
    ascent: Array = np.where(_dot(direction, slope) > 0.0, direction, plain * slope)
    return ascent


def _line_search(
    objective: AcquisitionFunction,
    z: Array,
    value: Array,
    ascent: Array,
    slope: Array,
    direction: Array,
    live: Flags,
    domain: Domain | None,
) -> Flags:
    """Move every live point to the first clipped trial that satisfies Armijo's condition, in place.

    Only points still searching are evaluated. Returns which points moved.
    """
    moved = np.zeros_like(live)
    length = 1.0
    for _ in range(BACKTRACKS):
        todo = np.flatnonzero(live & ~moved)
        if len(todo) == 0:
            break
        trial = _within(z[todo] + length * direction[todo], domain)
        new_value, new_ascent = objective(trial)
        gain = 1e-4 * (slope[todo] * (trial - z[todo])).sum(-1)
        accepted = (new_value > value[todo]) & (new_value >= value[todo] + gain)
        keys = todo[accepted]
        z[keys], value[keys], ascent[keys] = trial[accepted], new_value[accepted], new_ascent[accepted]
        moved[keys] = True
        length *= 0.3
    return moved
