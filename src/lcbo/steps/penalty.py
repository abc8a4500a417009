"""The paper's step: descend the penalized objective ``Q = f + rho/2 * sum_i c_i^2``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcbo.types import Array


def penalty_gradient(
    objective: Array, values: Array, slopes: Array, equality: NDArray[np.bool_], rho: float
) -> Array:
    """Gradient of Q at one point: ``grad f + rho * sum_i w_i * grad c_i``          (paper, Eq. for grad Q).

    ``w_i = c_i`` for an equality and ``max(0, c_i)`` for an inequality.

    Args:
        objective: ``d`` gradient of f.
        values: ``T`` values of the terms, feasible when ``<= 0`` (``= 0``).
        slopes: ``T x d`` gradients of the terms.
        equality: ``T`` flags.
        rho: penalty factor.
    """
    weight = np.where(equality, values, np.maximum(values, 0.0))
    gradient: Array = objective + rho * (weight @ slopes)
    return gradient


def projected_step(x: Array, gradient: Array, eta: float, normalize: bool) -> Array:
    """``P(x - eta * g)`` onto the unit cube, ``g`` divided by its Euclidean norm when asked.

    A zero gradient leaves the point where it is.
    """
    if normalize:
        norm = np.linalg.norm(gradient)
        gradient = gradient / norm if norm > 0.0 else gradient
    moved: Array = np.clip(x - eta * gradient, 0.0, 1.0)
    return moved
