"""The paper's step: descend the penalized objective ``Q = f + rho/2 * sum_i c_i^2``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcbo.steps.schedules import Schedule, at
from lcbo.steps.step import Iterate, LocalPosterior, Step, unit
from lcbo.types import Array


@dataclass(frozen=True)
class PenaltyStep(Step):
    """One projected gradient step on Q in iteration k, with penalty factor ``rho_k`` and length ``eta_k``."""

    rho: Schedule
    eta: Schedule
    normalize: bool  # divide the gradient of Q by its Euclidean norm

    def __call__(self, local: LocalPosterior, last_step: Array, k: int, spent: float | None) -> Iterate:  # noqa: ARG002
        """Return the next iterate; see `Step`."""
        rho, eta = at(self.rho, k, "options, rho"), at(self.eta, k, "options, eta")
        gradient = penalty_gradient(local, rho)
        if local.held is not None:
            gradient = np.where(local.held, 0.0, gradient)
        moved = projected_step(local.u, gradient, eta, self.normalize)
        return Iterate(moved, moved - local.u)

    def info(self, k: int) -> dict[str, float]:
        """Return the step length and the penalty factor of iteration k."""
        return {"step": at(self.eta, k, "options, eta"), "penalty": at(self.rho, k, "options, rho")}


def penalty_gradient(local: LocalPosterior, rho: float) -> Array:
    """Gradient of Q at one point: ``grad f + rho * sum_i w_i * grad c_i``          (paper, Eq. for grad Q).

    ``w_i = c_i`` for an equality and ``max(0, c_i)`` for an inequality.
    """
    weight = np.where(local.equality, local.values, np.maximum(local.values, 0.0))
    gradient: Array = local.objective + rho * (weight @ local.slopes)
    return gradient


def projected_step(u: Array, gradient: Array, eta: float, normalize: bool) -> Array:
    """``P(u - eta * g)`` onto the unit cube, ``g`` divided by its Euclidean norm when asked."""
    moved: Array = np.clip(u - eta * (unit(gradient) if normalize else gradient), 0.0, 1.0)
    return moved
