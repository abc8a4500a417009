"""A model that grew from another, which keeps its factor."""

from __future__ import annotations

from copy import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.models.gp import BatchedGP


class GrownGP(BatchedGP):
    """The base and what `conditioned` adds to it; with many outputs copying the factor costs most.

        L = [[L_0, 0], [W^T, C]],   W = L_0^-1 k(U_0, U_1),   C C^T = k(U_1, U_1) + noise - W^T W

    Args:
        base: has the first points, and L_0.
    """

    def __init__(self, base: BatchedGP) -> None:
        self.u, self.hyper, self.alpha = base.u, base.hyper, base.alpha
        self.present, self.noise, self.complete = base.present, base.noise, base.complete
        self._base = base
        self._beside = base.alpha.new_zeros(*base.alpha.shape, 0)  # W
        self._corner = base.alpha.new_zeros(len(base.alpha), 0, 0)  # C

    @property
    def factor(self) -> Tensor:  # type: ignore[override]
        """``B x n x n``, L, put together."""
        whole = copy(self._base)
        if self._corner.shape[-1]:
            whole._border(self._beside, self._corner)
        return whole.factor

    def whiten(self, rhs: Tensor) -> Tensor:
        """``L^-1 rhs``."""
        return torch.cat(self._whitened(rhs), -2)

    def squares(self, rhs: Tensor) -> Tensor:
        """Squared lengths of the columns of ``L^-1 rhs``."""
        top, below = self._whitened(rhs)
        return top.square().sum(-2) + below.square().sum(-2)

    def _whitened(self, rhs: Tensor) -> tuple[Tensor, Tensor]:
        """``L^-1 rhs``: the rows of the base, and those after them."""
        n = self._beside.shape[-2]
        top = self._base.whiten(rhs[:, :n])
        below = torch.baddbmm(rhs[:, n:], self._beside.mT, top, alpha=-1.0)
        return top, torch.linalg.solve_triangular(self._corner, below, upper=False)

    def unwhiten(self, rhs: Tensor) -> Tensor:
        """``L^-T rhs``."""
        n = self._beside.shape[-2]
        below = torch.linalg.solve_triangular(self._corner.mT, rhs[:, n:], upper=True)
        return torch.cat([self._base.unwhiten(rhs[:, :n] - self._beside @ below), below], -2)

    def _pick(self, rows: slice | NDArray[np.intp]) -> None:
        self._base = self._base.outputs(rows)
        self._beside, self._corner = self._beside[rows], self._corner[rows]

    def _border(self, white: Tensor, corner: Tensor) -> None:
        n, (batch, size, p) = self._beside.shape[-2], white.shape
        grown = corner.new_zeros(batch, size - n + p, size - n + p)
        grown[:, :-p, :-p] = self._corner
        grown[:, -p:, :-p] = white[:, n:].mT
        grown[:, -p:, -p:] = corner
        self._beside, self._corner = torch.cat([self._beside, white[:, :n]], -1), grown
