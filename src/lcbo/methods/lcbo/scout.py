"""A global search before the first descent, where noise hides the way down and variables are few.

Slopes need many evaluations where there is noise, and a short walk from the best point of a design then sees
little of the cube. A model of everything, with a lengthscale for every variable, finds the right region with
few; a walk comes down in it, which such a model does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lcbo.methods.base.archive import FAILED, Archive
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.methods.search.logcei import LogCei
from lcbo.methods.search.options import LogceiOptions

FEW = 24  # variables: a global model of more knows too little


class Scout:
    """The method `logcei`, for a while, on the evaluations of the run.

    Attributes:
        active: whether it chooses the points now.
    """

    def __init__(self, setup: Setup, archive: Archive, evaluations: float) -> None:
        # The design is the run's, which is in its archive.
        self._search = LogCei(replace(setup, starts=setup.starts[:0], n_known=setup.n_init), LogceiOptions())
        self._search.archive = archive
        self._archive = archive
        begun = len(setup.starts) > 0 or setup.start is not None  # the user, or the run before, says where
        able = setup.dim < FEW and not begun and not setup.terms.equality.any()
        self._count = evaluations * setup.dim if able else 0.0
        self._until = 0.0
        self.active = False

    def begin(self) -> None:
        """Choose from now on, where that is worth anything."""
        self._until = self._archive.size + self._count
        self.active = self.goes_on()

    def goes_on(self) -> bool:
        """Whether it is not at its end, which a failure is as well: it cannot learn from one."""
        failed = bool((self._archive.status == FAILED).any())
        self.active = self._archive.size < self._until and not failed
        return self.active

    def ask(self, n: int | None, most: int | None, iteration: int) -> list[Proposal]:
        """Return its next proposals, as `Method.ask`."""
        return [replace(proposal, iteration=iteration) for proposal in self._search.ask(n, most)]

    def found(self) -> Array | None:
        """Return the point it believes best, or ``None`` where it has chosen none."""
        return self._search.recommend()

    def state(self) -> dict[str, Any] | None:
        """Return the state of the search while it is active."""
        return {"until": self._until, "search": self._search.state()} if self.active else None

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from a state; the archive is that of then."""
        self.active = state is not None
        if state is not None:
            self._until = state["until"]
            self._search.restore(state["search"], [])
