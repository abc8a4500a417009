"""Seven problems of the CEC 2006 constrained benchmark.

Source: Liang et al., Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on
Constrained Real-Parameter Optimization, Nanyang Technological University, 2006. The published values of
g03, g13 and g14 use |h| <= 1e-4; the answers here satisfy the equalities exactly.
"""

from __future__ import annotations

import numpy as np

from lcbo.problems.base import BestKnown, stored_answer
from lcbo.problems.formulas.analytic import Analytic, Formulas
from lcbo.types import Array

_REPORT = "CEC 2006 report"


class G01(Analytic):
    """Concave quadratic with nine linear inequalities, d = 13; f* = -15.

        min 5 sum_{1..4} x_i - 5 sum_{1..4} x_i^2 - sum_{5..13} x_i

    x_10..12 in [0, 100], the others in [0, 1]. Six of the nine inequalities are active at the answer.
    """

    def __init__(self) -> None:
        x = np.ones(13)
        x[9:12] = 3.0
        ub = np.ones(13)
        ub[9:12] = 100.0
        super().__init__(np.zeros(13), ub, best_known=BestKnown(-15.0, x, "published", _REPORT))

    def _formulas(self, X: Array) -> Formulas:
        head, tail = X[:, :4], X[:, 4:]
        f = 5.0 * head.sum(axis=1) - 5.0 * (head**2).sum(axis=1) - tail.sum(axis=1)
        x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, _ = X.T
        # Nine linear inequalities.
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


class G03(Analytic):
    """Largest product on the unit sphere, d = 10, x in [0, 1]; f* = -1 at x_i = 1 / sqrt(10).

        min -10^5 prod x_i   s.t.  h1 = |x|^2 - 1 = 0

    Args:
        tol: Accepted error of the equality.
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        best = BestKnown(-1.0, np.full(10, 10.0**-0.5), "closed form", _REPORT)
        super().__init__(np.zeros(10), np.ones(10), best_known=best, tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = -1e5 * X.prod(axis=1)
        h = ((X**2).sum(axis=1) - 1.0,)
        return f, (), h


class G07(Analytic):
    """Convex quadratic with eight inequalities, three linear, d = 10, x in [-10, 10]; f* = 24.3062091.

    min x1^2 + x2^2 + x1 x2 - 14 x1 - 16 x2 + (x3 - 10)^2 + 4 (x4 - 5)^2 + (x5 - 3)^2 + 2 (x6 - 1)^2
        + 5 x7^2 + 7 (x8 - 11)^2 + 2 (x9 - 10)^2 + (x10 - 7)^2 + 45
    """

    def __init__(self) -> None:
        super().__init__(np.full(10, -10.0), np.full(10, 10.0), best_known=stored_answer("analytic", "g07"))

    def _formulas(self, X: Array) -> Formulas:
        x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = X.T
        plane = x1**2 + x2**2 + x1 * x2 - 14 * x1 - 16 * x2 + 45
        near = (x3 - 10) ** 2 + 4 * (x4 - 5) ** 2 + (x5 - 3) ** 2 + 2 * (x6 - 1) ** 2
        f = plane + near + 5 * x7**2 + 7 * (x8 - 11) ** 2 + 2 * (x9 - 10) ** 2 + (x10 - 7) ** 2
        # Three linear and five quadratic inequalities.
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


class G10(Analytic):
    """Heat exchangers: linear objective, six inequalities, all active, d = 8; f* = 7049.2480.

        min x1 + x2 + x3

    x1 in [100, 1e4], x2, x3 in [1e3, 1e4], the others in [10, 1000]. Variables and constraints differ by
    orders of magnitude.
    """

    def __init__(self) -> None:
        lb = [100.0, 1e3, 1e3, *[10.0] * 5]
        ub = [1e4, 1e4, 1e4, *[1e3] * 5]
        super().__init__(lb, ub, best_known=stored_answer("analytic", "g10"))

    def _formulas(self, X: Array) -> Formulas:
        f = X[:, :3].sum(axis=1)
        x1, x2, x3, x4, x5, x6, x7, x8 = X.T
        # Three linear and three bilinear inequalities.
        g = (
            0.0025 * (x4 + x6) - 1,
            0.0025 * (x5 + x7 - x4) - 1,
            0.01 * (x8 - x5) - 1,
            -x1 * x6 + 833.33252 * x4 + 100 * x1 - 83333.333,
            -x2 * x7 + 1250 * x5 + x2 * x4 - 1250 * x4,
            -x3 * x8 + 1250000 + x3 * x5 - 2500 * x5,
        )
        return f, g, ()


class G13(Analytic):
    """Exponential of a product with three nonlinear equalities, d = 5; f* = 0.0539498.

        min exp(x1 x2 x3 x4 x5)
        s.t. h1 = |x|^2 - 10,   h2 = x2 x3 - 5 x4 x5,   h3 = x1^3 + x2^3 + 1

    x1, x2 in [-2.3, 2.3], the others in [-3.2, 3.2]. Flat almost everywhere and enormous at corners.

    Args:
        tol: Accepted error of the equalities.
    """

    def __init__(self, *, tol: float = 1e-3) -> None:
        ub = np.array([2.3, 2.3, 3.2, 3.2, 3.2])
        super().__init__(-ub, ub, best_known=stored_answer("analytic", "g13"), tol=tol)

    def _formulas(self, X: Array) -> Formulas:
        f = np.exp(X.prod(axis=1))
        x1, x2, x3, x4, x5 = X.T
        # Sphere, hyperbolic surface, cubic curve.
        h = ((X**2).sum(axis=1) - 10, x2 * x3 - 5 * x4 * x5, x1**3 + x2**3 + 1)
        return f, (), h


class G14(Analytic):
    """Chemical equilibrium: free energy under three linear balances, d = 10; f* = -47.7610909.

        min sum_i x_i (c_i + ln(x_i / sum_j x_j))

    x in [1e-6, 10]; the logarithm is why the lower bound is not 0.

    Args:
        tol: Accepted error of the equalities.
    """

    _ENERGY = np.array([-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179])

    def __init__(self, *, tol: float = 1e-3) -> None:
        super().__init__(
            np.full(10, 1e-6), np.full(10, 10.0), best_known=stored_answer("analytic", "g14"), tol=tol
        )

    def _formulas(self, X: Array) -> Formulas:
        share = X / X.sum(axis=1, keepdims=True)
        f = (X * (self._ENERGY + np.log(share))).sum(axis=1)
        x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = X.T
        # Balances of the three elements.
        h = (
            x1 + 2 * x2 + 2 * x3 + x6 + x10 - 2,
            x4 + 2 * x5 + x6 + x7 - 1,
            x3 + x7 + x8 + 2 * x9 + x10 - 1,
        )
        return f, (), h


class G18(Analytic):
    """Largest hexagon of diameter one, d = 9, thirteen inequalities; f* = -sqrt(3) / 2.

        min -0.5 (x1 x4 - x2 x3 + x3 x9 - x5 x9 + x5 x8 - x6 x7)

    x_1..8 in [-10, 10], x9 in [0, 20]. Many global minima, by symmetry.
    """

    def __init__(self) -> None:
        lb, ub = np.full(9, -10.0), np.full(9, 10.0)
        lb[8], ub[8] = 0.0, 20.0
        super().__init__(lb, ub, best_known=stored_answer("analytic", "g18"))

    def _formulas(self, X: Array) -> Formulas:
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
