"""One Gaussian process per output, all outputs as one batch: covariances and their factors."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.linalg import cholesky
from lcbo.models.border import room
from lcbo.models.data import Data
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.kernels import PROFILES, VALUES, plain_squared_distance, squared_distance

PORTION = 2**18  # numbers; larger blocks of memory cost more than the algebra on them
COLUMNS = 128  # of an inverse that are computed together
BLOCK = 2**15  # of them, where many results of one are in use


class FactoredGP:
    """What every posterior is computed from, given merged data and hyperparameters.

    With ``K = k(U, U) + diag(noise_var / r)``, ``L = chol(K)`` and ``alpha = K^-1 (y - mean)``. Beside a
    plane, whose coefficients are normal with deviation w, k has ``w^2 (1 + u.z)`` more. A missing outcome
    has its row and column of K replaced by the identity's, which removes the point from that output exactly
    while keeping one batch.

    Attributes:
        u: ``n x d`` distinct points.
        hyper: the hyperparameters.
        present: ``B x n``, false where an outcome is missing; ``complete`` when none is.
        noise: ``B x n`` noise variance of the (averaged) observation.
        factor: ``B x n x n``, L.
        alpha: ``B x n``.
    """

    def __init__(self, data: Data, hyper: Hyperparameters) -> None:
        self.u = data.u
        self.hyper = hyper
        self.present = data.count > 0.0
        self.noise = hyper.noise_var[:, None] / torch.where(self.present, data.count, 1.0)
        self.complete = bool(self.present.all())
        self.factor = self._factorized()
        self.alpha = self._weights(data.y)

    def _factorized(self) -> Tensor:
        """Cholesky factors of the covariances."""
        batch, n = self.present.shape
        isotropic = self.hyper.lengthscale.shape[-1] == 1
        r2 = plain_squared_distance(self.u, self.u) if isotropic else None
        flat = self.hyper.planar(self.u, self.u) if self.hyper.plane else None
        factor = room((batch, n, n), self.u).mT  # in columns, as LAPACK returns them
        parts = portions(batch, n * n)
        scratch = self.u.new_empty(parts[0].stop, n, n)  # one for all: new memory costs as much as algebra
        for rows in parts:
            cov = scratch[: len(factor[rows])]
            self._fill(cov, rows, r2, flat)
            cholesky(cov, out=factor[rows])
        return factor

    def _fill(self, cov: Tensor, rows: slice, r2: Tensor | None, flat: Tensor | None) -> None:
        """Put the covariances of some outputs into a tensor, rows by rows, but for those above the diagonal.

        Args:
            cov: ``b x n x n``, the tensor.
            rows: the outputs.
            r2: ``n x n``, squared distances of the points where all outputs share them.
            flat: ``n x n``, what a plane adds.
        """
        part, present = self.hyper.outputs(rows), self.present[rows]
        (batch, n), scale = present.shape, part.outputscale[:, None, None]
        for points in portions(n, batch * n, BLOCK):
            before = slice(points.stop)
            if r2 is None:
                scaled = squared_distance(self.u[points], self.u[before], part.lengthscale)
            else:
                scaled = r2[points, before] / part.lengthscale.square()[..., None]
            torch.mul(VALUES[part.kernel](scaled), scale, out=cov[:, points, before])
            if flat is not None:
                cov[:, points, before] += flat[points, before]
        diagonal = cov.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(part.prior_var(self.u) + self.noise[rows])
        if not self.complete:
            cov *= present[:, :, None] & present[:, None, :]
            diagonal[~present] = 1.0

    def cross(self, z: Tensor) -> Tensor:
        """Prior covariance between data and points, zero where an outcome is missing: ``B x n x p``."""
        phi = VALUES[self.hyper.kernel](squared_distance(self.u, z, self.hyper.lengthscale))
        return self.shown(self.hyper.covariance(phi, self.u, z))

    def shown(self, cov: Tensor) -> Tensor:
        """Covariances with the data, ``B x n x p``, made zero where an outcome is missing."""
        return cov if self.complete else cov * self.present[:, :, None]

    def gradient_cross(self, u: Tensor) -> Tensor:
        """Prior covariance between the data and the gradient at ``u``: ``B x n x d``.

        ``d k(u, U_i) / du = outputscale * phi1 * (U_i - u) / l^2``, and ``w^2 U_i`` of a plane.
        """
        away = (self.u - u) / self.hyper.lengthscale[:, None, :].square()
        slope = self.slope_weights(u)[..., None] * away
        if self.hyper.plane:
            shown = self.u if self.complete else self.u * self.present[..., None]
            slope += self.hyper.plane**2 * shown
        return slope

    def slope_weights(self, u: Tensor) -> Tensor:
        """``outputscale * phi1`` between data and point, zero where an outcome is missing: ``B x n``."""
        r2 = squared_distance(self.u, u[None], self.hyper.lengthscale)
        phi1 = PROFILES[self.hyper.kernel](r2)[1].squeeze(-1)
        weight = self.hyper.outputscale[:, None] * phi1
        return weight if self.complete else weight * self.present

    def whiten(self, rhs: Tensor) -> Tensor:
        """``L^-1 rhs``."""
        white: Tensor = torch.linalg.solve_triangular(self.factor, rhs, upper=False)
        return white

    def squares(self, rhs: Tensor) -> Tensor:
        """Squared lengths of the columns of ``L^-1 rhs``."""
        return self.whiten(rhs).square().sum(-2)

    def unwhiten(self, rhs: Tensor) -> Tensor:
        """``L^-T rhs``."""
        solved: Tensor = torch.linalg.solve_triangular(self.factor.mT, rhs, upper=True)
        return solved

    def inverse_diagonal(self, first: int | None = None) -> Tensor:
        """Diagonal of ``K^-1``, or the first numbers of it: ``B x n``.

        They are the squared lengths of the columns of ``L^-1``, each of which begins with zeros.
        """
        n = len(self.u)
        count = n if first is None else min(first, n)
        found = self.u.new_empty(len(self.alpha), count)
        for rows in portions(len(self.alpha), n * n):
            factor = self.outputs(rows).factor
            for i in range(0, count, COLUMNS):
                units = torch.diag(factor.new_ones(n - i))[:, : min(COLUMNS, count - i)]
                columns = torch.linalg.solve_triangular(
                    factor[:, i:, i:], units.expand(len(factor), -1, -1), upper=False
                )
                found[rows, i : i + COLUMNS] = columns.square_().sum(-2)
        return found

    def prior_gradient_cov(self, dim: int) -> Tensor:
        """Prior covariance of the gradient anywhere: ``B x d x d``."""
        return torch.diag_embed(self.hyper.prior_gradient_var.expand(-1, dim))

    def conditioned(self, z: Tensor, count: Tensor | None = None, *, least_noise: float = 0.0) -> Self:
        """The same posterior with pending points added: exact covariance, unchanged mean.

        The covariance needs no y. Extending ``L`` by one block row and ``alpha`` by zeros conditions
        on points whose outcome equals the current mean.

        Args:
            z: ``p x d`` pending points.
            count: ``B x p`` observations of each output at each point, 0 where there is none; by default
                one of every output.
            least_noise: least noise variance of the new points, in units of outputscale and noise together.
        """
        if len(z) == 0:
            return self
        batch, p = len(self.alpha), len(z)
        present = self.present.new_ones(batch, p) if count is None else count > 0.0
        noise = self.hyper.noise_var[:, None].expand(-1, p)
        if count is not None:
            noise = noise / torch.where(present, count, 1.0)
        if least_noise:
            floor = least_noise * (self.hyper.outputscale + self.hyper.noise_var)
            noise = torch.maximum(noise, floor[:, None])
        cross = self.cross(z)
        corner = squared_distance(z, z, self.hyper.lengthscale)
        corner = self.hyper.covariance(VALUES[self.hyper.kernel](corner), z, z)
        corner.diagonal(dim1=-2, dim2=-1).copy_(self.hyper.prior_var(z) + noise)
        complete = bool(present.all())
        if not complete:
            cross = cross * present[:, None, :]
            corner *= present[:, :, None] & present[:, None, :]
            corner.diagonal(dim1=-2, dim2=-1)[~present] = 1.0
        white = self.whiten(cross)
        extended = self.bordered(z, white, cholesky(corner - white.mT @ white), noise)
        if not complete:
            extended.present[:, -p:] = present
            extended.complete = False
        return extended

    def bordered(self, z: Tensor, white: Tensor, corner: Tensor, noise: Tensor) -> Self:
        """`conditioned` on points with all outcomes, whose part of the factor is known already.

        Args:
            z: ``p x d``.
            white: ``L^-1 k(U, z)``, ``B x n x p``.
            corner: ``B x p x p``, the factor of their covariance given the data, noise included.
            noise: ``B x p`` noise variances.
        """
        extended, (batch, p) = copy(self), noise.shape
        extended._border(white, corner)
        extended.u = torch.cat([self.u, z])
        extended.present = torch.cat([self.present, self.present.new_ones(batch, p)], -1)
        extended.noise = torch.cat([self.noise, noise], -1)
        extended.alpha = torch.cat([self.alpha, self.alpha.new_zeros(batch, p)], -1)
        return extended

    def _pick(self, rows: slice | NDArray[np.intp]) -> None:
        """Keep the factors of some of the outputs."""
        self.factor = self.factor[rows]

    def _border(self, white: Tensor, corner: Tensor) -> None:
        """Extend the factor by a block row: ``[white^T, corner]``."""
        (batch, n, p), factor = white.shape, self.factor
        self.factor = factor.new_empty(batch, n + p, n + p)
        self.factor[:, :n, :n] = factor
        self.factor[:, :n, n:] = 0.0
        self.factor[:, n:, :n] = white.mT
        self.factor[:, n:, n:] = corner

    def with_targets(self, y: Tensor) -> Self:
        """The posterior of other outcomes at the same points: two triangular solves.

        Args:
            y: ``B x n``; read only where an outcome is present.
        """
        changed = copy(self)
        changed.alpha = self._weights(y)
        return changed

    def outputs(self, rows: slice | NDArray[np.intp]) -> Self:
        """The posterior of some of the outputs; a slice copies nothing."""
        part = copy(self)
        part.hyper = self.hyper.outputs(rows)
        part.present, part.noise, part.alpha = self.present[rows], self.noise[rows], self.alpha[rows]
        part._pick(rows)
        return part

    def _parts(self, width: int) -> list[Self]:
        """The model by portions of its outputs, for algebra with ``n x width`` numbers for each."""
        parts = portions(len(self.alpha), len(self.u) * width)
        return [self] if len(parts) == 1 else [self.outputs(rows) for rows in parts]

    def _mean(self, cross: Tensor) -> Tensor:
        return self.hyper.mean[:, None] + (self.alpha[:, None, :] @ cross).squeeze(-2)

    def _weights(self, y: Tensor) -> Tensor:
        """``alpha = K^-1 (y - mean)``, zero where an outcome is missing."""
        residual = torch.where(self.present, y - self.hyper.mean[:, None], 0.0).unsqueeze(-1)
        return self._solve(residual).squeeze(-1)

    def _solve(self, rhs: Tensor) -> Tensor:
        """``K^-1 rhs``. For few columns torch's own solve takes ten times as long: it copies the factors."""
        return self.unwhiten(self.whiten(rhs))


def portions(batch: int, numbers: int, most: int = PORTION) -> list[slice]:
    """What is to be treated together: with so many numbers for each, not more than a cache holds."""
    size = max(most // max(numbers, 1), 1)
    return [slice(i, min(i + size, batch)) for i in range(0, batch, size)]


def joined(parts: list[Tensor]) -> Tensor:
    """Return what was computed by portions of the outputs as one."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)
