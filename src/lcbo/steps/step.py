"""What a step is: it turns the local posterior at the iterate into the next iterate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcbo.types import Array

NEAR = 2.0  # lengths of a move within which a term may become active


class Bends(ABC):
    """Second derivatives of the terms at one point, by the model."""

    @abstractmethod
    def along(self, step: Array) -> Array:
        """Return ``s' H_i s`` of every term, ``T``."""

    @abstractmethod
    def weighed(self, weights: Array) -> Array:
        """Return ``sum_i w_i H_i``, ``d x d``, for ``T`` weights."""


@dataclass(frozen=True)
class LocalPosterior:
    """Posterior means of values and gradients at one point of the working cube, in standardized outputs.

    Attributes:
        u: ``d``, the point.
        value: of the objective; its zero is the user's.
        objective: ``d``, gradient of the objective.
        deviation: standard deviation of its value.
        values: ``T``, of the terms, feasible when ``<= 0`` (``= 0``).
        slopes: ``T x d``, gradients of the terms.
        deviations: ``T``, standard deviations of the values.
        equality: ``T``.
        scale: ``1 + T``, what a unit is in the user's units: the objective's first.
        noise: ``1 + T``, standard deviations of an observation; ``None`` where there is no noise.
        hessian: ``d x d``, second derivatives of the objective's mean; ``None`` takes it for linear.
        bends: second derivatives of the terms; ``None`` takes them for linear.
        held: ``d``, coordinates that a step leaves alone; ``None`` moves all.
        exact: whether outcomes come without noise.
        limits: known conditions linearized at the point, values ``K`` and slopes ``K x d`` of length 1: a
            move ``s`` keeps ``values + slopes s <= 0``; ``None`` without any.
    """

    u: Array
    value: float
    objective: Array
    deviation: float
    values: Array
    slopes: Array
    deviations: Array
    equality: NDArray[np.bool_]
    scale: Array
    noise: Array | None = None
    hessian: Array | None = None
    bends: Bends | None = None
    held: NDArray[np.bool_] | None = None
    exact: bool = False
    limits: tuple[Array, Array] | None = None

    def near(self, length: float) -> NDArray[np.bool_]:
        """Return which terms matter to a move of some length, ``T``: an equality does from either side."""
        reach = NEAR * length * np.linalg.norm(self.slopes, axis=1)
        near: NDArray[np.bool_] = self.equality | (self.values > -reach)
        return near

    def missed(self) -> Array:
        """Return by how much the terms are violated, ``T``."""
        missed: Array = np.where(self.equality, np.abs(self.values), np.maximum(self.values, 0.0))
        return missed


@dataclass(frozen=True)
class Iterate:
    """Where a run stands and how it came there."""

    u: Array  # d, of the unit cube
    step: Array  # d, displacement from the iterate before; zero at the start

    @staticmethod
    def start(u: Array) -> Iterate:
        """Return an iterate that no step has led to."""
        return Iterate(u.copy(), np.zeros(len(u)))

    def state(self) -> dict[str, Any]:
        """Return the iterate as JSON values."""
        return {"u": self.u.tolist(), "step": self.step.tolist()}

    @staticmethod
    def restored(state: Mapping[str, Any]) -> Iterate:
        """Return the iterate `state` described."""
        return Iterate(np.array(state["u"]), np.array(state["step"]))


def unit(vector: Array) -> Array:
    """Return a vector over its Euclidean norm; a zero vector as it is."""
    norm = np.linalg.norm(vector)
    scaled: Array = vector / norm if norm > 0.0 else vector
    return scaled


PosteriorAt = Callable[[Array], LocalPosterior]


class Step(ABC):
    """Moves the iterate; what it adapts on the way (a radius) is its state."""

    @abstractmethod
    def __call__(self, local: LocalPosterior, last_step: Array, k: int, spent: float | None) -> Iterate:
        """Return the next iterate, inside the unit cube.

        Args:
            local: posterior at the iterate.
            last_step: ``d`` displacement that led to the iterate; zero at the start.
            k: iteration, from 1.
            spent: fraction of the budget used, or ``None`` without a budget.
        """

    @abstractmethod
    def info(self, k: int) -> Mapping[str, float]:
        """Return the numbers worth showing: ``step``, its length, always."""

    @property
    def rough(self) -> bool:
        """Whether the limits have kinks, as far as steps tell; most learn nothing."""
        return False

    def probe_margin(self, local: LocalPosterior, length: float) -> Array:  # noqa: ARG002  (most learn nothing)
        """Return how far inside each linearized term, ``T``, a probe of some length has to stay."""
        return np.zeros(len(local.values))

    def way_back(  # most steps stand where they lead
        self,
        local: LocalPosterior,  # noqa: ARG002
        last_step: Array,  # noqa: ARG002
        at: PosteriorAt,  # noqa: ARG002
        k: int,  # noqa: ARG002
        spent: float | None,  # noqa: ARG002
    ) -> LocalPosterior | None:
        """Return the posterior where the last step came from if the run had better go on from there.

        ``at`` gives the posterior at other points; the rest is as in a call.
        """
        return None

    def failed(self) -> None:  # noqa: B027  (most steps adapt nothing)
        """Take note that nothing could be evaluated where the last step led: the run goes half way back."""

    def jumped(self, length: float) -> None:  # noqa: B027  (most steps adapt nothing)
        """Take note that the run went on by a jump of some length instead of a step."""

    def restart(self) -> None:  # noqa: B027  (most steps adapt nothing)
        """Forget the place: the next step is the first of another descent."""

    def state(self) -> dict[str, Any]:
        """Return what the step adapts, as JSON values."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: B027  (most steps adapt nothing)
        """Go on from a state."""
