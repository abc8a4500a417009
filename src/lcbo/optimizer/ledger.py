"""Pending and ended candidates of a run, and what is left of its budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lcbo.errors import TellError
from lcbo.methods.protocol import Call, Outcome, Proposal
from lcbo.optimizer.log import Log
from lcbo.optimizer.recorder import AskEntry, BudgetEntry, LogEntry, TellEntry
from lcbo.problem import Problem
from lcbo.types import Array, Evaluation


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

    def enter(self, entry: LogEntry) -> list[Call]:
        """Enter what happened and return what it means to the method."""
        if isinstance(entry, BudgetEntry):
            self.budget = entry.budget
            return []
        if isinstance(entry, AskEntry):
            self.pending |= {candidate.id: candidate for candidate in entry.candidates}
            self.n_asked += len(entry.candidates)
            return [Proposal(c.id, c.u, c.role, c.iteration) for c in entry.candidates]
        return [] if entry.late else self._accept(entry)

    def _accept(self, told: TellEntry) -> list[Call]:
        """Enter what was told of a pending candidate; the method hears of it once it has ended."""
        known, failed = {**self.pending[told.id].outcomes, **told.outcomes}, told.failed
        if failed is None and not told.final and any(name not in known for name in self.problem.outcomes):
            self.pending[told.id] = replace(self.pending[told.id], outcomes=known)
            return []
        if failed is None and not known:
            failed = "no outcome came"
        evaluation = replace(self.pending.pop(told.id), record=told.record)
        if failed is None:
            return [Outcome(told.id, self.end(replace(evaluation, status="done", outcomes=known)))]
        self.end(replace(evaluation, status="failed", outcomes={}, failed=failed))
        return [Outcome(told.id, None)]

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
