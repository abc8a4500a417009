"""Draws from a Gaussian process as sums of random Fourier features, with exact gradients.

A function with squared-exponential covariance, lengthscales l and variance 1 is approximated by

    f(x) = sqrt(2 / D) sum_j w_j cos(omega_j . x + b_j),
    omega_j ~ N(0, diag(1 / l^2)),   b_j ~ U(0, 2 pi),   w_j ~ N(0, 1),   D = 2000

(Rahimi and Recht, Advances in Neural Information Processing Systems 20, 2007). What is optimized is this
finite sum, so values and gradients are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lcbo.types import Array

FEATURES = 2000
_CHUNK = 512  # points evaluated together: bounds the memory of the phase matrix


@dataclass(frozen=True)
class FourierDraw:
    """One function; ``lengthscale`` has ``d`` entries, ``frequency`` is ``features x d``."""

    lengthscale: Array
    frequency: Array = field(repr=False)
    phase: Array = field(repr=False)
    weight: Array = field(repr=False)


class FourierSample:
    """Several independent draws evaluated together; ``1 + m`` draws over ``d`` variables."""

    def __init__(self, draws: list[FourierDraw]) -> None:
        self.lengthscale: Array = np.stack([draw.lengthscale for draw in draws])
        self._frequency = np.concatenate([draw.frequency for draw in draws])
        self._phase = np.concatenate([draw.phase for draw in draws])
        self._weight = np.stack([draw.weight for draw in draws]) * np.sqrt(2.0 / FEATURES)

    def values(self, X: Array) -> Array:
        """Values of all draws at ``n x d`` points, ``n x (1 + m)``."""
        parts = [self._values(X[start : start + _CHUNK]) for start in range(0, max(len(X), 1), _CHUNK)]
        return np.concatenate(parts)

    def _values(self, X: Array) -> Array:
        wave = np.cos(X @ self._frequency.T + self._phase).reshape(len(X), *self._weight.shape)
        values: Array = np.einsum("nkj,kj->nk", wave, self._weight)
        return values

    def gradients(self, x: Array) -> Array:
        """Gradients of all draws at one point, ``(1 + m) x d``:  -sqrt(2/D) sum_j w_j sin(.) omega_j."""
        slope = -np.sin(self._frequency @ x + self._phase).reshape(self._weight.shape) * self._weight
        frequency = self._frequency.reshape(*self._weight.shape, -1)
        gradients: Array = np.einsum("kj,kji->ki", slope, frequency)
        return gradients

    def hessians(self, x: Array) -> Array:
        """Second derivatives of all draws at one point, ``(1 + m) x d x d``.

        ``-sqrt(2/D) sum_j w_j cos(.) omega_j omega_j^T``
        """
        bend = -np.cos(self._frequency @ x + self._phase).reshape(self._weight.shape) * self._weight
        frequency = self._frequency.reshape(*self._weight.shape, -1)
        hessians: Array = (frequency * bend[..., None]).swapaxes(-1, -2) @ frequency
        return hessians
