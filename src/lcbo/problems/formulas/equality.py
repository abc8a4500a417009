"""Two equality-constrained problems of any dimension with closed-form answers."""

from __future__ import annotations

import numpy as np

from lcbo import checks
from lcbo.problems.base import BestKnown
from lcbo.problems.formulas.analytic import Analytic, Formulas
from lcbo.types import Array

_RADIUS = 0.3
_LOW, _HIGH = -1.0, 2.0  # bounds of the quadratic program


class EqSphere(Analytic):
    """Linear objective on a sphere inside the unit cube.

        min a.x   s.t.  h1 = |x - 0.5|^2 - 0.09 = 0,   x in [0, 1]^d,   a ~ linspace(1, 2, d), |a| = 1

    The answer is x = 0.5 - 0.3 a. The curvature of the constraint is what is hard: a linearized step
    always leaves the sphere outwards.

    Args:
        d: Dimension, at least 2.
        tol: Accepted error of the equality.
    """

    def __init__(self, d: int = 30, *, tol: float = 1e-3) -> None:
        checks.integer("d", d, 2)
        slope = np.linspace(1.0, 2.0, d)
        self._slope: Array = slope / np.linalg.norm(slope)
        x = 0.5 - _RADIUS * self._slope
        best = BestKnown(float(self._slope @ x), x, "closed form", "this library")
        super().__init__(np.zeros(d), np.ones(d), best_known=best, tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = X @ self._slope
        h = (((X - 0.5) ** 2).sum(axis=1) - _RADIUS**2,)
        return f, (), h


class EqQP(Analytic):
    """Diagonal quadratic program with two linear equalities.

        min sum_i q_i (x_i - t_i)^2   s.t.  h = A x - b = 0,   x in [-1, 2]^d
        q_i = i / d,   t_i = 0.5 + 0.4 cos i,   A = rows (1, ..., 1) and ((-1)^i), divided by sqrt(d)
        b = A (0.5, ..., 0.5) + (0.3, -0.2)

    With the bounds inactive the answer is x = t + Q^-1 A^T (A Q^-1 A^T)^-1 (b - A t);
    above d of about 200 the first variables sit at their upper bound.

    Args:
        d: Dimension, at least 3.
        tol: Accepted error of the equalities.
    """

    def __init__(self, d: int = 30, *, tol: float = 1e-3) -> None:
        checks.integer("d", d, 3)
        i = np.arange(1, d + 1)
        self._curvature: Array = i / d
        self._target: Array = 0.5 + 0.4 * np.cos(i)
        self._rows: Array = np.stack([np.ones(d), (-1.0) ** i]) / np.sqrt(d)
        self._right: Array = self._rows @ np.full(d, 0.5) + np.array([0.3, -0.2])
        super().__init__(np.full(d, _LOW), np.full(d, _HIGH), best_known=self._answer(), tol=tol)

    def _answer(self) -> BestKnown:
        x, free = self._target.copy(), np.ones(len(self._target), dtype=bool)
        while True:
            rows, target = self._rows[:, free], self._target[free]
            lift = rows / self._curvature[free]
            rest = self._right - self._rows[:, ~free] @ x[~free]
            x[free] = target + lift.T @ np.linalg.solve(lift @ rows.T, rest - rows @ target)
            outside = (x < _LOW) | (x > _HIGH)
            if not outside.any():
                break
            x = np.clip(x, _LOW, _HIGH)
            free &= ~outside
        how = "closed form" if free.all() else "active set"
        return BestKnown(float(self._curvature @ (x - self._target) ** 2), x, how, "this library")

    def _formulas(self, X: Array) -> Formulas:
        f = (X - self._target) ** 2 @ self._curvature
        residual = X @ self._rows.T - self._right
        # Residuals of the two linear equations.
        h = (residual[:, 0], residual[:, 1])
        return f, (), h
