"""The MAP fit of few hyperparameters on many points: Newton steps, counted in factorizations.

On hundreds of points a density costs O(n^3), while one lengthscale and one outputscale per output make a
climb in two dimensions, begun where the last one ended. L-BFGS spends some twenty densities, most of them on
learning the curvature. Here differences of the analytic slopes give it after three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lcbo.errors import ModelError
from lcbo.models.border import to_array, to_tensor
from lcbo.models.data import Data
from lcbo.models.fits.map import MapFit, log_posterior, pack, unpack
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.types import Array

Rows = NDArray[np.intp]
Density = Callable[[Rows, Array], tuple[Array, Array]]
"""Maps some outputs and their log parameters to values and slopes."""

_DIFFERENCE = 1e-4  # in a log parameter
_LONGEST = 1.0  # step in log parameters: nothing changes by more than a factor e at once
_LEAST_CURVATURE = 1e-2  # in nats per squared log unit


@dataclass(frozen=True)
class NewtonFit(MapFit):
    """A MAP fit by Newton steps within a trust region, each output until convergence.

    An output's climb ends when the gain it expects of the next step is below ``tolerance`` of its density.
    """

    def __call__(self, data: Data, start: Hyperparameters) -> Hyperparameters:
        """Climb the log posterior of every output from ``start``."""
        noise, box, every = self.noise_prior is not None, self.box(start), np.arange(len(data.y))

        def density(rows: Rows, theta: Array) -> tuple[Array, Array]:
            hyper = unpack(to_tensor(theta, data.u), start.outputs(rows), noise)
            value, slope = log_posterior(data.outputs(rows), hyper, self)
            return to_array(value), to_array(slope)

        theta = to_array(pack(start, noise)).clip(*box.T)
        try:
            climb = _Climb.begun(density, every, theta)
        except ModelError:  # where it starts the covariance is not numerically definite
            return start
        for _ in range(self.max_iterations):
            if not climb.step(density, box, self.tolerance):
                break
        return unpack(to_tensor(climb.theta, data.u), start, noise)


# The paper's priors. On hundreds of points the density is sharp: 1e-6 of it is about 1e-3 nats.
WARM_FIT = NewtonFit(tolerance=1e-6)


@dataclass
class _Climb:
    """Where every output's climb stands.

    Attributes:
        theta: ``B x p`` log parameters.
        value: ``B`` log densities there.
        slope: ``B x p``.
        hessian: ``B x p x p`` second derivatives.
        radius: ``B``, longest step.
    """

    theta: Array
    value: Array
    slope: Array
    hessian: Array
    radius: Array

    @staticmethod
    def begun(density: Density, every: Rows, theta: Array) -> _Climb:
        """Return the climb at its start, second derivatives by differences of slopes."""
        value, slope = density(every, theta)
        columns = [
            (density(every, theta + shift)[1] - slope) / _DIFFERENCE
            for shift in _DIFFERENCE * np.eye(theta.shape[1])
        ]
        hessian = np.stack(columns, -1)
        return _Climb(
            theta, value, slope, 0.5 * (hessian + hessian.transpose(0, 2, 1)), np.full(len(theta), _LONGEST)
        )

    def step(self, density: Density, box: Array, tolerance: float) -> bool:
        """Move every output that still expects a gain; return whether there was one."""
        steps = np.stack([self._newton(i, box) for i in range(len(self.theta))])
        expected = (steps * (self.slope + 0.5 * np.einsum("bij,bj->bi", self.hessian, steps))).sum(-1)
        live = np.flatnonzero(expected > tolerance * np.maximum(np.abs(self.value), 1.0))
        if len(live) == 0:
            return False
        try:
            values, slopes = density(live, self.theta[live] + steps[live])
        except ModelError:  # the covariance is not numerically definite there
            self.radius[live] = 0.25 * np.linalg.norm(steps[live], axis=-1)
            return True
        for i, value, slope in zip(live.tolist(), values, slopes, strict=True):
            gain = value - self.value[i]
            self._learn_curvature(i, steps[i], slope - self.slope[i])
            if gain < 0.25 * expected[i]:
                self.radius[i] = 0.25 * np.linalg.norm(steps[i])
            elif gain > 0.75 * expected[i]:
                self.radius[i] = min(2.0 * self.radius[i], _LONGEST)
            if gain > 0.0:
                self.theta[i] += steps[i]
                self.value[i], self.slope[i] = value, slope
        return True

    def _newton(self, i: int, box: Array) -> Array:
        """Newton's step in the box and the radius; where the density is not concave, uphill all the same."""
        theta, slope = self.theta[i], self.slope[i]
        held = ((theta <= box[:, 0]) & (slope < 0.0)) | ((theta >= box[:, 1]) & (slope > 0.0))
        free = np.flatnonzero(~held)
        curvature, axes = np.linalg.eigh(-self.hessian[i][np.ix_(free, free)])
        size = np.maximum(np.abs(curvature), _LEAST_CURVATURE)
        step = self._within(i, free, axes @ ((axes.T @ slope[free]) / size), box)
        if step @ (slope + 0.5 * self.hessian[i] @ step) > 0.0:
            return step
        return self._within(i, free, slope[free] / size.max(initial=1.0), box)  # clipping turned it downhill

    def _within(self, i: int, free: Rows, move: Array, box: Array) -> Array:
        """A move of the free parameters, shortened to the radius and clipped to the box."""
        theta, step = self.theta[i], np.zeros(len(box))
        step[free] = move * min(1.0, self.radius[i] / max(float(np.linalg.norm(move)), 1e-300))
        inside: Array = (theta + step).clip(*box.T) - theta
        return inside

    def _learn_curvature(self, i: int, step: Array, change: Array) -> None:
        """Symmetric rank-one update: the second derivatives along the step are what was just seen.

        A miss almost at right angles to the step would make them explode.
        """
        miss = change - self.hessian[i] @ step
        along = float(miss @ step)
        if abs(along) > 0.1 * np.linalg.norm(miss) * np.linalg.norm(step):
            self.hessian[i] += np.outer(miss, miss) / along
