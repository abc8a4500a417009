"""The conditions on outputs: their values, how far outputs are beyond them, the best of many points.

Arrays in give arrays out, tensors in give tensors out: nothing here needs torch beyond the operators that
both share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lcbo.scaling import Scaling
from lcbo.types import Array

Outputs = TypeVar("Outputs")  # an array or a tensor


@dataclass(frozen=True)
class Term:
    """One condition on one output row: ``sign * (y[row] - threshold) <= 0``, or ``= 0`` within ``tol``."""

    row: int
    sign: float
    threshold: float
    equality: bool = False
    tol: float = 0.0


@dataclass(frozen=True)
class Terms:
    """All ``T`` conditions of a problem; an outcome with both bounds has two of them on one row.

    Attributes:
        each: the conditions one by one.
    """

    each: tuple[Term, ...] = ()

    def __iter__(self) -> Iterator[Term]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Output row of every condition, ``T``."""
        return np.array([term.row for term in self.each], dtype=np.intp)

    @cached_property
    def sign(self) -> Array:
        """1 for an upper bound, -1 for a lower one, ``T``."""
        return np.array([term.sign for term in self.each])

    @cached_property
    def threshold(self) -> Array:
        """Thresholds, ``T``."""
        return np.array([term.threshold for term in self.each])

    @cached_property
    def equality(self) -> NDArray[np.bool_]:
        """Whether each condition is an equality, ``T``."""
        return np.array([term.equality for term in self.each], dtype=bool)

    @cached_property
    def tol(self) -> Array:
        """Tolerances of equalities, 0 for inequalities, ``T``."""
        return np.array([term.tol for term in self.each])

    def values(self, y: Outputs, axis: int = -1) -> Outputs:
        """Values of the conditions, feasible when ``<= 0`` (``= 0``).

        Args:
            y: outputs, ``... x B``; with ``axis=-2`` they are ``... x B x p``.
            axis: the axis of the outputs, which becomes that of the ``T`` conditions.
        """
        outputs: Any = y
        at = self.rows.tolist()
        picked = outputs[..., at] if axis == -1 else outputs[..., at, :]
        found: Outputs = _along(self.sign, y, axis) * (picked - _along(self.threshold, y, axis))
        return found

    def excess(self, values: Outputs, unit: Array | float = 1.0, axis: int = -1) -> Outputs:
        """How far values are beyond their bound or tolerance, 0 where they are not.

        Args:
            values: as `values` gives them, perhaps divided by ``unit``; NaN stays NaN.
            unit: ``T``, what they were divided by.
            axis: the axis of the conditions.
        """
        room: Any = self.slack(values, unit, axis)
        beyond: Outputs = (-room).clip(min=0.0)
        return beyond

    def slack(self, values: Outputs, unit: Array | float = 1.0, axis: int = -1) -> Outputs:
        """How far values are inside their bound or tolerance, negative beyond; arguments as in `excess`."""
        room: Any = -values  # type: ignore[operator]
        if self.equality.any():
            at = np.flatnonzero(self.equality).tolist()
            where = (..., at) if axis == -1 else (..., at, slice(None))
            room[where] = _along((self.tol / unit)[at], values, axis) - abs(room[where])
        inside: Outputs = room
        return inside

    def violation(self, y: Outputs, axis: int = -1) -> Outputs:
        """How far outputs are beyond each condition, in their units: `excess` of `values`."""
        return self.excess(self.values(y, axis), axis=axis)

    def total(self, y: Array, scale: Array) -> Array:
        """Sum of each point's violations in units of each outcome's scale: ``n``.

        It is 0 where a point is feasible and infinite where an outcome is missing.

        Args:
            y: ``n x B`` outputs, NaN where missing.
            scale: ``B`` units.
        """
        relative = self.violation(y) / scale[self.rows]
        missing = np.where(np.isnan(y[..., 0]), np.inf, 0.0)
        total: Array = np.where(np.isnan(relative), np.inf, relative).sum(-1) + missing
        return total

    def feasible(self, y: Array, allowed: Array | float = 0.0) -> NDArray[np.bool_]:
        """Whether each of ``n x B`` outputs is known and meets every condition: ``n``.

        Args:
            y: outputs, NaN where missing.
            allowed: ``B``, by how much each output may be beyond its conditions, in its units.
        """
        room = np.broadcast_to(allowed, y.shape[-1:])[self.rows]
        met: NDArray[np.bool_] = (self.violation(y) <= room).all(-1) & ~np.isnan(y[..., 0])
        return met

    def best(self, y: Array) -> int:
        """Index of the best observed point: least objective among the feasible, else least violation.

        Violations are summed in units of each outcome's standard deviation over the points. A point with a
        missing outcome counts as worst.

        Args:
            y: ``n x B`` outputs, ``n >= 1``.
        """
        total = self.total(y, Scaling.of(y).std)
        feasible = total == 0.0
        if feasible.any():
            return int(np.where(feasible, y[:, 0], np.inf).argmin())
        return int(total.argmin())

    def scaled(self, scaling: Scaling) -> Terms:
        """The same conditions on standardized outputs."""
        mean, std = scaling.mean, scaling.std
        return Terms(
            tuple(
                Term(
                    term.row,
                    term.sign,
                    float((term.threshold - mean[term.row]) / std[term.row]),
                    term.equality,
                    float(term.tol / std[term.row]),
                )
                for term in self.each
            )
        )

    def intervals(self, n_outputs: int) -> tuple[Array, Array]:
        """Least and largest value of every output that meets all its conditions, each ``n_outputs``."""
        low, high = np.full(n_outputs, -np.inf), np.full(n_outputs, np.inf)
        below, above = self.equality | (self.sign < 0.0), self.equality | (self.sign > 0.0)
        np.maximum.at(low, self.rows[below], (self.threshold - self.tol)[below])
        np.minimum.at(high, self.rows[above], (self.threshold + self.tol)[above])
        return low, high


def _along(values: Array, like: Any, axis: int) -> Any:
    """``T`` numbers as an array, or as a tensor of the kind and place of ``like``, on the wanted axis."""
    column = values if axis == -1 else values[:, None]
    return column if isinstance(like, np.ndarray) else like.new_tensor(column)
