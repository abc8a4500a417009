"""Which points a noisy run evaluates again at its end.

These are the point the method recommends, the best that its model is sure of with points between the two, and
a ladder from the first into the interior. The ladder's rungs are the shortest moves that put ever larger
margins between the linearized terms and their limits: near the optimum a margin costs the same objective in
whichever direction it is gained, and the shortest move is the one the model knows best. Without a model they
are the best points observed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lcbo.methods.base.archive import Archive
from lcbo.methods.protocol import Belief
from lcbo.steps.elastic import elastic_step
from lcbo.terms import Terms
from lcbo.types import Array

RUNGS = (0.0, 0.5, 1.0, 1.6, 2.4, 3.5)  # margins of the ladder, in standard deviations
BETWEEN = (0.3, 0.55, 0.8, 1.0)  # of the way from the recommended point to the one the model is sure of
INFLATED = 1.5  # the model's standard deviation, for the margins
FAR = 3.0  # moves: a term farther inside does not matter
WEIGHT = 1e3  # of a violation against the length of the move
OBSERVED = 5  # points of a method without a model


def between(center: Array, sure: Array) -> list[Array]:
    """Points on the way from one point to another, the other included."""
    return [center + share * (sure - center) for share in BETWEEN]


def best_observed(archive: Archive, terms: Terms, scale: Array) -> list[Array]:
    """The best points as observed: feasible ones by their objective, then the least infeasible."""
    told = archive.recent(None)
    y = archive.y[told]
    order = np.lexsort([y[:, 0], terms.total(y, scale)])[: 4 * OBSERVED]
    return list(distinct(list(archive.u[told[order]]))[:OBSERVED])


def ladder(belief: Belief, terms: Terms, noise: Array, evaluations: int) -> list[Array]:
    """The point of a belief and ever deeper ones inside the limits.

    Args:
        belief: what the model says there.
        terms: the conditions.
        noise: ``B``, standard deviations of one observation.
        evaluations: how many are left for the confirmation.
    """
    u = belief.u
    unit = belief.scale[terms.rows]  # squares of user units may overflow
    slopes = terms.sign[:, None] * belief.gradient[terms.rows] / unit[:, None]
    norms = np.linalg.norm(slopes, axis=1)
    useful = norms > 0.0
    two_sided = terms.equality[useful]
    values = terms.values(belief.mean) / unit
    margin = np.where(terms.equality, 0.0, _doubt(belief, noise, evaluations)[terms.rows])
    rungs = [u]
    for rung in RUNGS:
        wanted = (values + rung * margin)[useful] / norms[useful]
        radius = FAR * float(np.max(np.where(two_sided, abs(wanted), wanted), initial=0.0))
        if radius > 0.0:
            offset = np.clip(wanted / radius, -FAR, FAR)
            rows, box = slopes[useful] / norms[useful, None], (-u / radius, (1.0 - u) / radius)
            move = elastic_step(np.zeros(len(u)), rows, offset, two_sided, *box, WEIGHT, np.eye(len(u)))
            rungs.append(np.clip(u + radius * move.step, 0.0, 1.0))
    return rungs


def _doubt(belief: Belief, noise: Array, evaluations: int) -> Array:
    """By how much a value may be off now and after half of the evaluations together, ``B``, scaled."""
    prior = np.square(INFLATED * belief.std / belief.scale)
    doubt: Array = np.sqrt(prior + after(prior, noise / belief.scale, 0.5 * evaluations))
    return doubt


def after(var: Array, noise: Array, count: float) -> Array:
    """Variances after ``count`` further observations with noise of a standard deviation."""
    precision = 1.0 / np.maximum(var, 1e-300) + count / np.maximum(np.square(noise), 1e-300)
    variance: Array = 1.0 / precision
    return variance


def distinct(points: Sequence[Array]) -> Array:
    """Return the points in their order without repetition, ``k x d``."""
    kept = {point.tobytes(): point for point in points}
    return np.array(list(kept.values()))
