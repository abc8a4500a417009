"""Thompson sampling on a finite set: candidates in a box, joint posterior draws, and whom a draw picks."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from lcbo.acquisition.explore import Box
from lcbo.linalg import cholesky
from lcbo.models.gp import BatchedGP
from lcbo.models.kernels import PROFILES, squared_distance

FREQUENCIES = 1024  # of the random features; an error of about 3 % in the prior covariance
BLOCK = 256  # candidates at once: their features fit into the cache
NUGGET = 1e-8  # of the outputscale: thousands of neighboring candidates have no numerical full rank


def sobol(box: Box, count: int, rng: np.random.Generator) -> Tensor:
    """Scrambled Sobol points of a box: ``count x d``."""
    engine = SobolEngine(len(box.low), scramble=True, seed=int(rng.integers(2**31)))  # type: ignore[no-untyped-call]
    unit: Tensor = engine.draw(count, dtype=torch.float64)
    return box.low + unit * (box.high - box.low)


def masked(points: Tensor, center: Tensor, probability: float, rng: np.random.Generator) -> Tensor:
    """Points that keep each coordinate with a probability, and at least one; the others are the center's.

    Args:
        points: ``p x d``.
        center: ``d``.
        probability: of each coordinate.
        rng: decides.
    """
    if probability >= 1.0:
        return points
    keep = rng.random(points.shape) < probability
    none = np.flatnonzero(~keep.any(1))
    keep[none, rng.integers(points.shape[1], size=len(none))] = True
    return torch.where(torch.from_numpy(keep), points, center)


class Sampler(Protocol):
    """Draws functions from the posterior of every output, jointly over the points."""

    def __call__(self, gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
        """Return ``count x B x p`` values at ``p x d`` points."""


def exact(gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Joint draws through the factor of the ``p x p`` posterior covariance, in O(p^3)."""
    cross = gp.cross(z)
    mean = gp.hyper.mean[:, None] + (gp.alpha[:, None, :] @ cross).squeeze(-2)
    white = gp.whiten(cross)
    cov = PROFILES[gp.hyper.kernel](squared_distance(z, z, gp.hyper.lengthscale))[0]
    cov.diagonal(dim1=-2, dim2=-1).fill_(1.0 + NUGGET)
    factor = cholesky(gp.hyper.outputscale[:, None, None] * cov - white.mT @ white)
    normal = torch.from_numpy(rng.standard_normal((len(factor), len(z), count)))
    return mean + (factor @ normal).permute(2, 0, 1)


def pathwise(gp: BatchedGP, z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Draws by Matheron's rule, in O(p (n + features)) each.

    A path is a draw of the prior plus its correction by the data:
        f(z) = g(z) + k(z, X) K^-1 (y - g(X) - e),   e ~ N(0, noise)
    The prior draw ``g`` is a sum of random Fourier features, ``sqrt(s / F) [cos(z W / l), sin(z W / l)] w``;
    the correction is exact, so what the data say is not approximated.
    """
    base = rng.standard_normal((z.shape[1], FREQUENCIES))
    if gp.hyper.kernel == "matern52":  # its spectral density is Student's t with 5 degrees of freedom
        base *= np.sqrt(5.0 / rng.chisquare(5.0, FREQUENCIES))
    frequencies = torch.from_numpy(base)
    return torch.stack(
        [
            _paths(gp.outputs(slice(b, b + 1)), z, count, frequencies, rng)
            for b in range(len(gp.hyper.outputscale))
        ],
        1,
    )


SAMPLERS: dict[str, Sampler] = {"pathwise": pathwise, "exact": exact}


def _paths(gp: BatchedGP, z: Tensor, count: int, frequencies: Tensor, rng: np.random.Generator) -> Tensor:
    """Paths of one output: ``count x p``."""
    weights = torch.from_numpy(rng.standard_normal((2, frequencies.shape[1], count)))
    weights *= math.sqrt(float(gp.hyper.outputscale) / frequencies.shape[1])

    def prior(x: Tensor) -> Tensor:
        phase = (x / gp.hyper.lengthscale) @ frequencies
        return torch.addmm(torch.cos(phase) @ weights[0], phase.sin_(), weights[1])

    noise = torch.from_numpy(rng.standard_normal((len(gp.x), count))) * gp.noise[0, :, None].sqrt()
    seen = torch.where(gp.present[0, :, None], prior(gp.x) + noise, 0.0)
    correction = gp.alpha[0, :, None] - torch.cholesky_solve(seen, gp.factor[0])
    blocks = (torch.addmm(prior(block), gp.cross(block)[0].mT, correction) for block in torch.split(z, BLOCK))
    return (gp.hyper.mean + torch.cat(list(blocks))).mT


def picks(objective: Tensor, violation: Tensor | None = None) -> list[int]:
    """The candidate every draw picks, no candidate twice.

    A draw picks its least objective among the candidates it believes feasible; where none is left, the
    least violation.

    Args:
        objective: ``count x p`` draws.
        violation: ``count x p`` total violations of the same draws, 0 where feasible; ``None``: all are.
    """
    chosen: list[int] = []
    for draw in range(len(objective)):
        score = objective[draw].clone()
        if violation is not None:
            feasible = violation[draw] == 0.0
            feasible[chosen] = False
            score = torch.where(feasible, score, torch.inf) if feasible.any() else violation[draw].clone()
        score[chosen] = torch.inf
        chosen.append(int(score.argmin()))
    return chosen
