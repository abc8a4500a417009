"""The step's subproblem solved exactly: linear terms with an elastic penalty, in a ball and a box.

    minimize  g.s + s'Hs / 2 + sum_i w_i [b_i + a_i.s]_+   subject to   |s| <= 1,   low <= s <= high,

with ``|b_i + a_i.s|`` in place of the positive part for a two-sided row. The problem is convex and always
feasible, so an interior-point method solves it whatever the rows are: dependent, repeated, nearly parallel
or impossible to meet.

Each row is written ``b_i + a_i.s = t_i - p_i`` with ``t, p >= 0``. Its multiplier y_i then lies between two
ends, and its distances to them are the multipliers of t and p. The ball is one more row, without an upper
end: ``(|s|^2 - 1) / 2 = -q``. The other slacks are the distances to the bounds. Every slack x has a
multiplier z, Newton's method drives all products ``x z`` to zero together (Mehrotra's predictor and
corrector), and with the slacks eliminated it solves

    (H + diag) ds + B' dy = top,     B ds - give dy = bottom,     B the rows with s, the gradient of the ball.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from lcbo.types import Array

ROUNDS = 60  # of Newton's method; 8 to 20 are usual
PATIENCE = 15  # rounds without progress: rounding allows no more
ENOUGH = 1e-10  # error of the objective that ends the search
THIN = 1e-12  # of the radius: a coordinate with less room than this stays at zero
RIDGE = 1e-9  # a curvature for directions that nothing else decides: they stay near zero
FLOOR = 1e-14  # of a row's give: multipliers of dependent rows are not unique, and without it would drift
SHARE = 0.995  # of the way to the boundary that one round may go

Solve = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class ElasticSolution:
    """A step, and what the rows did to it.

    Attributes:
        step: ``d``, inside the ball and the box.
        multipliers: ``T``, in ``[0, weight]``, for a two-sided row in ``[-weight, weight]``.
        violation: what the rows are missed by, all together and without the weights.
    """

    step: Array
    multipliers: Array
    violation: float


@dataclass(frozen=True)
class _Problem:
    """The problem in its free coordinates; a multiplier lies between ``least`` and ``most``."""

    goal: Array
    rows: Array
    offset: Array
    least: Array
    most: Array
    low: Array
    high: Array
    curvature: Array | None

    def bend(self, step: Array) -> Array:
        """Return the curvature times a step."""
        return RIDGE * step if self.curvature is None else self.curvature @ step + RIDGE * step


def elastic_step(
    goal: Array,
    rows: Array,
    offset: Array,
    two_sided: NDArray[np.bool_],
    low: Array,
    high: Array,
    weight: float | Array,
    curvature: Array | None = None,
) -> ElasticSolution:
    """Return the solution of the problem above; its objective is never above that of the zero step.

    Args:
        goal: ``d``, g, of a length near 1 or 0.
        rows: ``T x d``, the a_i, of lengths near 1.
        offset: ``T``, the b_i.
        two_sided: ``T``, whether a row is missed on both sides of zero.
        low: ``d``, not above 0; may be infinite.
        high: ``d``, not below 0; may be infinite.
        weight: w, positive, one for all rows or ``T``.
        curvature: ``d x d``, H, symmetric positive semidefinite; none by default.
    """
    most = np.broadcast_to(np.asarray(weight, dtype=float), offset.shape)
    least = np.where(two_sided, -most, 0.0)

    def missed(step: Array) -> Array:
        reached = offset + rows @ step
        return np.where(two_sided, np.abs(reached), np.maximum(reached, 0.0))

    def merit(step: Array) -> float:
        bent = 0.0 if curvature is None else 0.5 * float(step @ curvature @ step)
        return float(goal @ step + most @ missed(step)) + bent

    step, still, multipliers = np.zeros(len(goal)), np.zeros(len(goal)), np.zeros(len(offset))
    free = np.flatnonzero(high - low > THIN)
    if len(free):
        bend = None if curvature is None else curvature[np.ix_(free, free)]
        problem = _Problem(goal[free], rows[:, free], offset, least, most, low[free], high[free], bend)
        # A breakdown shows as a number that is not finite, and the best round before it is used.
        with np.errstate(all="ignore"):
            step[free], multipliers = _interior_point(problem)
        step = np.minimum(np.maximum(step, low), high)
        step /= max(1.0, math.sqrt(step @ step))
        if not merit(step) < merit(still):
            step = still
    return ElasticSolution(step, multipliers, float(missed(step).sum()))


def _interior_point(problem: _Problem) -> tuple[Array, Array]:
    """Return the step and the multipliers of the rows, both within rounding of their bounds."""
    goal, offset, least, most = problem.goal, problem.offset, problem.least, problem.most
    d, n = len(goal), len(offset)
    # The ball implies bounds of 1: farther ones only have to be finite.
    low, high = np.maximum(problem.low, -2.0), np.minimum(problem.high, 2.0)
    # Slacks and their multipliers: of the rows' t, of their p with q of the ball, of the bounds.
    t, p, box = slice(n), slice(n, 2 * n + 1), slice(2 * n + 1, None)

    reach = 0.5 / math.sqrt(d)
    s = 0.5 * (np.maximum(low, -reach) + np.minimum(high, reach))
    x, z = _start(problem, s, low, high)
    y = np.append(least, 0.0) + z[p]
    rows = np.vstack([problem.rows, s])
    dearest = float(most.max(initial=1.0))
    best, waited, found = math.inf, 0, (np.zeros(d), np.zeros(n))
    for _ in range(ROUNDS):
        slope = goal + problem.bend(s) + y @ rows - z[box][:d] + z[box][d:]
        off = x[p] + np.append(offset + problem.rows @ s - x[t], 0.5 * (s @ s - 1.0))
        products = x * z
        gap = float(products.sum())
        error = gap + math.sqrt(slope @ slope) + dearest * float(np.abs(off).max())
        waited = 0 if error < 0.9 * best else waited + 1
        if error < best:
            best, found = error, (s, np.minimum(np.maximum(y[:n], least), most))
        if best < ENOUGH or waited > PATIENCE or not math.isfinite(error):
            break
        stiff = z[box] / x[box]
        give = x[p] / z[p]
        give[:n] += x[t] / z[t]
        solve = _factorized(rows, give, RIDGE + y[n] + stiff[:d] + stiff[d:], problem.curvature)
        if solve is None:
            break

        def direction(target: Array, off: Array, slope: Array) -> tuple[Array, Array, Array, Array]:
            """Newton's step to products of the slacks changed by ``target``."""
            bound = target[box] / x[box]  # noqa: B023  (used in this round only)
            bottom = -off - target[p] / z[p]  # noqa: B023
            bottom[:n] += target[t] / z[t]  # noqa: B023
            ds, dy = solve(bound[:d] - bound[d:] - slope, bottom)  # noqa: B023
            dx = np.concatenate(
                [
                    (target[t] + x[t] * dy[:n]) / z[t],  # noqa: B023
                    (target[p] - x[p] * dy) / z[p],  # noqa: B023
                    ds,
                    -ds,
                ]
            )
            dz = np.concatenate([-dy[:n], dy, bound - stiff * dx[box]])  # noqa: B023
            return ds, dy, dx, dz

        ds, dy, dx, dz = direction(-products, off, slope)
        length = _room(x, z, dx, dz)
        centered = gap / len(x) * (float((x + length * dx) @ (z + length * dz)) / gap) ** 3
        off[n] += 0.5 * float(ds @ ds)
        ds, dy, dx, dz = direction(centered - products - dx * dz, off, slope + dy[n] * ds)
        length = SHARE * _room(x, z, dx, dz)
        s, y, x, z = s + length * ds, y + length * dy, x + length * dx, z + length * dz
        rows[n] = s
        x[2 * n] = max(x[2 * n], 0.5 * (1.0 - s @ s))
    return found


