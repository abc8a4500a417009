"""Four ways to choose the exploration batch Z_2 in the local box, behind one interface.

All minimize the worst output's posterior gradient-covariance trace ``max_i alpha_i(u, Z)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.models.gp import BatchedGP
from lcbo.models.information import GradientInformation


@dataclass(frozen=True)
class Explorer(ABC):
    """Chooses ``count`` points of the box that teach most about the gradients at ``u``."""

    most_outputs: ClassVar[int | None] = None  # how many it wants to look at; ``None`` for all

    @abstractmethod
    def __call__(self, gp: BatchedGP, u: Tensor, count: int, box: Box, rng: np.random.Generator) -> Tensor:
        """Return ``count x d`` points."""


def worst_weights(trace: Tensor, temperature: float) -> Tensor:
    """Weights of the outputs in the gradient of ``T log sum_i exp(alpha_i / T)``: a softmax."""
    return torch.softmax(trace / temperature, -1)


def adam(
    information: GradientInformation,
    z: Tensor,
    box: Box,
    steps: int,
    rate: float,
    temperature: float,
    before: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Projected Adam on the smoothed worst trace of every batch; exactly ``steps`` steps.

    Args:
        information: at the point of interest.
        z: ``s x b x d`` starts.
        box: where the points must stay.
        steps: number of steps.
        rate: Adam's learning rate; its decay rates are the customary 0.9 and 0.999.
        temperature: of the LogSumExp over outputs.
        before: ``B``, from which the reductions of the traces are subtracted; the traces themselves when not
            given.

    Returns:
        The final batches ``s x b x d`` and their smoothed worst traces ``s``.
    """
    before = information.trace if before is None else before
    first, second = torch.zeros_like(z), torch.zeros_like(z)
    for t in range(1, steps + 1):
        _, ascent = information.joint_gradient(z, lambda r: worst_weights(before - r, temperature))
        first.mul_(0.9).add_(ascent, alpha=0.1)
        second.mul_(0.999).addcmul_(ascent, ascent, value=0.001)
        scale = (second / (1.0 - 0.999**t)).sqrt_().add_(1e-8)
        z = box.clip(z + (rate / (1.0 - 0.9**t)) * first / scale)
    value = temperature * torch.logsumexp((before - information.joint(z)) / temperature, -1)
    return z, value


@dataclass(frozen=True)
class PaperExplorer(Explorer):
    """Joint Z_2 by projected Adam from uniform starts (paper, Table 1)."""

    starts: int = 10  # paper, Table 1
    rate: float = 0.01  # paper, Table 1
    steps: int = 100  # paper is silent
    temperature: float = 1.0  # authors' code

    def __call__(self, gp: BatchedGP, u: Tensor, count: int, box: Box, rng: np.random.Generator) -> Tensor:
        """Return the best of the optimized batches."""
        if count == 0:
            return u.new_zeros(0, len(u))
        information = GradientInformation(gp, u)
        z, value = adam(
            information, box.draw(rng, self.starts, count), box, self.steps, self.rate, self.temperature
        )
        return z[int(value.argmin())]


@dataclass(frozen=True)
class SequentialExplorer(Explorer):
    """One point at a time, the model conditioned on it before the next (authors' code).

    Their LogSumExp is of the negative reductions: it looks at the output that learns least, whatever is
    known of it already.
    """

    starts: int = 5  # authors' code: four uniform ones and x itself
    rate: float = 0.05  # authors' code
    steps: int = 50  # authors' code
    temperature: float = 1.0  # authors' code

    def __call__(self, gp: BatchedGP, u: Tensor, count: int, box: Box, rng: np.random.Generator) -> Tensor:
        """Return the points in the order they were chosen."""
        chosen: list[Tensor] = []
        for _ in range(count):
            start = torch.cat([u[None, None], box.draw(rng, self.starts - 1, 1)])
            information = GradientInformation(gp, u)
            before = torch.zeros_like(information.trace)
            z, value = adam(information, start, box, self.steps, self.rate, self.temperature, before)
            best = z[int(value.argmin())]
            chosen.append(best)
            gp = gp.conditioned(best)
        return torch.cat(chosen) if chosen else u.new_zeros(0, len(u))


