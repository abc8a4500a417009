"""Linear known conditions as a polytope with an inside: equalities are solved for some of the variables.

Coordinates are ``w = (x - lb) / (ub - lb)``, whatever the scale of a variable: in them a linear condition is
linear. Inequalities that leave no room between them (``a <= b`` beside ``b <= a``) are equalities too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp, nnls

from lcbo.errors import ArgumentError
from lcbo.problem.known import Row
from lcbo.problem.space import Followers, Mix, Space
from lcbo.types import Array

EMPTY = 1e-9  # rows of length 1 that are missed by more cannot be met
FLAT = 1e-9  # a set with less room than this is flat
SMALL = 1e-3  # of a row's largest entry: a smaller one is not solved for
WHOLE = 1e-9  # distance from an integer
NEWTON = 100  # rounds; damped as they are, each is inside
_PRECISE: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
NOT_EMPTY = "conditions that some point within the bounds meets"

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Polytope:
    """``rows w <= limits`` in the unit box.

    Attributes:
        rows: ``K x d``, each of length 1.
        limits: ``K``.
        center: ``d``, the point with the largest product of distances from all of them and from the box.
        width: ``d``, what a unit is in the variable's own units.
        whole: ``d``, which coordinates are integers.
        checked: which of the stated rows a point has to be compared with: an equality holds by itself.
    """

    rows: Array
    limits: Array
    center: Array
    width: Array
    whole: Mask
    checked: Mask

    def nearest(
        self,
        target: Array,
        unit: Array,
        held: Mask | None = None,
        rows: Array | None = None,
        limits: Array | None = None,
    ) -> Array | None:
        """Return the point nearest to ``target``, ``None`` where there is none.

        With ``w = target + unit y`` the least distance problem ``min |y|, C y >= f`` is dual to nonnegative
        least squares (Lawson and Hanson 1974, chapter 23). What binds is then met to the last digits.

        Args:
            target: ``d``.
            unit: ``d x d``, the moves that are as long as 1.
            held: coordinates that stay.
            rows: further rows, ``k x d``, with their
            limits: ``k``.
        """
        moving = np.ones(len(target), dtype=bool) if held is None else ~held
        a = self.rows if rows is None else np.concatenate([self.rows, rows])
        b = self.limits if limits is None else np.concatenate([self.limits, limits])
        unit = unit[np.ix_(moving, moving)]
        c = np.concatenate([-a[:, moving] @ unit, unit, -unit])
        f = np.concatenate([a @ target - b, -target[moving], target[moving] - 1.0])
        size = np.sqrt(np.einsum("ij,ij->i", c, c))
        useful = size > 1e-14
        if (f[~useful] > EMPTY).any():
            return None
        c, f = c[useful] / size[useful, None], f[useful] / size[useful]
        move = np.zeros(len(unit))
        if (f > 0.0).any():
            dual = np.vstack([c.T, f])
            try:
                pressure, _ = nnls(dual, np.append(move, 1.0))
            except RuntimeError:  # too many rounds
                return None
            rest = dual @ pressure
            if 1.0 - rest[-1] <= 1e-13:
                return None
            binding = pressure > 0.0
            move = np.linalg.lstsq(c[binding], f[binding])[0] if binding.any() else rest[:-1]
            if (c @ move < f - EMPTY).any():  # rows that depend on each other
                move = rest[:-1] / (1.0 - rest[-1])
        found = target.copy()
        found[moving] = np.clip(target[moving] + unit @ move, 0.0, 1.0)
        return found

    def nearest_whole(self, target: Array) -> Array | None:
        """Return a point near ``target`` with whole integers: least sum of distances, by integer program."""
        d = len(target)
        size = np.where(self.whole, self.width, 1.0)  # integers are counted in their own steps
        eye, far = np.eye(d) / size, np.ones(d)
        matrix = np.block(
            [[self.rows / size, np.zeros_like(self.rows)], [eye, -np.eye(d)], [-eye, -np.eye(d)]]
        )
        limits = np.concatenate([self.limits, target, -target])
        done = milp(
            np.concatenate([np.zeros(d), far]),
            integrality=np.concatenate([self.whole, np.zeros(d)]),
            bounds=Bounds(np.zeros(2 * d), np.concatenate([size, np.full(d, np.inf)])),
            constraints=LinearConstraint(matrix, -np.inf, limits),
        )
        if done.x is None:
            return None
        w = np.clip(done.x[:d] / size, 0.0, 1.0)
        w[self.whole] = np.rint(done.x[:d][self.whole]) / size[self.whole]
        return self.nearest(np.where(self.whole, w, target), np.eye(d), self.whole)


def reduced(space: Space, stated: Sequence[Row]) -> tuple[Space, Polytope]:
    """Return the space without the variables that follow by an equality, and the polytope in what is left."""
    loose = np.flatnonzero(~space.fixed)
    width = (space.ub - space.lb)[loose]
    system = _System(space, stated, loose, width)
    system.check()
    system.find_flat()
    solved, values = system.eliminated()
    followers = np.array(list(solved), dtype=np.intp)
    free = np.setdiff1d(np.arange(len(loose)), followers)
    if not len(free):
        names = ", ".join(repr(row.name) for row in stated[:5])
        raise ArgumentError("known", "conditions that leave more than a single point", names)
    matrix = np.array([solved[i] for i in followers]).reshape(len(followers), len(loose))
    a, b = system.a[:, free] - system.a[:, followers] @ matrix[:, free], system.b.copy()
    b -= system.a[:, followers] @ values
    bounds = np.concatenate([-matrix[:, free], matrix[:, free]])
    a, b = np.concatenate([a, bounds]), np.concatenate([b, 1.0 - values, values])
    norms = np.linalg.norm(a, axis=1)
    kept = norms > 1e-12
    a, b = a[kept] / norms[kept, None], b[kept] / norms[kept]
    center = _balanced(a, b, _deepest(a, b, np.zeros((0, len(free))), np.zeros(0))[0])
    if len(followers):
        leading = _in_user_units(space, loose, width, followers, matrix, values, stated)
        mix = _mixed(matrix[:, free], np.flatnonzero(system.reluctance[free] == 0), a, b)
        space = space.led(leading, mix)
        if mix is not None:  # the bounds of these are no bounds of the cube
            eye = np.eye(len(free))[mix.which]
            a, b = np.concatenate([a, eye, -eye]), np.concatenate([b, np.ones(len(eye)), np.zeros(len(eye))])
    return space, Polytope(a, b, center, width[free], space.integer[loose[free]], system.checked)


def _mixed(matrix: Array, plain: NDArray[np.intp], a: Array, b: Array) -> Mix | None:
    """Return coordinates for the plain variables in which a move is as long as it is in all variables.

    Followers move by ``-matrix dw``, so the square of the length is ``dw' (1 + matrix' matrix) dw``.
    """
    followed = matrix[:, plain]
    if not followed.any():
        return None
    values, vectors = np.linalg.eigh(np.eye(len(plain)) + followed.T @ followed)
    root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
    ends = []
    for row in np.concatenate([root, -root]):
        goal = np.zeros(a.shape[1])
        goal[plain] = row
        ends.append(float(_least(goal, a, b).fun))
    low, high = np.array(ends[: len(plain)]), -np.array(ends[len(plain) :])
    return Mix(plain, inverse, root, low, float((high - low).max()))


class _System:
    """The conditions in all variables that are not fixed: ``a w <= b``, ``e w = v``."""

    def __init__(self, space: Space, stated: Sequence[Row], loose: NDArray[np.intp], width: Array) -> None:
        matrix = np.array([row.coefficients for row in stated]).reshape(len(stated), len(space.lb))
        # What a follower is: preferably neither an integer nor on a log scale.
        self.reluctance = np.where(space.integer, 2, np.where(space.log, 1, 0))[loose]
        shift, steep = matrix @ space.lb, matrix[:, loose] * width
        norms = np.linalg.norm(steep, axis=1)
        self.checked = np.ones(len(stated), dtype=bool)
        a, b, self.names, self.sizes, self.origin = [], [], list[str](), list[float](), list[int]()
        e, v, self.equal_names, self.equal_sizes = [], [], list[str](), list[float]()
        for i, (row, size) in enumerate(zip(stated, norms, strict=True)):
            if size <= 1e-14 * max(np.abs(row.coefficients).max(), 1e-300):  # fixed variables alone
                if row.missed(space.lb) > EMPTY * max(1.0, abs(shift[i])):
                    raise _empty({row.name: row.missed(space.lb)})
                self.checked[i] = False
                continue
            slope, sides = steep[i] / size, ((row.ub - shift[i]) / size, (row.lb - shift[i]) / size)
            if row.lb == row.ub:
                e.append(slope)
                v.append(sides[0])
                self.equal_names.append(row.name)
                self.equal_sizes.append(size)
                self.checked[i] = False
                continue
            for sign, limit in zip((1.0, -1.0), sides, strict=True):
                if np.isfinite(limit):
                    a.append(sign * slope)
                    b.append(sign * limit)
                    self.names.append(row.name)
                    self.sizes.append(size)
                    self.origin.append(i)
        d = len(loose)
        self.a, self.b = np.array(a).reshape(-1, d), np.array(b)
        self.e, self.v = np.array(e).reshape(-1, d), np.array(v)

    def check(self) -> None:
        """Raise with the conditions that contradict each other where no point meets all."""
        n, k, d = len(self.a), len(self.e), self.a.shape[1]
        cost = np.concatenate([np.zeros(d), np.ones(n + 2 * k)])
        rows = np.hstack([self.a, -np.eye(n), np.zeros((n, 2 * k))])
        equalities = np.hstack([self.e, np.zeros((k, n)), np.eye(k), -np.eye(k)])
        most = np.append(np.ones(d), np.full(n + 2 * k, np.inf))
        found = _least(cost, rows, self.b, equalities, self.v, most)
        missed = found.x[d : d + n], found.x[d + n : d + n + k] + found.x[d + n + k :]
        if found.fun > EMPTY:
            names, sizes = [*self.names, *self.equal_names], [*self.sizes, *self.equal_sizes]
            amounts = zip(names, np.concatenate(missed) * sizes, np.concatenate(missed), strict=True)
            raise _empty({name: float(amount) for name, amount, part in amounts if part > 0.1 * EMPTY})

    def find_flat(self) -> None:
        """Make equalities of the inequalities, bounds among them, that leave no room."""
        if _deepest(self.a, self.b, self.e, self.v)[1] > FLAT:
            return
        d = self.a.shape[1]
        a = np.concatenate([self.a, np.eye(d), -np.eye(d)])
        b = np.concatenate([self.b, np.ones(d), np.zeros(d)])
        flat = [i for i in range(len(a)) if self._room(a[i], b[i]) <= FLAT]
        self.e, self.v = np.concatenate([self.e, a[flat]]), np.concatenate([self.v, b[flat]])
        rows = [i for i in flat if i < len(self.a)]
        self.checked[[self.origin[i] for i in rows]] = False
        self.a, self.b = np.delete(self.a, rows, 0), np.delete(self.b, rows)

    def _room(self, row: Array, limit: float) -> float:
        """By how much a row can be below its limit."""
        found = _least(row, self.a, self.b, self.e, self.v)
        return limit - float(found.fun) if found.status == 0 else 0.0

    def eliminated(self) -> tuple[dict[int, Array], Array]:
        """Solve the equalities: ``w[i] = values[i] - solved[i] . w`` with no follower on the right."""
        rows = np.column_stack([self.e, self.v])
        pivots: list[tuple[int, int]] = []
        for r in range(len(rows)):
            size = np.abs(rows[r, :-1])
            if size.max() <= 1e-9:  # follows from the rows before
                continue
            usable = size > SMALL * size.max()
            best = self.reluctance[usable].min()
            score = np.where(usable & (self.reluctance == best), size, -1.0)
            column = len(score) - 1 - int(score[::-1].argmax())
            rows[r] /= rows[r, column]
            others = np.arange(len(rows)) != r
            rows[others] -= rows[others, column, None] * rows[r]
            pivots.append((column, r))
        solved = {}
        for column, r in pivots:
            row = np.where(np.abs(rows[r, :-1]) > 1e-14, rows[r, :-1], 0.0)
            row[column] = 0.0
            solved[column] = row
        return solved, np.array([rows[r, -1] for _, r in pivots])


def _least(
    goal: Array,
    a: Array,
    b: Array,
    e: Array | None = None,
    v: Array | None = None,
    most: Array | float = 1.0,
) -> Any:
    """Return SciPy's solution of the linear program ``min goal.w, a w <= b, e w = v, 0 <= w <= most``."""
    bounds: Any = np.column_stack([np.zeros(len(goal)), np.broadcast_to(most, goal.shape)])
    return linprog(goal, a, b, e, v, bounds=bounds, options=_PRECISE)


