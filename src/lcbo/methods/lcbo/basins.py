"""Restarts: where a descent is at its end, what is left of the budget goes to another place.

A descent without noise has converged when its steps are short and gain nothing that counts, and it has
stalled when nothing better came for long. The next one begins with a design of its own, first around the best
point, wide enough to see beyond its valley, then in the whole cube, and so on by turns.

Noise hides both, and a descent along a flat valley looks like one that is at its end. So a noisy run begins
again only in the whole cube, where the objective has room for other valleys, once it has stayed at one level
for long and while there is budget for a descent of the same length. One that is still descending is never
interrupted.
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
BLOCKS, BLOCK = 3, (3, 20)  # so many blocks of evaluations, likewise, tell whether a noisy descent stays at
LEVEL = 0.03  # one level: means that differ by at most this share of the way from the design
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
        objective, violation, first = self._course()
        told = len(objective) - first
        pause, patience = self._size(PAUSE), self._size(PATIENCE)
        if told <= pause:
            return False
        feasible = violation == 0.0
        value = np.where(feasible, objective, np.inf) if feasible.any() else violation
        best = np.minimum.accumulate(value)
        if feasible.any() and step <= SHORT and best[-1 - pause] <= best[-1] + COUNTS:
            return True
        return told > patience and bool(best[-1 - patience] <= best[-1])

    def settled(self) -> bool:
        """Whether the present descent stays at one level, as far as noise lets one see.

        The level is the mean over a block of evaluations, probes and all, of the objective and of the sum of
        violations.
        """
        objective, violation, first = self._course()
        size = self._size(BLOCK)
        if len(objective) < first + BLOCKS * size:
            return False
        course = np.column_stack([objective, violation])
        latest = course[-BLOCKS * size :].reshape(BLOCKS, size, 2)
        if not np.isfinite(latest).all():
            return False  # where outcomes are missing there are no levels to compare
        levels, begun = latest.mean(1), course[np.isfinite(course).all(1)][:first]
        way = np.abs(np.median(begun, 0) - levels[-1])
        return bool(np.ptp(levels, 0).sum() <= LEVEL * way.sum())

    def worth_another(self, budget: int | None, noisy: bool) -> bool:
        """Whether what is left of a budget is enough to begin again and come down to something.

        With noise that is also as much as the present descent took to where it stays.
        """
        setup = self._setup
        left = math.inf if budget is None else budget - setup.spent - self._archive.n_proposed
        taken = self._archive.size - self.starts[-1] - BLOCKS * self._size(BLOCK)
        return left >= max(taken if noisy else 0, setup.n_init + LEAST * setup.dim)

    def begin(self, points: Array, warp: Warp, noisy: bool) -> Array:
        """Begin another descent and return its design, from uniform points of the cube, ``n x d``."""
        self.starts.append(self._archive.size)
        if noisy or len(self.starts) % 2:
            return points
        told = self._archive.recent(None)
        best = warp.bent(self._archive.u[told[self._setup.terms.best(self._archive.y[told])]])
        low, high = np.clip(best - AROUND, 0.0, 1.0), np.clip(best + AROUND, 0.0, 1.0)
        return warp.straight(low + points * (high - low))

    def _course(self) -> tuple[Array, Array, int]:
        """Objective and sum of violations of the present descent, in scatters over the run, and its design.

        The design is a number of evaluations, data from elsewhere included.
        """
        since, archive = self.starts[-1], self._archive
        scale = Scaling.of(archive.y[archive.recent(None)]).std
        y = archive.y[archive.recent(None, since)]
        first = self._setup.n_init + (0 if since else archive.n_included)
        return y[:, 0] / scale[0], self._setup.terms.total(y, scale), first

    def _size(self, evaluations: tuple[int, int]) -> int:
        """A number of evaluations, given for each variable and at least."""
        each, least = evaluations
        return max(each * self._setup.dim, least)