def _start(problem: _Problem, s: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return slacks and multipliers at an inner point, with the same product of every pair."""
    reached = problem.offset + problem.rows @ s
    above = reached > 0.0
    push = problem.goal + np.where(above, problem.most, 0.0) @ problem.rows
    product = max(1.0, math.sqrt(push @ push)) / math.sqrt(len(s))
    # reached = product / z_t - product / z_p  with  z_t + z_p = most - least: a quadratic equation.
    half = 0.5 * (problem.most - problem.least)
    size = np.abs(reached) * half
    root = np.sqrt(product**2 + size**2)
    near, far = half * (2.0 * product / (product + size + root)), half * (1.0 + size / (product + root))
    z_t, z_p = np.where(above, near, far), np.where(above, far, near)
    inside = [0.5 * (1.0 - s @ s)]
    x = np.concatenate([product / z_t, product / z_p, inside, s - low, high - s])
    return x, product / x


def _room(x: Array, z: Array, dx: Array, dz: Array) -> float:
    """Return the part of a step, at most all of it, that keeps slacks and multipliers nonnegative."""
    return 1.0 / max(1.0, -float((dx / x).min()), -float((dz / z).min()))


def _factorized(rows: Array, give: Array, diagonal: Array, curvature: Array | None) -> Solve | None:
    """Return the solver of the linear system of the module's docstring; ``None`` when it breaks down.

    With few rows and no curvature the coordinates are eliminated, otherwise the rows. A little give is
    added to what is factorized, more if needed, and one step of refinement takes most of its effect out.
    """
    solve = None
    if curvature is None and len(rows) < len(diagonal):
        solve = _rows_left(rows, give, diagonal)
    else:
        solve = _coordinates_left(rows, give, diagonal, curvature)
    if solve is None:
        return None
    plain = solve

    def refined(top: Array, bottom: Array) -> tuple[Array, Array]:
        ds, dy = plain(top, bottom)
        bent = diagonal * ds if curvature is None else diagonal * ds + curvature @ ds
        more, extra = plain(top - bent - dy @ rows, bottom - rows @ ds + give * dy)
        return ds + more, dy + extra

    return refined


def _rows_left(rows: Array, give: Array, diagonal: Array) -> Solve | None:
    """Eliminate the coordinates: one factorization of the size of the rows."""
    across = rows / diagonal
    square = across @ rows.T
    floor = FLOOR * float(square.diagonal().max())
    for rung in (1.0, 1e2, 1e4):
        root = np.sqrt(give + rung * floor)
        matrix = square / (root[:, None] * root)
        matrix.flat[:: len(root) + 1] += 1.0
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            break
    else:
        return None

    def solve(top: Array, bottom: Array) -> tuple[Array, Array]:
        dy = lapack.dpotrs(factor, (across @ top - bottom) / root, lower=1)[0] / root
        return (top - dy @ rows) / diagonal, dy

    return solve


def _coordinates_left(rows: Array, give: Array, diagonal: Array, curvature: Array | None) -> Solve | None:
    """Eliminate the rows: one factorization of the size of the coordinates."""
    give = give + FLOOR
    matrix = (rows.T / give) @ rows
    if curvature is not None:
        matrix += curvature
    matrix.flat[:: len(diagonal) + 1] += diagonal
    largest = float(matrix.diagonal().max())
    for jitter in (0.0, 1e-15, 1e-14, 1e-13, 1e-12):
        matrix.flat[:: len(diagonal) + 1] += jitter * largest
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            break
    else:
        return None

    def solve(top: Array, bottom: Array) -> tuple[Array, Array]:
        ds = lapack.dpotrs(factor, top + (bottom / give) @ rows, lower=1)[0]
        return ds, (rows @ ds - bottom) / give

    return solve
