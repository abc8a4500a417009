"""Multi-start maximization of an acquisition function over the unit cube, all starts as one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.stats import qmc

from lcbo.lbfgs import lbfgs
from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain

AcquisitionFunction = Callable[[Array], tuple[Array, Array]]
"""Maps ``q x d`` points to values ``q`` and gradients ``q x d``; the points do not interact."""


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
    half of the starts. A path ends with a step that gains less than a share of its value, or of 1.
    """

    starts: int = 10
    steps: int = 100
    raw: int = 512
    least_gain: float = 0.0

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
        path, values = lbfgs(
            lambda _, z: objective(z),
            np.concatenate(kept),
            self.steps,
            within=lambda z: _within(z, domain),
            least_gain=self.least_gain,
        )
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
