"""What to do when a run cannot go on from where it stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lcbo.methods.base.archive import FAILED, Archive
from lcbo.steps.step import Iterate


class Retreat:
    """Goes back halfway towards the last good iterate when every evaluation of the iterate failed."""

    def __call__(self, iterate: Iterate, archive: Archive, batch: Sequence[int]) -> Iterate | None:
        """Return where to go on from, or ``None`` for a step; ``batch`` has the ids of the iteration."""
        here = [id for id in batch if np.array_equal(archive.u[id], iterate.u)]
        if not here or not (archive.status[here] == FAILED).all() or not iterate.step.any():
            return None
        back = 0.5 * iterate.step
        return Iterate(iterate.u - back, back)
