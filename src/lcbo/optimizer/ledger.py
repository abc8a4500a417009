"""Pending and ended candidates of a run, and what is left of its budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lcbo.errors import TellError
from lcbo.methods.protocol import Call, Outcome, Proposal
from lcbo.optimizer.log import Log
from lcbo.optimizer.recorder import AskEntry, BudgetEntry, LogEntry
from lcbo.problem import Problem
from lcbo.types import Array, Evaluation, Record


class Ledger:
    """The evaluations of a run. They depend on what was asked and told alone, not on the method.

    Args:
        problem: the problem.
        budget: evaluations in all, or ``None``.

    Attributes:
        budget: as given, until it grows.
        log: ended evaluations.
        n_asked: candidates handed out so far.
        pending: by id, evaluations that have not ended, with the outcomes told so far.
        ended: by id, evaluations that have.
    """

    def __init__(self, problem: Problem, budget: int | None) -> None:
        self.problem = problem
        self.budget = budget
        self.log = Log(problem)
        self.n_asked = 0
        self.pending: dict[int, Evaluation] = {}
        self.ended: dict[int, Evaluation] = {}

    @property
    def left(self) -> int | None:
        """How many more candidates the budget allows."""
        return None if self.budget is None else self.budget - self.n_asked

    def hand_out(self, candidates: Iterable[Evaluation]) -> None:
        """Enter new candidates."""
        for candidate in candidates:
            self.pending[candidate.id] = candidate
            self.n_asked += 1

    def is_news(self, id: int, told: Mapping[str, float], failed: str | None) -> bool:
        """Return whether a tell is news; raise when it contradicts what was told before."""
        if id in self.ended:
            self._check_repeat(self.ended[id], told, failed)
            return False
        if id not in self.pending:
            waiting = ", ".join(map(str, sorted(self.pending))) or "none"
            raise TellError(f"id: expected a candidate that was asked for (pending: {waiting}); got {id!r}")
        _check_same(id, self.pending[id].outcomes, told)
        return True

    def accept(
        self, id: int, told: Mapping[str, float], failed: str | None, final: bool, record: Record
    ) -> Outcome | None:
        """Enter what was told of a pending candidate; return what the method gets once it has ended."""
        known = {**self.pending[id].outcomes, **told}
        missing = [name for name in self.problem.outcomes if name not in known]
        if failed is None and missing and not final:
            self.pending[id] = replace(self.pending[id], outcomes=known)
            return None
        if failed is None and not known:
            failed = "no outcome came"
        evaluation = self.pending.pop(id)
        if failed is None:
            ended = replace(evaluation, status="done", outcomes=known, record=record)
        else:
            ended = replace(evaluation, status="failed", outcomes={}, failed=failed, record=record)
        row = self.end(ended)
        return Outcome(id, row if failed is None else None)

    def enter(self, entry: LogEntry) -> list[Call]:
        """Enter what a store holds and return what it means to the method."""
        if isinstance(entry, BudgetEntry):
            self.budget = entry.budget
            return []
        if isinstance(entry, AskEntry):
            self.hand_out(entry.candidates)
            return [Proposal(c.id, c.u, c.role, c.iteration) for c in entry.candidates]
        if entry.late:
            return []
        told = self.accept(entry.id, entry.outcomes, entry.failed, entry.final, entry.record)
        return [] if told is None else [told]

    def end(self, evaluation: Evaluation) -> Array:
        """Enter an evaluation that has ended, here or elsewhere, and return its output rows."""
        self.ended[evaluation.id] = evaluation
        return self.log.add(evaluation)

    def _check_repeat(self, ended: Evaluation, told: Mapping[str, float], failed: str | None) -> None:
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
