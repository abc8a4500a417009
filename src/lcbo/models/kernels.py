"""Stationary kernels with the derivatives the gradient posterior needs.

Both kernels are profiles of ``t = r^2 / 2`` with ``r^2 = sum_i ((u_i - z_i) / lengthscale_i)^2``:

    k(u, z)            =  outputscale * phi(t)
    dk/du_i            = -outputscale * phi1(t) * (u_i - z_i) / l_i^2
    d2k/du_i dz_j      =  outputscale * (phi1(t) * [i = j] / l_i^2
                                         - phi2(t) * (u_i - z_i)(u_j - z_j) / (l_i^2 l_j^2))

with ``phi1 = -dphi/dt`` and ``phi2 = d2phi/dt2``. Batch dimension ``B`` runs over outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Profile = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]


def rbf(r2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``phi, phi1, phi2`` of the RBF kernel, ``phi = exp(-r^2 / 2)``."""
    phi = VALUES["rbf"](r2)
    return phi, phi, phi


def matern52(r2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``phi, phi1, phi2`` of Matern-5/2, ``phi = (1 + sqrt5 r + 5 r^2 / 3) exp(-sqrt5 r)``."""
    s, decay = _matern52_parts(r2)
    return _matern52_value(s, decay), (1.0 + s).mul_(decay).mul_(5.0 / 3.0), (25.0 / 3.0) * decay


def _matern52_parts(r2: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``s = sqrt5 r`` and ``exp(-s)``."""
    s = (5.0 * r2).sqrt_()
    return s, s.neg().exp_()


def _matern52_value(s: Tensor, decay: Tensor) -> Tensor:
    """Return ``(1 + s + s^2 / 3) exp(-s)``; few arrays, since memory costs more than the arithmetic."""
    return (s / 3.0).add_(1.0).mul_(s).add_(1.0).mul_(decay)


PROFILES: dict[str, Profile] = {"rbf": rbf, "matern52": matern52}
VALUES: dict[str, Callable[[Tensor], Tensor]] = {  # phi alone
    "rbf": lambda r2: torch.exp(-0.5 * r2),
    "matern52": lambda r2: _matern52_value(*_matern52_parts(r2)),
}
CURVATURE = {"rbf": 1.0, "matern52": 5.0 / 3.0}  # phi1(0): prior gradient variance is s * phi1(0) / l^2


def squared_distance(u: Tensor, z: Tensor, lengthscale: Tensor) -> Tensor:
    """Scaled squared distances between two point sets.

    Isotropic lengthscales share one distance matrix over the batch.

    Args:
        u: ``... x n x d``.
        z: ``... x p x d``; leading dimensions broadcast against those of u.
        lengthscale: ``B x 1`` (isotropic) or ``B x d`` (ARD).

    Returns:
        ``... x B x n x p``.
    """
    if lengthscale.shape[-1] == 1:
        return plain_squared_distance(u, z).unsqueeze(-3) / lengthscale.square().unsqueeze(-1)
    scale = lengthscale[:, None, :]
    return plain_squared_distance(u.unsqueeze(-3) / scale, z.unsqueeze(-3) / scale)


def plain_squared_distance(u: Tensor, z: Tensor) -> Tensor:
    """Squared distances through one product; in the unit cube cancellation stays at rounding."""
    r2 = u.square().sum(-1).unsqueeze(-1) + z.square().sum(-1).unsqueeze(-2)
    return r2.sub_(2.0 * u @ z.mT).clamp_min_(0.0)


def followed_profile(u: Tensor, z: Tensor, lengthscale: Tensor, kernel: str) -> Tensor:
    """``phi`` between two point sets, which autograd can follow; shapes as in `squared_distance`."""
    phi: Tensor = _FollowedProfile.apply(u, z, lengthscale, kernel)  # type: ignore[no-untyped-call]
    return phi


class _FollowedProfile(torch.autograd.Function):
    """Its gradient is that of the formulas above, so it is right where points coincide, too."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, z: Tensor, lengthscale: Tensor, kernel: str) -> Tensor:
        """Return ``phi``."""
        phi, phi1, _ = PROFILES[kernel](squared_distance(u, z, lengthscale))
        ctx.save_for_backward(u, z, lengthscale, phi1)
        return phi

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, Tensor | None, None, None]:
        """Return the gradients of both point sets; one without leading dimensions gets their sum."""
        u, z, lengthscale, phi1 = ctx.saved_tensors
        weight = grads[0] * phi1
        pulls = [
            _pull(weight, u, z, lengthscale) if ctx.needs_input_grad[0] else None,
            _pull(weight.mT, z, u, lengthscale) if ctx.needs_input_grad[1] else None,
        ]
        return pulls[0], pulls[1], None, None


def _pull(weight: Tensor, u: Tensor, z: Tensor, lengthscale: Tensor) -> Tensor:
    """``sum_b,j weight[b,i,j] (z_j - u_i) / l_b^2``, summed to the shape of u."""
    away = weight @ z.unsqueeze(-3) - weight.sum(-1).unsqueeze(-1) * u.unsqueeze(-3)
    pull = (away / lengthscale.square()[:, None, :]).sum(-3)
    return pull.sum_to_size(u.shape)
