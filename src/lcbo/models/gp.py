"""One exact Gaussian process per output, all outputs as one batch, values and gradients in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lcbo.models.factored import FactoredGP, joined
from lcbo.models.kernels import PROFILES, VALUES, followed_profile, squared_distance


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


class BatchedGP(FactoredGP):
    """The posterior given merged data and hyperparameters: values, gradients and curvatures."""

    def gradient(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """Mean gradient at one point, ``B x d``, and the trace of its covariance, ``B``.

        They are those of `posterior`, without the covariance, which costs most: the trace is
        ``tr d2k(u, u) - sum_j |L^-1 dk(U, u) / du_j|^2``.
        """
        prior = self.hyper.prior_gradient_var.expand(-1, len(u)).sum(-1)
        taken = joined([part.squares(part.gradient_cross(u)).sum(-1) for part in self._parts(len(u))])
        return self._mean_gradient(self.slope_weights(u), self.u - u), prior - taken

    def _mean_gradient(self, weight: Tensor, away: Tensor) -> Tensor:
        """Mean gradient, ``B x d``, at a point with so much away from it to the data: ``n x d``."""
        slope = (self.alpha * weight) @ away / self.hyper.lengthscale.square()
        return slope + self.hyper.plane**2 * self.alpha @ self.u if self.hyper.plane else slope

    def mean(self, z: Tensor) -> Tensor:
        """Posterior mean at many points, ``B x p``: without the triangular solves of the variance."""
        return self._mean(self.cross(z))

    def predict(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of the noise-free outputs at many points, each ``B x p``."""
        means, known = [], []
        for part in self._parts(len(z)):
            cross = part.cross(z)
            means.append(part._mean(cross))
            known.append(part.squares(cross))
        return joined(means), (self.hyper.prior_var(z) - joined(known)).clamp_min(0.0)

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
        return self.hyper.covariance(phi, z, z) - white.mT @ white

    def joint(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, ``... x B x q``, and covariance, ``... x B x q x q``, at sets of points, ``... x q x d``.

        Autograd can follow it, in a model made by `followed`.
        """
        hyper = self.hyper
        scale = hyper.outputscale[:, None, None]
        cross = scale * followed_profile(self.u, z, hyper.lengthscale, hyper.kernel)
        prior = scale * followed_profile(z, z, hyper.lengthscale, hyper.kernel)
        if hyper.plane:
            cross = cross + hyper.planar(self.u, z).unsqueeze(-3)
            prior = prior + hyper.planar(z, z).unsqueeze(-3)
        if not self.complete:
            cross = cross * self.present[:, :, None]
        white = self.whiten(cross)
        return self._mean(cross), prior - white.mT @ white

    def followed(self) -> BatchedGP:
        """The same posterior in tensors that autograd may use; models are built in inference mode."""
        plain = BatchedGP.__new__(BatchedGP)  # with its factor whole, however this one keeps it
        plain.complete = self.complete
        plain.u, plain.present, plain.noise = self.u.clone(), self.present.clone(), self.noise.clone()
        plain.factor, plain.alpha = self.factor.clone(), self.alpha.clone()
        plain.hyper = self.hyper.each(torch.clone)
        return plain

    def observed(self, z: Tensor, y: Tensor) -> BatchedGP:
        """The posterior given further observations: ``p x d`` points, ``B x p`` values."""
        return self.conditioned(z).with_targets(torch.cat([self._known(), y], -1))

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
            var=(self.hyper.prior_var(u[None]).squeeze(-1) - value.square().sum(-1)).clamp_min(0.0),
            gradient=(self.alpha[:, None, :] @ slope).squeeze(-2),
            gradient_cov=self.prior_gradient_cov(len(u)) - tangent.transpose(-1, -2) @ tangent,
            value_gradient_cov=self.hyper.plane**2 * u - (value[:, None, :] @ tangent).squeeze(-2),
        )

    def tangent(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean, ``B``, variance, ``B``, and mean gradient, ``B x d``, at one point.

        They are those of `posterior`, without the gradient's covariance, which costs most.
        """
        cross = self.cross(u[None])
        mean = self.hyper.mean + (self.alpha * cross.squeeze(-1)).sum(-1)
        prior = self.hyper.prior_var(u[None]).squeeze(-1)
        var = (prior - self.squares(cross).squeeze(-1)).clamp_min(0.0)
        return mean, var, self._mean_gradient(self.slope_weights(u), self.u - u)

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

    def leave_one_out(self, first: int | None = None) -> LeftOut:
        """Every observation, or some first ones, as predicted from all others.

        It takes the inverse covariance alone: with ``c = diag(K^-1)`` the error is ``alpha / c``, and its
        variance, the noise included, ``1 / c``.
        """
        some, weight = slice(first), self.inverse_diagonal(first)
        alpha, noise = self.alpha[:, some], self.noise[:, some]
        return LeftOut(
            error=(alpha / weight).masked_fill(~self.present[:, some], torch.nan),
            var=(weight.reciprocal() - noise).clamp_min(0.0),
            noise=noise,
            observed=self._known()[:, some],
        )

    def _known(self) -> Tensor:
        """The observations ``mean + K alpha`` that alpha is of, ``B x n``; where one is missing, the mean."""
        residuals = []
        for part in self._parts(len(self.u)):
            factor = part.factor
            residuals.append(factor @ (factor.mT @ part.alpha[..., None]))
        return joined(residuals).squeeze(-1) + self.hyper.mean[:, None]
