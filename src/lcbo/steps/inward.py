"""Probes turned to the feasible side: what they teach is the same, and each may be an answer."""

from __future__ import annotations

import numpy as np

from lcbo.steps.elastic import elastic_step
from lcbo.steps.step import LocalPosterior, Step
from lcbo.types import Array

WEIGHT = 30.0  # of a violation, in lengths of the probe, against its displacement
SHORTEST = 0.2  # of its length: a probe that would shrink below this stays as it is


def inward(local: LocalPosterior, probe: Array, step: Step) -> Array:
    """Return the point nearest to a probe that the linearized inequalities allow.

    Args:
        local: posterior at the iterate.
        probe: ``d``, in the working cube.
        step: knows how far moves are carried out. A probe keeps no deviations: it is not to be an answer.
    """
    move = probe - local.u
    length = float(np.linalg.norm(move))
    norms = np.linalg.norm(local.slopes, axis=1)
    rows = (norms > 0.0) & ~local.equality
    if length == 0.0 or not rows.any():
        return probe
    slopes = local.slopes[rows] / norms[rows, None]
    offset = (local.values + step.carried(local, length))[rows] / (norms[rows] * length)
    # Where the iterate itself is outside, a probe only has to keep from going farther out.
    offset = np.clip(offset, -3.0, 0.0)
    wanted = move / length
    if not (offset + slopes @ wanted > 0.0).any():
        return probe
    low, high = -local.u / length, (1.0 - local.u) / length
    one_sided = np.zeros(len(offset), dtype=bool)
    turned = elastic_step(-wanted, slopes, offset, one_sided, low, high, WEIGHT, np.ones(len(move))).step
    if np.linalg.norm(turned) < SHORTEST:
        return probe
    return np.clip(local.u + length * turned, 0.0, 1.0)
