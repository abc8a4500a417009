"""The ask/tell optimizer: candidates and outcomes in user units, around a method in the unit cube."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lcbo.checks import MOST_POINTS, integer, is_integer, mapping, probability, truth
from lcbo.errors import ArgumentError, StoreError, TellError
from lcbo.methods.protocol import Belief, Method, MethodSpec
from lcbo.optimizer import answer
from lcbo.optimizer.kkt import Kkt
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import FEASIBILITY_TOL, Log
from lcbo.optimizer.plan.resume import check_versions, facts_of, stored_plan
from lcbo.optimizer.plan.setup import (
    CONFIDENCE,
    check_tell,
    read_data,
    read_device,
    read_outcomes,
    read_path,
    read_plan,
)
from lcbo.optimizer.recorder import AmendEntry, Contents, Recorder, TellEntry, run_files
from lcbo.optimizer.result import Result
from lcbo.optimizer.session import Session
from lcbo.problem import Constraint, Problem, is_finite, not_finite, outcome_value
from lcbo.random import generator
from lcbo.text import shown
from lcbo.types import Array, Candidate, Evaluation, Record


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
    """

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
        self._session = Session(plan)
        if path is not None:
            self._session.keep_in(run_files().Store.create(path, facts_of(plan), plan.budget))

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
            self._session = Session(plan, past)
            self._session.keep_in(recorder)
            if budget is not None:
                self._session.extend(integer("budget", budget))
        except BaseException:
            recorder.close()
            raise
        return self

    @classmethod
    def inspect(cls, run: str | Path | Contents) -> Self:
        """Return the optimizer of a stored run as it was left; `ask` and `tell` are refused."""
        past = run if isinstance(run, Contents) else run_files().read(read_path("run", run))
        self = cls.__new__(cls)
        self._session = Session(stored_plan(past), past)
        self._session.read_only = past.path
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
    def _ledger(self) -> Ledger:
        return self._session.ledger

    @property
    def _method(self) -> Method:
        return self._session.method

    @property
    def store(self) -> Recorder | None:
        """The open run file, if there is one."""
        return self._session.store

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._session.plan.method.name

    @property
    def options(self) -> dict[str, Any]:
        """Options of the method, as given."""
        return dict(self._session.plan.options)

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
        return self._session.plan.seed

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
        self._session.sync()
        return [] if self.exhausted else self._session.ask(n)

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
        check_tell(id, outcomes, failed, final, record)
        told = {} if outcomes is None else read_outcomes("outcomes", outcomes, self.problem)
        reason = not_finite(told) if failed is None else failed or "no reason given"
        self._session.sync()
        if self._ledger.is_news(id, told, reason):
            finite = {name: value for name, value in told.items() if is_finite(value)}
            errors = {} if sem is None else self.problem.read_sem(sem)
            more = {} if also is None else self._read_also(also)
            self._session.tell(
                TellEntry(int(id), finite | more, reason, final, record or Record(), sem=errors)
            )

    def _read_also(self, also: Mapping[str, float]) -> dict[str, float]:
        if named := [name for name in mapping("also", also) if name in self.problem.outcomes]:
            raise ArgumentError("also", "names other than those of the outcomes", named)
        return self.problem.additional({name: outcome_value(name, value) for name, value in also.items()})

    def settle(self, ended: Evaluation) -> None:
        """Report an evaluation of a pending candidate that has ended; its outcomes are not checked again."""
        self._session.sync()
        if self._ledger.is_news(ended.id, ended.outcomes, ended.failed):
            self._session.tell(
                TellEntry(ended.id, ended.outcomes, ended.failed, False, ended.record, sem=ended.sem)
            )

    def late(self, ended: Evaluation) -> None:
        """Put on record what came of an evaluation that had been given up; the run does not use it."""
        self._session.sync()
        if ended.id not in self._ledger.ended:
            raise TellError(f"id: expected a candidate whose evaluation has ended; got {ended.id!r}")
        self._session.tell(TellEntry(ended.id, ended.outcomes, ended.failed, True, ended.record, late=True))

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
        self._session.sync()
        if self.store is not None:
            raise StoreError("a run with a file takes evaluations made elsewhere at its beginning: data=...")
        self._session.include(read_data(data, self.problem))

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
            self._session.sync()
        stated = {"limits": limits, "constrain": constrain, "bounds": bounds, "fix": fix}
        entry = self._ledger.amendment({} if correct is None else correct, withdraw, stated, reason)
        self._session.amend(entry, dry_run=dry_run)
        return entry

    def recommend(self) -> Array | None:
        """Return the point the model believes best in user units, ``None`` before there is a model."""
        with self._session.one_thread():
            u = self._method.recommend()
        return None if u is None else self.problem.space.from_unit(u)

    def belief(self, x: Array) -> Belief | None:
        """Return what the model believes at ``x``, ``None`` without a model."""
        with self._session.one_thread():
            return self._method.belief(self.problem.space.to_unit(x))

    def surrogate(self) -> Any:
        """Return the method's model and the frame of its coordinates, ``None`` without one; for adapters."""
        with self._session.one_thread():
            return self._method.surrogate()

    def info(self) -> Mapping[str, float]:
        """Return the method's numbers worth showing: iteration, step size and so on."""
        return self._method.info()

    def diagnostics(self) -> list[dict[str, Any]]:
        """Return what happened inside the method: the changes of a trust region, say."""
        return [asdict(event) for event in self._method.diagnostics]

    def stationarity(self) -> Kkt | None:
        """Return multipliers and KKT residuals at the recommended point, ``None`` without a model."""
        with self._session.one_thread():
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
        demand = self._session.demand(self.problem, asked_for)
        with self._session.one_thread():
            result = answer.answer(self.problem, self._method, self.log, reason=reason, demand=demand)
        result.method, result.options, result.rng = self.method, self.options, self.seed
        return result
