"""Restarts: where a descent without noise is at its end, what is left of the budget goes to another place.

A descent has converged when its steps are short and gain nothing that counts, and it has stalled when
nothing better came for long. The next one begins with a design of its own, first around the best point,
wide enough to see beyond its valley, then in the whole cube, and so on by turns. One that is still descending
is never interrupted.
"""

from __future__ import annotations

import math

import numpy as np

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.frame import Warp
from lcbo.methods.protocol import Setup
from lcbo.scaling import Scaling
from lcbo.types import Array

SHORT = 1e-3  # a step in the working cube
PAUSE = 3, 20  # evaluations per variable, and at least: a converged descent gains nothing that counts in them
COUNTS = 1e-8  # of the objective's scatter over the run
PATIENCE = 10, 60  # likewise: a stalled descent finds nothing better at all
AROUND = 0.25  # half-width of a design around the best point, in the working cube
LEAST = 5  # evaluations per variable beyond its design that a descent is worth beginning with


class Basins:
    """The descents of a run.

    Attributes:
        starts: id of the first evaluation of each.
    """

    def __init__(self, setup: Setup, archive: Archive) -> None:
        self.starts = [0]
        self._setup = setup
        self._archive = archive

    def finished(self, step: float) -> bool:
        """Whether the present descent, with steps of this length, has converged or stalled."""
        setup, since = self._setup, self.starts[-1]
        ids = self._archive.recent(None, since)
        told = len(ids) - setup.n_init - (0 if since else self._archive.n_included)
        pause, patience = (max(each * setup.dim, least) for each, least in (PAUSE, PATIENCE))
        if told <= pause:
            return False
        scale = Scaling.of(self._archive.y[self._archive.recent(None)]).std
        y = self._archive.y[ids]
        violation = setup.terms.total(y, scale)
        feasible = violation == 0.0
        value = np.where(feasible, y[:, 0] / scale[0], np.inf) if feasible.any() else violation
        best = np.minimum.accumulate(value)
        if feasible.any() and step <= SHORT and best[-1 - pause] <= best[-1] + COUNTS:
            return True
        return told > patience and bool(best[-1 - patience] <= best[-1])

    def worth_another(self, budget: int | None) -> bool:
        """Whether what is left of a budget is enough to begin again and come down to something."""
        left = math.inf if budget is None else budget - self._setup.spent - self._archive.n_proposed
        return left >= self._setup.n_init + LEAST * self._setup.dim

    def begin(self, points: Array, warp: Warp) -> Array:
        """Begin another descent and return its design, from uniform points of the cube, ``n x d``."""
        self.starts.append(self._archive.size)
        if len(self.starts) % 2:
            return points
        told = self._archive.recent(None)
        best = warp.bent(self._archive.u[told[self._setup.terms.best(self._archive.y[told])]])
        low, high = np.clip(best - AROUND, 0.0, 1.0), np.clip(best + AROUND, 0.0, 1.0)
        return warp.straight(low + points * (high - low))
