"""User units and the unit cube of the free variables.

``u = (x - lb) / (ub - lb)`` is exact under scaling of a variable by a power of two, so the whole
trajectory in the cube is; there is no absolute tolerance anywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcbo.types import Array


class Space:
    """The box ``lb <= x <= ub``; variables with ``lb == ub`` are fixed and absent from the cube.

    Attributes:
        lb: lower bounds, one per variable.
        ub: upper bounds, one per variable.
        free: mask of the variables with ``lb < ub``.
        dim: number ``d`` of free variables.
    """

    def __init__(self, lb: Array, ub: Array) -> None:
        self.lb = np.array(lb, dtype=np.float64)
        self.ub = np.array(ub, dtype=np.float64)
        self.free: NDArray[np.bool_] = self.lb < self.ub
        self.dim = int(self.free.sum())
        self._low, self._high = self.lb[self.free], self.ub[self.free]

    def to_unit(self, x: Array) -> Array:
        """Return the cube point of ``x``; shapes ``... x len(lb)`` to ``... x d``, clipped to the cube."""
        u = (np.asarray(x, dtype=np.float64)[..., self.free] - self._low) / (self._high - self._low)
        clipped: Array = np.clip(u, 0.0, 1.0)
        return clipped

    def from_unit(self, u: Array) -> Array:
        """Return ``x`` in user units, never outside the bounds; shapes ``... x d`` to ``... x len(lb)``."""
        u = np.asarray(u, dtype=np.float64)
        x = np.broadcast_to(self.lb, (*u.shape[:-1], self.lb.size)).copy()
        inside = np.clip(self._low + u * (self._high - self._low), self._low, self._high)
        x[..., self.free] = np.where(u >= 1.0, self._high, inside)
        return x
