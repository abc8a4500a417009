"""Hyperparameters by maximum a posteriori with analytic gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from scipy.optimize import Bounds, minimize
from torch import Tensor

from lcbo.errors import ModelError
from lcbo.lbfgs import Functions, Rows, lbfgs
from lcbo.linalg import cholesky
from lcbo.models.border import to_array, to_tensor
from lcbo.models.data import Data
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.kernels import PROFILES, squared_distance
from lcbo.types import Array

MANY = 256  # points: of more, the second climb of a fit is begun on so many
FIRST_STEP = 0.5  # in log parameters
PORTION = 2**18  # numbers; larger blocks of memory cost more than the algebra on them


class Prior(Protocol):
    """A log density of a positive parameter, up to a constant, and its slope in the logarithm."""

    def log_density(self, value: Tensor) -> Tensor:
        """Return ``log p(value)`` up to a constant."""

    def slope(self, value: Tensor) -> Tensor:
        """Return ``d log p / d ln(value)``."""


@dataclass(frozen=True)
class Gamma:
    """Gamma prior on the parameter itself, mean ``concentration / rate``."""

    concentration: float
    rate: float

    def log_density(self, value: Tensor) -> Tensor:
        """Return ``(a - 1) ln v - b v``."""
        return (self.concentration - 1.0) * value.log() - self.rate * value

    def slope(self, value: Tensor) -> Tensor:
        """Return ``(a - 1) - b v``."""
        return (self.concentration - 1.0) - self.rate * value


@dataclass(frozen=True)
class Normal:
    """Normal prior on the parameter itself."""

    mean: float
    std: float

    def log_density(self, value: Tensor) -> Tensor:
        """Return ``-(v - mean)^2 / (2 std^2)``."""
        return -0.5 * ((value - self.mean) / self.std).square()

    def slope(self, value: Tensor) -> Tensor:
        """Return ``-(v - mean) v / std^2``."""
        return -(value - self.mean) / self.std**2 * value


@dataclass(frozen=True)
class LogNormal:
    """Normal prior on the logarithm of the parameter."""

    mean: float
    std: float

    def log_density(self, value: Tensor) -> Tensor:
        """Return ``-(ln v - mean)^2 / (2 std^2)``."""
        return -0.5 * ((value.log() - self.mean) / self.std).square()

    def slope(self, value: Tensor) -> Tensor:
        """Return ``-(ln v - mean) / std^2``."""
        return -(value.log() - self.mean) / self.std**2


@dataclass(frozen=True)
class Flat:
    """No preference: within the bounds of a fit the likelihood decides alone."""

    def log_density(self, value: Tensor) -> Tensor:
        """Return 0."""
        return torch.zeros_like(value)

    def slope(self, value: Tensor) -> Tensor:
        """Return 0."""
        return torch.zeros_like(value)


@dataclass(frozen=True)
class MapFit:
    """MAP fit settings; the defaults are the paper's.

    Attributes:
        lengthscale_prior: on every lengthscale.
        outputscale_prior: on every outputscale.
        noise_prior: on the noise variance, or ``None`` to hold the noise where it starts.
        bounds: natural bounds of lengthscale, outputscale and noise variance.
        max_iterations: of the climb.
        tolerance: relative gain of an iteration below which the climb ends.
    """

    lengthscale_prior: Prior = Gamma(3.0, 3.0)  # paper, appendix "Algorithm Setup"
    outputscale_prior: Prior = Normal(2.0, 1.0)  # paper, appendix "Algorithm Setup"
    noise_prior: Prior | None = None  # paper: the noise is the constant 0.01
    bounds: tuple[tuple[float, float], ...] = ((1e-2, 1e3), (1e-4, 1e3), (1e-8, 1e1))
    max_iterations: int = 50
    tolerance: float = 2.220446049250313e-09  # SciPy's default

    def __call__(self, data: Data, start: Hyperparameters) -> Hyperparameters:
        """Climb the log posterior of all outputs at once from ``start``.

        The outputs are independent, so the sum separates; one L-BFGS over the concatenation shares
        every batched factorization.
        """
        packed = pack(start, self.noise_prior is not None)

        def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
            hyper = unpack(to_tensor(flat, packed).view(packed.shape), start, self.noise_prior is not None)
            try:
                value, slope = log_posterior(data, hyper, self)
            except ModelError:  # the line search went where the covariance is not numerically definite
                return 1e25, np.zeros_like(flat)
            return -float(value.sum()), -to_array(slope.reshape(-1))

        box = np.tile(self.box(start), (len(packed), 1))
        result = minimize(
            negative,
            np.clip(to_array(packed.reshape(-1)), *box.T),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(*box.T),
            options={"maxiter": self.max_iterations, "ftol": self.tolerance},
        )
        return unpack(to_tensor(result.x, packed).view(packed.shape), start, self.noise_prior is not None)

    def box(self, start: Hyperparameters) -> Array:
        """Bounds of one output's log parameters in the order of `pack`: ``p x 2``."""
        length, scale, noise = self.bounds
        wide = [length] * start.lengthscale.shape[-1]
        return np.log([*wide, scale, noise] if self.noise_prior is not None else [*wide, scale])


