"""A trend beside a process: what every variable does by itself, and how sure that is.

An output is ``b0 + sum_i b_i z_i + sum_i c_i z_i^2`` plus a Gaussian process, with ``z = U - u``. A process
that is alike in all directions does not know the variables: to bend along one it must be free to bend along
all pairs of them, and in many variables few evaluations tell so much. The trend has two numbers per variable.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.linalg import cholesky
from lcbo.models.border import to_tensor
from lcbo.models.data import Data
from lcbo.models.factored import joined, portions
from lcbo.models.gp import BatchedGP, LeftOut

LEAST_LEFT = 1e-14  # of an observation's weight; what is less is rounding, where no other tells the trend
SPREADS = np.geomspace(1e-3, 1.0, 7)  # by how much bends differ from each other, over the largest one


def trend_columns(z: Tensor, order: int) -> Tensor:
    """Return what the coefficients are multiplied with at ``n x d`` points: ``n x (1 + order d)``."""
    return torch.cat([z.new_ones(len(z), 1), *(z.pow(power) for power in range(1, order + 1))], -1)


def tells_trend(data: Data, order: int = 1) -> bool:
    """Whether every output has twice as many points as its trend has coefficients."""
    return 2 * (1 + order * data.u.shape[1]) <= int((data.count > 0.0).sum(1).min())


@dataclass(frozen=True)
class Trend:
    """Posterior of one output with a trend, at the point around which it is told.

    Attributes:
        evidence: log of the likelihood averaged over the priors, but for constants and for what repeats say.
        gradient: ``d``.
        gradient_cov: ``d x d``.
        hessian: ``d x d``, of the mean.
        left_out: the first observations as predicted from all others, where they are asked for.
    """

    evidence: float
    gradient: Tensor
    gradient_cov: Tensor
    hessian: Tensor
    left_out: LeftOut | None


def beside_trend(
    gp: BatchedGP, u: Tensor, order: int, alike: NDArray[np.bool_], largest: float, judges: int = 0
) -> Trend:
    """Return the posterior with a trend of slopes, and of bends where ``order`` is 2.

    The constant has a flat prior. A slope is normal around 0 with deviation ``largest``; slopes of variables
    that are alike are normal around a mean in common that has this prior, and differ from it by
    ``largest / sqrt(d)``, as slopes do that explain an output together. All bends have a mean in common too;
    ``largest^2`` is its deviation, and theirs from it is the posterior mean over `SPREADS`. Slopes that are
    shrunk like this are what is expected of the true ones: noise among them does not count as slope.

    With ``H`` the columns, ``V = L^-1 H``, P the prior's precision, ``W = L^-1 dk(U, u)``, ``E = [0, I, 0]``:
        cov b = (V^T V + P)^-1,   b = cov b H^T alpha,   R = E^T - V^T W
        mean = dk(u, U) (alpha - K^-1 H b) + E b,   cov = d2k(u, u) - W^T W + R^T (cov b) R
        2 ln p = b^T (cov b)^-1 b + ln |cov b| + ln |P| - alpha^T K alpha - ln |K|

    Args:
        gp: the process as fitted, of one output, with a prior mean of 0.
        u: ``d``, a point.
        order: 1 or 2.
        alike: ``d``, which variables are.
        largest: deviation of the slopes.
        judges: how many observations to leave out.
    """
    d = len(u)
    columns = trend_columns(gp.u - u, order) * gp.present[0, :, None]
    slope = gp.gradient_cross(u)
    white, tangent = gp.whiten(columns[None])[0], gp.whiten(slope)[0]
    known, pull = white.T @ white, columns.T @ gp.alpha[0]

    slopes, slope_volume = _precision(u.new_full((1,), d**-0.5), largest, alike)

    def prior(spreads: Tensor) -> tuple[Tensor, Tensor]:
        """Precision of the coefficients, ``k x p x p``, and its log determinant, for ``k`` spreads."""
        precision = u.new_zeros(len(spreads), len(known), len(known))
        precision[:, 1 : d + 1, 1 : d + 1] = slopes
        if order == 1:
            return precision, slope_volume
        precision[:, d + 1 :, d + 1 :], volume = _precision(spreads, largest**2, np.ones_like(alike))
        return precision, slope_volume + volume

    spreads = to_tensor(SPREADS if order == 2 else SPREADS[-1:], u)
    precision, volume = prior(spreads)
    factor = cholesky(known + precision)
    found = torch.linalg.solve_triangular(factor, pull[:, None].expand(len(spreads), -1, 1), upper=False)
    evidence = 0.5 * (found.square().sum((1, 2)) + volume) - _log_diagonal(factor)
    process = -0.5 * (gp.factor[0].T @ gp.alpha[0]).square().sum() - _log_diagonal(gp.factor[0])
    spread = (torch.softmax(evidence, 0) @ spreads.log()).exp()[None]

    cov = torch.cholesky_inverse(cholesky(known + prior(spread)[0][0]))
    trend = cov @ pull
    rest = copy(gp)
    rest.alpha = gp.alpha - gp.unwhiten((white @ trend)[None, :, None]).squeeze(-1)
    left = torch.diag(u.new_ones(len(known)))[:, 1 : d + 1] - white.T @ tangent
    hessian = rest.mean_hessian(u)[0]
    left_out = None
    if judges:
        tilt = gp.unwhiten(white[None])[:, :judges]  # the first rows of K^-1 H
        left_out = _left_out(gp, rest.alpha, ((tilt @ cov) * tilt).sum(-1), judges)
    return Trend(
        evidence=float(torch.logsumexp(evidence, 0) - np.log(len(spreads)) + process),
        gradient=rest.alpha[0] @ slope[0] + trend[1 : d + 1],
        gradient_cov=gp.prior_gradient_cov(d)[0] - tangent.T @ tangent + left.T @ cov @ left,
        hessian=hessian + torch.diag(2.0 * trend[d + 1 :]) if order == 2 else hessian,
        left_out=left_out,
    )


class PlanedGP:
    """Posterior of every output, a plane beside its process.

    The constant has a flat prior, a slope is normal around 0 with deviation ``largest``. With ``H`` and ``h``
    the columns of data and points, ``V = L^-1 H``, ``W = L^-1 k(U, z)`` and P the prior's precision:
        A = V^T V + P,   b = A^-1 H^T alpha,   R = h^T - V^T W
        mean = k(z, U) alpha + R^T b,   cov = k(z, z) - W^T W + R^T A^-1 R

    Args:
        gp: the processes as fitted beside planes, with a prior mean of 0.
        largest: deviation of the slopes.
    """

    def __init__(self, gp: BatchedGP, largest: float) -> None:
        self.gp = gp
        columns = trend_columns(gp.u, 1) * gp.present[..., None]
        precision = gp.u.new_full((columns.shape[-1],), largest**-2)
        precision[0] = 0.0
        self._white = gp.whiten(columns)
        self._factor = cholesky(self._white.mT @ self._white + torch.diag(precision))
        self._plane = torch.cholesky_solve(columns.mT @ gp.alpha[..., None], self._factor)  # b

    def predict(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the noise-free outputs at many points, each ``B x p``."""
        columns, means, variances = trend_columns(z, 1).mT, [], []
        for part in self._parts(len(z)):
            cross = part.gp.cross(z)
            white = part.gp.whiten(cross)
            left = columns - part._white.mT @ white
            means.append(part.gp._mean(cross) + (left.mT @ part._plane).squeeze(-1))
            doubt = torch.linalg.solve_triangular(part._factor, left, upper=False).square().sum(-2)
            variances.append(part.gp.hyper.outputscale[:, None] - white.square().sum(-2) + doubt)
        return joined(means), joined(variances).clamp_min(0.0)

    def joint(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, ``B x p``, and covariance, ``B x p x p``, of the noise-free outputs at few points."""
        left = trend_columns(z, 1).mT - self._white.mT @ self.gp.whiten(self.gp.cross(z))
        mean = self.gp.mean(z) + (left.mT @ self._plane).squeeze(-1)
        return mean, self.gp.covariance(z) + self._doubt(left)

    def gradient(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, ``B x d``, and covariance, ``B x d x d``, of the gradients at one point."""
        d, slope = len(u), self.gp.gradient_cross(u)
        tangent = self.gp.whiten(slope)
        left = torch.diag(u.new_ones(d + 1))[:, 1:] - self._white.mT @ tangent
        mean = (slope.mT @ self.gp.alpha[..., None] + left.mT @ self._plane).squeeze(-1)
        return mean, self.gp.prior_gradient_cov(d) - tangent.mT @ tangent + self._doubt(left)

    def _parts(self, width: int) -> list[PlanedGP]:
        """As those of a process: portions of the outputs."""
        found = []
        for rows in portions(len(self._plane), len(self.gp.u) * width):
            part = copy(self)
            part.gp = self.gp.outputs(rows)
            part._white, part._factor, part._plane = self._white[rows], self._factor[rows], self._plane[rows]
            found.append(part)
        return found

    def leave_one_out(self) -> LeftOut:
        """Every observation as predicted from all others, whose plane it has no part in either."""
        tilt = self.gp.unwhiten(self._white)  # K^-1 H
        taken = torch.linalg.solve_triangular(self._factor, tilt.mT, upper=False).square().sum(-2)
        return _left_out(self.gp, self.gp.alpha - (tilt @ self._plane).squeeze(-1), taken)

    def _doubt(self, left: Tensor) -> Tensor:
        """What the plane's uncertainty adds to a covariance: ``R^T A^-1 R``."""
        white: Tensor = torch.linalg.solve_triangular(self._factor, left, upper=False)
        return white.mT @ white


def _left_out(gp: BatchedGP, alpha: Tensor, taken: Tensor, first: int | None = None) -> LeftOut:
    """Return the first observations as predicted from all others, whose trend they have no part in either.

    Args:
        gp: the processes.
        alpha: ``B x n``, ``K^-1`` times what the trend leaves over.
        taken: ``B x first``, what the trend takes from the diagonal of ``K^-1``.
        first: how many observations, all by default.
    """
    alone, some = gp.leave_one_out(first), slice(first)
    weight = (alone.var + alone.noise).reciprocal()
    total = torch.maximum(weight - taken, LEAST_LEFT * weight).reciprocal()
    return LeftOut(
        error=(alpha[:, some] * total).masked_fill(~gp.present[:, some], torch.nan),
        var=(total - alone.noise).clamp_min(0.0),
        noise=alone.noise,
        observed=alone.observed,
    )


def _precision(spreads: Tensor, largest: float, alike: NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """Precision of coefficients with a mean in common, ``k x d x d``, and its log determinant, ``k``.

    With s a spread and w the largest deviation it is the inverse of ``w^2 (s^2 I + 1 1^T)`` over those that
    are alike, and of ``w^2 I`` over the others.
    """
    same, count = to_tensor(alike.astype(np.float64), spreads), int(alike.sum())
    var = spreads.square()
    shared = torch.diag(same) - torch.outer(same, same) / (var + count)[:, None, None]
    precision = (shared / var[:, None, None] + torch.diag(1.0 - same)) / largest**2
    volume = -max(count - 1, 0) * var.log() - 2.0 * len(alike) * np.log(largest)
    return precision, volume - torch.log(var + count) if count else volume


def _log_diagonal(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
