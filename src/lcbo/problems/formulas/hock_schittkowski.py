"""Eight equality-constrained problems of Hock and Schittkowski, on boxes around their answers.

Source: W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer 1981. The
originals are unbounded except HS71; the boxes here leave the answers interior. Every class takes ``tol``,
the accepted error of its equalities.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lcbo.problems.base import BestKnown, stored_answer
from lcbo.problems.formulas.analytic import Analytic, Formulas
from lcbo.types import Array

_BOOK = "Hock and Schittkowski 1981"


def _published(value: float, x: npt.ArrayLike) -> BestKnown:
    return BestKnown(float(value), np.asarray(x, dtype=np.float64), "closed form", _BOOK)


class HS6(Analytic):
    """min (1 - x1)^2  s.t.  h1 = 10 (x2 - x1^2) = 0;  x in [-2, 2]^2, f* = 0."""

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([-2.0] * 2, [2.0] * 2, best_known=_published(0.0, [1.0, 1.0]), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = (1.0 - X[:, 0]) ** 2
        h = (10.0 * (X[:, 1] - X[:, 0] ** 2),)
        return f, (), h


class HS7(Analytic):
    """min ln(1 + x1^2) - x2  s.t.  h1 = (1 + x1^2)^2 + x2^2 - 4 = 0;  x in [-3, 3]^2, f* = -sqrt(3)."""

    def __init__(self, *, tol: float = 1e-3) -> None:
        best = _published(-np.sqrt(3.0), [0.0, np.sqrt(3.0)])
        super().__init__([-3.0] * 2, [3.0] * 2, best_known=best, tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = np.log1p(X[:, 0] ** 2) - X[:, 1]
        h = ((1.0 + X[:, 0] ** 2) ** 2 + X[:, 1] ** 2 - 4.0,)
        return f, (), h


class HS28(Analytic):
    """min (x1 + x2)^2 + (x2 + x3)^2  s.t.  h1 = x1 + 2 x2 + 3 x3 - 1 = 0;  x in [-5, 5]^3, f* = 0."""

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([-5.0] * 3, [5.0] * 3, best_known=_published(0.0, [0.5, -0.5, 0.5]), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3 = X.T
        f = (x1 + x2) ** 2 + (x2 + x3) ** 2
        h = (x1 + 2 * x2 + 3 * x3 - 1,)
        return f, (), h


class HS39(Analytic):
    """min -x1  s.t.  x2 - x1^3 - x3^2 = 0,  x1^2 - x2 - x4^2 = 0;  x in [-3, 3]^4, f* = -1.

    The constraint gradients become dependent on x3 and x4 near the answer (1, 1, 0, 0).
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([-3.0] * 4, [3.0] * 4, best_known=_published(-1.0, [1.0, 1.0, 0.0, 0.0]), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3, x4 = X.T
        f = -x1
        # Two surfaces, each with a squared slack variable.
        h = (x2 - x1**3 - x3**2, x1**2 - x2 - x4**2)
        return f, (), h


class HS40(Analytic):
    """min -x1 x2 x3 x4  s.t.  x1^3 + x2^2 = 1,  x1^2 x4 = x3,  x4^2 = x2;  x in [-2, 2]^4, f* = -1/4."""

    def __init__(self, *, tol: float = 1e-3) -> None:
        x = 2.0 ** -np.array([1.0 / 3.0, 1.0 / 2.0, 11.0 / 12.0, 1.0 / 4.0])
        super().__init__([-2.0] * 4, [2.0] * 4, best_known=_published(-0.25, x), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = -X.prod(axis=1)
        x1, x2, x3, x4 = X.T
        # Three nonlinear equations.
        h = (x1**3 + x2**2 - 1, x1**2 * x4 - x3, x4**2 - x2)
        return f, (), h


class HS48(Analytic):
    """min (x1 - 1)^2 + (x2 - x3)^2 + (x4 - x5)^2 with two planes;  x in [-5, 5]^5, f* = 0.

    h1 = sum x_i - 5 = 0,   h2 = x3 - 2 (x4 + x5) + 3 = 0
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([-5.0] * 5, [5.0] * 5, best_known=_published(0.0, np.ones(5)), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3, x4, x5 = X.T
        f = (x1 - 1) ** 2 + (x2 - x3) ** 2 + (x4 - x5) ** 2
        _, _, x3, x4, x5 = X.T
        # Two planes.
        h = (X.sum(axis=1) - 5, x3 - 2 * (x4 + x5) + 3)
        return f, (), h


class HS71(Analytic):
    """One inequality and one equality in four variables, x in [1, 5]^4; f* = 17.0140173.

    min  x1 x4 (x1 + x2 + x3) + x3
    s.t. g1 = 25 - x1 x2 x3 x4 <= 0,   h1 = |x|^2 - 40 = 0
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([1.0] * 4, [5.0] * 4, best_known=stored_answer("analytic", "hs71"), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3, x4 = X.T
        f = x1 * x4 * (x1 + x2 + x3) + x3
        g = (25.0 - X.prod(axis=1),)
        h = ((X**2).sum(axis=1) - 40.0,)
        return f, g, h


class HS79(Analytic):
    """Sum of powers of differences with three nonlinear equalities, x in [-3, 3]^5; f* = 0.0787768209.

    min  (x1 - 1)^2 + (x1 - x2)^2 + (x2 - x3)^2 + (x3 - x4)^4 + (x4 - x5)^4
    s.t. x1 + x2^2 + x3^3 = 2 + 3 sqrt2,   x2 - x3^2 + x4 = 2 sqrt2 - 2,   x1 x5 = 2

    Has a second local minimum at 27.45.
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__([-3.0] * 5, [3.0] * 5, best_known=stored_answer("analytic", "hs79"), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3, x4, x5 = X.T
        f = (x1 - 1) ** 2 + (x1 - x2) ** 2 + (x2 - x3) ** 2 + (x3 - x4) ** 4 + (x4 - x5) ** 4
        root = np.sqrt(2.0)
        # Three nonlinear equations.
        h = (x1 + x2**2 + x3**3 - 2 - 3 * root, x2 - x3**2 + x4 + 2 - 2 * root, x1 * x5 - 2)
        return f, (), h
