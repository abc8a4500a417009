"""The conditions of a problem in the units of a model: how far outputs are beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lcbo.models.data import Scaling
from lcbo.types import Term


@dataclass(frozen=True)
class Conditions:
    """``T`` conditions ``sign * (y[row] - level) <= 0``, or ``= 0`` within ``tol``, in standardized units.

    Attributes:
        rows: ``T`` output rows.
        sign: ``T x 1``.
        level: ``T x 1`` thresholds.
        equality: ``T x 1`` flags.
        tol: ``T x 1``, 0 for an inequality.
    """

    rows: list[int]
    sign: Tensor
    level: Tensor
    equality: Tensor
    tol: Tensor

    @staticmethod
    def of(terms: Sequence[Term], scaling: Scaling) -> Conditions:
        """Return the conditions in the units ``(y - mean) / std``."""
        rows = [t.row for t in terms]
        mean, std = scaling.mean[rows], scaling.std[rows]

        def column(values: object) -> Tensor:
            return torch.from_numpy(np.asarray(values, np.float64).reshape(-1, 1))

        return Conditions(
            rows,
            column([t.sign for t in terms]),
            column((np.array([t.threshold for t in terms]) - mean) / std),
            torch.tensor([t.equality for t in terms], dtype=torch.bool)[:, None],
            column(np.array([t.tol for t in terms]) / std),
        )

    def values(self, y: Tensor) -> Tensor:
        """Values, feasible when ``<= 0``: ``... x B x p`` outputs in, ``... x T x p`` out."""
        return self.sign * (y[..., self.rows, :] - self.level)

    def violation(self, y: Tensor) -> Tensor:
        """Total violation ``sum_i max(0, c_i)``, of an equality ``max(0, |h| - tol)``.

        Args:
            y: ``... x B x p`` outputs.

        Returns:
            ``... x p``, 0 where feasible.
        """
        values = self.values(y)
        excess = torch.where(self.equality, values.abs() - self.tol, values)
        return excess.clamp_min_(0.0).sum(-2)
