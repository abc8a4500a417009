"""The default fit: isotropic hyperparameters averaged over a lattice, noise included.

One tridiagonal form per lengthscale serves every output, outputscale and noise variance. With
``D = diag(sqrt(r))`` the merged means satisfy ``D y ~ N(0, s D phi D + v I)``, so with ``q = v / s``

    log p = -1/2 [n ln s + A(q) + B(q) / s + dof ln v + scatter / v],
    A(q) = ln |D phi D + q I|,   B(q) = (D y)^T (D phi D + q I)^-1 D y.

Outputscales and noises are powers of one number, so few ratios q occur and what costs O(n) is done once
for each: A for all outputs together, B for each.

The estimate is the posterior mean of the logarithms over the lattice, not its peak: short windows
make the peak jump between "all noise" and "very short lengthscale"; the mean moves smoothly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from lcbo.models.border import to_array, to_tensor
from lcbo.models.data import Data
from lcbo.models.fits.shifted import Shifted
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.kernels import VALUES, plain_squared_distance
from lcbo.types import Array

PORTION = 2**20  # numbers of the covariances that are treated together
TABLE = 2**17  # numbers of the log likelihoods that are: what a cache holds
NEGLIGIBLE = -600.0  # logarithm of a weight over the largest one


@dataclass(frozen=True)
class LatticePosterior:
    """What the lattice says about every output.

    Attributes:
        hyper: posterior means of the log hyperparameters.
        evidence: ``B``, log of the likelihood averaged over the prior, but for ``ln(2 pi) / 2`` per
            observation: it compares inputs and kernels for the same outcomes.
    """

    hyper: Hyperparameters
    evidence: Tensor


@dataclass(frozen=True)
class LatticeFit:
    """Lattice and priors; lengthscales are in units of ``sqrt(d)``, the diameter of the cube.

    Data say more about the slopes, ``s / l^2``, than about s or l alone. One step for all three keeps this
    ridge on the lattice; a coarser one of s and v misses it between two points.
    """

    step: float = 0.4  # of ln l, ln s and ln v
    length_span: tuple[int, int] = (-7, 8)  # lattice indices: sqrt(d) * exp(step * i)
    length_prior: tuple[float, float] = (math.sqrt(2.0), math.sqrt(3.0))  # mean, sd of ln(l / sqrt(d))
    scale_span: tuple[int, int] = (-8, 30)  # 0.04 to 2e5
    scale_prior: tuple[float, float] = (0.0, 2.0)
    noise_span: tuple[int, int] = (-58, 0)  # 8e-11 to 1
    noise_prior: tuple[float, float] = (-4.0, 3.0)
    least_ratio: int = -67  # of noise over outputscale: 2e-12, what Cholesky stands
    reach: int = 1  # lattice neighbors of the last estimate tried on each side in a local refit

    def posterior(
        self,
        data: Data,
        kernel: str,
        least_noise: list[float],
        last: Hyperparameters | None,
        trend: Tensor | None = None,
    ) -> LatticePosterior:
        """Hyperparameters and evidence of every output.

        Args:
            data: standardized, merged observations.
            kernel: ``rbf`` or ``matern52``.
            least_noise: per output the standardized noise variance that is known to be there; what is
                learned beyond it is the misfit of a stationary model. Where the lattice has less, the
                noise is this: all the prior has below it lies on it.
            last: the previous estimate: only its lattice neighborhood is searched, and the evidence is of
                this neighborhood alone.
            trend: ``n x p``, columns that the outputs may have any multiples of beside the process: only what
                no such multiples explain is compared with it (the restricted likelihood).
        """
        batch, dim = len(data.y), data.u.shape[-1]
        ln_length = self.step * _indices(self.length_span, data.u)  # over sqrt(d)
        wanted = data.u.new_ones(batch, len(ln_length), dtype=torch.bool)
        if last is not None:
            ln_last = (last.lengthscale.log() - 0.5 * math.log(dim)).clamp(ln_length[0], ln_length[-1])
            wanted = (ln_last - ln_length).abs() / self.step <= self.reach + 0.5
        r2 = plain_squared_distance(data.u, data.u)
        r2.fill_diagonal_(0.0)
        least = data.u.new_tensor(least_noise)
        evidence = data.u.new_full(wanted.shape, -torch.inf)
        means = data.u.new_zeros(*wanted.shape, 2)
        planes = [_Plane.of(self, data, rows, least[rows], trend) for rows in _same_counts(data)]
        used = wanted.any(0).nonzero().flatten()
        for lengths in torch.split(used, max(PORTION // max(r2.numel(), 1), 1)):
            phi = VALUES[kernel](r2 * (torch.exp(-2.0 * ln_length[lengths]) / dim)[:, None, None])
            for plane in planes:
                here = plane.only(wanted[plane.rows][:, lengths].any(-1))
                if len(here.rows):
                    averages = here.average(_shifted(phi, data, here.rows, here.beside))
                    evidence[here.rows[:, None], lengths], means[here.rows[:, None], lengths] = averages
        evidence.masked_fill_(~wanted, -torch.inf)
        joint = evidence + _log_prior(ln_length, self.length_prior)
        weight = torch.softmax(joint, -1)
        scale, noise = (weight[..., None] * means).sum(1).exp().unbind(-1)
        length = math.sqrt(dim) * (weight @ ln_length).exp()
        hyper = Hyperparameters(length[:, None], scale, noise, data.u.new_zeros(batch), kernel)
        return LatticePosterior(hyper, torch.logsumexp(joint, -1))


@dataclass(frozen=True)
class _Plane:
    """The (outputscale, noise) lattice of ``m`` outputs and what of it no lengthscale changes.

    Attributes:
        rows: ``m`` outputs that share their covariances.
        least: ``m`` least noise variances.
        ln_scale: ``S`` values of ln s.
        ln_noise: ``m x V`` values of ln v.
        floored: ``m x V``, where v is the least noise.
        ratios: all q that occur and are not excluded, in order, but for those of the least noise.
        at: ``S x V`` places of q in ``ratios``, wherever v is not the least noise.
        repeats: ``m x 1 x V``, what the scatter of repeats takes from the log likelihood.
        prior: ``S x V`` log weights.
        excluded: ``m x S x V``, where Cholesky would not stand q.
        beside: basis of what no trend explains, a column each; ``None`` without one.
    """

    rows: Tensor
    least: Tensor
    ln_scale: Tensor
    ln_noise: Tensor
    floored: Tensor
    ratios: Array
    at: Tensor
    repeats: Tensor
    prior: Tensor
    excluded: Tensor
    beside: Tensor | None

    @classmethod
    def of(cls, fit: LatticeFit, data: Data, rows: Tensor, least: Tensor, trend: Tensor | None) -> _Plane:
        (low, high), (first, last) = fit.scale_span, fit.noise_span
        ln_scale = fit.step * _indices(fit.scale_span, least)
        plain = fit.step * _indices(fit.noise_span, least)
        ln_noise = torch.maximum(plain, least.log()[:, None])
        floored = plain.exp() < least[:, None]
        lowest = max(first + int(floored.all(0).sum()) - high, fit.least_ratio)
        at = np.arange(first, last + 1) - np.arange(low, high + 1)[:, None] - lowest
        repeats = 0.5 * (data.dof[rows, None] * ln_noise + data.scatter[rows, None] * (-ln_noise).exp())
        ln_ratio = ln_noise[:, None] - ln_scale[:, None]
        return cls(
            rows,
            least,
            ln_scale,
            ln_noise,
            floored=floored,
            ratios=np.exp(fit.step * np.arange(lowest, last - low + 1)),
            at=to_tensor(at.clip(0), least),
            repeats=repeats[:, None],
            prior=_log_prior(ln_scale, fit.scale_prior)[:, None] + _log_prior(plain, fit.noise_prior),
            excluded=ln_ratio < fit.step * (fit.least_ratio - 0.5),
            beside=None if trend is None else _complement(data.count[rows[0]], trend),
        )

    def only(self, wanted: Tensor) -> _Plane:
        """Return the plane of some of its outputs."""
        if bool(wanted.all()):
            return self
        per_output = ("rows", "least", "ln_noise", "floored", "repeats", "excluded")
        return replace(self, **{name: getattr(self, name)[wanted] for name in per_output})

    def average(self, shifted: Shifted) -> tuple[Tensor, Tensor]:
        """Evidence of ``l`` lengthscales, ``m x l``, and posterior means of ln s and ln v, ``m x l x 2``."""
        volume, misfit = (to_tensor(-0.5 * part, self.least) for part in shifted(self.ratios))
        level = volume[:, None, self.at] + (self.prior - 0.5 * shifted.n * self.ln_scale[:, None])
        floor = self._at_floor(shifted)
        each = max(TABLE // level.numel(), 1)
        parts = []
        for i in range(0, len(self.rows), each):
            rows = slice(i, i + each)
            table = misfit[:, rows][..., self.at].mul_((-self.ln_scale).exp()[:, None]).add_(level)
            if floor is not None:
                table = torch.where(self.floored[rows, None], floor[:, rows, :, None] + self.prior, table)
            table.sub_(self.repeats[rows]).masked_fill_(self.excluded[rows], -torch.inf)
            parts.append(self._averaged(table, self.ln_noise[rows]))
        evidence, means = (torch.cat(part, 1) for part in zip(*parts, strict=True))
        return evidence.T, means.transpose(0, 1)

    def _averaged(self, table: Tensor, ln_noise: Tensor) -> tuple[Tensor, Tensor]:
        """What the logarithms ``l x m x S x V`` of weights say; they are overwritten."""
        top = table.amax((-2, -1), keepdim=True)
        # What is far below the largest weight counts for nothing, and numbers that underflow take time.
        weight = table.sub_(top).clamp_min_(NEGLIGIBLE).exp_()
        by_scale, by_noise = weight.sum(-1), weight.sum(-2)
        total = by_scale.sum(-1)
        means = torch.stack([by_scale @ self.ln_scale, (by_noise * ln_noise).sum(-1)], -1)
        return top[..., 0, 0] + total.log(), means / total[..., None]

    def _at_floor(self, shifted: Shifted) -> Tensor | None:
        """Log likelihood of the merged means at the least noise, ``l x m x S``, if it is above any other."""
        if not bool(self.floored.any()):
            return None
        found = self.least.new_zeros(len(shifted.norm), len(self.rows), len(self.ln_scale))
        per_scale = (-self.ln_scale).exp()
        for least in set(self.least[self.floored.any(-1)].tolist()):
            same = (self.least == least).nonzero().flatten()
            ratios = to_array(least * per_scale).clip(0.5 * self.ratios[0])  # what is less is excluded
            volume, misfit = (to_tensor(part, same) for part in shifted(ratios, same.tolist()))
            found[:, same] = -0.5 * (misfit * per_scale + volume[:, None] + shifted.n * self.ln_scale)
        return found


def _indices(span: tuple[int, int], like: Tensor) -> Tensor:
    return to_tensor(np.arange(span[0], span[1] + 1, dtype=np.float64), like)


def _log_prior(value: Tensor, prior: tuple[float, float]) -> Tensor:
    """Log weights of a normal prior on lattice values; the weights sum to one."""
    return torch.log_softmax(-0.5 * ((value - prior[0]) / prior[1]).square(), 0)


def _same_counts(data: Data) -> list[Tensor]:
    """Group outputs that were observed equally often at every point: they share a covariance."""
    distinct, group = torch.unique(data.count, dim=0, return_inverse=True)
    return [(group == i).nonzero().flatten() for i in range(len(distinct))]


def _complement(count: Tensor, trend: Tensor) -> Tensor:
    """Orthonormal basis beside the columns of a trend, ``n x p``, over the known points."""
    known = count > 0.0
    columns = count[known].sqrt()[:, None] * trend[known]
    basis: Tensor = torch.linalg.qr(columns, mode="complete")[0][:, trend.shape[1] :]
    return basis


def _shifted(phi: Tensor, data: Data, rows: Tensor, beside: Tensor | None) -> Shifted:
    """``D phi D`` of ``l`` lengthscales over the known points, with the data ``D y`` of a group of outputs.

    With a trend both are those of what is ``beside`` it.
    """
    count = data.count[rows[0]]
    y = data.y[rows]
    if bool((count == 0.0).any()):
        known = count > 0.0
        phi, y, count = phi[:, known][:, :, known], y[:, known], count[known]
    root = count.sqrt()
    cov, y = (root[:, None] * phi).mul_(root), y * root
    if beside is not None:
        cov, y = beside.T @ cov @ beside, y @ beside
    return Shifted(to_array(cov), to_array(y))
