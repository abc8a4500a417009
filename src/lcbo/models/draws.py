"""Functions drawn from the posterior of a model, jointly over many points."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from lcbo.linalg import cholesky
from lcbo.models.border import to_tensor
from lcbo.models.gp import BatchedGP

FREQUENCIES = 1024  # of the random features; an error of about 3 % in the prior covariance
BLOCK = 256  # points at once: their features fit into the cache
NUGGET = 1e-8  # of the outputscale: thousands of neighboring points have no numerical full rank


class Sampler(Protocol):
    """Draws functions from the posterior of every output, jointly over the points."""

    def __call__(self, gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
        """Return ``count x B x p`` values at ``p x d`` points."""


def exact(gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Joint draws through the factor of the ``p x p`` posterior covariance, in O(p^3)."""
    factor = cholesky(gp.covariance(z, NUGGET))
    normal = to_tensor(rng.standard_normal((len(factor), len(z), count)), z)
    return gp.mean(z) + (factor @ normal).permute(2, 0, 1)


def pathwise(gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Draws by Matheron's rule, in O(p (n + features)) each.

    A path is a draw of the prior plus its correction by the data:
        f(z) = g(z) + k(z, U) K^-1 (y - g(U) - e),   e ~ N(0, noise)
    The prior draw ``g`` is a sum of random Fourier features, ``sqrt(s / F) [cos(z W / l), sin(z W / l)] w``;
    the correction is exact, so what the data say is not approximated.
    """
    base = rng.standard_normal((z.shape[1], FREQUENCIES))
    if gp.hyper.kernel == "matern52":  # its spectral density is Student's t with 5 degrees of freedom
        base *= np.sqrt(5.0 / rng.chisquare(5.0, FREQUENCIES))
    frequencies = to_tensor(base, z)
    return torch.stack(
        [
            _paths(gp.outputs(slice(b, b + 1)), z, count, frequencies, rng)
            for b in range(len(gp.hyper.outputscale))
        ],
        1,
    )


def _paths(gp: BatchedGP, z: Tensor, count: int, frequencies: Tensor, rng: np.random.Generator) -> Tensor:
    """Paths of one output: ``count x p``."""
    weights = to_tensor(rng.standard_normal((2, frequencies.shape[1], count)), z)
    weights *= math.sqrt(float(gp.hyper.outputscale) / frequencies.shape[1])

    def prior(points: Tensor) -> Tensor:
        phase = (points / gp.hyper.lengthscale) @ frequencies
        return torch.addmm(torch.cos(phase) @ weights[0], phase.sin_(), weights[1])

    noise = to_tensor(rng.standard_normal((len(gp.u), count)), z) * gp.noise[0, :, None].sqrt()
    seen = torch.where(gp.present[0, :, None], prior(gp.u) + noise, 0.0)
    correction = gp.alpha[0, :, None] - torch.cholesky_solve(seen, gp.factor[0])
    blocks = (torch.addmm(prior(block), gp.cross(block)[0].mT, correction) for block in torch.split(z, BLOCK))
    return (gp.hyper.mean + torch.cat(list(blocks))).mT


SAMPLERS: dict[str, Sampler] = {"pathwise": pathwise, "exact": exact}
