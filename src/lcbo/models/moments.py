"""Predictor mean and variance at many points at once, with gradients pulled back in closed form.

An acquisition value depends on ``u`` only through the means and variances of all outputs there, so its
gradient needs no ``B x q x d`` array of slopes. With ``k = k(U, u)`` and ``w = K^-1 k``:

    mean = m + alpha^T k,   var = outputscale - k^T w
    da/du = sum over outputs and data of  (a_mean alpha_i - 2 a_var w_i) dk(U_i, u)/du

Arrays with a data dimension are torch's; the small ones that go in and out are NumPy's, whose calls on a
few dozen numbers cost a fraction of torch's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lcbo.models.border import to_array, to_tensor
from lcbo.models.gp import BatchedGP
from lcbo.models.kernels import PROFILES
from lcbo.types import Array

# An explicit inverse makes every evaluation one product. Its error in a variance is about
# ``eps * n * outputscale / noise_var`` of it, so almost noise-free models use that of their factor instead.
LEAST_RELATIVE_NOISE = 1e-5
LEAST_VARIANCE = 1e-18  # keeps logarithms and quotients finite at data points of a noise-free model


@dataclass(frozen=True)
class Moments:
    """Means and variances of all outputs at ``q`` points and what their gradients need.

    Attributes:
        mean: ``B x q``.
        var: ``B x q``, of the noise-free values, above 0.
    """

    mean: Array
    var: Array
    _z: Tensor
    _slope: Tensor
    _solved: Tensor
    _predictor: Predictor

    def gradient(self, by_mean: Array, by_var: Array) -> Array:
        """Gradient in the points of a function of the moments: ``q x d``.

        Args:
            by_mean: ``B x q`` derivatives in ``mean``.
            by_var: ``B x q`` derivatives in ``var``.
        """
        weight = self._solved * to_tensor(-2.0 * by_var, self._z)[:, None, :]
        weight.addcmul_(self._predictor.gp.alpha[:, :, None], to_tensor(by_mean, self._z)[:, None, :])
        return self._pulled(weight)

    def _pulled(self, weight: Tensor) -> Array:
        """``sum_b,i weight dk(U_i, u)/du`` over the outputscale, at every point: ``q x d``."""
        gp, inverse_square = self._predictor.gp, self._predictor.inverse_square
        weight = weight.mul_(self._slope)
        if inverse_square.shape[-1] == 1:
            pull = torch.mm(inverse_square.T, weight.flatten(1)).view(-1, len(self._z))
            gradient = torch.addmm(pull.sum(0)[:, None] * self._z, pull.T, gp.u, beta=-1.0)
        else:
            pull = weight.mT @ gp.u - weight.sum(-2)[..., None] * self._z
            gradient = (pull * inverse_square[:, None, :]).sum(0)
        return to_array(gradient)


@dataclass(frozen=True)
class Inverse:
    """Solves with the covariance of a model's points, prepared once for many evaluations.

    Attributes:
        matrix: ``B x n x n``, ``K^-1`` or ``L^-1``.
        halved: it is ``L^-1``, which takes two products and loses half as many digits.
    """

    matrix: Tensor
    halved: bool

    def __call__(self, rhs: Tensor) -> Tensor:
        """``K^-1 rhs``: ``B x n x q``."""
        solved = _product(self.matrix, rhs)
        return _product(self.matrix.mT, solved) if self.halved else solved


def _product(matrix: Tensor, columns: Tensor) -> Tensor:
    """``B x n x n`` times a few columns. On the CPU that takes NumPy about half of torch's time."""
    if columns.is_cuda:
        return torch.bmm(matrix, columns)
    return to_tensor(to_array(matrix) @ to_array(columns), columns)


def inverse_covariance(gp: BatchedGP) -> Inverse:
    """Return what solves with K: its inverse or, where that would be too inaccurate, that of its factor."""
    hyper = gp.hyper
    if not bool((hyper.noise_var > LEAST_RELATIVE_NOISE * hyper.outputscale).all()):
        eye = torch.diag(gp.u.new_ones(len(gp.u)))
        return Inverse(gp.whiten(eye.expand(len(gp.factor), -1, -1)), halved=True)
    # LAPACK returns columns one after the other; the transpose is the same matrix in rows, and products with
    # it are twice as fast.
    return Inverse(torch.cholesky_inverse(gp.factor).mT, halved=False)


