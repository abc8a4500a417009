"""Equality-constrained problems of Hock and Schittkowski, on boxes around their answers.

Source: W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer 1981. The
originals are unbounded where nothing else is said; the boxes here leave the answers interior.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lcbo.problems.analytic import Analytic
from lcbo.problems.answers import stored_answer
from lcbo.types import Array


class HS71(Analytic):
    """One inequality and one equality in four variables, x in [1, 5]^4.

        min  x1 x4 (x1 + x2 + x3) + x3
        s.t. g1 = 25 - x1 x2 x3 x4 <= 0,   h1 = |x|^2 - 40 = 0;   f* = 17.0140173

    Args:
        tol: Accepted error of the equality.
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__(
            np.full(4, 1.0), np.full(4, 5.0), best_known=stored_answer("analytic", "hs71"), tol=tol
        )

    def f(self, X: Array) -> Array:
        """Objective."""
        x1, x2, x3, x4 = X.T
        value: Array = x1 * x4 * (x1 + x2 + x3) + x3
        return value

    def g(self, X: Array) -> Sequence[Array]:
        """Product of all variables at least 25."""
        return (25.0 - X.prod(axis=1),)

    def h(self, X: Array) -> Sequence[Array]:
        """Sphere of squared radius 40."""
        return ((X**2).sum(axis=1) - 40.0,)
