"""User units and the unit cube of the free variables.

``u = (x - lb) / (ub - lb)`` is exact under scaling of a variable by a power of two, so the whole
trajectory in the cube is; there is no absolute tolerance anywhere. With a log scale the logarithms of x, lb
and ub stand in their places. Integers have their places in the cube, and everything between them is rounded.
Variables that follow from others by a known linear equality are no coordinates of the cube.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problem.variable import Variable


@dataclass(frozen=True)
class Followers:
    """Variables that follow from the others: ``x[which] = offset + matrix x``."""

    which: NDArray[np.intp]
    matrix: Array  # len(which) x len(x), zero in the columns of `which`
    offset: Array

    def values(self, x: Array) -> Array:
        """Return their values, ``... x len(which)``, where the others are as in ``x``, bounds or not."""
        found: Array = self.offset + x @ self.matrix.T
        return found


@dataclass(frozen=True)
class Mix:
    """Coordinates in which distances count followers too: ``w[which] = matrix (low + width u[which])``.

    Of shares that sum to 1 the last one follows. Were the others the coordinates, the last would move by the
    sum of their moves: what is round in all shares would be stretched by their number.
    """

    which: NDArray[np.intp]  # of the coordinates of the cube
    matrix: Array
    inverse: Array
    low: Array
    width: float

    def spread(self, u: Array) -> Array:
        """Return coordinates of the cube, ``... x d``, as shares of the variables' ranges."""
        w = u.copy()
        w[..., self.which] = (self.low + self.width * u[..., self.which]) @ self.matrix.T
        return w

    def gathered(self, w: Array) -> Array:
        """Return shares of ranges as coordinates of the cube."""
        u = w.copy()
        u[..., self.which] = (w[..., self.which] @ self.inverse.T - self.low) / self.width
        return u

    def slopes(self, by_u: Array) -> Array:
        """Return slopes by coordinates of the cube, ``... x d``, as slopes by shares of the ranges."""
        by_w = by_u.copy()
        by_w[..., self.which] = by_u[..., self.which] @ self.inverse / self.width
        return by_w


