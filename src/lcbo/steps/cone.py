"""A quadratic program whose rows keep a distance that grows with the step: second-order cones.

    minimize    g.p + p'Hp / 2 + q_0 |F_0 [1; p]| + w sum_i t_i
    subject to  b_i + a_i.p + q_i |F_i [1; p]| <= t_i,   t >= 0,   low <= p <= high

With ``F'F`` the joint covariance of an output's value and gradient, ``|F [1; p]|`` is the standard deviation
of its linear prediction at the end of the step p. The rows are elastic, so there always is a solution.

It is solved as a cone program, ``minimize c.x + x'Px / 2`` with ``Gx + s = h`` and s in a cone: nonnegative
numbers and vectors ``(s_0, s_1)`` with ``s_0 >= |s_1|``. A primal-dual interior-point method moves s and its
multiplier z with Nesterov and Todd's scaling W, for which ``W z = W^-1 s = v`` (Vandenberghe, *The CVXOPT
linear and quadratic cone program solvers*, 2010). Each round solves ``(P + G' W^-2 G) dx = ...``, where

    W^-2 = (2 r r' - J) / size^2,   J = diag(1, -1, ..., -1)

makes each cone a constant matrix ``G' J G`` and one vector ``G' r``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from lcbo.types import Array

ENOUGH = 1e-9  # of the objective's scale: the gap and the residuals that end the search
ROUNDS = 60  # 10 to 25 are usual
SHARE = 0.99  # of the way to the boundary of the cone is what one round may go
RIDGES = (1e-14, 1e-11, 1e-8)  # of the largest diagonal entry, the first that makes a system definite


@dataclass(frozen=True)
class ConeSolution:
    """A step, and what the rows did to it.

    Attributes:
        step: ``d``, inside the box.
        multipliers: ``T``, from 0 to the weight.
        violation: ``T``, by how much each row is missed.
    """

    step: Array
    multipliers: Array
    violation: Array


@dataclass(frozen=True)
class UncertainRows:
    """The rows of the problem above.

    Attributes:
        slopes: ``T x d``, the a_i.
        offset: ``T``, the b_i.
        margin: ``T``, the q_i, 0 for a row that is taken at its mean.
        factors: ``T x k x (d + 1)``, the F_i.
    """

    slopes: Array
    offset: Array
    margin: Array
    factors: Array

    def values(self, step: Array) -> Array:
        """Return the left sides, ``T``."""
        spread = np.linalg.norm(self.factors @ np.append(1.0, step), axis=-1)
        left: Array = self.offset + self.slopes @ step + self.margin * spread
        return left


def uncertain_step(
    goal: Array,
    curvature: Array,
    goal_margin: float,
    goal_factor: Array,
    rows: UncertainRows,
    low: Array,
    high: Array,
    weight: float,
) -> ConeSolution:
    """Return the solution of the problem of the module's docstring.

    Args:
        goal: ``d``, g.
        curvature: ``d x d``, H, symmetric positive semidefinite.
        goal_margin: q_0, at least 0.
        goal_factor: ``k x (d + 1)``, F_0.
        rows: the rows.
        low: ``d``, below ``high``.
        high: ``d``.
        weight: w, what a unit of violation costs.
    """
    d, count = len(goal), len(rows.offset)
    scale = float(
        np.linalg.norm(goal) + np.linalg.norm(curvature, 2) + goal_margin * np.linalg.norm(goal_factor)
    )
    scale = scale or 1.0
    coned = np.flatnonzero(rows.margin > 0.0)
    plain = np.flatnonzero(rows.margin == 0.0)
    width = d + count + int(goal_margin > 0.0)  # p, t and, where it matters, the deviation of the objective
    program = _Program.empty(
        width, 2 * d + count + len(plain), len(coned) + width - d - count, rows.factors.shape[1]
    )
    program.P[:d, :d] = curvature / scale
    program.c[:d], program.c[d : d + count] = goal / scale, weight / scale
    eye = np.eye(d)
    program.G[:d, :d], program.h[:d] = eye, high
    program.G[d : 2 * d, :d], program.h[d : 2 * d] = -eye, -low
    at = np.arange(2 * d, 2 * d + count)
    program.G[at, d + np.arange(count)] = -1.0
    at = np.arange(2 * d + count, len(program.h))
    program.G[at, :d], program.G[at, d + plain] = rows.slopes[plain], -1.0
    program.h[at] = -rows.offset[plain]
    each = np.arange(len(coned))
    program.Gc[each, 0, :d], program.Gc[each, 0, d + coned] = rows.slopes[coned], -1.0
    program.hc[each, 0] = -rows.offset[coned]
    spread = rows.margin[coned, None, None] * rows.factors[coned]
    program.Gc[each, 1:, :d], program.hc[each, 1:] = -spread[..., 1:], spread[..., 0]
    if goal_margin > 0.0:
        program.c[-1], program.Gc[-1, 0, -1] = goal_margin / scale, -1.0
        program.Gc[-1, 1:, :d], program.hc[-1, 1:] = -goal_factor[:, 1:], goal_factor[:, 0]
    with np.errstate(all="ignore"):  # a breakdown ends the search, and the best round before it is used
        x, z, zc = _InteriorPoint(program).solution()
    step = np.minimum(np.maximum(x[:d], low), high)
    multipliers = np.zeros(count)
    multipliers[plain], multipliers[coned] = z[2 * d + count :], zc[: len(coned), 0]
    return ConeSolution(step, multipliers * scale, np.maximum(rows.values(step), 0.0))


@dataclass(frozen=True)
class _Program:
    """``n`` linear rows G, h, and ``C`` cones of size D, Gc ``C x D x N`` and hc ``C x D``."""

    P: Array
    c: Array
    G: Array
    h: Array
    Gc: Array
    hc: Array

    @staticmethod
    def empty(width: int, linear: int, cones: int, size: int) -> _Program:
        return _Program(
            np.zeros((width, width)),
            np.zeros(width),
            np.zeros((linear, width)),
            np.zeros(linear),
            np.zeros((cones, size + 1, width)),
            np.zeros((cones, size + 1)),
        )

    def down(self, x: Array) -> _Pair:
        """``G x``."""
        return _Pair(self.G @ x, self.Gc @ x)

    def up(self, z: _Pair) -> Array:
        """``G' z``."""
        total: Array = self.G.T @ z.linear + np.einsum("cdn,cd->n", self.Gc, z.cones)
        return total


