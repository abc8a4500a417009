"""The ask/tell optimizer: candidates and outcomes in user units, around a method in the unit cube."""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from lcbo.checks import MOST_POINTS, integer, is_integer, mapping, probability, truth
from lcbo.errors import ArgumentError, StoreError, TellError
from lcbo.methods import registry
from lcbo.methods.confirmation import Confirmed
from lcbo.methods.decision import Demand
from lcbo.methods.protocol import Belief, Method, MethodSpec, Outcome
from lcbo.optimizer import answer
from lcbo.optimizer.kkt import Kkt
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import FEASIBILITY_TOL, Log
from lcbo.optimizer.recorder import AmendEntry, AskEntry, Contents, Recorder, TellEntry, run_files
from lcbo.optimizer.result import Result
from lcbo.optimizer.resume import (
    check_versions,
    facts_of,
    replay,
    restarted,
    since_amended,
    stored_plan,
)
from lcbo.optimizer.setup import CONFIDENCE, Plan, read_data, read_device, read_outcomes, read_path, read_plan
from lcbo.problem import Constraint, Problem, is_finite, not_finite, outcome_value
from lcbo.random import generator
from lcbo.text import shown
from lcbo.types import Array, Candidate, Evaluation, Record

logger = logging.getLogger(__name__)


