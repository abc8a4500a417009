"""The points of the unit cube that meet all known conditions: which they are, the nearest one, random ones.

A point is inside when the ``x`` that would be evaluated for it meets every condition: inequalities to the
last digit, equalities to rounding, since they are solved for some of the variables. Projections end on the
boundary, where rounding decides; what it puts outside is moved a hair towards a point well inside.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from lcbo.errors import ArgumentError
from lcbo.problem.known import Conditions
from lcbo.problem.polytope import NOT_EMPTY, reduced
from lcbo.problem.space import Space
from lcbo.random import generator
from lcbo.types import Array

ROUNDING = 1e-12  # of its range: by how much a follower may miss a bound before it is clipped to it
HAIRS = (0.0, 1e-12, 1e-9, 1e-6)  # of the way to a point inside
HALVINGS = 50  # of a segment that ends inside
COARSE = 20  # of many segments at once
ROUNDS = 20  # of linearizing curves for a projection
ENOUGH = 1e-10  # the change of a projection that ends it
DIFFERENCE = 1e-7  # of the box: for the slope of a curve
DEPTHS = (1e-2, 1e-4, 1e-9)  # distances from linearized curves that a point inside should have; the last, any
TOUCHING = 1e-6  # distance up to which a condition binds
WASTE = 32  # uniform points per point inside that are tried before a walk
WALK = 30, 8  # steps of a random walk, along an axis and across by turns: at least, and per variable
SHRINKS = 15  # of a chord until a step is inside
TRIED = 2000  # points that are compared to find one inside
SEARCHES = 20  # from the best of them

Mask = NDArray[np.bool_]


class Domain:
    """What is allowed, in the unit cube of a space.

    Attributes:
        space: knows the followers of the equalities.
        conditions: what must hold.
        polytope: the linear ones, in coordinates that are those of the cube but for log scales.
    """

    def __init__(self, space: Space, conditions: Conditions) -> None:
        self.space, self.polytope = reduced(space, conditions.rows)
        self.conditions = conditions
        checked = [row for row, used in zip(conditions.rows, self.polytope.checked, strict=True) if used]
        self._matrix = np.array([row.coefficients for row in checked]).reshape(len(checked), len(space.lb))
        self._low, self._high = np.array([row.lb for row in checked]), np.array([row.ub for row in checked])
        self._grid = self.space.grid
        self._log = self.space.log[self.space.free]
        self._shift, self._width = self.space.lb[self.space.free], self.polytope.width
        self._hint: Array | None = None

    def searched(self, x: Array | None) -> Domain:
        """Return the domain after a search for a point inside; ``x``, ``k x len(variables)``, may be some.

        Raises:
            ArgumentError: where none is found.
        """
        self._hint = None if x is None else self.space.to_unit(x)
        if not self.holds(self.inside):  # by rounding: there is hardly any room
            names = ", ".join(map(repr, self.conditions.names[:5]))
            raise ArgumentError("known", f"{NOT_EMPTY} by more than rounding", names)
        return self

    @property
    def linear(self) -> bool:
        """Whether all conditions are linear in the cube: nothing but rows, and no log scale."""
        return not self.conditions.curves and not self._log.any()

    @property
    def rows(self) -> tuple[Array, Array]:
        """The linear ones as ``matrix u <= limits``, where they are linear in the cube."""
        start, unit = np.zeros(self.space.dim), self._unit(np.zeros(self.space.dim))
        return self.polytope.rows @ unit, self.polytope.limits - self.polytope.rows @ self._scaled(start)

    def contains(self, u: Array, curves: bool = True) -> Mask:
        """Return whether points of the cube, ``n x d``, are inside; without ``curves``, linearly."""
        x = self.space.from_unit(u)
        values = x @ self._matrix.T
        met: Mask = (values <= self._high).all(1) & (values >= self._low).all(1)
        followers, mix = self.space.followers, self.space.mix
        if mix is not None:
            w = mix.spread(u)[:, mix.which]
            met &= ((w >= -ROUNDING) & (w <= 1.0 + ROUNDING)).all(1)
        if followers is not None:
            low, high = self.space.lb[followers.which], self.space.ub[followers.which]
            room, raw = ROUNDING * (high - low), followers.values(x)
            met &= (raw >= low - room).all(1) & (raw <= high + room).all(1)
        for curve in self.conditions.curves if curves else ():
            if met.any():
                met[met] = (curve(x[met]) <= 0.0).all(1)
        return met

    def holds(self, u: Array) -> bool:
        """Return whether one point, ``d``, is inside."""
        return bool(self.contains(u[None, :])[0])

    @cached_property
    def inside(self) -> Array:
        """A point inside, as far as one can be found: the center of the linear part, or of many the deepest.

        Raises:
            ArgumentError: where none is found.
        """
        start = self._center()
        if not self.conditions.curves:
            return start
        rng = generator(0, "known")
        points = rng.random((TRIED, self.space.dim))
        points = points[self.contains(points, curves=False)]
        if len(points) < TRIED // WASTE:
            points = self._walk(rng, start, TRIED // WASTE, curves=False)
        points = np.concatenate([start[None, :], *([] if self._hint is None else [self._hint]), points])
        worst = self._worst(points)
        best = int(worst.argmin())
        if worst[best] <= 0.0:
            return self._snap(points[best])
        for target in points[np.argsort(worst, kind="stable")[:SEARCHES]]:
            for depth in DEPTHS:
                found = self._projected(target, depth)
                if found is not None and self.holds(self._snap(found)):
                    return self._snap(found)
        x = self.space.from_unit(points[best])
        broken = self.conditions.broken(x, self.space) or "none at all"
        expected = f"{NOT_EMPTY} (none was found; if you know one, give it as x0)"
        raise ArgumentError("known", expected, f"at best {broken}")

    def nearest(self, u: Array) -> Array:
        """Return the point inside that is nearest to a point, ``d``, or to each of ``n x d``.

        It is the point itself where that is inside. With integers or curves it is near, not the nearest.
        """
        u = self._snap(u)
        if u.ndim > 1:
            moved = u.copy()
            for i in np.flatnonzero(~self.contains(u)):
                moved[i] = self.nearest(u[i])
            return moved
        if self.holds(u):
            return u
        if self._grid is not None:
            return self._nearest_whole(u)
        found = self._projected(u, DEPTHS[-1])
        return self._settled(u if found is None else found)

    def pulled(self, points: Array, center: Array) -> Array:
        """Return points, ``n x d``, those outside moved towards a center until they are inside."""
        out = np.flatnonzero(~self.contains(points))
        if not len(out):
            return points
        center = center if self.holds(center) else self.inside
        low, high = np.zeros((len(out), 1)), np.ones((len(out), 1))
        away = points[out] - center
        for _ in range(COARSE):
            middle = 0.5 * (low + high)
            met = self.contains(center + middle * away)[:, None]
            low, high = np.where(met, middle, low), np.where(met, high, middle)
        moved = points.copy()
        moved[out] = center + low * away
        return moved

    def sample(self, rng: Generator, count: int) -> Array:
        """Return random points inside, ``count x d``: uniform where that takes few trials, else of a walk."""
        tried = rng.random((WASTE * count, self.space.dim))
        found = tried[self.contains(tried)]
        return found[:count] if len(found) >= count else self._walk(rng, self.inside, count)

    def values(self, u: Array) -> Array:
        """Return all conditions at a point, ``K``, met where not above 0; linear ones in distances."""
        w = self._scaled(u)
        linear = self.polytope.rows @ w - self.polytope.limits
        x = self._at(w[None, :])
        return np.concatenate([linear, *(curve(x)[0] for curve in self.conditions.curves)])

    def limits(self, u: Array) -> tuple[Array, Array]:
        """Return all conditions linearized at a point: ``values + slopes (v - u) <= 0``, ``K``, ``K x d``."""
        w = self._scaled(u)
        values, slopes = self.polytope.rows @ w - self.polytope.limits, self.polytope.rows
        curved = self._linearized(w)
        if curved is not None:
            values, slopes = np.append(values, curved[0]), np.concatenate([slopes, curved[1]])
        return values, slopes @ self._unit(u)

    def touching(self, u: Array) -> Array:
        """Return the outward normals, ``k x d``, of the conditions that bind at a point."""
        values, slopes = self.limits(u)
        bind = slopes[values >= -TOUCHING]
        normals: Array = bind / np.linalg.norm(bind, axis=1, keepdims=True)
        return normals

    def _center(self) -> Array:
        """The center of the linear part, with whole integers."""
        u = self._cube(self.polytope.center)
        if self._grid is None:
            return u
        whole = self.polytope.nearest_whole(self.polytope.center)
        if whole is None:
            names = ", ".join(repr(name) for name in self.conditions.names[:5])
            raise ArgumentError("known", f"{NOT_EMPTY}, with whole numbers for the integers", names)
        return self._snap(self._cube(whole))

    def _worst(self, u: Array) -> Array:
        """The largest value of all curves at points, ``n``."""
        x = self.space.from_unit(u)
        worst: Array = np.column_stack([curve(x) for curve in self.conditions.curves]).max(1)
        return worst

    def _snap(self, u: Array) -> Array:
        return u if self._grid is None else self._grid.snap(u)

    def _settled(self, u: Array) -> Array:
        """Return a point inside on the way from ``u`` to one well inside, the first that is found."""
        way = self.inside - u
        for hair in HAIRS:
            if self.holds(u + hair * way):
                return u + hair * way
        low, high = 0.0, 1.0  # of the way: high is inside
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.holds(u + middle * way) else (middle, high)
        return u + high * way if high < 1.0 else self.inside.copy()

    def _nearest_whole(self, u: Array) -> Array:
        """Return a point inside with whole integers near ``u``: by an integer program, else on the way in."""
        whole = self.polytope.nearest_whole(self._scaled(u))
        target = u if whole is None else self._snap(self._cube(whole))
        way = self.inside - target
        shares = np.concatenate([HAIRS, np.linspace(0.0, 1.0, 65)[1:]])
        points = self._snap(target + shares[:, None] * way)
        met = self.contains(points)
        return points[met.argmax()] if met.any() else self.inside.copy()

    def _projected(self, u: Array, depth: float) -> Array | None:
        """Return the point nearest to ``u`` that meets the conditions, curves linearized again and again."""
        target, unit = self._scaled(u), self._unit(u)
        w = self.polytope.nearest(target, unit)
        for _ in range(ROUNDS if self.conditions.curves and w is not None else 0):
            assert w is not None
            curved = self._linearized(w)
            if curved is None:
                return None
            values, slopes = curved
            moved = self.polytope.nearest(target, unit, None, slopes, slopes @ w - values - depth)
            if moved is None:
                return None
            done = np.abs(moved - w).max() <= ENOUGH
            w = moved
            if done:
                break
        return None if w is None else self._cube(w)

    def _linearized(self, w: Array) -> tuple[Array, Array] | None:
        """Values and slopes of the curves at a scaled point, ``k`` and ``k x d``, slopes of length 1."""
        if not self.conditions.curves:
            return None
        step = np.where(w + DIFFERENCE > 1.0, -DIFFERENCE, DIFFERENCE)
        x = self._at(np.concatenate([w[None, :], w + np.diag(step)]))
        values = np.column_stack([curve(x) for curve in self.conditions.curves])
        if not np.isfinite(values).all():
            return None
        slopes = (values[1:] - values[0]).T / step
        norms = np.linalg.norm(slopes, axis=1)
        steep = norms > 0.0
        return values[0, steep] / norms[steep], slopes[steep] / norms[steep, None]

    def _walk(self, rng: Generator, start: Array, count: int, curves: bool = True) -> Array:
        """Return the ends of random walks: steps to uniform points of chords, shrunk until inside."""
        z = np.tile(start, (count, 1))
        for step in range(WALK[0] + WALK[1] * len(start)):
            way = rng.standard_normal(z.shape)
            if step % 2:  # what is thin in some coordinates is wide along the axes of the others
                way = np.eye(len(start))[rng.integers(len(start), size=count)]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.sort([-z / way, (1.0 - z) / way], axis=0)
            low, high = np.nanmax(ends[0], axis=1), np.nanmin(ends[1], axis=1)
            todo = np.arange(count)
            for _ in range(SHRINKS):
                length = low[todo] + rng.random(len(todo)) * (high - low)[todo]
                trial = np.clip(z[todo] + length[:, None] * way[todo], 0.0, 1.0)
                met = self.contains(trial, curves)
                z[todo[met]] = trial[met]
                todo, length = todo[~met], length[~met]
                low[todo] = np.where(length < 0.0, length, low[todo])
                high[todo] = np.where(length < 0.0, high[todo], length)
                if not len(todo):
                    break
        return z

    def _scaled(self, u: Array) -> Array:
        """Return points of the cube in the coordinates of the polytope."""
        u = u if self.space.mix is None else self.space.mix.spread(u)
        if not self._log.any():
            return u
        x = np.exp(np.where(self._log, self.space.low + u * (self.space.high - self.space.low), 0.0))
        return np.where(self._log, np.clip((x - self._shift) / self._width, 0.0, 1.0), u)

    def _cube(self, w: Array) -> Array:
        """Return points in the coordinates of the polytope as points of the cube."""
        w = w if self.space.mix is None else self.space.mix.gathered(w)
        if not self._log.any():
            return np.clip(w, 0.0, 1.0)
        x = np.log(np.where(self._log, self._shift + w * self._width, 1.0))
        u = np.clip((x - self.space.low) / (self.space.high - self.space.low), 0.0, 1.0)
        return np.where(self._log, u, np.clip(w, 0.0, 1.0))

    def _unit(self, u: Array) -> Array:
        """By how much the polytope's coordinates change per unit of the cube's, ``d x d``."""
        unit, mix = np.diag(np.where(self._log, self.space.slope(u) / self._width, 1.0)), self.space.mix
        if mix is not None:
            unit[np.ix_(mix.which, mix.which)] = mix.width * mix.matrix
        return unit

    def _at(self, w: Array) -> Array:
        """Return scaled points, ``n x d``, in user units, neither rounded nor clipped."""
        x = np.tile(self.space.lb, (len(w), 1))
        x[:, self.space.free] = self._shift + w * self._width
        if self.space.followers is not None:
            x[:, self.space.followers.which] = self.space.followers.values(x)
        return x
