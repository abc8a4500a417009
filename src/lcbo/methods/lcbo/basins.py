"""When a descent is at its end, so that the rest of the budget can go to another place."""

from __future__ import annotations

import numpy as np

from lcbo.methods.base.archive import TOLD, Archive
from lcbo.methods.protocol import Setup
from lcbo.scaling import Scaling

PAUSE = 3  # evaluations per variable in which a converged run gains nothing that counts
COUNTS = 1e-8  # of the objective's scatter over the run
SOFT = (0.25, 0.0)
PATIENCE = 10  # evaluations per variable in which a stalled run finds nothing better at all
RESTART_DESCENT = 5  # evaluations per variable that a new descent needs at least


SMALL = 1e-3


def finished(archive: Archive, since: int, setup: Setup, radius: float) -> bool:
    """Whether the descent that began with evaluation ``since`` has converged or stalled."""
    ids = since + np.flatnonzero(archive.status[since:] == TOLD)
    n = len(ids) - setup.n_init
    if n <= PAUSE * setup.dim:
        return False
    y, scale = archive.y[ids], Scaling.of(archive.y[archive.status == TOLD]).std
    total = setup.terms.total(y, scale)
    feasible = total == 0.0
    value = np.where(feasible, y[:, 0], np.inf) if feasible.any() else total
    unit = scale[0] if feasible.any() else 1.0
    best = np.minimum.accumulate(value)
    if n > PATIENCE * setup.dim and best[-1 - PATIENCE * setup.dim] <= best[-1]:
        return True
    return bool(
        feasible.any() and radius <= SMALL and best[-1 - PAUSE * setup.dim] - best[-1] <= COUNTS * unit
    )
