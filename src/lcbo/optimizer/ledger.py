"""Pending and ended candidates of a run, and what is left of its budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lcbo.errors import TellError
from lcbo.methods.protocol import Call, Outcome, Proposal
from lcbo.optimizer.log import FEASIBILITY_TOL, Log
from lcbo.optimizer.recorder import AskEntry, BudgetEntry, LogEntry, TellEntry
from lcbo.problem import Problem
from lcbo.text import shown
from lcbo.types import Array, Evaluation


class Ledger:
    """The evaluations of a run. They depend on what was asked and told alone, not on the method."""

    def __init__(
        self, problem: Problem, budget: int | None, feasibility_tol: float = FEASIBILITY_TOL
    ) -> None:
        self.problem, self.budget = problem, budget
        self.log = Log(problem, feasibility_tol)
        self.n_asked = 0
        self.pending: dict[int, Evaluation] = {}  # by id, with the outcomes told so far
        self.ended: dict[int, Evaluation] = {}

    @property
    def left(self) -> int | None:
        """How many more candidates the budget allows."""
        return None if self.budget is None else self.budget - self.n_asked

    def is_news(self, id: int, told: Mapping[str, float], failed: str | None) -> bool:
        """Return whether a tell is news; raise when it contradicts what was told before."""
        if id in self.pending:
            _check_same(id, self.pending[id].outcomes, told)
            return True
        if id not in self.ended:
            waiting = ", ".join(map(str, sorted(self.pending))) or "none"
            raise TellError(
                f"id: expected a candidate that was asked for (pending: {waiting}); got {shown(id)}"
            )
        ended = self.ended[id]
        if (ended.failed is None) != (failed is None):
            before = f"failed ({ended.failed})" if ended.failed else "succeeded"
            raise TellError(f"candidate {id}: it {before} already; got the opposite")
        if failed is None:
            _check_same(id, ended.outcomes, told)
            if late := [name for name in told if name not in ended.outcomes]:
                raise TellError(f"candidate {id}: it was told final=True; got {late} after that")
        return False

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
        sem = {**self.pending[told.id].sem, **told.sem}
        if failed is None and not told.final and any(name not in known for name in self.problem.outcomes):
            self.pending[told.id] = replace(self.pending[told.id], outcomes=known, sem=sem)
            return []
        if failed is None and not known:
            failed = "no outcome came"
        evaluation = replace(self.pending.pop(told.id), record=told.record)
        if failed is None:
            rows = self.end(replace(evaluation, status="done", outcomes=known, sem=sem))
            return [Outcome(told.id, rows, self.problem.sem_rows(sem))]
        self.end(replace(evaluation, status="failed", outcomes={}, sem={}, failed=failed))
        return [Outcome(told.id, None)]

    def end(self, evaluation: Evaluation) -> Array:
        """Enter an evaluation that has ended, here or elsewhere, and return its output rows."""
        self.ended[evaluation.id] = evaluation
        return self.log.add(evaluation)


def _check_same(id: int, known: Mapping[str, float], told: Mapping[str, float]) -> None:
    for name, value in told.items():
        if name in known and known[name] != value:
            expected = f"expected {known[name]!r} as told before"
            raise TellError(f"candidate {id}, outcome {name!r}: {expected}; got {value!r}")
