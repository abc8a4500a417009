"""The ask/tell optimizer: candidates and outcomes in user units, around a method in the unit cube."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from lcbo.checks import integer
from lcbo.errors import ArgumentError, StoreError, TellError
from lcbo.methods import registry
from lcbo.methods.protocol import Belief, Method
from lcbo.optimizer import answer
from lcbo.optimizer.kkt import Kkt
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import Log
from lcbo.optimizer.result import Result
from lcbo.optimizer.setup import build_setup, read_data, read_outcomes, read_points, read_seed
from lcbo.problem import Problem
from lcbo.store.describe import describe_run, rebuild_value
from lcbo.store.entries import Contents
from lcbo.store.resume import check_same, check_versions, facts_of, opened, rebuilt_problem, replay
from lcbo.store.store import Store
from lcbo.types import Array, Candidate, Record


class Optimizer:
    """Proposes candidates and learns from their outcomes; evaluation is the caller's.

    Args:
        problem: what to solve; its function, if any, is not called.
        method: name of a registered method.
        budget: evaluations in all, the initial design included; ``None`` leaves it open.
        x0: a point, or several as rows, to evaluate first.
        data: evaluations made elsewhere, as ``(x, outcomes)`` pairs or as ``(X, mapping of arrays)``.
            They inform the method and do not count against the budget.
        n_init: size of the initial design; by default the number of free variables, at most a quarter of
            the budget, less what ``data`` brings.
        rng: seed, or a numpy Generator or ``None`` to draw one; the result records it.
        options: options of the method; ``lcbo methods`` lists them.
        store: path of the run's file. A new one is made; one that is there is continued, if problem and
            arguments are those it was begun with. The budget may grow. Everything told is on the disk
            before `tell` returns. Close the optimizer (or use it in a ``with`` block) to let others write.

    Attributes:
        problem: the problem.
        method: name of the method, with its ``options``.
        store: the open run file, if there is one.
    """

    def __init__(
        self,
        problem: Problem,
        method: str = "lcbo",
        *,
        budget: int | None = None,
        x0: ArrayLike | None = None,
        data: Any = None,
        n_init: int | None = None,
        rng: int | np.random.Generator | None = 0,
        options: Mapping[str, Any] | None = None,
        store: str | Path | Store | Contents | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise ArgumentError("problem", "a Problem", type(problem).__name__)
        self.problem = problem
        self.method = method
        self.options = dict(options or {})
        self._read_only = store.path if isinstance(store, Contents) else None
        self._broken_off = False
        self.store, past = opened(store)
        try:
            self._prior = read_data(data, problem)
            starts = None if x0 is None else read_points("x0", x0, problem)
            described = describe_run(
                problem, method, self.options, x0=starts, n_init=n_init, data=self._prior
            )
            seed = None if rng is None or isinstance(rng, np.random.Generator) else read_seed(rng)
            if past is not None:
                check_same(past, described, problem, seed)
                rng = past.meta["seed"]
            if past is not None and self.store is not None:
                check_versions(past)
            self._setup = build_setup(
                problem,
                budget=budget if past is None else past.first_budget,
                x0=starts,
                n_init=n_init,
                n_data=len(self._prior),
                rng=rng,
            )
            self._begin(past)
            if past is not None:
                problem.continue_after(self.n_ended)
                self._extend(budget)
            elif store is not None:
                self.store = Store.create(
                    Path(str(store)), facts_of(described, problem, self.seed), self.budget
                )
        except BaseException:
            self.close()
            raise
        if self.store is not None:
            weakref.finalize(self, self.store.close)

    @classmethod
    def open(cls, path: str | Path, *, budget: int | None = None) -> Self:
        """Continue a run from its file alone; ``budget`` may grow.

        The problem carries its function when it is one of `lcbo.problems`; otherwise it is for ask and tell.
        """
        store = Store.open(Path(path))
        try:
            return cls._stored(store, store.meta(), budget)
        except BaseException:
            store.close()
            raise

    @classmethod
    def look(cls, past: Contents) -> Self:
        """Return the optimizer of a stored run as it was left; `ask` and `tell` are refused."""
        return cls._stored(past, past.meta, None)

    @classmethod
    def _stored(cls, store: Store | Contents, meta: Mapping[str, Any], budget: int | None) -> Self:
        try:
            options = rebuild_value(meta["options"])
        except StoreError as error:
            raise StoreError(f"{store.path}: {error}") from None
        return cls(
            rebuilt_problem(meta),
            meta["method"],
            budget=budget,
            x0=meta["x0"],
            data=meta["data"],
            n_init=meta["n_init"],
            rng=None,
            options=options,
            store=store,
        )

    def close(self) -> None:
        """Let other processes write to the run; closing twice does nothing."""
        if self.store is not None:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def seed(self) -> int:
        """Root of every random stream of the run."""
        return self._setup.seed

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
        return [candidate for candidate, _ in self._ledger.pending.values()]

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
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ArgumentError("n", "None or an integer of at least 1", repr(n))
        self._make_ready()
        if self.exhausted:
            return []
        with self._whole():
            with self._threads.limit(limits=1):
                proposals = self._method.ask(n, self._books.left)
            candidates = []
            for proposal in proposals:
                x = self.problem.space.from_unit(proposal.u)
                x.flags.writeable = False
                candidates.append(Candidate(proposal.id, x, proposal.role, proposal.iteration))
            if self.store is not None and candidates:
                handed = [(c, proposal.u) for c, proposal in zip(candidates, proposals, strict=True)]
                self.store.record_ask(n, handed, self._method.info(), self._method.state())
            self._books.hand_out(candidates)
        return candidates

    def tell(
        self,
        id: int,
        outcomes: Mapping[str, float] | None = None,
        *,
        failed: str | None = None,
        final: bool = False,
        record: Record | None = None,
    ) -> None:
        """Report outcomes of a candidate, in any order and in parts.

        Args:
            id: the candidate's id.
            outcomes: values by name; names may follow in later calls. Telling the same value again does
                nothing, a different one is an error. A value that is not finite fails the evaluation.
            failed: the reason, when the evaluation failed.
            final: says that outcomes not told by now never come.
            record: where and how the evaluation ran, for the history.
        """
        if (outcomes is None) == (failed is None):
            came = "neither" if failed is None else "both"
            raise ArgumentError("tell", "either outcomes or failed='reason'", came)
        told, failed = self._read_report(outcomes, failed)
        self._make_ready()
        if not self._ledger.is_news(id, told, failed):
            return
        record = record or Record()
        with self._whole():
            if self.store is not None:
                self.store.record_tell(id, _finite(told), failed=failed, final=final, record=record)
            event = self._books.accept(id, told, failed, final, record)
            if event is not None:
                with self._threads.limit(limits=1):
                    self._method.tell(event.id, event.y)

    def late(
        self,
        id: int,
        outcomes: Mapping[str, float] | None = None,
        *,
        failed: str | None = None,
        record: Record | None = None,
    ) -> None:
        """Put on record what came of an evaluation that had been given up; the run does not use it."""
        told, failed = self._read_report(outcomes, failed)
        self._make_ready()
        if id not in self._ledger.ended:
            raise TellError(f"id: expected a candidate whose evaluation has ended; got {id!r}")
        if self.store is not None:
            self.store.record_tell(
                id, _finite(told), failed=failed, final=True, record=record or Record(), late=True
            )

    def recommend(self) -> Array | None:
        """Return the point the model believes best in user units, ``None`` before there is a model."""
        with self._threads.limit(limits=1):
            u = self._method.recommend()
        return None if u is None else self.problem.space.from_unit(u)

    def belief(self, x: Array) -> Belief | None:
        """Return what the model believes at ``x``, ``None`` without a model."""
        with self._threads.limit(limits=1):
            return self._method.belief(self.problem.space.to_unit(x))

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

    def result(self, reason: str = "", *, min_pof: float = 0.5) -> Result:
        """Return the answer so far.

        Args:
            reason: why the run stopped, for the message.
            min_pof: joint probability of feasibility from which a noisy answer is a success.
        """
        with self._threads.limit(limits=1):
            result = answer.answer(self.problem, self._method, self.log, reason=reason, min_pof=min_pof)
        result.method, result.options, result.rng = self.method, self.options, self.seed
        return result

    def _begin(self, past: Contents | None) -> None:
        """Build the method and bring it to where a stored run stands."""
        self._method: Method = registry.make(self.method, self._setup, self.options)
        # The algebra is small: several threads make it no faster on an idle machine and many times slower
        # on a busy one, and one thread sums in one order. The user's function keeps all its threads.
        self._threads = ThreadpoolController()
        self._books = Ledger(self.problem, self._setup.budget)
        for x, outcomes in self._prior:
            id = self._method.include(self.problem.space.to_unit(x), self.problem.to_rows(outcomes))
            self._books.include(id, x, outcomes)
        if past is not None:
            with self._threads.limit(limits=1):
                replay(past, self._books, self._method)

    def _extend(self, budget: int | None) -> None:
        """Let the budget of a stored run grow; ``None`` leaves it as it is."""
        if budget is None:
            return
        budget = integer("budget", budget)
        if budget == self.budget:
            return
        if self.budget is None or budget < self.budget:
            stated = "an open budget" if self.budget is None else f"at least {self.budget}"
            raise ArgumentError("budget", f"{stated}, as the run has", budget)
        assert self.store is not None
        self.store.record_budget(budget)
        self._books.budget = budget
        self._method.extend(budget)

    @property
    def _ledger(self) -> Ledger:
        """The books, up to date where the store can be read."""
        with suppress(StoreError):
            self._catch_up()
        return self._books

    def _make_ready(self) -> None:
        """Make ready for a change of the run."""
        if self._read_only is not None:
            raise StoreError(f"{self._read_only}: opened for reading; Optimizer.open(path) goes on with it")
        self._catch_up()

    def _catch_up(self) -> None:
        """After a change that broke off, begin again from the store: what it holds is what happened."""
        if self._broken_off and self.store is not None:
            self._begin(self.store.contents())
            self._broken_off = False

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Note when a change breaks off halfway: a full disk, Ctrl-C."""
        self._broken_off = True
        yield
        self._broken_off = False

    def _read_report(
        self, outcomes: Mapping[str, float] | None, failed: str | None
    ) -> tuple[dict[str, float], str | None]:
        """Return outcomes as numbers, and why the evaluation failed, if it did."""
        if failed is not None and not isinstance(failed, str):
            raise ArgumentError("failed", "the reason as a text", repr(failed))
        told = {} if outcomes is None else read_outcomes("outcomes", outcomes, self.problem)
        broken = [f"outcome {name!r} is {value}" for name, value in told.items() if not math.isfinite(value)]
        if failed is None:
            return told, "; ".join(broken) or None
        return told, failed or "no reason given"


def _finite(told: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in told.items() if math.isfinite(value)}
