"""Where a trust region should be, asked of points that are never evaluated (FuRBO, Ascia et al., 2025)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.acquisition.box import Box, within_ball
from lcbo.models.border import to_array, to_tensor
from lcbo.models.gp import BatchedGP
from lcbo.terms import Terms
from lcbo.types import Array

BLOCK = 512  # inspectors whose means are predicted at once: their kernels fit into the cache


def inspectors(center: Tensor, radius: float, count: int, rng: np.random.Generator) -> Tensor:
    """Points of a ball around the center, uniform in direction and in radius, so dense at the center.

    Those that leave the cube are mirrored into it: around a corner almost all of a ball is outside, and to
    throw them away would leave none in many dimensions.
    """
    direction = to_tensor(rng.standard_normal((count, len(center))), center)
    return within_ball(center, radius, direction, to_tensor(rng.random(count), center))


def ranking(mean: Array, terms: Terms) -> NDArray[np.intp]:
    """Order of points by feasibility and objective, best first: ``p`` indices.

    Each condition is in units of its largest absolute value over the points; a point's violation is that of
    its worst condition. Points without violation come first, by objective, then the others by violation.

    Args:
        mean: ``p x B`` outputs.
        terms: the conditions in the units of the outputs.
    """
    if not len(terms):
        return np.argsort(mean[:, 0], kind="stable")
    beyond = -terms.slack(terms.values(mean))
    size = np.abs(beyond).max(0)
    worst = (beyond / np.where(size > 0.0, size, 1.0)).max(-1)
    feasible = worst <= 0.0
    return np.lexsort((np.where(feasible, mean[:, 0], worst), ~feasible))


def inspected_box(gp: BatchedGP, terms: Terms, points: Tensor, share: float) -> Box:
    """The smallest box around the best share of the points, at least one, by the model's means."""
    means = torch.cat([gp.mean(block) for block in torch.split(points, BLOCK)], -1)
    count = max(int(share * len(points)), 1)
    best = points[ranking(to_array(means).T, terms)[:count].tolist()]
    return Box(best.amin(0), best.amax(0))
