"""Two problems with equalities and Keane's bump in any dimension, and Ackley's function with constraints."""

from __future__ import annotations

import numpy as np

from lcbo import checks
from lcbo.problems.base import BestKnown, stored_answer
from lcbo.problems.formulas.analytic import Analytic, Formulas, Inequalities, stated
from lcbo.types import Array

_RADIUS = 0.3
_LOW, _HIGH = -1.0, 2.0  # bounds of the quadratic program
_LARGEST_LOG = 690.0  # exp of it is still finite
_LEAST_SQUARE = 1e-12


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
        super().__init__(np.zeros(d), np.ones(d), best, tol)

    def _formulas(self, X: Array) -> Formulas:
        return X @ self._slope, (), (((X - 0.5) ** 2).sum(axis=1) - _RADIUS**2,)


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
        super().__init__(np.full(d, _LOW), np.full(d, _HIGH), self._answer(), tol)

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
        return f, (), tuple((X @ self._rows.T - self._right).T)


class Keane(Analytic):
    """Keane's bump, any d, x in [0, 10]^d; g02 of CEC 2006 at d = 20.

    Nearly all of the box is feasible, the best points lie on g1, and local minima abound. The product can
    reach 10^d; it is cut at e^690, and the square under the root at 1e-12 (the origin is infeasible).
    Noise level 1 means 1 for the objective and the product, d for the sum. A. J. Keane, Genetic algorithm
    optimization of multi-peak problems, Artificial Intelligence in Engineering 9, 1995.

    Args:
        d: Dimension, at least 2.
    """

    def __init__(self, d: int = 20) -> None:
        checks.integer("d", d, 2)
        self._index = np.arange(1, d + 1)
        super().__init__(np.zeros(d), np.full(d, 10.0), stored_answer("analytic", f"keane{d}"))
        self.noise_scale = {"f": 1.0, "g1": 1.0, "g2": float(d)}

    def _formulas(self, X: Array) -> Formulas:
        square = np.cos(X) ** 2
        top = np.abs((square**2).sum(axis=1) - 2.0 * square.prod(axis=1))
        f = -top / np.sqrt(np.maximum(X**2 @ self._index, _LEAST_SQUARE))
        with np.errstate(divide="ignore"):
            log_product = np.log(X).sum(axis=1)
        g = (0.75 - np.exp(np.minimum(log_product, _LARGEST_LOG)), X.sum(axis=1) - 7.5 * X.shape[1])
        return f, g, ()


@stated(
    Inequalities,
    [-5.0] * 10,
    [10.0] * 10,
    BestKnown(0.0, np.zeros(10), "closed form", "Eriksson and Poloczek 2021"),
)
def ackley10(X: Array) -> Formulas:
    """Ackley's function in ten variables with a half-space and a ball, x in [-5, 10]^10; f* = 0 at 0.

    Only 2.6e-5 of the box is feasible. Eriksson and Poloczek, Scalable Constrained Bayesian Optimization,
    AISTATS 2021.
    """
    radius = np.sqrt((X**2).mean(axis=1))
    wave = np.cos(2.0 * np.pi * X).mean(axis=1)
    # The additions are ordered so that f is 0 at the answer.
    f = 20.0 * -np.expm1(-0.2 * radius) + (np.e - np.exp(wave))
    return f, (X.sum(axis=1), np.linalg.norm(X, axis=1) - 5.0), ()
