"""The step's subproblem solved exactly: linear terms with an elastic penalty, in a ball and a box.

    minimize  g.s + s'Hs / 2 + sum_i w_i [b_i + a_i.s]_+   subject to   |s| <= 1,   low <= s <= high,

with ``|b_i + a_i.s|`` in place of the positive part for a two-sided row. The problem is convex and always
feasible, so an interior-point method solves it whatever the rows are: dependent, repeated, nearly parallel
or impossible to meet.

Each row is written ``b_i + a_i.s = t_i - p_i`` with ``t, p >= 0``. Its multiplier y_i then lies between two
ends, and its distances to them are the multipliers of t and p. The ball is one more row, without an upper
end: ``(|s|^2 - 1) / 2 = -q``. The other slacks are the distances to the bounds. Every slack x has a
multiplier z; Newton's method, with Mehrotra's predictor and corrector, drives all products ``x z`` to zero
together. With the slacks eliminated, each of its steps solves

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

ENOUGH = 1e-9  # the error of the objective that ends the search
TOO_MUCH = 1e-6  # the error that is not rounding, but of rows that are nearly the same
ROUNDS = 60  # of Newton's method; 7 to 20 are usual
PATIENCE = 12  # rounds without progress after which rounding allows no more
THIN = 1e-12  # of the radius: a coordinate with less room than this stays at zero
RIDGE = 1e-8  # a curvature for what nothing else decides: it stays near zero
# Of a row's give: without it the multipliers of dependent rows drift; more of it, slower but safer rounds.
FLOORS = (1e-14, 1e-12, 1e-10)
SOUND = 1e-4  # relative residual of a linear solution that one step of refinement mends
SHARE = 0.995  # of the way to the nearest boundary is what one round may go, at first

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
        goal: ``d``, g; the accuracy is meant for a length near 1.
        rows: ``T x d``, the a_i.
        offset: ``T``, the b_i.
        two_sided: ``T``, whether a row is missed on both sides of zero.
        low: ``d``, not above 0; may be infinite.
        high: ``d``, not below 0; may be infinite.
        weight: w, positive, one for all rows or ``T``.
        curvature: ``d x d``, H, symmetric positive semidefinite, or ``d``, its diagonal; none by default.
    """
    diagonal = curvature if curvature is not None and curvature.ndim == 1 else None
    curvature = curvature if diagonal is None else None
    most = np.broadcast_to(np.asarray(weight, dtype=float), offset.shape)
    least = np.where(two_sided, -most, 0.0)

    def missed(step: Array) -> Array:
        reached = offset + rows @ step
        return np.where(two_sided, np.abs(reached), np.maximum(reached, 0.0))

    def merit(step: Array) -> float:
        bent = 0.0 if curvature is None else 0.5 * float(step @ curvature @ step)
        bent += 0.0 if diagonal is None else 0.5 * float(step @ (diagonal * step))
        return float(goal @ step + most @ missed(step)) + bent

    step = still = np.zeros(len(goal))
    multipliers = np.where(offset > 0.0, most, least)
    free = np.flatnonzero(high - low > THIN)
    if len(free):
        slopes = rows[:, free]
        norms = np.sqrt(np.einsum("ij,ij->i", slopes, slopes))
        norms[norms == 0.0] = 1.0
        # A breakdown shows as a number that is not finite, and the best round before it is used.
        with np.errstate(all="ignore"):
            problem = (
                goal[free],
                slopes / norms[:, None],
                # A unit row changes by at most 1 in the ball: from farther away only its sign matters.
                np.clip(offset / norms, -2.0, 2.0),
                least * norms,
                most * norms,
                # The ball implies bounds of 1: farther ones only have to be finite.
                np.maximum(low[free], -2.0),
                np.minimum(high[free], 2.0),
                None if curvature is None else curvature[np.ix_(free, free)],
                RIDGE if diagonal is None else RIDGE + diagonal[free],
            )
            few = curvature is None and len(offset) < len(free)
            error, inner, pressure = _InteriorPoint(*problem, few).solution()
            if few and not error < TOO_MUCH:
                again = _InteriorPoint(*problem, few=False).solution()
                if again[0] < error:
                    _, inner, pressure = again
        multipliers = np.minimum(np.maximum(pressure / norms, least), most)
        step = np.zeros(len(goal))
        step[free] = inner
        step = np.minimum(np.maximum(step, low), high)
        step /= max(1.0, math.sqrt(step @ step))
        # A gain within rounding is none.
        if not merit(step) < merit(still) - 1e-15 * (1.0 + merit(still)):
            step = still
    return ElasticSolution(step, multipliers, float(missed(step).sum()))