class Predictor:
    """Evaluates `Moments` of one model, again and again.

    With ``K_0`` the covariance of the first ``n_0`` points and ``R`` the last rows of ``L^-1``:
        K^-1 = [[K_0^-1, 0], [0, 0]] + R^T R
    so the points that came after the last fit cost little.

    Args:
        gp: the model.
        inverse: `inverse_covariance` of a model of the first ``n_0`` of its points.
    """

    def __init__(self, gp: BatchedGP, inverse: Inverse) -> None:
        self.gp = gp
        self.inverse_square = gp.hyper.lengthscale.square().reciprocal()
        self._isotropic = self.inverse_square.shape[-1] == 1
        self._points = gp.u[None] if self._isotropic else gp.u / gp.hyper.lengthscale[:, None, :]
        self._norms = self._points.square().sum(-1, keepdim=True)
        self._prior_mean = to_array(gp.hyper.mean)[:, None]
        self._prior_var = to_array(gp.hyper.outputscale)[:, None]
        self._inverse = inverse
        self._known, n = inverse.matrix.shape[-1], len(gp.u)
        units = torch.diag(gp.u.new_ones(n))[:, self._known :].expand(len(gp.alpha), -1, -1)
        self._rows = gp.unwhiten(units)

    def __call__(self, points: Array) -> Moments:
        """Return the moments at ``q x d`` points."""
        z = to_tensor(points, self.gp.u)
        cross, slope, solved, var = self._kernels(z)
        mean = to_array(torch.bmm(self.gp.alpha[:, None, :], cross)[:, 0]) + self._prior_mean
        return Moments(mean, var, z, slope, solved, self)

    def _kernels(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor, Array]:
        """``k``, its slope and ``K^-1 k``, each ``B x n x q``, and the variances, ``B x q``."""
        gp, hyper = self.gp, self.gp.hyper
        scale = hyper.outputscale[:, None, None]
        phi, phi1, _ = PROFILES[hyper.kernel](self._squared_distance(z))
        cross = scale * phi
        if not gp.complete:
            cross = cross * gp.present[:, :, None]
        solved = self._solve(cross)
        var = self._prior_var - to_array((cross * solved).sum(-2))
        slope = cross if phi1 is phi else scale * phi1
        return cross, slope, solved, np.maximum(var, LEAST_VARIANCE)

    def _squared_distance(self, z: Tensor) -> Tensor:
        """As `squared_distance`, with what depends on the data alone computed once: ``B x n x q``."""
        scaled = z[None] if self._isotropic else z / self.gp.hyper.lengthscale[:, None, :]
        norms = self._norms + scaled.square().sum(-1).unsqueeze(-2)
        r2 = torch.baddbmm(norms, self._points, scaled.mT, alpha=-2.0).clamp_min_(0.0)
        return r2 * self.inverse_square[:, :, None] if self._isotropic else r2

    def _solve(self, cross: Tensor) -> Tensor:
        """``K^-1 k``: ``B x n x q``."""
        known = self._known
        if known == cross.shape[-2]:
            return self._inverse(cross)
        solved = torch.bmm(self._rows, torch.bmm(self._rows.mT, cross))
        solved[:, :known] += self._inverse(cross[:, :known])
        return solved


@dataclass(frozen=True)
class DrawnMoments(Moments):
    """Moments given each of ``S`` draws of outputs elsewhere; a draw moves the means alone.

    Attributes:
        mean: ``B x S x q``.
    """

    _weights: Tensor

    def gradient(self, by_mean: Array, by_var: Array) -> Array:
        """Gradient in the points of a function of the moments: ``q x d``.

        Args:
            by_mean: ``B x S x q`` derivatives in ``mean``.
            by_var: ``B x q`` derivatives in ``var``.
        """
        weight = self._solved * to_tensor(-2.0 * by_var, self._z)[:, None, :]
        return self._pulled(weight.baddbmm_(self._weights, to_tensor(by_mean, self._z)))


class DrawnPredictor(Predictor):
    """Evaluates the moments given draws of the outputs at the model's last points.

    Args:
        gp: the model, conditioned on the points of the draws.
        inverse: as for `Predictor`.
        normal: ``B x k x S`` standard normal numbers.

    Attributes:
        draws: ``B x k x S``.
    """

    def __init__(self, gp: BatchedGP, inverse: Inverse, normal: Array) -> None:
        super().__init__(gp, inverse)
        draws, self._weights = gp.imagined(to_tensor(normal, gp.u))
        self.draws = to_array(draws)

    def __call__(self, points: Array) -> DrawnMoments:
        """Return the moments at ``q x d`` points."""
        z = to_tensor(points, self.gp.u)
        cross, slope, solved, var = self._kernels(z)
        mean = to_array(torch.bmm(self._weights.mT, cross)) + self._prior_mean[..., None]
        return DrawnMoments(mean, var, z, slope, solved, self, self._weights)
