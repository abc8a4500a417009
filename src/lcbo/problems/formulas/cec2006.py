"""Seven problems of the CEC 2006 constrained benchmark.

Source: Liang et al., Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on
Constrained Real-Parameter Optimization, Nanyang Technological University, 2006. The published values of
g03, g13 and g14 use |h| <= 1e-4; the answers here satisfy the equalities exactly. These three take ``tol``,
the accepted error of their equalities.
"""

from __future__ import annotations

import numpy as np

from lcbo.problems.base import BestKnown
from lcbo.problems.formulas.analytic import Equalities, Formulas, Inequalities, stated
from lcbo.types import Array

_REPORT = "CEC 2006 report"
_ENERGY = np.array([-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179])


@stated(
    Inequalities,
    [0.0] * 13,
    [*[1.0] * 9, *[100.0] * 3, 1.0],
    BestKnown(-15.0, np.array([*[1.0] * 9, *[3.0] * 3, 1.0]), "published", _REPORT),
)
def g01(X: Array) -> Formulas:
    """Concave quadratic with nine linear inequalities, d = 13; f* = -15.

    Six of the nine inequalities are active at the answer.
    """
    head, tail = X[:, :4], X[:, 4:]
    f = 5.0 * head.sum(axis=1) - 5.0 * (head**2).sum(axis=1) - tail.sum(axis=1)
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, _ = X.T
    g = (
        2 * x1 + 2 * x2 + x10 + x11 - 10,
        2 * x1 + 2 * x3 + x10 + x12 - 10,
        2 * x2 + 2 * x3 + x11 + x12 - 10,
        x10 - 8 * x1,
        x11 - 8 * x2,
        x12 - 8 * x3,
        x10 - 2 * x4 - x5,
        x11 - 2 * x6 - x7,
        x12 - 2 * x8 - x9,
    )
    return f, g, ()


@stated(Equalities, [0.0] * 10, [1.0] * 10, BestKnown(-1.0, np.full(10, 10.0**-0.5), "closed form", _REPORT))
def g03(X: Array) -> Formulas:
    """Largest product on the unit sphere, d = 10, x in [0, 1]; f* = -1 at x_i = 1 / sqrt(10)."""
    return -1e5 * X.prod(axis=1), (), ((X**2).sum(axis=1) - 1.0,)


@stated(Inequalities, [-10.0] * 10, [10.0] * 10)
def g07(X: Array) -> Formulas:
    """Convex quadratic with eight inequalities, three linear, d = 10, x in [-10, 10]; f* = 24.3062091."""
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = X.T
    plane = x1**2 + x2**2 + x1 * x2 - 14 * x1 - 16 * x2 + 45
    near = (x3 - 10) ** 2 + 4 * (x4 - 5) ** 2 + (x5 - 3) ** 2 + 2 * (x6 - 1) ** 2
    f = plane + near + 5 * x7**2 + 7 * (x8 - 11) ** 2 + 2 * (x9 - 10) ** 2 + (x10 - 7) ** 2
    g = (
        4 * x1 + 5 * x2 - 3 * x7 + 9 * x8 - 105,
        10 * x1 - 8 * x2 - 17 * x7 + 2 * x8,
        -8 * x1 + 2 * x2 + 5 * x9 - 2 * x10 - 12,
        3 * (x1 - 2) ** 2 + 4 * (x2 - 3) ** 2 + 2 * x3**2 - 7 * x4 - 120,
        5 * x1**2 + 8 * x2 + (x3 - 6) ** 2 - 2 * x4 - 40,
        x1**2 + 2 * (x2 - 2) ** 2 - 2 * x1 * x2 + 14 * x5 - 6 * x6,
        0.5 * (x1 - 8) ** 2 + 2 * (x2 - 4) ** 2 + 3 * x5**2 - x6 - 30,
        -3 * x1 + 6 * x2 + 12 * (x9 - 8) ** 2 - 7 * x10,
    )
    return f, g, ()


@stated(Inequalities, [100.0, 1e3, 1e3, *[10.0] * 5], [1e4, 1e4, 1e4, *[1e3] * 5])
def g10(X: Array) -> Formulas:
    """Heat exchangers: linear objective, six inequalities, all active, d = 8; f* = 7049.2480.

    Variables and constraints differ by orders of magnitude.
    """
    f = X[:, :3].sum(axis=1)
    x1, x2, x3, x4, x5, x6, x7, x8 = X.T
    g = (
        0.0025 * (x4 + x6) - 1,
        0.0025 * (x5 + x7 - x4) - 1,
        0.01 * (x8 - x5) - 1,
        -x1 * x6 + 833.33252 * x4 + 100 * x1 - 83333.333,
        -x2 * x7 + 1250 * x5 + x2 * x4 - 1250 * x4,
        -x3 * x8 + 1250000 + x3 * x5 - 2500 * x5,
    )
    return f, g, ()


@stated(Equalities, [-2.3, -2.3, -3.2, -3.2, -3.2], [2.3, 2.3, 3.2, 3.2, 3.2])
def g13(X: Array) -> Formulas:
    """Exponential of a product with three nonlinear equalities, d = 5; f* = 0.0539498.

    Flat almost everywhere and enormous at corners.
    """
    f = np.exp(X.prod(axis=1))
    x1, x2, x3, x4, x5 = X.T
    return f, (), ((X**2).sum(axis=1) - 10, x2 * x3 - 5 * x4 * x5, x1**3 + x2**3 + 1)


@stated(Equalities, [1e-6] * 10, [10.0] * 10)
def g14(X: Array) -> Formulas:
    """Chemical equilibrium: free energy under three linear balances, d = 10; f* = -47.7610909.

    The logarithm is why the lower bound is not 0.
    """
    share = X / X.sum(axis=1, keepdims=True)
    f = (X * (_ENERGY + np.log(share))).sum(axis=1)
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = X.T
    h = (
        x1 + 2 * x2 + 2 * x3 + x6 + x10 - 2,
        x4 + 2 * x5 + x6 + x7 - 1,
        x3 + x7 + x8 + 2 * x9 + x10 - 1,
    )
    return f, (), h


@stated(Inequalities, [*[-10.0] * 8, 0.0], [*[10.0] * 8, 20.0])
def g18(X: Array) -> Formulas:
    """Largest hexagon of diameter one, d = 9, thirteen inequalities; f* = -sqrt(3) / 2.

    Many global minima, by symmetry.
    """
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = X.T
    f = -0.5 * (x1 * x4 - x2 * x3 + x3 * x9 - x5 * x9 + x5 * x8 - x6 * x7)
    # Nine squared distances at most one, four orientations.
    g = (
        x3**2 + x4**2 - 1,
        x9**2 - 1,
        x5**2 + x6**2 - 1,
        x1**2 + (x2 - x9) ** 2 - 1,
        (x1 - x5) ** 2 + (x2 - x6) ** 2 - 1,
        (x1 - x7) ** 2 + (x2 - x8) ** 2 - 1,
        (x3 - x5) ** 2 + (x4 - x6) ** 2 - 1,
        (x3 - x7) ** 2 + (x4 - x8) ** 2 - 1,
        x7**2 + (x8 - x9) ** 2 - 1,
        x2 * x3 - x1 * x4,
        -x3 * x9,
        x5 * x9,
        x6 * x7 - x5 * x8,
    )
    return f, g, ()