class _InteriorPoint:
    """The iteration for unit rows and a box with an inside; multipliers lie between ``least`` and ``most``.

    Slacks x and their multipliers z are in one vector each: those of the rows' t, those of the rows' p and
    the ball's q, those of the lower and those of the upper bounds. Few rows, without a curvature, are solved
    for after the coordinates are eliminated, which squares their condition.
    """

    def __init__(
        self,
        goal: Array,
        rows: Array,
        offset: Array,
        least: Array,
        most: Array,
        low: Array,
        high: Array,
        curvature: Array | None,
        ridge: Array | float,
        few: bool,
    ) -> None:
        self.goal, self.offset, self.least = goal, offset, least
        self.curvature, self.ridge, self.few = curvature, ridge, few
        self.d, self.n = d, n = len(goal), len(offset)
        self.t, self.p, self.box = slice(n), slice(n, 2 * n + 1), slice(2 * n + 1, None)
        # What a unit of each row's residual costs; leaving the ball moves all rows.
        self.price = np.append(most, max(1.0, most.max(initial=0.0)))
        reach = 0.5 / math.sqrt(d)
        self.s = 0.5 * (np.maximum(low, -reach) + np.minimum(high, reach))
        self.rows = np.vstack([rows, self.s])
        self._start(0.5 * (most - least), low, high)

    def _start(self, half: Array, low: Array, high: Array) -> None:
        """Set slacks and multipliers so that all their products are equal, and large enough for the slope."""
        s, n = self.s, self.n
        rows, reached = self.rows[:n], self.offset + self.rows[:n] @ s
        size, above = np.abs(reached) * half, reached > 0.0
        product = 1.0 / math.sqrt(self.d)
        for last in (False, True):
            # reached = product / z_t - product / z_p  with  z_t + z_p = 2 half:  a quadratic equation.
            root = np.sqrt(product**2 + size**2)
            near = half * (2.0 * product / (product + size + root))
            far = half * (1.0 + size / (product + root))
            z_t, z_p = np.where(above, near, far), np.where(above, far, near)
            if not last:
                slope = self.goal + (self.least + z_p) @ rows
                product = max(1.0, math.sqrt(slope @ slope)) / math.sqrt(self.d)
        inside = [0.5 * (1.0 - s @ s)]
        self.x = np.concatenate([product / z_t, product / z_p, inside, s - low, high - s])
        self.z = product / self.x
        self.y = np.append(self.least + z_p, self.z[2 * n])

    def solution(self) -> tuple[float, Array, Array]:
        """Return the error, the step and the multipliers of the rows, within rounding of their bounds."""
        n = self.n
        best, waited, found = math.inf, 0, (np.zeros(self.d), np.zeros(n))
        for _ in range(ROUNDS):
            slope, off = self._residuals()
            products = self.x * self.z
            gap = float(products.sum())
            error = gap + math.sqrt(slope @ slope) + float(self.price @ np.abs(off))
            waited = 0 if error < 0.9 * best else waited + 1
            if error < best:
                best, found = error, (self.s, self.y[:n])
            if best < ENOUGH or waited > PATIENCE or not math.isfinite(error):
                break
            solve = self._system().solve
            ds, dy, dx, dz = self._direction(solve, -products, slope, off)
            room = self._room(dx, dz)
            left = float((self.x + room * dx) @ (self.z + room * dz)) / gap
            # A prediction that fails early says little about the second order; all of it would cycle.
            trust = min(1.0, 2.0 * room) ** 2
            off[n] += trust * 0.5 * float(ds @ ds)
            target = gap / len(products) * left**3 - products - trust * dx * dz
            ds, dy, dx, dz = self._direction(solve, target, slope + trust * dy[n] * ds, off)
            length = max(SHARE, 1.0 - gap) * self._room(dx, dz)
            self.s, self.y = self.s + length * ds, self.y + length * dy
            self.x, self.z = self.x + length * dx, self.z + length * dz
            self.rows[n] = self.s
            # Inside the ball its slack is known; a smaller one would only stop the next rounds.
            self.x[2 * n] = max(self.x[2 * n], 0.5 * (1.0 - self.s @ self.s))
        return best, *found

    def _residuals(self) -> tuple[Array, Array]:
        """Return the slope of the Lagrangian and by how much each row misses its slacks."""
        s, x, z, d, n = self.s, self.x, self.z, self.d, self.n
        bound = z[self.box]
        slope = self.goal + self.ridge * s + self.y @ self.rows - bound[:d] + bound[d:]
        if self.curvature is not None:
            slope += self.curvature @ s
        off = x[self.p] + self.rows @ s
        off[:n] += self.offset - x[:n]
        off[n] -= 0.5 * (1.0 + s @ s)
        return slope, off

    def _direction(self, solve: Solve, target: Array, slope: Array, off: Array) -> tuple[Array, ...]:
        """Return Newton's changes of s, y, x and z, where the products are to change by ``target``."""
        x, z, t, p, box, d, n = self.x, self.z, self.t, self.p, self.box, self.d, self.n
        bound = target[box] / x[box]
        bottom = -off - target[p] / z[p]
        bottom[:n] += target[t] / z[t]
        ds, dy = solve(bound[:d] - bound[d:] - slope, bottom)
        dx = np.concatenate([(target[t] + x[t] * dy[:n]) / z[t], (target[p] - x[p] * dy) / z[p], ds, -ds])
        dz = np.concatenate([-dy[:n], dy, bound - z[box] / x[box] * dx[box]])
        return ds, dy, dx, dz

    def _room(self, dx: Array, dz: Array) -> float:
        """Return the part of a step, at most all of it, that keeps slacks and multipliers nonnegative."""
        return 1.0 / max(1.0, -float((dx / self.x).min()), -float((dz / self.z).min()))

    def _system(self) -> _System:
        """Return the linear system of this round."""
        x, z, d, n = self.x, self.z, self.d, self.n
        give = x[self.p] / z[self.p]
        give[:n] += x[:n] / z[:n]
        stiff = z[self.box] / x[self.box]
        diagonal = self.ridge + self.y[n] + stiff[:d] + stiff[d:]
        return _System(self.rows, give, diagonal, self.curvature, self.few)


