"""One exact Gaussian process per output, all outputs as one batch, values and gradients in closed form."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.linalg import cholesky
from lcbo.models.data import Data
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.kernels import (
    PROFILES,
    VALUES,
    followed_profile,
    plain_squared_distance,
    squared_distance,
)

PORTION = 2**18  # numbers; larger blocks of memory cost more than the algebra on them


@dataclass(frozen=True)
class Posterior:
    """Value and gradient posterior of every output at one point.

    Attributes:
        mean: ``B`` values.
        var: ``B`` variances of the noise-free values.
        gradient: ``B x d``.
        gradient_cov: ``B x d x d``.
        value_gradient_cov: ``B x d``, between value and gradient.
    """

    mean: Tensor
    var: Tensor
    gradient: Tensor
    gradient_cov: Tensor
    value_gradient_cov: Tensor


@dataclass(frozen=True)
class LeftOut:
    """Observations compared with what all others predict for them, each ``B x n``.

    Attributes:
        error: observed less predicted, NaN where an outcome is missing.
        var: variance of the predicted noise-free output.
        noise: noise variance of the (averaged) observation.
        observed: the observation.
    """

    error: Tensor
    var: Tensor
    noise: Tensor
    observed: Tensor


class BatchedGP:
    """The posterior given merged data and hyperparameters.

    With ``K = k(U, U) + diag(noise_var / r)``, ``L = chol(K)`` and ``alpha = K^-1 (y - mean)``. A
    missing outcome has its row and column of K replaced by the identity's, which removes the point
    from that output exactly while keeping one batch.

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
        factor = self.u.new_empty(batch, n, n).mT  # in columns, as LAPACK returns them
        for rows in _portions(batch, n * n):
            factor[rows] = self._factor(rows, r2)
        return factor

    def _factor(self, rows: slice, r2: Tensor | None) -> Tensor:
        """Cholesky factor of the covariance of some outputs, from the distances if all outputs share them."""
        part, present = self.hyper.outputs(rows), self.present[rows]
        if r2 is None:
            r2 = squared_distance(self.u, self.u, part.lengthscale)
        else:
            r2 = r2 / part.lengthscale.square()[..., None]
        cov = part.outputscale[:, None, None] * VALUES[part.kernel](r2)
        diagonal = cov.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(part.outputscale[:, None] + self.noise[rows])
        if not self.complete:
            cov *= present[:, :, None] & present[:, None, :]
            diagonal[~present] = 1.0
        return cholesky(cov)

    def _kernel(self, z: Tensor) -> Tensor:
        """Prior covariance between data and points, missing outcomes included: ``B x n x p``."""
        phi = VALUES[self.hyper.kernel](squared_distance(self.u, z, self.hyper.lengthscale))
        return self.hyper.outputscale[:, None, None] * phi

    def cross(self, z: Tensor) -> Tensor:
        """Prior covariance between data and points, zero where an outcome is missing: ``B x n x p``."""
        cov = self._kernel(z)
        return cov if self.complete else cov * self.present[:, :, None]

    def gradient_cross(self, u: Tensor) -> Tensor:
        """Prior covariance between the data and the gradient at ``u``: ``B x n x d``.

        ``d k(u, U_i) / du = outputscale * phi1 * (U_i - u) / l^2``
        """
        r2 = squared_distance(self.u, u[None], self.hyper.lengthscale)
        _, phi1, _ = PROFILES[self.hyper.kernel](r2)
        weight = self.hyper.outputscale[:, None, None] * phi1
        if not self.complete:
            weight = weight * self.present[:, :, None]
        return weight * ((self.u - u) / self.hyper.lengthscale[:, None, :].square())

    def whiten(self, rhs: Tensor) -> Tensor:
        """``L^-1 rhs``."""
        white: Tensor = torch.linalg.solve_triangular(self.factor, rhs, upper=False)
        return white

    def unwhiten(self, rhs: Tensor) -> Tensor:
        """``L^-T rhs``."""
        solved: Tensor = torch.linalg.solve_triangular(self.factor.mT, rhs, upper=True)
        return solved

    def prior_gradient_cov(self, dim: int) -> Tensor:
        """Prior covariance of the gradient anywhere: ``B x d x d``."""
        return torch.diag_embed(self.hyper.prior_gradient_var.expand(-1, dim))

    def gradient(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """Mean gradient at one point, ``B x d``, and the trace of its covariance, ``B``.

        They are those of `posterior`, without the covariance, which costs most.
        """
        means, known = [], []
        for part in self._parts(len(u)):
            slope = part.gradient_cross(u)
            means.append((part.alpha[:, None, :] @ slope).squeeze(-2))
            known.append(part.whiten(slope).square().sum((-2, -1)))
        prior = self.hyper.prior_gradient_var.expand(-1, len(u)).sum(-1)
        return _joined(means), prior - _joined(known)

    def mean(self, z: Tensor) -> Tensor:
        """Posterior mean at many points, ``B x p``: without the triangular solves of the variance."""
        return self._mean(self.cross(z))

    def predict(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of the noise-free outputs at many points, each ``B x p``."""
        cross = self.cross(z)
        var = self.hyper.outputscale[:, None] - self.whiten(cross).square().sum(-2)
        return self._mean(cross), var.clamp_min(0.0)

    def covariance(self, z: Tensor, nugget: float | None = None) -> Tensor:
        """Joint posterior covariance of the noise-free outputs at many points: ``B x p x p``.

        Args:
            z: ``p x d``.
            nugget: raises the prior variance at every point to ``1 + nugget`` outputscales.
        """
        phi = VALUES[self.hyper.kernel](squared_distance(z, z, self.hyper.lengthscale))
        if nugget is not None:
            phi.diagonal(dim1=-2, dim2=-1).fill_(1.0 + nugget)
        white = self.whiten(self.cross(z))
        return self.hyper.outputscale[:, None, None] * phi - white.mT @ white

    def joint(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, ``... x B x q``, and covariance, ``... x B x q x q``, at sets of points, ``... x q x d``.

        Autograd can follow it, in a model made by `followed`.
        """
        hyper = self.hyper
        scale = hyper.outputscale[:, None, None]
        cross = scale * followed_profile(self.u, z, hyper.lengthscale, hyper.kernel)
        if not self.complete:
            cross = cross * self.present[:, :, None]
        prior = scale * followed_profile(z, z, hyper.lengthscale, hyper.kernel)
        white = self.whiten(cross)
        return self._mean(cross), prior - white.mT @ white

    def followed(self) -> BatchedGP:
        """The same posterior in tensors that autograd may use; models are built in inference mode."""
        plain = BatchedGP.__new__(BatchedGP)  # with its factor whole, however this one keeps it
        plain.complete = self.complete
        plain.u, plain.present, plain.noise = self.u.clone(), self.present.clone(), self.noise.clone()
        plain.factor, plain.alpha = self.factor.clone(), self.alpha.clone()
        names = ("lengthscale", "outputscale", "noise_var", "mean")
        plain.hyper = replace(self.hyper, **{name: getattr(self.hyper, name).clone() for name in names})
        return plain

    def observed(self, z: Tensor, y: Tensor) -> BatchedGP:
        """The posterior given further observations: ``p x d`` points, ``B x p`` values."""
        residual = self.factor @ (self.factor.mT @ self.alpha[..., None])
        known = residual.squeeze(-1) + self.hyper.mean[:, None]
        return self.conditioned(z).with_targets(torch.cat([known, y], -1))

    def imagined(self, normal: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs drawn jointly at the last ``k`` points, and the weights alpha given each draw.

        Those points must be pending: conditioned on, with outcomes equal to the mean. With C the corner of L
        that is theirs, a draw is ``mean + C e``, and it changes alpha by ``L^-T [0; e]``.

        Args:
            normal: ``B x k x S`` standard normal numbers e.

        Returns:
            Draws ``B x k x S``, and weights ``B x n x S``.
        """
        k, n = normal.shape[1], len(self.u)
        corner = self.factor[:, n - k :, n - k :]
        draws = self.mean(self.u[n - k :])[..., None] + corner @ normal
        beside = normal.new_zeros(len(normal), n - k, normal.shape[2])
        return draws, self.alpha[..., None] + self.unwhiten(torch.cat([beside, normal], 1))

    def posterior(self, u: Tensor) -> Posterior:
        """Joint Gaussian over value and gradient of every output at one point.

        With ``V = L^-1 dk(U, u)``:
            mean = dk(u, U) alpha,   cov = d2k(u, u) - V^T V          (paper, gradient posterior)

        Args:
            u: ``d``-dim point in the unit cube.
        """
        cross, slope = self.cross(u[None]), self.gradient_cross(u)
        white = self.whiten(torch.cat([cross, slope], -1))
        value, tangent = white[:, :, 0], white[:, :, 1:]
        return Posterior(
            mean=self.hyper.mean + (self.alpha * cross.squeeze(-1)).sum(-1),
            var=(self.hyper.outputscale - value.square().sum(-1)).clamp_min(0.0),
            gradient=(self.alpha[:, None, :] @ slope).squeeze(-2),
            gradient_cov=self.prior_gradient_cov(len(u)) - tangent.transpose(-1, -2) @ tangent,
            value_gradient_cov=-(value[:, None, :] @ tangent).squeeze(-2),
        )

    def tangent(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean, ``B``, variance, ``B``, and mean gradient, ``B x d``, at one point.

        They are those of `posterior`, without the gradient's covariance, which costs most.
        """
        cross = self.cross(u[None])
        mean = self.hyper.mean + (self.alpha * cross.squeeze(-1)).sum(-1)
        var = (self.hyper.outputscale - self.whiten(cross).square().sum((-2, -1))).clamp_min(0.0)
        slopes = [
            (part.alpha[:, None, :] @ part.gradient_cross(u)).squeeze(-2) for part in self._parts(len(u))
        ]
        return mean, var, _joined(slopes)

    def mean_hessian(self, u: Tensor) -> Tensor:
        """Second derivatives of the posterior mean at one point: ``B x d x d``.

        With ``w = (u - U_i) / l^2``:
            ``d2k(u, U_i) / du du = outputscale * (phi2 * w w^T - phi1 * diag(1 / l^2))``
        """
        inv2 = self.hyper.lengthscale.square().reciprocal()
        r2 = squared_distance(self.u, u[None], self.hyper.lengthscale)
        _, phi1, phi2 = PROFILES[self.hyper.kernel](r2)
        weight = self.hyper.outputscale[:, None] * self.alpha
        away = (u - self.u) * inv2[:, None, :]
        outer = away.mT @ ((weight * phi2.squeeze(-1))[..., None] * away)
        inner = (weight * phi1.squeeze(-1)).sum(-1)[:, None] * inv2.expand(-1, len(u))
        return outer - torch.diag_embed(inner)

    def mean_bend(self, u: Tensor, direction: Tensor) -> Tensor:
        """Second derivative of the posterior mean at one point along a direction, ``B``.

        It is ``v' H v`` of the Hessian above, without its ``d x d`` numbers.
        """
        inv2 = self.hyper.lengthscale.square().reciprocal()
        r2 = squared_distance(self.u, u[None], self.hyper.lengthscale)
        _, phi1, phi2 = PROFILES[self.hyper.kernel](r2)
        along = (((u - self.u) * direction) * inv2[:, None, :]).sum(-1)
        length2 = (direction.square() * inv2).sum(-1)
        bend = phi2.squeeze(-1) * along.square() - phi1.squeeze(-1) * length2[:, None]
        return self.hyper.outputscale * (self.alpha * bend).sum(-1)

    def leave_one_out(self) -> LeftOut:
        """Every observation as predicted from all others.

        It takes the inverse covariance alone: with ``c = diag(K^-1)`` the error is ``alpha / c``, and its
        variance, the noise included, ``1 / c``.
        """
        identity = torch.diag(self.u.new_ones(len(self.u)))
        weight = self.whiten(identity.expand(len(self.factor), -1, -1)).square().sum(-2)
        return LeftOut(
            error=(self.alpha / weight).masked_fill(~self.present, torch.nan),
            var=(weight.reciprocal() - self.noise).clamp_min(0.0),
            noise=self.noise,
            observed=self.mean(self.u) + self.alpha * self.noise,
        )

    def conditioned(self, z: Tensor, count: Tensor | None = None, *, least_noise: float = 0.0) -> BatchedGP:
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
        corner = self.hyper.outputscale[:, None, None] * VALUES[self.hyper.kernel](corner)
        corner.diagonal(dim1=-2, dim2=-1).copy_(self.hyper.outputscale[:, None] + noise)
        complete = bool(present.all())
        if not complete:
            cross = cross * present[:, None, :]
            corner *= present[:, :, None] & present[:, None, :]
            corner.diagonal(dim1=-2, dim2=-1)[~present] = 1.0
        white = self.whiten(cross)
        extended = copy(self)
        extended._border(white, cholesky(corner - white.mT @ white))
        extended.u = torch.cat([self.u, z])
        extended.present = torch.cat([self.present, present], -1)
        extended.noise = torch.cat([self.noise, noise], -1)
        extended.complete = self.complete and complete
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

    def with_targets(self, y: Tensor) -> BatchedGP:
        """The posterior of other outcomes at the same points: two triangular solves.

        Args:
            y: ``B x n``; read only where an outcome is present.
        """
        changed = copy(self)
        changed.alpha = self._weights(y)
        return changed

    def outputs(self, rows: slice | NDArray[np.intp]) -> BatchedGP:
        """The posterior of some of the outputs; a slice copies nothing."""
        part = copy(self)
        part.hyper = self.hyper.outputs(rows)
        part.present, part.noise, part.alpha = self.present[rows], self.noise[rows], self.alpha[rows]
        part._pick(rows)
        return part

    def _parts(self, width: int) -> list[BatchedGP]:
        """The model by portions of its outputs, for algebra with ``n x width`` numbers for each."""
        portions = _portions(len(self.alpha), len(self.u) * width)
        return [self] if len(portions) == 1 else [self.outputs(rows) for rows in portions]

    def _mean(self, cross: Tensor) -> Tensor:
        return self.hyper.mean[:, None] + (self.alpha[:, None, :] @ cross).squeeze(-2)

    def _weights(self, y: Tensor) -> Tensor:
        """``alpha = K^-1 (y - mean)``, zero where an outcome is missing."""
        residual = torch.where(self.present, y - self.hyper.mean[:, None], 0.0).unsqueeze(-1)
        return self._solve(residual).squeeze(-1)

    def _solve(self, rhs: Tensor) -> Tensor:
        """``K^-1 rhs``."""
        portions = _portions(len(self.factor), self.factor.shape[-1] ** 2)
        return _joined([torch.cholesky_solve(rhs[rows], self.factor[rows]) for rows in portions])


def _portions(batch: int, numbers: int) -> list[slice]:
    """Outputs to be treated together: with so many numbers for each, not more than a cache holds."""
    size = max(PORTION // max(numbers, 1), 1)
    return [slice(i, i + size) for i in range(0, batch, size)]


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
