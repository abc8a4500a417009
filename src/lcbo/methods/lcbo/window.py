"""The window: the most recent evaluations, all that a local model is built on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lcbo.methods.base.archive import Archive


class Window:
    """The ``per_variable * d`` most recent evaluations, at most ``limit`` and at least 2 of them.

    Attributes:
        size: how many, or ``None`` for all.
    """

    def __init__(self, dim: int, per_variable: float | None, limit: int | None) -> None:
        self.size: int | None = None
        if per_variable is not None:
            size = math.ceil(per_variable * dim)
            self.size = max(size if limit is None else min(size, limit), 2)

    def __call__(self, archive: Archive) -> NDArray[np.intp]:
        """Return the ids of the evaluations in the window, oldest first."""
        return archive.recent(self.size)