class _System:
    """The linear system of the module's docstring, factorized.

    A little give is added to what is factorized, and more when rounding spoils a solution; a step of
    refinement takes most of its effect out again.
    """

    def __init__(self, rows: Array, give: Array, diagonal: Array, curvature: Array | None, few: bool) -> None:
        self.rows, self.give, self.diagonal, self.curvature, self.few = rows, give, diagonal, curvature, few
        self.floors = iter(FLOORS)
        self.plain = self._factorized(next(self.floors))

    def solve(self, top: Array, bottom: Array) -> tuple[Array, Array]:
        """Return ds and dy."""
        rows, give, diagonal, curvature = self.rows, self.give, self.diagonal, self.curvature
        sound = SOUND * (math.sqrt(top @ top) + math.sqrt(bottom @ bottom))
        while True:
            ds, dy = self.plain(top, bottom)
            bent = diagonal * ds if curvature is None else diagonal * ds + curvature @ ds
            upper, lower = top - bent - dy @ rows, bottom - rows @ ds + give * dy
            if math.sqrt(upper @ upper) + math.sqrt(lower @ lower) <= sound:
                break
            floor = next(self.floors, None)
            if floor is None:
                break
            self.plain = self._factorized(floor)
        more, extra = self.plain(upper, lower)
        return ds + more, dy + extra

    def _factorized(self, floor: float) -> Solve:
        return self._rows_left(floor) if self.few else self._whole(floor)

    def _rows_left(self, floor: float) -> Solve:
        """Eliminate the coordinates, which costs little when the rows are few and H is diagonal."""
        rows, diagonal = self.rows, self.diagonal
        across = rows / diagonal
        square = across @ rows.T
        root = np.sqrt(self.give + floor * float(square.diagonal().max()))
        matrix = square / (root[:, None] * root)
        matrix.flat[:: len(root) + 1] += 1.0
        factor, _ = lapack.dpotrf(matrix, lower=1)  # one that fails leaves a residual: see `solve`

        def solve(top: Array, bottom: Array) -> tuple[Array, Array]:
            dy = lapack.dpotrs(factor, (across @ top - bottom) / root, lower=1)[0] / root
            return (top - dy @ rows) / diagonal, dy

        return solve

    def _whole(self, floor: float) -> Solve:
        """Factorize the whole system: to eliminate the rows would square their condition."""
        d, size = len(self.diagonal), len(self.diagonal) + len(self.give)
        matrix = np.zeros((size, size), order="F")
        matrix[:d, :d] = 0.0 if self.curvature is None else self.curvature
        matrix.flat[: d * size : size + 1] += self.diagonal
        scale = 1.0 / np.sqrt(matrix.diagonal()[:d])
        matrix[:d, :d] *= scale[:, None] * scale
        matrix[d:, :d] = self.rows * scale
        matrix.flat[d * (size + 1) :: size + 1] = -self.give - floor
        factor, pivots, _ = lapack.dsytrf(matrix, lower=1, lwork=32 * size, overwrite_a=1)

        def solve(top: Array, bottom: Array) -> tuple[Array, Array]:
            both = lapack.dsytrs(factor, pivots, np.concatenate([scale * top, bottom]), lower=1)[0]
            return scale * both[:d], both[d:]

        return solve