@dataclass(frozen=True)
class _Pair:
    """A vector of the space of s and z: ``n`` numbers and ``C x D`` cones."""

    linear: Array
    cones: Array

    def plus(self, other: _Pair, factor: float = 1.0) -> _Pair:
        return _Pair(self.linear + factor * other.linear, self.cones + factor * other.cones)

    def dot(self, other: _Pair) -> float:
        return float(self.linear @ other.linear) + float((self.cones * other.cones).sum())

    def inside(self) -> float:
        """The least of its eigenvalues, positive in the inside of the cone."""
        cones = self.cones[:, 0] - np.linalg.norm(self.cones[:, 1:], axis=-1)
        return float(min(self.linear.min(initial=np.inf), cones.min(initial=np.inf)))

    def lifted(self) -> _Pair:
        """It, or where it is not inside the cone, moved there along the cone's axis."""
        least = self.inside()
        return self if least > 0.0 else self.raised(1.0 - least)

    def raised(self, amount: float) -> _Pair:
        cones = self.cones.copy()
        cones[:, 0] += amount
        return _Pair(self.linear + amount, cones)

    def product(self, other: _Pair) -> _Pair:
        """The product of the cone's algebra."""
        first = (self.cones * other.cones).sum(-1, keepdims=True)
        rest = self.cones[:, :1] * other.cones[:, 1:] + other.cones[:, :1] * self.cones[:, 1:]
        return _Pair(self.linear * other.linear, np.concatenate([first, rest], -1))

    def quotient(self, other: _Pair) -> _Pair:
        """What gives this when it is multiplied by ``other``."""
        top, below = other.cones[:, :1], other.cones[:, 1:]
        inner = (below * self.cones[:, 1:]).sum(-1, keepdims=True)
        first = (top * self.cones[:, :1] - inner) / _determinant(other.cones)[:, None]
        rest = (self.cones[:, 1:] - first * below) / top
        return _Pair(self.linear / other.linear, np.concatenate([first, rest], -1))

    def room(self, change: _Pair) -> float:
        """The largest step along a change that does not leave the cone."""
        worst = float((-change.linear / self.linear).max(initial=0.0))
        if len(self.cones):
            size = np.sqrt(_determinant(self.cones))[:, None]
            unit = self.cones / size
            first = (unit * _turned(change.cones)).sum(-1, keepdims=True)
            rest = change.cones[:, 1:] - (first + change.cones[:, :1]) / (unit[:, :1] + 1.0) * unit[:, 1:]
            beyond = (np.linalg.norm(rest, axis=-1) - first[:, 0]) / size[:, 0]
            worst = max(worst, float(beyond.max()))
        return math.inf if worst <= 0.0 else 1.0 / worst


def _turned(cones: Array) -> Array:
    """``J u`` of every cone."""
    turned = -cones
    turned[:, 0] = cones[:, 0]
    return turned


def _determinant(cones: Array) -> Array:
    """``u' J u`` of every cone, as a product that does not cancel."""
    length = np.linalg.norm(cones[:, 1:], axis=-1)
    determinant: Array = np.maximum((cones[:, 0] - length) * (cones[:, 0] + length), 1e-300)
    return determinant


