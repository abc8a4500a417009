"""The exact-penalty acquisition of EPBO: an optimistic objective plus optimistic violations."""

from __future__ import annotations

import numpy as np

from lcbo.models.moments import Predictor
from lcbo.terms import Terms
from lcbo.types import Array


class ExactPenalty:
    """The value to maximize, the negative of the penalized lower confidence bound.

    With ``LCB = mean - beta std`` and, for a condition on output i, ``c = sign (y_i - threshold)``:
        value = -(LCB_f + rho sum_i v_i)
        v_i = max(0, LCB_c)             inequality ``c <= 0``
        v_i = max(0, LCB_c, -UCB_c)     equality ``c = 0``, which is ``max(0, |mean_c| - beta std_c)``

    Args:
        predictor: of all outputs, row 0 the objective.
        terms: the conditions in the model's units.
        rho: penalty factor.
        beta: standard deviations of the confidence bounds.
    """

    def __init__(self, predictor: Predictor, terms: Terms, rho: float, beta: float) -> None:
        self.predictor, self.terms, self.rho, self.beta = predictor, terms, rho, beta
        self._sign, self._equality = terms.sign[:, None], terms.equality[:, None]

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Values ``q`` and gradients ``q x d`` at ``q x d`` points."""
        moments, rows = self.predictor(z), self.terms.rows
        std = np.sqrt(moments.var)
        center = self.terms.values(moments.mean, axis=-2)
        # the side of an equality that is violated, if any: LCB where the mean is above 0, -UCB below
        side = np.where(self._equality, np.sign(center), 1.0)
        violation = np.maximum(side * center - self.beta * std[rows], 0.0)
        value: Array = self.beta * std[0] - moments.mean[0] - self.rho * violation.sum(0)

        active = self.rho * (violation > 0.0)
        by_mean, by_std = np.zeros_like(std), np.zeros_like(std)
        by_mean[0], by_std[0] = -1.0, self.beta
        np.add.at(by_mean, rows, -active * side * self._sign)
        np.add.at(by_std, rows, active * self.beta)
        return value, moments.gradient(by_mean, 0.5 * by_std / std)