def _deepest(a: Array, b: Array, e: Array, v: Array) -> tuple[Array, float]:
    """Return the point of the unit box farthest from all rows and bounds, and how far it is."""
    d = a.shape[1]
    eye, one = np.eye(d), np.ones((len(a) + 2 * d, 1))
    rows, limits = np.concatenate([a, eye, -eye]), np.concatenate([b, np.ones(d), np.zeros(d)])
    equalities = np.hstack([e, np.zeros((len(e), 1))])
    found = _least(np.append(np.zeros(d), -1.0), np.hstack([rows, one]), limits, equalities, v)
    return (found.x[:-1], float(found.x[-1])) if found.status == 0 else (np.full(d, 0.5), 0.0)


def _balanced(a: Array, b: Array, w: Array) -> Array:
    """Return the analytic center of a polytope in the unit box, by Newton's method from a point inside.

    The deepest point is often a corner in the coordinates that a thin set does not bind.
    """
    eye = np.eye(len(w))
    rows, limits = np.concatenate([a, eye, -eye]), np.concatenate([b, np.ones(len(w)), np.zeros(len(w))])
    for _ in range(NEWTON):
        slack = limits - rows @ w
        if not (slack > 0.0).all():
            return w
        scaled = rows / slack[:, None]
        move = -np.linalg.solve(scaled.T @ scaled, scaled.sum(0))
        decrement = float(np.linalg.norm(scaled @ move))
        w = w + move / (1.0 + decrement)
        if decrement < 1e-6:
            break
    return w


