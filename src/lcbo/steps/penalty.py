"""The paper's step: descend the penalized objective ``Q = f + rho/2 * sum_i c_i^2``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcbo.steps.schedules import Schedule, at
from lcbo.steps.step import Iterate, LocalPosterior
from lcbo.types import Array


class PenaltyStep:
    """One projected gradient step on Q in iteration k, with penalty factor ``rho_k`` and length ``eta_k``.

    Args:
        rho: penalty factor.
        eta: step length.
        normalize: divide the gradient of Q by its Euclidean norm.
    """

    def __init__(self, rho: Schedule, eta: Schedule, normalize: bool) -> None:
        self.rho = rho
        self.eta = eta
        self.normalize = normalize

    def __call__(self, local: LocalPosterior, last_step: Array, k: int, spent: float | None) -> Iterate:  # noqa: ARG002
        """Return the next iterate; see `Step`."""
        rho, eta = at(self.rho, k, "options, rho"), at(self.eta, k, "options, eta")
        gradient = penalty_gradient(local.objective, local.values, local.slopes, local.equality, rho)
        moved = projected_step(local.u, gradient, eta, self.normalize)
        return Iterate(moved, moved - local.u)

    def info(self, k: int) -> dict[str, float]:
        """Return the step length and the penalty factor of iteration k."""
        return {"step": at(self.eta, k, "options, eta"), "penalty": at(self.rho, k, "options, rho")}

    def state(self) -> dict[str, Any]:
        """Return nothing: the schedules say all."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""


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


def projected_step(u: Array, gradient: Array, eta: float, normalize: bool) -> Array:
    """``P(u - eta * g)`` onto the unit cube, ``g`` divided by its Euclidean norm when asked.

    A zero gradient leaves the point where it is.
    """
    if normalize:
        norm = np.linalg.norm(gradient)
        gradient = gradient / norm if norm > 0.0 else gradient
    moved: Array = np.clip(u - eta * gradient, 0.0, 1.0)
    return moved
