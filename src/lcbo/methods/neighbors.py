"""What evaluations say of each other, where there is neither a model nor a repeat nor a stated noise.

A plane through the evaluations nearest to a point leaves over their noise and how the outcomes bend between
them, and nothing tells these apart: what is left is an upper bound of the noise. A solver that has converged
without noise leaves nothing, as its last evaluations are too near to each other for any bend. Where something
is left, a point is judged by its plane rather than by its own value: the best of these is the luckiest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lcbo.methods.decision import Prospects, prospects_of_moments
from lcbo.terms import Terms
from lcbo.types import Array

NEAREST = 2  # evaluations per coefficient of the plane that shall tell whether there is noise
AROUND = 5  # and of one that judges a point: the more, the less its own luck matters
SPARE = 3  # more, at least: fewer say nothing of what is left
MOST = 500  # points that are judged
NEGLIGIBLE = 1e-3  # of an outcome's scale: what is left without noise


def no_noise_nearby(u: Array, y: Array, points: Array, outputs: Array, scale: Array) -> bool:
    """Whether what was observed at a point lies on the plane of its neighbors, and so do they.

    Args:
        u: ``d``, the point.
        y: ``B``, observed there.
        points: ``n x d``, all evaluated points.
        outputs: ``n x B``, complete.
        scale: ``B``, of the outputs.
    """
    if len(points) < _least(points):
        return False
    mean, std = _plane(u, points, outputs / scale, NEAREST)
    return bool(np.all(np.maximum(np.abs(y / scale - mean), std) <= NEGLIGIBLE))


def prospects_of_neighbors(points: Array, outputs: Array, terms: Terms, scale: Array) -> Prospects | None:
    """Return what the planes of their neighbors say of the best points, ``None`` with too few evaluations."""
    if len(points) < _least(points):
        return None
    best = np.lexsort([outputs[:, 0], terms.total(outputs, scale)])[:MOST]
    judged = np.array([_plane(points[k], points, outputs / scale, AROUND) for k in best])
    return replace(
        prospects_of_moments(points[best], scale * judged[:, 0], scale * judged[:, 1]), rule="neighbors"
    )


def _least(points: Array) -> int:
    return int(points.shape[1]) + 1 + SPARE


def _plane(u: Array, points: Array, outputs: Array, per_unknown: int) -> tuple[Array, Array]:
    """Value at a point, ``B``, of the plane of its neighbors, and the deviation of what it leaves, ``B``."""
    away = points - u
    count = per_unknown * (len(u) + 1) + SPARE
    near = np.argsort(np.square(away).sum(1), kind="stable")[:count]
    reach = float(np.abs(away[near]).max()) or 1.0
    columns = np.column_stack([np.ones(len(near)), away[near] / reach])
    plane, _, rank, _ = np.linalg.lstsq(columns, outputs[near])
    left = outputs[near] - columns @ plane
    return plane[0], np.sqrt(np.square(left).sum(0) / (len(near) - rank))
