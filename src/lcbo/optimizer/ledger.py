"""Pending and ended candidates of a run, and what is left of its budget."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lcbo.checks import is_integer
from lcbo.errors import ArgumentError, TellError
from lcbo.methods.protocol import Call, Outcome, Proposal
from lcbo.optimizer.log import FEASIBILITY_TOL, Log
from lcbo.optimizer.recorder import AmendEntry, AskEntry, BudgetEntry, LogEntry, TellEntry
from lcbo.problem import Problem, is_finite, outcome_value
from lcbo.problem.changes import Change, changed
from lcbo.problem.sources import plain_problem
from lcbo.text import brief, described, shown
from lcbo.types import Array, Evaluation


class Ledger:
    """The evaluations of a run. They depend on what was asked, told and amended alone, not on the method."""

    def __init__(
        self, problem: Problem, budget: int | None, feasibility_tol: float = FEASIBILITY_TOL
    ) -> None:
        self.problem, self.budget = problem, budget
        self.log = Log(problem, feasibility_tol)
        self.n_asked = 0
        self.pending: dict[int, Evaluation] = {}  # by id, with the outcomes told so far
        self.ended: dict[int, Evaluation] = {}
        self.withdrawn: dict[int, Evaluation] = {}
        self.amendments: list[AmendEntry] = []
        self.stood: Evaluation | None = None  # the best before the last amendment, feasible or not
        self._stood_feasible = False
        self._asked_then = 0

    @classmethod
    def of(
        cls,
        problem: Problem,
        budget: int | None,
        feasibility_tol: float,
        data: Iterable[Evaluation],
        entries: Iterable[LogEntry],
    ) -> Ledger:
        """Return the ledger of a run after some entries; ``data`` was brought along."""
        ledger = cls(problem, budget, feasibility_tol)
        for evaluation in data:
            ledger.end(evaluation)
        for entry in entries:
            if isinstance(entry, AmendEntry):
                ledger = ledger.amended(entry)
            else:
                ledger.enter(entry)
        return ledger

    @property
    def next_id(self) -> int:
        """Number of the next candidate."""
        return 1 + max([*self.pending, *self.ended, *self.withdrawn], default=-1)

    @property
    def start(self) -> Array | None:
        """Where an amended run goes on: at what was its best point, where that has become infeasible.

        A limit that was tightened a little must not send the run back to its early feasible points. ``None``
        stands for the best point as it is now.
        """
        stood = self.stood if self._stood_feasible else None
        if stood is None or not self.problem.space.holds(stood.x) or self.problem.feasible(stood.outcomes):
            return None
        return stood.u

    @property
    def recorded(self) -> list[str]:
        """Names of all outcomes that came, those without a limit too."""
        return list(dict.fromkeys(name for e in self.ended.values() for name in e.outcomes))

    @property
    def left(self) -> int | None:
        """How many more candidates the budget allows."""
        return None if self.budget is None else self.budget - self.n_asked

    def is_news(self, id: int, told: Mapping[str, float], failed: str | None) -> bool:
        """Return whether a tell is news; raise when it contradicts what was told before."""
        if id in self.pending:
            _check_same(id, self.pending[id].outcomes, told)
            return True
        ended = self.ended.get(id) or self.withdrawn.get(id)
        if ended is not None and ended.status == "pending":
            raise TellError(f"candidate {id}: expected one that is to be evaluated; it was withdrawn")
        if ended is None:
            waiting = ", ".join(map(str, sorted(self.pending))) or "none"
            raise TellError(
                f"id: expected a candidate that was asked for (pending: {waiting}); got {shown(id)}"
            )
        if (ended.failed is None) != (failed is None):
            before = f"failed ({ended.failed})" if ended.failed else "succeeded"
            raise TellError(f"candidate {id}: it {before} already; got the opposite")
        if failed is None:
            _check_same(id, ended.outcomes, told)
            if late := [name for name in told if name not in ended.outcomes]:
                raise TellError(f"candidate {id}: it was told final=True; got {late} after that")
        return False

    def enter(self, entry: AskEntry | TellEntry | BudgetEntry) -> list[Call]:
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

    def amendment(self, correct: Any, withdraw: Any, stated: Mapping[str, Any], reason: Any) -> AmendEntry:
        """Return an amendment, its arguments checked; see `Optimizer.amend`, and `changed` for ``stated``."""
        if not isinstance(reason, str):
            raise ArgumentError("reason", "a text", described(reason))
        corrected, withdrawn = self._corrections(correct), self._withdrawals(withdraw)
        gone = [change.id for change in withdrawn]
        if both := [change.id for change in corrected if change.id in gone]:
            raise ArgumentError("withdraw", "evaluations that are not corrected at the same time", both)
        problem, changes = changed(self.problem, self.recorded, **stated)
        if not corrected + withdrawn + changes:
            raise ArgumentError("amend", "something to change", "nothing that is not so already")
        space = plain_problem(problem, known=self.problem.known).space
        outside = [c for c in self.pending.values() if c.id not in gone and not space.holds(c.x)]
        changes = [*corrected, *withdrawn, *changes, *map(_withdrawal, outside)]
        return AmendEntry(changes, problem, reason, time.time())

    def _corrections(self, correct: Any) -> list[Change]:
        """Return corrections as changes; ``correct`` maps ids to outcomes by name."""
        if not isinstance(correct, Mapping):
            expected = "a mapping from the id of an evaluation to its outcomes by name"
            raise ArgumentError("correct", expected, described(correct))
        changes = []
        for id, outcomes in correct.items():
            ended = self.ended.get(id) if is_integer(id) else None
            if ended is None:
                raise ArgumentError("correct", "the id of an evaluation that has ended", self._whose(id))
            where = f"correct, evaluation {id}"
            known = dict.fromkeys([*self.problem.outcomes, *ended.outcomes])
            if not isinstance(outcomes, Mapping) or not outcomes:
                raise ArgumentError(where, "outcomes by name", described(outcomes))
            if unknown := [name for name in outcomes if name not in known]:
                raise ArgumentError(where, f"names out of {list(known)}", shown(unknown))
            for name, given in outcomes.items():
                value, before = outcome_value(name, given), ended.outcomes.get(name)
                now = value if is_finite(value) else None
                if now != before:
                    changes.append(Change("correct", name, before, now, int(id)))
        return changes

    def _withdrawals(self, withdraw: Any) -> list[Change]:
        """Return withdrawals as changes; ``withdraw`` is an id, or several."""
        several = [withdraw] if is_integer(withdraw) else withdraw
        if isinstance(several, str | Mapping) or not isinstance(several, Iterable):
            raise ArgumentError("withdraw", "ids of evaluations", described(withdraw))
        found: dict[int, Evaluation] = {}
        for id in several:
            evaluation = (self.ended.get(id) or self.pending.get(id)) if is_integer(id) else None
            if evaluation is None:
                raise ArgumentError("withdraw", "the id of an evaluation of the run", self._whose(id))
            found[evaluation.id] = evaluation
        return [_withdrawal(evaluation) for evaluation in found.values()]

    def amended(self, entry: AmendEntry) -> Ledger:
        """Return the ledger after an amendment: all evaluations as they are read from then on."""
        problem = self.problem.restated(plain_problem(entry.problem, known=self.problem.known))
        after = Ledger(problem, self.budget, self.log.feasibility_tol)
        after.n_asked, after.amendments = self.n_asked, [*self.amendments, entry]
        gone = {change.id for change in entry.changes if change.kind == "withdraw"}
        after.withdrawn = self.withdrawn | {
            id: e for id, e in (self.ended | self.pending).items() if id in gone
        }

        def placed(evaluation: Evaluation) -> Evaluation:
            return replace(evaluation, u=problem.space.to_unit(evaluation.x))

        after.pending = {id: placed(e) for id, e in self.pending.items() if id not in gone}
        for evaluation in self.log.evaluations:
            if evaluation.id not in gone:
                after.end(placed(_corrected(evaluation, entry.changes)))
        if self.amendments and self._asked_then == self.n_asked:  # another amendment at the same place
            stood, after._stood_feasible = self.stood, self._stood_feasible
        else:
            stood, after._stood_feasible = self.log.incumbent(), self.log.best is not None
        touched = {change.id for change in entry.changes}
        after.stood = None if stood is None or stood.id in touched else after.ended[stood.id]
        after._asked_then = self.n_asked
        return after

    def _whose(self, id: object) -> str:
        """Return an id that does not fit, and why not."""
        if not is_integer(id):
            return shown(id)
        states = {"which is pending": self.pending, "which was withdrawn": self.withdrawn}
        return ", ".join([shown(id), *(words for words, ids in states.items() if id in ids)])

    def end(self, evaluation: Evaluation) -> Array:
        """Enter an evaluation that has ended, here or elsewhere, and return its output rows."""
        self.ended[evaluation.id] = evaluation
        return self.log.add(evaluation)


def _check_same(id: int, known: Mapping[str, float], told: Mapping[str, float]) -> None:
    for name, value in told.items():
        if name in known and known[name] != value:
            expected = f"expected {known[name]!r} as told before"
            raise TellError(f"candidate {id}, outcome {name!r}: {expected}; got {value!r}")


def _withdrawal(evaluation: Evaluation) -> Change:
    """Return the change that withdraws an evaluation, with what came of it."""
    came = ", ".join(f"{name} {value:.6g}" for name, value in evaluation.outcomes.items())
    words = brief(came, 100) or evaluation.status
    return Change("withdraw", words, dict(evaluation.outcomes), None, evaluation.id)


def _corrected(evaluation: Evaluation, changes: Sequence[Change]) -> Evaluation:
    """Return an evaluation after corrections; a value that is no finite number makes it a failure.

    A standard error was that of the old value.
    """
    new = {c.what: c.now for c in changes if c.kind == "correct" and c.id == evaluation.id}
    if not new:
        return evaluation
    if broken := [name for name, value in new.items() if value is None]:
        reason = f"corrected: no finite {' and '.join(map(repr, broken))}"
        return replace(evaluation, status="failed", outcomes={}, sem={}, failed=reason)
    sem = {name: error for name, error in evaluation.sem.items() if name not in new}
    return replace(evaluation, status="done", outcomes={**evaluation.outcomes, **new}, sem=sem, failed=None)