@dataclass(frozen=True)
class FastExplorer(Explorer):
    """Greedy closed form along eigenvectors, then a few joint projected-gradient steps.

    The direction in which the worst output's gradient is least known is the top eigenvector of its
    gradient covariance. Points ``u +- clip(t v)`` for a ladder of t run from a short probe along v to
    the box corner in v's orthant; the trace reduction itself chooses among them. Of many outputs the least
    known are enough: the others do not become the worst within one batch.
    """

    most_outputs: ClassVar[int | None] = 8

    reaches: tuple[float, ...] = (0.1, 0.2, 0.35, 0.6, 1.0, 1.7, 3.0, 6.0)
    polish: int = 3
    temperature: float = 1.0

    def __call__(self, gp: BatchedGP, u: Tensor, count: int, box: Box, rng: np.random.Generator) -> Tensor:  # noqa: ARG002
        """Return ``count`` points; deterministic, so the generator is not used."""
        base = GradientInformation(gp, u)
        information, chosen = base, []
        ladder = u.new_tensor(self.reaches)
        half = 0.5 * float((box.high - box.low).max())
        for i in range(count):
            worst = int(information.trace.argmax())
            direction = top_eigenvector(information.cov[worst])
            rays = (ladder * half / direction.abs().max())[:, None] * direction
            candidates = box.clip(torch.cat([u + rays, u - rays]))
            v, var, white = information.single(candidates)
            after = information.trace[:, None] - v.square().sum(-2) / var
            best = int(after.max(0).values.argmin())
            chosen.append(candidates[best])
            if i + 1 < count:
                information = information.extended(
                    candidates[best], v[..., best], var[:, best], white[..., best]
                )
        if not chosen:
            return u.new_zeros(0, len(u))
        return self._polish(base, torch.stack(chosen), box)

    def _polish(self, information: GradientInformation, z: Tensor, box: Box) -> Tensor:
        """Climb jointly with Barzilai-Borwein steps; the best batch seen is kept."""
        before = information.trace
        best, best_value = z, float("inf")
        step, previous = 0.0, None
        for _ in range(self.polish):
            reduction, ascent = information.joint_gradient(
                z[None], lambda r: worst_weights(before - r, self.temperature)
            )
            value, ascent = float((before - reduction[0]).max()), ascent[0]
            if value < best_value:
                best, best_value = z, value
            if previous is None:
                step = 0.05 * float((box.high - box.low).max()) / max(float(ascent.abs().max()), 1e-300)
            else:
                moved, changed = z - previous[0], ascent - previous[1]
                curvature = -float((moved * changed).sum())
                if curvature > 0.0:
                    step = float(moved.square().sum()) / curvature
            previous = (z, ascent)
            z = box.clip(z + step * ascent)
        last = float((before - information.joint(z[None])[0]).max())
        return z if last < best_value else best


@dataclass(frozen=True)
class AxisExplorer(Explorer):
    """Greedy with repeats among points ``u +- t l_i e_i`` on the axes: for batches of hundreds and more.

    A large batch is well spent on few distinct points observed again and again: the model merges
    repeats, so thousands of evaluations cost what the distinct points do. ``l`` is the geometric mean of
    the outputs' lengthscales; in a box shorter than these, points off the axes would reach farther.
    """

    reaches: tuple[float, ...] = (0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5)

    def __call__(self, gp: BatchedGP, u: Tensor, count: int, box: Box, rng: np.random.Generator) -> Tensor:  # noqa: ARG002
        """Return ``count`` points; deterministic, so the generator is not used.

        A point chosen leaves its rank-one trace on the covariance ``C`` of all candidates and on their
        covariance ``v`` with the gradient:  ``C -= c c^T / s``,  ``v -= v_j c^T / s``,  ``s = c_j + noise``.
        """
        hyper = gp.hyper
        length = hyper.lengthscale.log().mean(0).exp().expand(len(u))
        rays = torch.cat([torch.diag(reach * length) for reach in self.reaches])
        candidates = box.clip(torch.cat([u + rays, u - rays]))
        information = GradientInformation(gp, u)
        v, _, _ = information.single(candidates)
        cov = gp.covariance(candidates)
        trace, chosen = information.trace, []
        for _ in range(count):
            var = cov.diagonal(dim1=-2, dim2=-1) + hyper.noise_var[:, None]
            after = trace[:, None] - v.square().sum(-2) / var
            best = int(after.max(0).values.argmin())
            chosen.append(best)
            trace, column = after[:, best], cov[:, :, best]
            weight = (column / var[:, best, None])[:, None, :]
            v = v - v[:, :, best, None] * weight
            cov = cov - column[:, :, None] * weight
        return candidates[chosen]


def top_eigenvector(cov: Tensor) -> Tensor:
    """Unit eigenvector of the largest eigenvalue; its largest component is positive.

    Args:
        cov: ``d x d`` symmetric.
    """
    vector: Tensor = torch.linalg.eigh(cov).eigenvectors[:, -1]
    return vector * torch.sign(vector[vector.abs().argmax()])


EXPLORERS: dict[str, type[Explorer]] = {
    "paper": PaperExplorer,
    "sequential": SequentialExplorer,
    "fast": FastExplorer,
    "axes": AxisExplorer,
}