class Space:
    """The box ``lb <= x <= ub``; variables with ``lb == ub`` are fixed and absent from the cube.

    So are followers, whose values come from the others, and the coordinates of these may be mixed. All are
    kept within their bounds, which only changes points that break a known condition.

    Attributes:
        lb: lower bounds, one per variable.
        ub: upper bounds, one per variable.
        free: mask of the variables that are coordinates of the cube.
        fixed: mask of the variables with ``lb == ub``.
        followers: those that follow from others, ``None`` without any.
        mix: of the coordinates, ``None`` where each is a variable.
        log: mask of the variables with a log scale.
        integer: mask of the variables that are whole numbers.
        dim: number ``d`` of free variables, the coordinates of the cube.
        low: their lower ends on their scales: the logarithm of the bound with a log scale.
        high: their upper ends likewise.
    """

    def __init__(
        self,
        lb: Array,
        ub: Array,
        log: ArrayLike = False,
        integer: ArrayLike = False,
        followers: Followers | None = None,
        mix: Mix | None = None,
    ) -> None:
        self.lb = np.array(lb, dtype=np.float64)
        self.ub = np.array(ub, dtype=np.float64)
        self.log, self.integer = (
            np.broadcast_to(np.array(m, dtype=bool), self.lb.shape) for m in (log, integer)
        )
        self.fixed: NDArray[np.bool_] = self.lb == self.ub
        self.free: NDArray[np.bool_] = self.lb < self.ub
        self.followers, self.mix = followers, mix
        if followers is not None:
            self.free[followers.which] = False
        self.dim = int(self.free.sum())
        self._log, self._whole = self.log[self.free], self.integer[self.free]
        self._ends = self.lb[self.free], self.ub[self.free]
        self.low, self.high = map(self._scaled, self._ends)

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Space:
        """Return the space of some variables."""
        names = ("low", "high", "log", "integer")
        lb, ub, log, integer = (np.array([getattr(v, name) for v in variables]) for name in names)
        return cls(lb, ub, log, integer)

    def led(self, followers: Followers, mix: Mix | None) -> Space:
        """Return the same space with followers and mixed coordinates."""
        return Space(self.lb, self.ub, self.log, self.integer, followers, mix)

    @property
    def middle(self) -> Array:
        """The point in the middle of the cube, in user units."""
        return self.from_unit(np.full(self.dim, 0.5))

    @property
    def grid(self) -> Grid | None:
        """Where the integers are in the cube, ``None`` without any."""
        return Grid(self, self._whole) if self._whole.any() else None

    def holds(self, x: Array) -> bool:
        """Return whether a point lies within the bounds."""
        return bool(((x >= self.lb) & (x <= self.ub)).all())

    def to_unit(self, x: Array) -> Array:
        """Return the cube point of ``x``; shapes ``... x len(lb)`` to ``... x d``, clipped to the cube."""
        u = (self._scaled(np.asarray(x, dtype=np.float64)[..., self.free]) - self.low) / (
            self.high - self.low
        )
        clipped: Array = np.clip(u if self.mix is None else self.mix.gathered(u), 0.0, 1.0)
        return clipped

    def shares(self, x: Array) -> Array:
        """Return where each variable is between its bounds, on its scale, ``... x len(lb)``; NaN if fixed."""
        whole = Space(self.lb, self.ub, self.log)
        shares = np.full(np.shape(x), np.nan)
        shares[..., whole.free] = whole.to_unit(x)
        return shares

    def from_unit(self, u: Array) -> Array:
        """Return ``x`` in user units, never outside the bounds; shapes ``... x d`` to ``... x len(lb)``."""
        u = np.asarray(u, dtype=np.float64)
        u = u if self.mix is None else self.mix.spread(u)
        x = np.broadcast_to(self.lb, (*u.shape[:-1], self.lb.size)).copy()
        low, high = self._ends
        inside = np.clip(self.low + u * (self.high - self.low), self.low, self.high)
        if self._log.any():
            powers = np.exp(np.where(self._log, inside, 0.0))
            inside = np.where(self._log, np.clip(np.where(u <= 0.0, low, powers), low, high), inside)
        inside = np.where(u >= 1.0, high, inside)
        x[..., self.free] = np.where(self._whole, np.rint(inside), inside)
        if self.followers is not None:
            which = self.followers.which
            values = np.clip(self.followers.values(x), self.lb[which], self.ub[which])
            x[..., which] = np.where(self.integer[which], np.rint(values), values)
        return x

    def slope(self, u: Array) -> Array:
        """Return by how much each free variable changes per unit of the cube at ``u``, ``d``."""
        width = self.high - self.low
        if not self._log.any():
            return width
        powers = np.exp(np.where(self._log, self.low + u * width, 0.0))
        return np.where(self._log, powers, 1.0) * width

    def _scaled(self, x: Array) -> Array:
        """Return values of the free variables, ``... x d``, on their scales."""
        if not self._log.any():
            return x
        return np.where(self._log, np.log(np.where(self._log, np.maximum(x, self._ends[0]), 1.0)), x)


class Grid:
    """The places of the integers in the cube.

    Attributes:
        mask: which of the ``d`` free variables are integers.
    """

    def __init__(self, space: Space, mask: NDArray[np.bool_]) -> None:
        self._space, self.mask = space, mask

    def snap(self, u: Array) -> Array:
        """Return the nearest point that can be evaluated, ``... x d``; what is no integer stays as it is."""
        return np.where(self.mask, self._space.to_unit(self._space.from_unit(u)), u)

    def shifted(self, u: Array, steps: Array) -> Array:
        """Return the point whose integers are so many steps, ``d``, away from those of ``u``."""
        x = self._space.from_unit(u)
        x[..., self._space.free] += np.where(self.mask, steps, 0.0)
        return np.where(self.mask, self._space.to_unit(x), u)
