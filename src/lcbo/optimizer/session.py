"""A run under way: ledger, method and recorder, which change together or not at all."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from threadpoolctl import ThreadpoolController

from lcbo.errors import ArgumentError, StoreError
from lcbo.methods import registry
from lcbo.methods.confirmation import Confirmed
from lcbo.methods.decision import Demand
from lcbo.methods.protocol import Method, Outcome, Setup
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.plan.resume import replay, restarted, since_amended
from lcbo.optimizer.plan.setup import Plan
from lcbo.optimizer.recorder import AmendEntry, AskEntry, Contents, Recorder, TellEntry
from lcbo.problem import Problem
from lcbo.types import Candidate, Evaluation

logger = logging.getLogger(__name__)


class Session:
    """The ledger of a run, the method that has heard all of it, and the file that keeps it, if any.

    Args:
        plan: what the run was begun with.
        past: a stored run, to stand where it stands; nothing is recorded by that.

    Attributes:
        ledger: the evaluations, as amended.
        method: the method.
        store: the open run file; see `keep_in`.
        read_only: the file of a run that may only be looked at.
    """

    ledger: Ledger
    method: Method

    def __init__(self, plan: Plan, past: Contents | None = None) -> None:
        self.plan = plan
        self.store: Recorder | None = None
        self.read_only: Path | None = None
        self._stale = False
        self._begin(past)
        if past is not None:
            self.ledger.problem.continue_after(self.ledger.n_asked - len(self.ledger.pending))

    def keep_in(self, recorder: Recorder) -> None:
        """Record from now on, and let others write when this is gone."""
        self.store = recorder
        weakref.finalize(self, recorder.close)

    def one_thread(self) -> AbstractContextManager[object]:
        """Limit the method's algebra to one thread.

        It is small: several threads make it no faster on an idle machine and many times slower on a busy one,
        and one thread sums in one order. The user's function keeps all its threads.
        """
        limited: AbstractContextManager[object] = self._threads.limit(limits=1)
        return limited

    def demand(self, problem: Problem, confidence: float | None = None) -> Demand:
        """Return what the answer must meet, with a confidence other than that of the run."""
        return Demand.of(problem, confidence or self.plan.confidence, self.plan.feasibility_tol)

    def _begin(self, past: Contents | None) -> None:
        """Build ledger and method and bring them to where a stored run stands."""
        plan, before = self.plan, () if past is None else since_amended(past)[0]
        self.ledger = Ledger.of(plan.problem, plan.budget, plan.feasibility_tol, plan.data, before)
        self._adopt(self.ledger, *self._begun(self.ledger))
        if past is not None:
            with self.one_thread():
                replay(past, self.ledger, self.method)

    def _adopt(self, ledger: Ledger, setup: Setup, method: Method, threads: ThreadpoolController) -> None:
        self.ledger, self._setup, self.method, self._threads = ledger, setup, method, threads

    def _begun(self, ledger: Ledger) -> tuple[Setup, Method, ThreadpoolController]:
        """Return a method that knows the data, or after an amendment the evaluations of the run."""
        amended, problem, plan = bool(ledger.amendments), ledger.problem, self.plan
        setup = plan.setup_after(ledger) if amended else plan.setup()
        method: Method = registry.make(plan.method, setup, dict(plan.options))
        if plan.confirm > 0.0 and not problem.deterministic:
            method = Confirmed(method, plan.confirm, self.demand(problem))
        # Only libraries that are loaded by now are limited, so this comes after the method's own imports.
        threads = ThreadpoolController()
        with threads.limit(limits=1):
            if amended:
                return setup, restarted(method, ledger), threads
            for evaluation in plan.data:
                method.include(evaluation.u, problem.to_rows(evaluation.outcomes))
        return setup, method, threads

    def ask(self, n: int | None) -> list[Candidate]:
        """Hand out what the method proposes, never more than the budget allows."""
        with self._transaction():
            with self.one_thread():
                proposals = self.method.ask(n, self.ledger.left)
            candidates, domain = [], self._setup.domain
            for proposal in proposals:
                u = proposal.u.copy() if domain is None else domain.nearest(proposal.u)
                x = self.ledger.problem.space.from_unit(u)
                x.flags.writeable = u.flags.writeable = False
                candidates.append(Evaluation(proposal.id, x, u, proposal.role, proposal.iteration))
            entry = AskEntry(n, self.method.info(), candidates)
            if self.store is not None and candidates:
                self.store.record_ask(entry, self.method.state())
            self.ledger.enter(entry)
        if candidates:
            logger.debug("asked %s: candidates %d to %d", n, candidates[0].id, candidates[-1].id)
        return candidates

    def tell(self, entry: TellEntry) -> None:
        """Enter what was told of a candidate."""
        logger.debug("told candidate %d: %s", entry.id, entry.failed or dict(entry.outcomes))
        with self._transaction():
            if self.store is not None:
                self.store.record_tell(entry)
            for outcome in self.ledger.enter(entry):
                assert isinstance(outcome, Outcome)
                with self.one_thread():
                    self.method.hear(outcome)

    def include(self, data: Sequence[Evaluation]) -> None:
        """Take evaluations made elsewhere into the run."""
        with self._transaction():
            for evaluation in data:
                with self.one_thread():
                    id = self.method.include(evaluation.u, self.ledger.problem.to_rows(evaluation.outcomes))
                self.ledger.end(replace(evaluation, id=id))

    def amend(self, entry: AmendEntry, *, dry_run: bool) -> None:
        """Go on with the run as amended; with ``dry_run`` find out whether that works."""
        amended = self.ledger.amended(entry)
        begun = self._begun(amended)
        if dry_run:
            return
        with self._transaction():
            if self.store is not None:
                self.store.record_amendment(entry)
            self._adopt(amended, *begun)
        logger.info("amended: %s", entry)

    def extend(self, budget: int) -> None:
        """Let a run with a file have a larger budget."""
        ledger = self.ledger
        if budget == ledger.budget:
            return
        if ledger.budget is None or budget < ledger.budget:
            stated = "an open budget" if ledger.budget is None else f"at least {ledger.budget}"
            raise ArgumentError("budget", f"{stated}, as the run has", budget)
        assert self.store is not None
        self.store.record_budget(budget)
        ledger.budget = budget
        self.method.extend(budget)

    def sync(self) -> None:
        """Make ready for a change: after one that broke off, begin again from what the store holds."""
        if self.read_only is not None:
            raise StoreError(f"{self.read_only}: opened for reading; Optimizer.open(path) goes on with it")
        if self._stale and self.store is not None:
            self._begin(self.store.contents())
            self._stale = False

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Mark the state stale unless the block completes, and catch up where the store can be read."""
        self._stale = True
        try:
            yield
        except BaseException:  # a full disk, Ctrl-C
            with suppress(StoreError):
                self.sync()
            raise
        self._stale = False