class Optimizer:
    """Proposes candidates and learns from their outcomes; evaluation is the caller's.

    The constructor begins a new run, `open` goes on with a stored one, `inspect` looks at one.

    Args:
        problem: what to solve; its function, if any, is not called.
        method: name of a registered method, or a `MethodSpec`.
        budget: evaluations in all, the initial design included; ``None`` leaves it open.
        x0: a point, or several as rows, to evaluate first; an array or a mapping by variable name.
        data: evaluations made elsewhere: a DataFrame, the path of a ``.csv``, ``.json`` or run file, a stored
            run, a `Result`, a history, ``(x, outcomes)`` pairs or ``(X, mapping of arrays)``. They inform the
            method and do not count against the budget. Other columns are ignored, outcomes may be missing,
            and rows of a table outside the bounds are left out with a `DataWarning`.
        n_init: size of the initial design; by default the number d of free variables (of few 2 d + 2, up
            to 6), at most a quarter of the budget, less what ``data`` brings.
        rng: seed, or a numpy Generator or ``None`` to draw one; the result records it.
        options: options of the method; ``lcbo methods`` lists them.
        confidence: probability with which the answer of a noisy run is to be feasible; constraints with a
            level of their own meet that one each, the others this one together.
        confirm: part of the budget that a noisy run keeps to evaluate the candidates for its answer again,
            with the role ``confirm``; by default 0.05 for ``lcbo`` and 0 for every other method.
        feasibility_tol: by how much of its standard deviation over the run an outcome may be beyond its
            limit and still count as feasible.
        store: path of a new file that keeps the run. Everything told is on the disk before `tell` returns.
            Close the optimizer (or use it in a ``with`` block) to let others write.
        device: where the models compute, ``"cpu"`` or ``"cuda"``; not part of what identifies a run.

    Attributes:
        method: name of the method, with its ``options``.
        store: the open run file, if there is one.
    """

    _ledger: Ledger
    _method: Method

    def __init__(
        self,
        problem: Problem,
        method: str | MethodSpec = "lcbo",
        *,
        budget: int | None = None,
        x0: ArrayLike | None = None,
        data: Any = None,
        n_init: int | None = None,
        rng: int | np.random.Generator | None = 0,
        options: Mapping[str, Any] | None = None,
        confidence: float = CONFIDENCE,
        confirm: float | None = None,
        feasibility_tol: float = FEASIBILITY_TOL,
        store: str | Path | None = None,
        device: str = "cpu",
    ) -> None:
        given = {"method": method, "options": options, "x0": x0, "data": data, "n_init": n_init, "rng": rng}
        given |= {"confidence": confidence, "confirm": confirm, "feasibility_tol": feasibility_tol}
        plan = read_plan(problem, budget, device, **given)
        path = None if store is None else read_path("store", store)
        self._prepare(plan)
        if path is not None:
            self._keep_in(run_files().Store.create(path, facts_of(plan), plan.budget))

    @classmethod
    def open(
        cls,
        path: str | Path,
        problem: Problem | None = None,
        *,
        budget: int | None = None,
        device: str = "cpu",
        **begun_with: Any,
    ) -> Self:
        """Go on with a stored run; its file is all that is needed.

        Args:
            path: the run's file.
            problem: the problem, with the function that a file does not hold. Left out, the problem carries
                its function when it is one of `lcbo.problems` or a `Command`.
            budget: evaluations in all; it may grow. ``None`` leaves it as it is.
            device: where the models compute.
            begun_with: any of the other arguments of `Optimizer`. They must be those the run was begun with;
                ``options`` that hold functions and a ``method`` that is not registered are needed.
        """
        device = read_device(device)
        recorder: Recorder = run_files().Store.open(read_path("path", path))
        try:
            past = recorder.contents()
            plan = stored_plan(past, problem, device, begun_with)
            if absent := plan.problem.known.absent:
                raise StoreError(
                    f"{past.path}: the known conditions {list(absent)} are Python code, which a run file "
                    "does not hold; go on with lcbo.Optimizer.open(path, problem), which has them"
                )
            check_versions(past)
            self = cls.__new__(cls)
            self._prepare(plan, past)
            self._keep_in(recorder)
            if budget is not None:
                self._extend(integer("budget", budget))
        except BaseException:
            recorder.close()
            raise
        return self

    @classmethod
    def inspect(cls, run: str | Path | Contents) -> Self:
        """Return the optimizer of a stored run as it was left; `ask` and `tell` are refused."""
        past = run if isinstance(run, Contents) else run_files().read(read_path("run", run))
        self = cls.__new__(cls)
        self._prepare(stored_plan(past), past)
        self._read_only = past.path
        return self

    def close(self) -> None:
        """Let other processes write to the run; closing twice does nothing."""
        if self.store is not None:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        file = "" if self.store is None else f", kept in {self.store.path}"
        return f"<Optimizer {self.method}: {self.n_ended} of {self.budget or 'open'} evaluations{file}>"

    @property
    def problem(self) -> Problem:
        """The problem, as amended."""
        return self._ledger.problem

    @property
    def amendments(self) -> list[AmendEntry]:
        """What was amended, in order."""
        return list(self._ledger.amendments)

    @property
    def seed(self) -> int:
        """Root of every random stream of the run."""
        return self._plan.seed

    @property
    def budget(self) -> int | None:
        """Evaluations in all, or ``None``."""
        return self._ledger.budget

    @property
    def log(self) -> Log:
        """Ended evaluations."""
        return self._ledger.log

    @property
    def n_asked(self) -> int:
        """Candidates handed out so far."""
        return self._ledger.n_asked

    @property
    def pending(self) -> list[Candidate]:
        """Candidates handed out whose evaluation has not ended."""
        return list(self._ledger.pending.values())

    @property
    def n_ended(self) -> int:
        """Evaluations of this run that have ended, failed ones included."""
        return self.n_asked - len(self._ledger.pending)

    @property
    def exhausted(self) -> bool:
        """Whether the whole budget has been handed out."""
        return self._ledger.left is not None and self._ledger.left <= 0

    def ask(self, n: int | None = None) -> list[Candidate]:
        """Return new candidates without blocking, never more than the budget allows.

        ``None`` asks for what the current iteration still lacks, possibly nothing; ``n`` asks for up to
        that many, further exploration points beyond the iteration's need.
        """
        if n is not None and not (is_integer(n) and 1 <= n <= MOST_POINTS):
            raise ArgumentError("n", f"None or an integer from 1 to {MOST_POINTS}", shown(n))
        self._sync()
        if self.exhausted:
            return []
        with self._transaction():
            with self._threads.limit(limits=1):
                proposals = self._method.ask(n, self._ledger.left)
            candidates, domain = [], self._setup.domain
            for proposal in proposals:
                u = proposal.u.copy() if domain is None else domain.nearest(proposal.u)
                x = self.problem.space.from_unit(u)
                x.flags.writeable = u.flags.writeable = False
                candidates.append(Evaluation(proposal.id, x, u, proposal.role, proposal.iteration))
            entry = AskEntry(n, self._method.info(), candidates)
            if self.store is not None and candidates:
                self.store.record_ask(entry, self._method.state())
            self._ledger.enter(entry)
        if candidates:
            logger.debug("asked %s: candidates %d to %d", n, candidates[0].id, candidates[-1].id)
        return candidates

    def tell(
        self,
        id: int,
        outcomes: Mapping[str, float] | None = None,
        *,
        failed: str | None = None,
        final: bool = False,
        record: Record | None = None,
        sem: Mapping[str, float] | None = None,
        also: Mapping[str, float] | None = None,
    ) -> None:
        """Report outcomes of a candidate, in any order and in parts.

        Args:
            id: the candidate's id.
            outcomes: values by name; names may follow in later calls. Telling the same value again does
                nothing, a different one is an error. A value that is not finite fails the evaluation.
            failed: the reason, when the evaluation failed.
            final: says that outcomes not told by now never come.
            record: where and how the evaluation ran, for the history.
            sem: standard errors of the outcomes, by name, where they are known.
            also: further values by name, to be kept on record: `amend` can put limits on them later.
        """
        if (outcomes is None) == (failed is None):
            came = "neither" if failed is None else "both"
            raise ArgumentError("tell", "either outcomes or failed='reason'", came)
        if not is_integer(id):
            raise TellError(f"id: expected the id of a candidate, an integer; got {shown(id)}")
        truth("final", final)
        if failed is not None and not isinstance(failed, str):
            raise ArgumentError("failed", "the reason as a text", repr(failed))
        if record is not None and not isinstance(record, Record):
            raise ArgumentError("record", "a Record", repr(record))
        told = {} if outcomes is None else read_outcomes("outcomes", outcomes, self.problem)
        reason = not_finite(told) if failed is None else failed or "no reason given"
        self._sync()
        if self._ledger.is_news(id, told, reason):
            finite = {name: value for name, value in told.items() if is_finite(value)}
            errors = {} if sem is None else self.problem.read_sem(sem)
            more = {} if also is None else self._read_also(also)
            self._tell(TellEntry(int(id), finite | more, reason, final, record or Record(), sem=errors))

    def _read_also(self, also: Mapping[str, float]) -> dict[str, float]:
        if named := [name for name in mapping("also", also) if name in self.problem.outcomes]:
            raise ArgumentError("also", "names other than those of the outcomes", named)
        return self.problem.additional({name: outcome_value(name, value) for name, value in also.items()})

    def settle(self, ended: Evaluation) -> None:
        """Report an evaluation of a pending candidate that has ended; its outcomes are not checked again."""
        self._sync()
        if self._ledger.is_news(ended.id, ended.outcomes, ended.failed):
            self._tell(TellEntry(ended.id, ended.outcomes, ended.failed, False, ended.record, sem=ended.sem))

    def late(self, ended: Evaluation) -> None:
        """Put on record what came of an evaluation that had been given up; the run does not use it."""
        self._sync()
        if ended.id not in self._ledger.ended:
            raise TellError(f"id: expected a candidate whose evaluation has ended; got {ended.id!r}")
        self._tell(TellEntry(ended.id, ended.outcomes, ended.failed, True, ended.record, late=True))

    def _tell(self, entry: TellEntry) -> None:
        logger.debug("told candidate %d: %s", entry.id, entry.failed or dict(entry.outcomes))
        with self._transaction():
            if self.store is not None:
                self.store.record_tell(entry)
            for outcome in self._ledger.enter(entry):
                assert isinstance(outcome, Outcome)
                with self._threads.limit(limits=1):
                    self._method.hear(outcome)

    def evaluation_seed(self, candidate: Candidate, *, common: bool = False) -> int:
        """Return the seed of a candidate's evaluation: always the same, in a resumed run too.

        With ``common`` all candidates of an iteration share one: differences between them are less noisy.
        """
        stream = ("common", candidate.iteration) if common else ("evaluation", candidate.id)
        return int(generator(self.seed, *stream).integers(2**32))

    def include(self, data: Any) -> None:
        """Take evaluations made elsewhere into a run under way; they do not count against the budget.

        Args:
            data: as in the constructor, which is the place for data of a run with a file.
        """
        self._sync()
        if self.store is not None:
            raise StoreError("a run with a file takes evaluations made elsewhere at its beginning: data=...")
        with self._transaction():
            self._include(read_data(data, self.problem))

    def amend(
        self,
        *,
        correct: Mapping[int, Mapping[str, float]] | None = None,
        withdraw: int | Iterable[int] = (),
        limits: str | Constraint | Iterable[str | Constraint] = (),
        constrain: str | Constraint | Iterable[str | Constraint] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        fix: Mapping[str, float] | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> AmendEntry:
        """Change evaluations or the problem of a run under way and return what was changed.

        It happens as a whole or not at all, and what was before stays on record. The method begins anew from
        the evaluations that there are, read under the problem as it is now; the budget goes on. Evaluations
        outside the bounds stay in the history, and neither model nor answer uses them. Candidates that are
        pending can still be told; those outside the bounds are withdrawn.

        Args:
            correct: outcomes by name, by id of an evaluation that has ended. A value that is not finite makes
                it a failure.
            withdraw: ids of evaluations, ended or pending, that are no longer to count; what they took of the
                budget is spent.
            limits: constraints such as ``"stress <= 35000"`` in the place of those on the same outcomes.
            constrain: constraints to add, on outcomes that were recorded. A function's other outcomes are,
                where it returns them by name.
            bounds: new ``(low, high)`` by variable.
            fix: values by variable, each within its bounds.
            reason: a text for the record.
            dry_run: return what would be changed and change nothing.
        """
        if not truth("dry_run", dry_run):
            self._sync()
        stated = {"limits": limits, "constrain": constrain, "bounds": bounds, "fix": fix}
        entry = self._ledger.amendment({} if correct is None else correct, withdraw, stated, reason)
        amended = self._ledger.amended(entry)
        method = self._begun(amended)
        if dry_run:
            return entry
        with self._transaction():
            if self.store is not None:
                self.store.record_amendment(entry)
            self._ledger, self._method = amended, method
        logger.info("amended: %s", entry)
        return entry

    def recommend(self) -> Array | None:
        """Return the point the model believes best in user units, ``None`` before there is a model."""
        with self._threads.limit(limits=1):
            u = self._method.recommend()
        return None if u is None else self.problem.space.from_unit(u)

    def belief(self, x: Array) -> Belief | None:
        """Return what the model believes at ``x``, ``None`` without a model."""
        with self._threads.limit(limits=1):
            return self._method.belief(self.problem.space.to_unit(x))

    def surrogate(self) -> Any:
        """Return the method's model and the frame of its coordinates, ``None`` without one; for adapters."""
        with self._threads.limit(limits=1):
            return self._method.surrogate()

    def info(self) -> Mapping[str, float]:
        """Return the method's numbers worth showing: iteration, step size and so on."""
        return self._method.info()

    def diagnostics(self) -> list[dict[str, Any]]:
        """Return what happened inside the method: the changes of a trust region, say."""
        return [asdict(event) for event in self._method.diagnostics]

    def stationarity(self) -> Kkt | None:
        """Return multipliers and KKT residuals at the recommended point, ``None`` without a model."""
        with self._threads.limit(limits=1):
            u = self._method.recommend()
            belief = None if u is None else self._method.belief(u)
        return None if belief is None else answer.stationarity(self.log, belief)

    def result(self, reason: str = "", *, confidence: float | None = None) -> Result:
        """Return the answer so far.

        Args:
            reason: why the run stopped, for the message.
            confidence: probability with which a noisy answer is to be feasible; that of the run by default.
        """
        asked_for = None if confidence is None else probability("confidence", confidence)
        demand = self._demand(self.problem, asked_for)
        with self._threads.limit(limits=1):
            result = answer.answer(self.problem, self._method, self.log, reason=reason, demand=demand)
        result.method, result.options, result.rng = self.method, self.options, self.seed
        seen = {c: result.constr.get(c.name, math.nan) for c in self.problem.constraints}
        result.slack = {str(c): float(c.slack(value)) for c, value in seen.items()}
        return result

    def _prepare(self, plan: Plan, past: Contents | None = None) -> None:
        """Begin a run, or stand where a stored one stands, without recording anything yet."""
        self._plan = plan
        self.method, self.options = plan.method.name, dict(plan.options)
        self.store: Recorder | None = None
        self._read_only: Path | None = None
        self._stale = False
        self._begin(past)
        if past is not None:
            self.problem.continue_after(self.n_ended)

    def _demand(self, problem: Problem, confidence: float | None = None) -> Demand:
        plan = self._plan
        return Demand.of(problem, confidence or plan.confidence, plan.feasibility_tol)

    def _begin(self, past: Contents | None) -> None:
        """Build ledger and method and bring them to where a stored run stands."""
        plan, before = self._plan, () if past is None else since_amended(past)[0]
        tol = plan.feasibility_tol
        self._ledger = Ledger.of(plan.problem, plan.budget, tol, plan.data, before)
        self._method = self._begun(self._ledger)
        if past is not None:
            with self._threads.limit(limits=1):
                replay(past, self._ledger, self._method)

    def _begun(self, ledger: Ledger) -> Method:
        """Return a method that knows the data, or after an amendment the evaluations of the run."""
        amended, problem = bool(ledger.amendments), ledger.problem
        plan = self._plan
        self._setup = plan.setup_after(ledger) if amended else plan.setup()
        method: Method = registry.make(plan.method, self._setup, self.options)
        if plan.confirm > 0.0 and not problem.deterministic:
            method = Confirmed(method, plan.confirm, self._demand(problem))
        # The algebra is small: several threads make it no faster on an idle machine and many times slower
        # on a busy one, and one thread sums in one order. The user's function keeps all its threads.
        # Only libraries that are loaded by now are limited, so this comes after the method's own imports.
        self._threads = ThreadpoolController()
        with self._threads.limit(limits=1):
            if amended:
                return restarted(method, ledger)
            for evaluation in plan.data:
                method.include(evaluation.u, problem.to_rows(evaluation.outcomes))
        return method

    def _include(self, data: Sequence[Evaluation]) -> None:
        for evaluation in data:
            with self._threads.limit(limits=1):
                id = self._method.include(evaluation.u, self.problem.to_rows(evaluation.outcomes))
            self._ledger.end(replace(evaluation, id=id))

    def _keep_in(self, recorder: Recorder) -> None:
        self.store = recorder
        weakref.finalize(self, recorder.close)

    def _extend(self, budget: int) -> None:
        if budget == self.budget:
            return
        if self.budget is None or budget < self.budget:
            stated = "an open budget" if self.budget is None else f"at least {self.budget}"
            raise ArgumentError("budget", f"{stated}, as the run has", budget)
        assert self.store is not None
        self.store.record_budget(budget)
        self._ledger.budget = budget
        self._method.extend(budget)

    def _sync(self) -> None:
        """Make ready for a change: after one that broke off, begin again from what the store holds."""
        if self._read_only is not None:
            raise StoreError(f"{self._read_only}: opened for reading; Optimizer.open(path) goes on with it")
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
                self._sync()
            raise
        self._stale = False