@dataclass(frozen=True)
class RestartedFit(MapFit):
    """A MAP fit that also climbs from a second start; every output keeps the better of its two optima.

    Where noise or many lengthscales are learned the density has several modes, and a warm start never leaves
    one: a model that took everything for noise sees no slope.

    Attributes:
        fresh: the second start.
    """

    fresh: Hyperparameters = field(kw_only=True)

    def __call__(self, data: Data, start: Hyperparameters) -> Hyperparameters:
        """Climb from ``start`` and from ``fresh``.

        The second climb finds its mode on a part of many points, and goes on with all of them for the outputs
        for which that mode is the better one.
        """
        noise, rows = self.noise_prior is not None, np.arange(len(data.y))
        theta, value = self._climbed(data, start, to_array(pack(start, noise)))
        other = to_array(pack(self.fresh, noise))
        if len(data.u) > MANY:
            other, _ = self._climbed(data.thinned(MANY), start, other)
            rows = np.flatnonzero(self._densities(data, start)(rows, other)[0] > value)
        if len(rows):
            again, reached = self._climbed(data.outputs(rows), start.outputs(rows), other[rows])
            better = reached > value[rows]
            theta[rows[better]] = again[better]
        return unpack(to_tensor(theta, start.outputscale), start, noise)

    def _climbed(self, data: Data, like: Hyperparameters, theta: Array) -> tuple[Array, Array]:
        """Where every output's climb from ``B x p`` log parameters ends, and its log density there, ``B``.

        The outputs are independent: each ends when it has converged, and only those that go on are computed.
        """
        low, high = self.box(like).T
        return lbfgs(
            self._densities(data, like),
            theta.clip(low, high),
            self.max_iterations,
            low=low,
            high=high,
            first=FIRST_STEP,
            least_gain=self.tolerance,
        )

    def _densities(self, data: Data, like: Hyperparameters) -> Functions:
        """The log densities of the outputs in their log parameters, -inf where they are not computable."""
        size = max(PORTION // len(data.u) ** 2, 1)

        def some(rows: Rows, theta: Array) -> tuple[Array, Array]:
            hyper = unpack(to_tensor(theta, data.u), like.outputs(rows), self.noise_prior is not None)
            try:
                value, slope = log_posterior(data.outputs(rows), hyper, self)
            except ModelError:  # the covariance of one of them is not numerically definite
                return in_portions(rows, theta, 1) if len(rows) > 1 else (np.full(1, -np.inf), 0.0 * theta)
            return to_array(value), to_array(slope)

        def in_portions(rows: Rows, theta: Array, size: int = size) -> tuple[Array, Array]:
            parts = [some(rows[i : i + size], theta[i : i + size]) for i in range(0, len(rows), size)]
            return np.concatenate([value for value, _ in parts]), np.concatenate(
                [slope for _, slope in parts]
            )

        return in_portions


@dataclass(frozen=True)
class AdamFit(MapFit):
    """A fixed number of Adam steps on the same density, wherever they lead (authors' code).

    They are taken in ``v = ln(e^theta - 1)``, which maps positive parameters to the line by a softplus.

    Attributes:
        steps: of Adam, decay rates 0.9 and 0.999.
        rate: Adam's learning rate.
    """

    steps: int = 50
    rate: float = 0.1

    def __call__(self, data: Data, start: Hyperparameters) -> Hyperparameters:
        """Walk from ``start``; bounds are kept by clipping."""
        noise = self.noise_prior is not None
        low, high = to_tensor(np.exp(self.box(start)), start.outputscale).T
        theta = pack(start, noise).exp()
        first, second = torch.zeros_like(theta), torch.zeros_like(theta)
        for t in range(1, self.steps + 1):
            _, slope = log_posterior(data, unpack(theta.log(), start, noise), self)
            ascent = slope / theta * -torch.expm1(-theta)  # d theta / dv = 1 - e^-theta
            first = 0.9 * first + 0.1 * ascent
            second = 0.999 * second + 0.001 * ascent.square()
            scale = (second / (1.0 - 0.999**t)).sqrt() + 1e-8
            v = theta + torch.log(-torch.expm1(-theta)) + self.rate / (1.0 - 0.9**t) * first / scale
            theta = torch.nn.functional.softplus(v, threshold=500.0).clamp(low, high)
        return unpack(theta.log(), start, noise)


def pack(hyper: Hyperparameters, noise: bool) -> Tensor:
    """Log parameters as ``B x p``: lengthscales, outputscale, then noise when it is learned."""
    parts = [hyper.lengthscale, hyper.outputscale[:, None]]
    return torch.cat([*parts, hyper.noise_var[:, None]] if noise else parts, -1).log()


def unpack(packed: Tensor, like: Hyperparameters, noise: bool) -> Hyperparameters:
    """Parameters from their logarithms; what is not learned is that of ``like``."""
    width = like.lengthscale.shape[-1]
    natural = packed.exp()
    return Hyperparameters(
        natural[:, :width],
        natural[:, width],
        natural[:, width + 1] if noise else like.noise_var,
        like.mean,
        like.kernel,
    )


def log_posterior(data: Data, hyper: Hyperparameters, fit: MapFit) -> tuple[Tensor, Tensor]:
    """Log posterior density of every output and its gradient in the log parameters.

    With ``a = K^-1 y`` and ``M = a a^T - K^-1`` the likelihood's slope is ``tr(M dK) / 2``. Merged
    replicates keep their within-group term ``-dof/2 ln v - scatter / (2 v)``.

    Returns:
        Values ``B`` (up to a constant) and slopes ``B x p``, ordered as lengthscales, outputscale,
        noise variance; the last only when the noise is learned.
    """
    scale, noise = hyper.outputscale[:, None, None], hyper.noise_var[:, None]
    present = data.count > 0.0
    r2 = squared_distance(data.u, data.u, hyper.lengthscale)
    r2.diagonal(dim1=-2, dim2=-1).zero_()
    phi, phi1, _ = PROFILES[hyper.kernel](r2)
    signal = scale * phi
    radial = signal if phi1 is phi else scale * phi1
    if not bool(present.all()):
        pair = (present[:, :, None] & present[:, None, :]).to(phi.dtype)
        signal, radial = signal * pair, radial * pair
    noise_diagonal = torch.where(present, noise / torch.where(present, data.count, 1.0), 0.0)
    cov = signal.clone()
    cov.diagonal(dim1=-2, dim2=-1).add_(torch.where(present, noise_diagonal, 1.0))
    factor = cholesky(cov)
    residual = torch.where(present, data.y - hyper.mean[:, None], 0.0)
    weights = torch.cholesky_solve(residual.unsqueeze(-1), factor).squeeze(-1)
    # LAPACK returns columns one after the other; in rows, the symmetric inverse meets arrays in rows.
    inverse = torch.cholesky_inverse(factor).mT
    tilt = torch.baddbmm(inverse, weights[:, :, None], weights[:, None, :], beta=-1.0)

    replicates = data.dof * hyper.noise_var.log() + data.scatter / hyper.noise_var  # NaN without noise
    value = (
        -0.5 * (residual * weights).sum(-1)
        - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        - 0.5 * torch.where(data.dof > 0.0, replicates, 0.0)
        + fit.lengthscale_prior.log_density(hyper.lengthscale).sum(-1)
        + fit.outputscale_prior.log_density(hyper.outputscale)
    )
    if hyper.lengthscale.shape[-1] == 1:
        length_slope = 0.5 * _total(tilt, radial * r2)[:, None]
    else:
        pull = tilt * radial
        moment = pull.sum(-1) @ data.u.square() - ((pull @ data.u) * data.u).sum(-2)
        length_slope = moment / hyper.lengthscale.square()
    slopes = [
        length_slope + fit.lengthscale_prior.slope(hyper.lengthscale),
        (0.5 * _total(tilt, signal) + fit.outputscale_prior.slope(hyper.outputscale))[:, None],
    ]
    if fit.noise_prior is not None:
        value = value + fit.noise_prior.log_density(hyper.noise_var)
        noise_slope = (
            0.5 * (tilt.diagonal(dim1=-2, dim2=-1) * noise_diagonal).sum(-1)
            - 0.5 * (data.dof - data.scatter / hyper.noise_var)
            + fit.noise_prior.slope(hyper.noise_var)
        )
        slopes.append(noise_slope[:, None])
    return value, torch.cat(slopes, -1)


def _total(a: Tensor, b: Tensor) -> Tensor:
    """``sum_ij a_ij b_ij`` of each of ``B x n x n`` matrices, without a product in memory: ``B``."""
    return torch.bmm(a.flatten(1)[:, None, :], b.flatten(1)[:, :, None]).flatten()
