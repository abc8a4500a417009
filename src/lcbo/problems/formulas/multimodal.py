"""Two multimodal problems: Keane's bump and Ackley's function with constraints."""

from __future__ import annotations

import numpy as np

from lcbo import checks
from lcbo.problems.base import BestKnown, stored_answer
from lcbo.problems.formulas.analytic import Analytic, Formulas
from lcbo.types import Array

_LARGEST_LOG = 690.0  # exp of it is still finite
_LEAST_SQUARE = 1e-12


class Keane(Analytic):
    """Keane's bump, any d, x in [0, 10]^d; g02 of CEC 2006 at d = 20.

        min -|sum cos^4 x_i - 2 prod cos^2 x_i| / sqrt(sum i x_i^2)
        s.t. g1 = 0.75 - prod x_i <= 0,   g2 = sum x_i - 7.5 d <= 0

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
        super().__init__(np.zeros(d), np.full(d, 10.0), best_known=stored_answer("analytic", f"keane{d}"))
        self.noise_scale = {"f": 1.0, "g1": 1.0, "g2": float(d)}

    def _formulas(self, X: Array) -> Formulas:
        square = np.cos(X) ** 2
        top = np.abs((square**2).sum(axis=1) - 2.0 * square.prod(axis=1))
        f = -top / np.sqrt(np.maximum(X**2 @ self._index, _LEAST_SQUARE))
        with np.errstate(divide="ignore"):
            log_product = np.log(X).sum(axis=1)
        # Product at least 0.75, sum at most 7.5 d.
        g = (0.75 - np.exp(np.minimum(log_product, _LARGEST_LOG)), X.sum(axis=1) - 7.5 * X.shape[1])
        return f, g, ()


class Ackley10(Analytic):
    """Ackley's function in ten variables with a half-space and a ball, x in [-5, 10]^10; f* = 0 at 0.

        min -20 exp(-0.2 sqrt(mean x_i^2)) - exp(mean cos 2 pi x_i) + 20 + e
        s.t. g1 = sum x_i <= 0,   g2 = |x| - 5 <= 0

    Only 2.6e-5 of the box is feasible. Eriksson and Poloczek, Scalable Constrained Bayesian Optimization,
    AISTATS 2021.
    """

    def __init__(self) -> None:
        best = BestKnown(0.0, np.zeros(10), "closed form", "Eriksson and Poloczek 2021")
        super().__init__(np.full(10, -5.0), np.full(10, 10.0), best_known=best)

    def _formulas(self, X: Array) -> Formulas:
        radius = np.sqrt((X**2).mean(axis=1))
        wave = np.cos(2.0 * np.pi * X).mean(axis=1)
        # The additions are ordered so that f is 0 at the answer.
        f = 20.0 * -np.expm1(-0.2 * radius) + (np.e - np.exp(wave))
        # Half-space and ball.
        g = (X.sum(axis=1), np.linalg.norm(X, axis=1) - 5.0)
        return f, g, ()