class _Scaling:
    """Nesterov and Todd's W of s and z inside the cone: a diagonal, ``size (2 v v' - J)`` for each cone."""

    def __init__(self, s: _Pair, z: _Pair) -> None:
        self.linear = np.sqrt(s.linear / z.linear)
        det_s, det_z = _determinant(s.cones), _determinant(z.cones)
        unit_s, unit_z = s.cones / np.sqrt(det_s)[:, None], z.cones / np.sqrt(det_z)[:, None]
        self.size = (det_s / det_z) ** 0.25
        middle = np.sqrt(0.5 * (1.0 + (unit_s * unit_z).sum(-1)))[:, None]
        self.point = 0.5 * (unit_s + _turned(unit_z)) / middle
        axis = self.point.copy()
        axis[:, 0] += 1.0
        self.axis = axis / np.sqrt(2.0 * axis[:, :1])

    def apply(self, u: _Pair) -> _Pair:
        """``W u``."""
        along = 2.0 * (self.axis * u.cones).sum(-1, keepdims=True)
        return _Pair(self.linear * u.linear, self.size[:, None] * (along * self.axis - _turned(u.cones)))

    def undo(self, u: _Pair) -> _Pair:
        """``W^-1 u``."""
        axis = _turned(self.axis)
        along = 2.0 * (axis * u.cones).sum(-1, keepdims=True)
        return _Pair(u.linear / self.linear, (along * axis - _turned(u.cones)) / self.size[:, None])


class _InteriorPoint:
    """The iteration, with Mehrotra's predictor and corrector."""

    def __init__(self, program: _Program) -> None:
        self.program = program
        turned = program.Gc.copy()
        turned[:, 1:] *= -1.0
        self.turned = np.einsum("cdn,cdm->cnm", program.Gc, turned, optimize=True)  # G' J G of every cone
        self.degree = len(program.h) + len(program.hc)

    def solution(self) -> tuple[Array, Array, Array]:
        """Return x and the multipliers of the linear rows and of the cones."""
        p = self.program
        goal = _Pair(p.h, p.hc)
        whole = p.P + p.G.T @ p.G + np.einsum("cdn,cdm->nm", p.Gc, p.Gc, optimize=True)
        x = _solved(whole, p.up(goal) - p.c)
        off = goal.plus(p.down(x), -1.0)
        s, z = off.lifted(), _Pair(-off.linear, -off.cones).lifted()
        best, found = math.inf, (x, z)
        for _ in range(ROUNDS):
            slope = p.P @ x + p.c + p.up(z)
            off = s.plus(p.down(x)).plus(goal, -1.0)
            gap = s.dot(z)
            value = abs(float(p.c @ x) + 0.5 * float(x @ p.P @ x))
            error = (gap + float(np.abs(slope).max()) + math.sqrt(off.dot(off))) / (1.0 + value)
            if not math.isfinite(error):
                break
            if error < best:
                best, found = error, (x, z)
            if error < ENOUGH:
                break
            scaling = _Scaling(s, z)
            v = scaling.apply(z)
            matrix = self._matrix(scaling)
            target = v.product(v)
            target = _Pair(-target.linear, -target.cones)
            _, ds, dz = self._direction(scaling, matrix, v, target, slope, off)
            length = min(1.0, s.room(ds), z.room(dz))
            bent = scaling.undo(ds).product(scaling.apply(dz))
            target = target.plus(bent, -1.0).raised((1.0 - length) ** 3 * gap / self.degree)
            dx, ds, dz = self._direction(scaling, matrix, v, target, slope, off)
            length = min(1.0, SHARE * s.room(ds), SHARE * z.room(dz))
            x, s, z = x + length * dx, s.plus(ds, length), z.plus(dz, length)
        return found[0], found[1].linear, found[1].cones

    def _matrix(self, scaling: _Scaling) -> Array:
        """``P + G' W^-2 G``."""
        p = self.program
        weighted = p.G / scaling.linear[:, None]
        inverse = 1.0 / np.square(scaling.size)
        beside = np.einsum("cdn,cd->cn", p.Gc, _turned(scaling.point)) / scaling.size[:, None]
        matrix: Array = p.P + weighted.T @ weighted + 2.0 * beside.T @ beside
        return matrix - np.tensordot(inverse, self.turned, 1)

    def _direction(
        self, scaling: _Scaling, matrix: Array, v: _Pair, target: _Pair, slope: Array, off: _Pair
    ) -> tuple[Array, _Pair, _Pair]:
        """Newton's changes of x, s and z, where ``v (W dz + W^-1 ds)`` is to be the target."""
        p, wanted = self.program, target.quotient(v)
        known = scaling.undo(scaling.undo(off)).plus(scaling.undo(wanted))
        dx = _solved(matrix, -slope - p.up(known))
        ahead = p.down(dx)
        dz = scaling.undo(scaling.undo(ahead)).plus(known)
        ds = off.plus(ahead)  # from the rows, which then hold to rounding; W would enlarge its errors
        return dx, _Pair(-ds.linear, -ds.cones), dz


def _solved(matrix: Array, right: Array) -> Array:
    """The solution of a positive definite system, by Cholesky with a ridge and one step of refinement."""
    diagonal = matrix.diagonal()
    root = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
    scaled = root[:, None] * matrix * root
    for ridge in RIDGES:
        factor, failed = lapack.dpotrf(scaled + ridge * np.eye(len(right)), lower=1)
        if not failed:
            break
    once = lapack.dpotrs(factor, root * right, lower=1)[0]
    rest = root * right - scaled @ once
    solution: Array = root * (once + lapack.dpotrs(factor, rest, lower=1)[0])
    return solution
