"""How much a batch of evaluations would reduce the uncertainty of the gradient at one point.

For output ``i``, data D and a batch Z, with ``v = cov_D(grad f(u), f(Z))`` (``d x b``) and
``C = cov_D(f(Z), f(Z)) + noise_var I`` the trace of the posterior gradient covariance falls by

    R_i(Z) = tr(v C^-1 v^T),     alpha_i(u, Z) = trace_i(D) - R_i(Z)          (paper, Eq. for alpha)

No y enters, so pending and hypothetical points are handled exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lcbo.linalg import cholesky
from lcbo.models.gp import BatchedGP
from lcbo.models.kernels import PROFILES, squared_distance


@dataclass(frozen=True)
class _Batches:
    """Reductions of ``s`` batches of ``b`` points and what their gradient needs; ``P = s * b``.

    Attributes:
        reduction: ``s x B``.
        response: ``T = C^-1 v^T`` as ``B x s x b x d``.
        white: ``L^-1 k(U, Z)`` as ``B x n x P``.
        phi1_data: ``B x n x P``.
        phi1_here, phi2_here: ``B x P``, at the distance to u.
        phi1_pair: ``B x s x b x b``.
    """

    reduction: Tensor
    response: Tensor
    white: Tensor
    phi1_data: Tensor
    phi1_here: Tensor
    phi2_here: Tensor
    phi1_pair: Tensor


class GradientInformation:
    """The reductions ``R_i`` and their gradients in Z at one point ``u`` of one model."""

    def __init__(self, gp: BatchedGP, u: Tensor) -> None:
        self.gp, self.u = gp, u
        self.places = torch.cat([gp.u, u[None]])  # what distances are needed from
        self._tangent = gp.whiten(gp.gradient_cross(u))
        self._rows = self._tangent[:, :0]  # of the points that came later
        self.cov = gp.prior_gradient_cov(len(u)) - self._tangent.mT @ self._tangent

    @property
    def tangent(self) -> Tensor:
        """``L^-1 dk(U, u)``: ``B x n x d``."""
        return torch.cat([self._tangent, self._rows], -2) if self._rows.shape[-2] else self._tangent

    @property
    def trace(self) -> Tensor:
        """Trace of the gradient covariance of every output before any new point: ``B``."""
        return self.cov.diagonal(dim1=-2, dim2=-1).sum(-1)

    def single(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Covariances of many points, each taken alone.

        Args:
            z: ``p x d``.

        Returns:
            ``v`` as ``B x d x p``, the predictive variance with noise as ``B x p``, and ``L^-1 k(U, z)`` as
            ``B x n x p``; the reductions are ``|v|^2 / variance``.
        """
        hyper = self.gp.hyper
        phi, phi1, _ = PROFILES[hyper.kernel](squared_distance(self.places, z, hyper.lengthscale))
        white = self.gp.whiten(self.gp.shown(self.gp.hyper.covariance(phi[:, :-1], self.gp.u, z)))
        v = self._prior_slope(z, phi1[:, -1:]) - self._explained(white)
        var = (hyper.prior_var(z) - white.square().sum(-2)).clamp_min(0.0)
        return v, var + hyper.noise_var[:, None], white

    def extended(self, z: Tensor, v: Tensor, var: Tensor, white: Tensor) -> GradientInformation:
        """The same information after one more (pending) point.

        Args:
            z: ``d``-dim point.
            v: its covariance with the gradient as ``single`` gives it, ``B x d``.
            var: its predictive variance with noise, ``B``.
            white: ``L^-1 k(U, z)``, ``B x n``.
        """
        grown = object.__new__(GradientInformation)
        deviation = var.sqrt()[:, None]
        noise = self.gp.hyper.noise_var[:, None]
        grown.u = self.u
        grown.gp = self.gp.bordered(z[None], white[..., None], deviation[..., None], noise)
        grown.places = torch.cat([grown.gp.u, self.u[None]])
        row = (v / deviation)[:, None, :]
        grown._tangent, grown._rows = self._tangent, torch.cat([self._rows, row], -2)
        grown.cov = self.cov - row.mT @ row
        return grown

    def joint(self, z: Tensor) -> Tensor:
        """Reductions of several batches at once: ``s x b x d`` in, ``s x B`` out."""
        return self._evaluate(z).reduction

    def joint_gradient(self, z: Tensor, weigh: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Reductions ``s x B`` and the gradient of ``sum_i w_i R_i`` in Z, ``s x b x d``.

        With ``T = C^-1 v^T`` and ``P = T T^T``:  ``dR = 2 <T^T, dv> - <P, dC>``.

        Args:
            z: ``s x b x d`` batches.
            weigh: maps reductions ``s x B`` to the weights ``s x B`` of the outputs.
        """
        parts = self._evaluate(z)
        hyper, batch = self.gp.hyper, len(self.gp.hyper.outputscale)
        starts, size, dim = z.shape
        points = z.reshape(-1, dim)
        inv2 = hyper.lengthscale.square().reciprocal()[:, None, :]
        scale = hyper.outputscale[:, None, None]
        gram = parts.response @ parts.response.transpose(-1, -2)
        response = parts.response.reshape(batch, -1, dim)

        away = (self.u - points) * inv2
        along = (response * away).sum(-1, keepdim=True)
        through_slope = (
            parts.phi1_here[..., None] * response * inv2 - parts.phi2_here[..., None] * along * away
        )

        by_start = parts.white.view(batch, -1, starts, size).transpose(1, 2)
        spread = (by_start @ gram).transpose(1, 2).reshape_as(parts.white)
        pull = self.gp.unwhiten(spread - self.tangent @ response.transpose(-1, -2))
        pull = self.gp.shown(pull)
        near = pull * parts.phi1_data
        through_data = (near.transpose(-1, -2) @ self.gp.u - near.sum(-2)[..., None] * points) * inv2

        push = gram * parts.phi1_pair
        through_pairs = (push.sum(-1, keepdim=True) * z - push @ z) * inv2[:, None]

        flat = 2.0 * scale * (through_slope + through_data)
        total = flat.view(batch, starts, size, dim) + 2.0 * scale[..., None] * through_pairs
        if hyper.plane:
            planar = (response + pull.mT @ self.gp.u).view(batch, starts, size, dim) - gram @ z
            total += 2.0 * hyper.plane**2 * planar
        return parts.reduction, (weigh(parts.reduction).T[..., None, None] * total).sum(0)

    def _evaluate(self, z: Tensor) -> _Batches:
        hyper, batch = self.gp.hyper, len(self.gp.hyper.outputscale)
        starts, size, dim = z.shape
        points = z.reshape(-1, dim)
        profile = PROFILES[hyper.kernel]
        scale = hyper.outputscale[:, None, None]
        phi, phi1_data, _ = profile(squared_distance(self.gp.u, points, hyper.lengthscale))
        _, phi1_here, phi2_here = profile(squared_distance(self.u[None], points, hyper.lengthscale))
        white = self.gp.whiten(self.gp.shown(hyper.covariance(phi, self.gp.u, points)))
        v = self._prior_slope(points, phi1_here) - self._explained(white)
        v = v.view(batch, dim, starts, size).permute(0, 2, 3, 1)

        pair, phi1_pair, _ = profile(squared_distance(z, z, hyper.lengthscale).transpose(0, 1))
        by_start = white.view(batch, -1, starts, size).transpose(1, 2)
        cov = scale[..., None] * pair - by_start.transpose(-1, -2) @ by_start
        if hyper.plane:
            cov += hyper.planar(z, z)
        cov.diagonal(dim1=-2, dim2=-1).add_(hyper.noise_var[:, None, None])
        response = torch.cholesky_solve(v, cholesky(cov))
        reduction = (response * v).sum((-2, -1)).T
        here, here2 = phi1_here.squeeze(-2), phi2_here.squeeze(-2)
        return _Batches(reduction, response, white, phi1_data, here, here2, phi1_pair)

    def _explained(self, white: Tensor) -> Tensor:
        """``T^T L^-1 k(U, z)`` with T the tangent, ``B x d x p``; T is not put together for it."""
        n = self._tangent.shape[-2]
        explained = self._tangent.mT @ white[:, :n]
        return torch.baddbmm(explained, self._rows.mT, white[:, n:]) if white.shape[-2] > n else explained

    def _prior_slope(self, z: Tensor, phi1: Tensor) -> Tensor:
        """Prior covariance between the gradient at x and values at ``z``: ``B x d x p``."""
        hyper = self.gp.hyper
        scaled = (z - self.u).T / hyper.lengthscale.square()[..., None]
        slope = hyper.outputscale[:, None, None] * phi1 * scaled
        return slope.add_(hyper.plane**2 * z.T) if hyper.plane else slope
