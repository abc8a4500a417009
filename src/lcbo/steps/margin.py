"""The distance the linearized step keeps from every inequality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcbo.steps.step import LocalPosterior
from lcbo.types import Array

INSIDE = 1e-3  # of the radius: lands a step just inside an inequality that is known exactly


@dataclass(frozen=True)
class Margin:
    """``kappa * sigma_i + 1e-3 * r * |grad c_i|`` for an inequality, 0 for an equality.

    Attributes:
        deviations: ``kappa``, posterior standard deviations kept from an inequality.
    """

    deviations: float

    def __call__(self, local: LocalPosterior, radius: float) -> Array:
        """Return the margins, ``T``, to be added to the values of the terms."""
        inside = INSIDE * radius * np.linalg.norm(local.slopes, axis=1)
        return np.where(local.equality, 0.0, self.deviations * local.deviations + inside)
