"""A method begun anew in the middle of a run, after the run was amended.

The new method counts its proposals from 0 and knows the evaluations of before as points evaluated elsewhere;
the run goes on counting. What was pending then and is told later is included when it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lcbo.methods.protocol import Array, Call, Method, Outcome, Proposal
from lcbo.methods.wrapper import Wrapper


class Restarted(Wrapper):
    """Stands between a run and its new method and translates ids and iterations.

    The method's state is all of it: the numbers follow from the calls.

    Args:
        method: the new method, which knows nothing yet.
        first: id of its first proposal in the run.
        iteration: of the run, which goes on from there.
        waiting: cube points by id of what was pending.
    """

    def __init__(self, method: Method, first: int, iteration: int, waiting: Mapping[int, Array]) -> None:
        super().__init__(method)
        self._next = first
        self._before = iteration
        self._waiting = dict(waiting)
        self._own: dict[int, int] = {}  # by id in the run, that of the method

    def bring(self, u: Array, outcome: Outcome) -> None:
        """Take an evaluation of before into the data."""
        own = self._own[outcome.id] = self.method.include(u, outcome.y)
        if outcome.sem is not None:
            self.method.measured(own, outcome.sem)

    def include(self, u: Array, y: Array | None) -> int:
        """Take a point evaluated elsewhere into the data and return the id it got."""
        self.bring(u, Outcome(self._next, y))
        self._next += 1
        return self._next - 1

    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return the method's proposals as the run numbers them."""
        return [self._numbered(proposal) for proposal in self.method.ask(n, most)]

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        self.hear(Outcome(id, y))

    def hear(self, outcome: Outcome) -> None:
        """Take an outcome of a proposal, or of one that was pending when the method began."""
        if outcome.id in self._own:
            self.method.hear(replace(outcome, id=self._own[outcome.id]))
        else:
            self.bring(self._waiting.pop(outcome.id), outcome)

    def descents(self) -> Sequence[int]:
        """Return where the descents of the method begin, by the ids of the run."""
        begun = self.method.descents()
        return sorted(id for id, own in self._own.items() if own in begun) or [0]

    def info(self) -> Mapping[str, float]:
        """Return the numbers of the method, with the iteration of the run."""
        numbers = self.method.info()
        return {**numbers, "iteration": numbers["iteration"] + self._before}

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state: the method gets its calls by its own numbers."""
        theirs: list[Call] = []
        for call in calls:
            own = self._own.setdefault(call.id, len(self._own))
            if isinstance(call, Proposal):
                self._next = call.id + 1
                theirs.append(replace(call, id=own, iteration=call.iteration - self._before))
                continue
            if call.id in self._waiting:
                theirs.append(Proposal(own, self._waiting.pop(call.id), "data", 0))
            theirs.append(replace(call, id=own))
        self.method.restore(state, theirs)

    def _numbered(self, proposal: Proposal) -> Proposal:
        id, self._next = self._next, self._next + 1
        self._own[id] = proposal.id
        return replace(proposal, id=id, iteration=proposal.iteration + self._before)
