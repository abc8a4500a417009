"""What all our methods share: every evaluation by id, and a queue of points still to be handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcbo.methods.base.archive import Archive
from lcbo.methods.protocol import Array, Call, Method, Proposal, Setup
from lcbo.random import generator

Point = tuple[Array, str]  # of the unit cube, with the role it will have


def initial_design(setup: Setup) -> Array:
    """The user's starts, then uniform points up to ``n_init``, ``... x d``. Equal seeds give equal designs.

    Evaluations that are known already stand for as many of the uniform points.
    """
    rest = max(setup.n_init - setup.n_known - len(setup.starts), 0)
    uniform = setup.uniform(generator(setup.seed, "design"), rest)
    return np.concatenate([setup.starts.reshape(-1, setup.dim), uniform])


class QueuedMethod(Method):
    """Begins with the initial design in its queue."""

    VERSION: ClassVar = 1  # of the state in run files; those of lcbo 0.1 do not say theirs

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.archive = Archive(setup.dim, setup.n_outputs)
        self.iteration = 0  # whatever the method counts as one
        self._queue: list[Point] = [(u, "init") for u in initial_design(setup)]

    def include(self, u: Array, y: Array | None) -> int:
        """Take a point evaluated elsewhere into the data and return the id it got."""
        id = self.archive.add(u)
        self.tell(id, y)
        self.archive.n_included += 1
        return id

    def best(self, since: int = 0) -> int:
        """Return the id of the best point observed, of those with ids from ``since`` on."""
        told = self.archive.recent(None, since)
        return int(told[self.setup.terms.best(self.archive.y[told])])

    def _propose(self, u: Array, role: str) -> Proposal:
        """Enter a point, or the one that is evaluated in its place, and return it."""
        u = self.setup.snapped(u)
        return Proposal(self.archive.add(u), u, role, self.iteration)

    def _take(self, n: int | None, most: int | None) -> tuple[list[Point], int]:
        """Take points off the queue; also return how many are wanted beyond it (see `Method.ask`)."""
        limits = [limit for limit in (n, most) if limit is not None]
        count = min([len(self._queue), *limits])
        points, self._queue = self._queue[:count], self._queue[count:]
        return points, 0 if n is None else min(limits) - count

    def _queue_another_design(self) -> None:
        """Begin again with uniform points: every evaluation so far has failed."""
        self._queue = [(u, "init") for u in self._uniform(max(self.setup.n_init, 1))]

    def _uniform(self, count: int) -> Array:
        return self.setup.uniform(generator(self.setup.seed, "uniform", self.archive.size), count)

    def _queue_state(self) -> dict[str, Any]:
        """Return version, iteration and queue as JSON values."""
        queue = [[u.tolist(), role] for u, role in self._queue]
        return {"version": self.VERSION, "iteration": self.iteration, "queue": queue}

    def _restore_queue(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Enter the evaluations up to a state, then take its iteration and queue; refuse a newer version."""
        if state.get("version", 1) > self.VERSION:
            raise ValueError(
                f"its state has version {state['version']!r}, this code reads 1 to {self.VERSION}"
            )
        for call in calls:
            if isinstance(call, Proposal):
                self.archive.add(call.u)
                self.archive.n_included += call.role == "data"
            else:
                self.hear(call)
        self.iteration = state["iteration"]
        self._queue = [(np.array(u), role) for u, role in state["queue"]]
