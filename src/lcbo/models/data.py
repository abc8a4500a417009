"""The points a model is built on: replicates merged, missing outcomes masked, outputs standardized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.models.border import CPU, to_tensor
from lcbo.types import Array

HEAVIEST = 1e6  # times the usual weight: what an observation without error counts for


@dataclass(frozen=True)
class Data:
    """Merged observations of all outputs.

    Attributes:
        u: ``n x d`` distinct points.
        y: ``B x n`` mean of the replicates of each point, 0 where ``count`` is 0.
        count: ``B x n`` number of replicates ``r``; 0 says the outcome is missing there.
        scatter: ``B`` within-group sum of squares, which informs the noise.
        dof: ``B`` degrees of freedom of the scatter.
    """

    u: Tensor
    y: Tensor
    count: Tensor
    scatter: Tensor
    dof: Tensor

    def same_points(self, other: Data) -> bool:
        """Whether the same was observed as often at the same points in the same order."""
        return torch.equal(self.u, other.u) and torch.equal(self.count, other.count)

    def outputs(self, rows: NDArray[np.intp]) -> Data:
        """Return the observations of some outputs alone."""
        return Data(self.u, self.y[rows], self.count[rows], self.scatter[rows], self.dof[rows])

    def thinned(self, count: int) -> Data:
        """Return so many of the points alone, evenly chosen; what replicates say of the noise stays."""
        kept = evenly(len(self.u), count)
        return Data(self.u[kept], self.y[:, kept], self.count[:, kept], self.scatter, self.dof)


def weights(sem: Array, noise_var: tuple[float | None, ...]) -> tuple[Array, tuple[float | None, ...]]:
    """Weights of observations with standard errors, ``n x B``, and the noise variance of weight 1.

    An observation of weight w has the noise of the mean of w observations: with ``v`` the stated noise
    variance, or else the median of ``sem^2``, the weight is ``v / sem^2``. What has no standard error
    weighs 1.

    Args:
        sem: ``n x B`` standard errors, NaN where not known.
        noise_var: ``B`` variances in the same units, ``None`` where not known.
    """
    weight, unit = np.ones_like(sem), list(noise_var)
    for row, stated in enumerate(noise_var):
        variance = np.square(sem[:, row])
        known = np.isfinite(variance)
        if known.any() and not stated:
            unit[row] = float(np.median(variance[known]))
        if known.any() and (level := unit[row]):
            exact = np.maximum(variance[known], level / HEAVIEST)
            weight[known, row] = np.maximum(level / exact, 1.0 / HEAVIEST)
    return weight, tuple(unit)


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return which of so many points to look at where that are too many: evenly from first to last."""
    return np.linspace(0, count - 1, min(most, count)).round().astype(np.intp)


def merge(u: Array, y: Array, device: torch.device = CPU, weight: Array | None = None) -> Data:
    """Merge exact replicates of standardized observations.

    Order of first appearance is kept, so the result does not depend on how ties sort.

    Args:
        u: ``n x d``, exact repeats allowed.
        y: ``n x B`` standardized, NaN where missing.
        device: where the observations will be.
        weight: ``n x B``, as many observations as each counts for; 1 by default.
    """
    weight = np.ones_like(y) if weight is None else weight
    points = np.ascontiguousarray(u).view(np.dtype((np.void, u.shape[1] * u.itemsize))).ravel().tolist()
    first = {point: i for i, point in enumerate(dict.fromkeys(points))}
    if len(first) == len(u):
        known, none = ~np.isnan(y), np.zeros(y.shape[1])
        filled = np.where(known, y, 0.0).T.copy()
        parts = (np.array(u), filled, (known * weight).T.copy(), none, none.copy())
        return Data(*(to_tensor(part, device) for part in parts))
    group = np.array([first[point] for point in points])
    members = np.zeros((len(first), len(u)))
    members[group, np.arange(len(u))] = 1.0
    known = ~np.isnan(y)
    filled = np.where(known, y, 0.0)
    count = members @ (known * weight)
    mean = (members @ (weight * filled)) / np.where(count > 0.0, count, 1.0)
    scatter = np.where(known, weight * np.square(filled - mean[group]), 0.0).sum(0)
    _, where = np.unique(group, return_index=True)
    dof = np.maximum(members @ known - 1.0, 0.0).sum(0)
    parts = (np.array(u[where]), mean.T.copy(), count.T.copy(), scatter, dof)
    return Data(*(to_tensor(part, device) for part in parts))
