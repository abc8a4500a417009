"""A global search before the first descent and beside it, where noise hides the way and variables are few.

Slopes need many evaluations where there is noise, and a short walk from the best point of a design then sees
little of the cube. A model of everything, with a lengthscale for every variable, finds the right region with
few; a walk comes down in it, which such a model does not. Where there is much noise the walk comes to a stop
before it is down, and what is left to gain is to look again and again where the best points may be: there the
search chooses probes of the walk, which learns from them as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lcbo.methods.base.archive import FAILED, Archive
from lcbo.methods.lcbo.regime import noise_of
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.methods.search.logcei import LogCei
from lcbo.methods.search.options import LogceiOptions
from lcbo.models.repeats import Repeats

FEW = 24  # variables: a global model of more knows too little
MOST = 600  # evaluations: a model of more takes too long
MUCH = 0.1  # noise over the scatter of the run, in deviations: a probe of every batch is the search's


class Scout:
    """The method `logcei` on the evaluations of the run.

    Attributes:
        active: whether it alone chooses the points now.
    """

    def __init__(self, setup: Setup, archive: Archive, repeats: Repeats, evaluations: float) -> None:
        # The design is the run's, which is in its archive.
        self._search = LogCei(replace(setup, starts=setup.starts[:0], n_known=setup.n_init), LogceiOptions())
        self._search.archive = archive
        self._setup = setup
        self._archive = archive
        self._repeats = repeats
        begun = len(setup.starts) > 0 or setup.start is not None  # the user, or the run before, says where
        self._able = setup.dim < FEW and not begun and not setup.terms.equality.any() and evaluations > 0.0
        self._count = evaluations * setup.dim
        self._until = 0.0
        self.active = False

    def begin(self) -> None:
        """Choose from now on, where that is worth anything."""
        self._until = self._archive.size + self._count
        self.active = self.goes_on()

    def goes_on(self) -> bool:
        """Whether it is not at the end of what it does alone."""
        self.active = self._archive.size < self._until and self._useful()
        return self.active

    def ask(self, n: int | None, most: int | None, iteration: int) -> list[Proposal]:
        """Return its next proposals, as `Method.ask`."""
        return [replace(proposal, iteration=iteration) for proposal in self._search.ask(n, most)]

    def found(self) -> Array | None:
        """Return the point it believes best, or ``None`` where it has chosen none."""
        return self._search.recommend()

    def beside(self, iteration: int, planned: Array) -> Array:
        """Return the probes of a batch that are its choice, ``k x d``: one or none.

        The evaluations a slope takes grow with the square of the noise, and so does its share of batches.

        Args:
            iteration: of the walk.
            planned: ``p x d``, what else the batch evaluates.
        """
        told = self._archive.recent(None)
        noise = noise_of(self._archive.y[told], self._repeats) if self._useful() else 0.0
        share = min(noise / MUCH, 1.0) ** 2
        if math.floor((iteration + 1) * share) == math.floor(iteration * share):
            return planned[:0]
        pending = self._archive.u[self._archive.pending(0)]
        chosen = self._search.points(1, np.concatenate([pending, planned]))
        return np.array([self._setup.snapped(u) for u in chosen])

    def state(self) -> dict[str, Any]:
        """Return the state of the search, and until when it is alone."""
        return {"active": self.active, "until": self._until, "search": self._search.state()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from a state; the archive is that of then. A run file of before it goes on without it."""
        if state is None:
            self._able = False
            return
        self.active, self._until = state["active"], state["until"]
        self._search.restore(state["search"], [])

    def _useful(self) -> bool:
        """Whether its model can be made of what is known; it could not learn from a failure."""
        failed = bool((self._archive.status == FAILED).any())
        return self._able and self._archive.size < MOST and not failed
