"""Eight equality-constrained problems of Hock and Schittkowski, on boxes around their answers.

Source: W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer 1981. The
originals are unbounded except HS71; the boxes here leave the answers interior. Every problem takes ``tol``,
the accepted error of its equalities.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lcbo.problems.base import BestKnown
from lcbo.problems.formulas.analytic import Equalities, Formulas, stated
from lcbo.types import Array

_ROOT2, _ROOT3 = np.sqrt(2.0), np.sqrt(3.0)


def _published(value: float, x: npt.ArrayLike) -> BestKnown:
    point = np.asarray(x, dtype=np.float64)
    return BestKnown(float(value), point, "closed form", "Hock and Schittkowski 1981")


@stated(Equalities, [-2.0] * 2, [2.0] * 2, _published(0.0, [1.0, 1.0]))
def hs6(X: Array) -> Formulas:
    """Min (1 - x1)^2  s.t.  h1 = 10 (x2 - x1^2) = 0;  x in [-2, 2]^2, f* = 0."""
    x1, x2 = X.T
    return (1.0 - x1) ** 2, (), (10.0 * (x2 - x1**2),)


@stated(Equalities, [-3.0] * 2, [3.0] * 2, _published(-_ROOT3, [0.0, _ROOT3]))
def hs7(X: Array) -> Formulas:
    """Min ln(1 + x1^2) - x2  s.t.  h1 = (1 + x1^2)^2 + x2^2 - 4 = 0;  x in [-3, 3]^2, f* = -sqrt(3)."""
    x1, x2 = X.T
    return np.log1p(x1**2) - x2, (), ((1.0 + x1**2) ** 2 + x2**2 - 4.0,)


@stated(Equalities, [-5.0] * 3, [5.0] * 3, _published(0.0, [0.5, -0.5, 0.5]))
def hs28(X: Array) -> Formulas:
    """Min (x1 + x2)^2 + (x2 + x3)^2  s.t.  h1 = x1 + 2 x2 + 3 x3 - 1 = 0;  x in [-5, 5]^3, f* = 0."""
    x1, x2, x3 = X.T
    return (x1 + x2) ** 2 + (x2 + x3) ** 2, (), (x1 + 2 * x2 + 3 * x3 - 1,)


@stated(Equalities, [-3.0] * 4, [3.0] * 4, _published(-1.0, [1.0, 1.0, 0.0, 0.0]))
def hs39(X: Array) -> Formulas:
    """Min -x1  s.t.  x2 - x1^3 - x3^2 = 0,  x1^2 - x2 - x4^2 = 0;  x in [-3, 3]^4, f* = -1.

    The constraint gradients become dependent on x3 and x4 near the answer (1, 1, 0, 0).
    """
    x1, x2, x3, x4 = X.T
    return -x1, (), (x2 - x1**3 - x3**2, x1**2 - x2 - x4**2)


@stated(
    Equalities, [-2.0] * 4, [2.0] * 4, _published(-0.25, 2.0 ** -np.array([1 / 3, 1 / 2, 11 / 12, 1 / 4]))
)
def hs40(X: Array) -> Formulas:
    """Min -x1 x2 x3 x4  s.t.  x1^3 + x2^2 = 1,  x1^2 x4 = x3,  x4^2 = x2;  x in [-2, 2]^4, f* = -1/4."""
    x1, x2, x3, x4 = X.T
    return -X.prod(axis=1), (), (x1**3 + x2**2 - 1, x1**2 * x4 - x3, x4**2 - x2)


@stated(Equalities, [-5.0] * 5, [5.0] * 5, _published(0.0, np.ones(5)))
def hs48(X: Array) -> Formulas:
    """Min (x1 - 1)^2 + (x2 - x3)^2 + (x4 - x5)^2 with two planes;  x in [-5, 5]^5, f* = 0."""
    x1, x2, x3, x4, x5 = X.T
    f = (x1 - 1) ** 2 + (x2 - x3) ** 2 + (x4 - x5) ** 2
    return f, (), (X.sum(axis=1) - 5, x3 - 2 * (x4 + x5) + 3)


@stated(Equalities, [1.0] * 4, [5.0] * 4)
def hs71(X: Array) -> Formulas:
    """One inequality and one equality in four variables, x in [1, 5]^4; f* = 17.0140173."""
    x1, x2, x3, x4 = X.T
    f = x1 * x4 * (x1 + x2 + x3) + x3
    return f, (25.0 - X.prod(axis=1),), ((X**2).sum(axis=1) - 40.0,)


@stated(Equalities, [-3.0] * 5, [3.0] * 5)
def hs79(X: Array) -> Formulas:
    """Sum of powers of differences with three nonlinear equalities, x in [-3, 3]^5; f* = 0.0787768209.

    Has a second local minimum at 27.45.
    """
    x1, x2, x3, x4, x5 = X.T
    f = (x1 - 1) ** 2 + (x1 - x2) ** 2 + (x2 - x3) ** 2 + (x3 - x4) ** 4 + (x4 - x5) ** 4
    return f, (), (x1 + x2**2 + x3**3 - 2 - 3 * _ROOT2, x2 - x3**2 + x4 + 2 - 2 * _ROOT2, x1 * x5 - 2)