def _in_user_units(
    space: Space,
    loose: NDArray[np.intp],
    width: Array,
    followers: NDArray[np.intp],
    matrix: Array,
    values: Array,
    stated: Sequence[Row],
) -> Followers:
    """Return the followers as functions of x; one that is an integer must come out whole by itself."""
    which = loose[followers]
    slopes = np.zeros((len(which), len(space.lb)))
    slopes[:, loose] = -width[followers, None] * matrix / width
    offset = space.lb[which] + width[followers] * values - slopes @ space.lb
    for i, variable in enumerate(which):
        used = slopes[i] != 0.0
        steps = np.append(slopes[i, used], offset[i])
        if space.integer[variable] and not (space.integer[used].all() and _is_whole(steps)):
            names = ", ".join(
                repr(row.name) for row in stated if row.lb == row.ub and row.coefficients[variable]
            )
            expected = "equalities with a variable that is no integer, or whole coefficients beside a 1"
            raise ArgumentError("known", expected, names)
        if space.integer[variable]:
            slopes[i], offset[i] = np.rint(slopes[i]), np.rint(offset[i])
    return Followers(which, slopes, offset)


def _is_whole(values: Array) -> bool:
    return bool((np.abs(values - np.rint(values)) <= WHOLE * np.maximum(np.abs(values), 1.0)).all())


def _empty(missed: dict[str, float]) -> ArgumentError:
    parts = [f"{name!r} missed by at least {amount:.3g}" for name, amount in list(missed.items())[:5]]
    return ArgumentError("known", NOT_EMPTY, ", ".join(parts))
