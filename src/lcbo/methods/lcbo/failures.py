"""The wall behind which evaluations fail, learned from those that did."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from lcbo.types import Array

RIDGE = 1e-4  # of a slope, in standardized moves: separable points alone would make it infinite
FRACTION = 0.25  # of the way from the last success to the first failure: most steps should succeed
ROUNDS = 15  # of Newton's method
NEIGHBORS = 6  # successes per variable that the wall is drawn against
FEW = 3  # failures are no wall: anything can be told apart from so few points
BEHIND = 0.8  # of the failures near must lie behind it; failures here and there are no wall


def wall(z: Array, succeeded: Array, failed: Array) -> tuple[Array, float] | None:
    """Return a unit normal ``n`` and ``c``: moves ``s`` from ``z`` should succeed where ``c + n.s <= 0``.

    A logistic regression between the failures and the successes around ``z`` gives the direction. The wall
    stands between the last success and the first failure behind it, nearer to the success: a run comes as
    close as it wants to, and few evaluations are lost on the way. ``None`` where failures and successes
    are mixed.

    Args:
        z: ``d``, the iterate.
        succeeded: ``n x d``.
        failed: ``m x d``.
    """
    if not len(failed) or not len(succeeded):
        return None
    far = np.linalg.norm(succeeded - z, axis=1)
    near = np.argsort(far, kind="stable")[: NEIGHBORS * len(z)]
    reach = np.linalg.norm(failed - z, axis=1)
    inside, outside = succeeded[near] - z, failed[reach <= 2.0 * far[near[-1]] + 1e-12] - z
    if len(outside) < FEW:
        return None
    normal = _discriminant(inside, outside)
    if normal is None:
        return None
    last = float((inside @ normal).max())
    depth = outside @ normal
    beyond = depth > last
    if beyond.mean() < BEHIND:
        return None
    return normal, -(last + FRACTION * (float(depth[beyond].min()) - last))


def _discriminant(inside: Array, outside: Array) -> Array | None:
    """Unit normal of the logistic regression between two sets of moves, the points at the border foremost."""
    moves = np.concatenate([inside, outside])
    spread = np.maximum(moves.std(0), 1e-3 * moves.std())
    if not spread.all():
        return None
    x = np.column_stack([(moves - moves.mean(0)) / spread, np.ones(len(moves))])
    label = np.repeat([0.0, 1.0], [len(inside), len(outside)])
    weight = np.repeat([0.5 / len(inside), 0.5 / len(outside)], [len(inside), len(outside)])
    ridge = RIDGE * np.diag([*np.ones(inside.shape[1]), 0.0])
    slope = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        chance = expit(x @ slope)
        curvature = (x * (weight * np.maximum(chance * (1.0 - chance), 1e-9))[:, None]).T @ x + ridge
        slope = slope - np.linalg.solve(curvature, (weight * (chance - label)) @ x + ridge @ slope)
    normal: Array = slope[:-1] / spread
    size = float(np.linalg.norm(normal))
    return normal / size if np.isfinite(size) and size > 0.0 else None
