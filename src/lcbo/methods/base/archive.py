"""All evaluations of one run, indexed by id, in arrays that grow by doubling."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lcbo.types import Array

PENDING, TOLD, FAILED = 0, 1, 2


class Archive:
    """Points, outputs and status by id. Order is that of asking, so tells may come in any order."""

    def __init__(self, dim: int, n_outputs: int) -> None:
        self._u = np.empty((64, dim))
        self._y = np.empty((64, n_outputs))
        self._status = np.empty(64, dtype=np.int8)
        self.size = 0
        self.n_included = 0  # points evaluated elsewhere
        self._sem: dict[int, Array] = {}  # by id, where standard errors are known

    def add(self, u: Array) -> int:
        """Enter a pending point and return its id."""
        if self.size == len(self._u):
            self._u, self._y, self._status = (
                np.concatenate([a, np.empty_like(a)]) for a in (self._u, self._y, self._status)
            )
        id = self.size
        self._u[id], self._y[id], self._status[id] = u, np.nan, PENDING
        self.size += 1
        return id

    def settle(self, id: int, y: Array | None) -> None:
        """Record the outputs of a pending point, or its failure."""
        self._status[id] = FAILED if y is None else TOLD
        if y is not None:
            self._y[id] = y

    def note(self, id: int, sem: Array) -> None:
        """Record the standard errors of a point's outputs."""
        self._sem[id] = sem

    def sem(self, ids: Iterable[int]) -> Array | None:
        """Standard errors of some points, ``n x B``, NaN where not known; ``None`` where none is."""
        unknown = np.full(self._y.shape[1], np.nan)
        return np.array([self._sem.get(int(id), unknown) for id in ids]) if self._sem else None

    @property
    def n_proposed(self) -> int:
        """How many points were proposed by the method itself."""
        return self.size - self.n_included

    @property
    def u(self) -> Array:
        """All points, ``n x d``."""
        return self._u[: self.size]

    @property
    def y(self) -> Array:
        """All outputs, ``n x B``; NaN where pending, failed or missing."""
        return self._y[: self.size]

    @property
    def status(self) -> NDArray[np.int8]:
        """PENDING, TOLD or FAILED, by id."""
        return self._status[: self.size]

    def recent(self, count: int | None, since: int = 0) -> NDArray[np.intp]:
        """Ids of the ``count`` most recent told points from ``since`` on, oldest first; all for ``None``."""
        told = since + np.flatnonzero(self.status[since:] == TOLD)
        return told if count is None else told[-count:]

    def holds(self, u: Array) -> bool:
        """Return whether a point has been asked for before, to the last digit."""
        return bool((self.u == u).all(1).any())

    def pending(self, since: int) -> NDArray[np.intp]:
        """Ids of pending points from ``since`` on."""
        return since + np.flatnonzero(self.status[since:] == PENDING)
