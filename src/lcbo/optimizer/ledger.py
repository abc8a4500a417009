"""Who is_news what: candidates handed out, what was told of them, and what the budget still allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lcbo.errors import TellError
from lcbo.methods.protocol import Call, Outcome, Proposal
from lcbo.optimizer.log import Log
from lcbo.problem import Problem
from lcbo.store.entries import Asked, Budgeted, Entry
from lcbo.types import Array, Candidate, Observation, Record


class Ledger:
    """The books of a run. They depend on what was asked and told alone, not on the method.

    Args:
        problem: the problem.
        budget: evaluations in all, or ``None``.

    Attributes:
        budget: as given, until it grows.
        log: ended evaluations.
        n_asked: candidates handed out so far.
        pending: by id, candidates whose evaluation has not ended, and the outcomes told so far.
        ended: by id, evaluations that have.
    """

    def __init__(self, problem: Problem, budget: int | None) -> None:
        self.problem = problem
        self.budget = budget
        self.log = Log(problem)
        self.n_asked = 0
        self.pending: dict[int, tuple[Candidate, dict[str, float]]] = {}
        self.ended: dict[int, Observation] = {}

    @property
    def left(self) -> int | None:
        """How many more candidates the budget allows."""
        return None if self.budget is None else self.budget - self.n_asked

    def include(self, id: int, x: Array, outcomes: Mapping[str, float]) -> None:
        """Enter an evaluation made elsewhere."""
        self._end(Observation(id, x, "data", 0, outcomes))

    def hand_out(self, candidates: Iterable[Candidate]) -> None:
        """Enter new candidates."""
        for candidate in candidates:
            self.pending[candidate.id] = (candidate, {})
            self.n_asked += 1

    def is_news(self, id: int, told: Mapping[str, float], failed: str | None) -> bool:
        """Return whether a tell is news; raise when it contradicts what was told before."""
        if id in self.ended:
            self._check_repeat(self.ended[id], told, failed)
            return False
        if id not in self.pending:
            waiting = ", ".join(map(str, sorted(self.pending))) or "none"
            raise TellError(f"id: expected a candidate that was asked for (pending: {waiting}); got {id!r}")
        _check_same(id, self.pending[id][1], told)
        return True

    def accept(
        self, id: int, told: Mapping[str, float], failed: str | None, final: bool, record: Record
    ) -> Outcome | None:
        """Enter what was told of a pending candidate; return what the method gets once it has ended."""
        candidate, known = self.pending[id]
        known |= told
        missing = [name for name in self.problem.outcomes if name not in known]
        if failed is None and missing and not final:
            return None
        if failed is None and not known:
            failed = "no outcome came"
        del self.pending[id]
        came = {} if failed else dict(known)
        self._end(Observation(id, candidate.x, candidate.role, candidate.iteration, came, failed, record))
        return Outcome(id, None if failed else self.problem.to_rows(came))

    def enter(self, entry: Entry) -> list[Call]:
        """Enter what a store holds and return what it means to the method."""
        if isinstance(entry, Budgeted):
            self.budget = entry.budget
            return []
        if isinstance(entry, Asked):
            self.hand_out(candidate for candidate, _ in entry.candidates)
            return [Proposal(c.id, u, c.role, c.iteration) for c, u in entry.candidates]
        if entry.late:
            return []
        told = self.accept(entry.id, entry.outcomes, entry.failed, entry.final, entry.record)
        return [] if told is None else [told]

    def _end(self, observation: Observation) -> None:
        self.ended[observation.id] = observation
        self.log.add(observation)

    def _check_repeat(self, ended: Observation, told: Mapping[str, float], failed: str | None) -> None:
        """Raise unless what is told of an ended evaluation agrees with what was told before."""
        if (ended.failed is None) != (failed is None):
            before = f"failed ({ended.failed})" if ended.failed else "succeeded"
            raise TellError(f"candidate {ended.id}: it {before} already; got the opposite")
        if failed is None:
            _check_same(ended.id, ended.outcomes, told)
            late = [name for name in told if name not in ended.outcomes]
            if late:
                raise TellError(f"candidate {ended.id}: it was told final=True; got {late} after that")


def _check_same(id: int, known: Mapping[str, float], told: Mapping[str, float]) -> None:
    """Raise where a told value differs from a known one."""
    for name, value in told.items():
        if name in known and known[name] != value:
            raise TellError(
                f"candidate {id}, outcome {name!r}: expected {known[name]!r} as told before; got {value!r}"
            )
