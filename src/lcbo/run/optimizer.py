"""The ask/tell optimizer: candidates and outcomes in user units, around a method in the unit cube."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from lcbo.errors import ArgumentError, LcboError, StoreError, StoreWarning, TellError
from lcbo.methods import registry
from lcbo.methods.protocol import Belief, Event, Method, Proposal, Told
from lcbo.problem import Problem
from lcbo.problems.registry import from_source
from lcbo.run import answer
from lcbo.run.describe import (
    describe_run,
    describe_value,
    differences,
    fingerprint,
    rebuild_problem,
    rebuild_value,
)
from lcbo.run.log import Log
from lcbo.run.result import Result
from lcbo.run.setup import build_setup, read_data, read_outcomes, read_points
from lcbo.run.store import Asked, Budgeted, Entry, Store
from lcbo.steps.kkt import Kkt
from lcbo.types import Array, Candidate, Observation, Record


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
        method: name of the method.
        budget: evaluations in all, or ``None``.
        log: ended evaluations.
        n_asked: candidates handed out so far.
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
        store: str | Path | Store | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise ArgumentError("problem", "a Problem", type(problem).__name__)
        self.problem = problem
        self.method = method
        self.options = dict(options or {})
        self._prior = read_data(data, problem)
        starts = None if x0 is None else read_points("x0", x0, problem)
        described = describe_run(problem, method, self.options, x0=starts, n_init=n_init, data=self._prior)
        # The algebra is small: several threads make it no faster on an idle machine and many times slower
        # on a busy one, and one thread sums in one order. The user's function keeps all its threads.
        self._threads = ThreadpoolController()
        self.store = _opened(store)
        entries: list[Entry] = []
        try:
            if self.store is not None:
                rng = _continued_seed(self.store, described, rng)
                entries = self.store.entries()
            first = next((e.budget for e in entries if isinstance(e, Budgeted)), budget)
            self._setup = build_setup(
                problem, budget=first, x0=starts, n_init=n_init, n_data=len(self._prior), rng=rng
            )
            self._begin(entries, budget)
            if self.store is None and store is not None:
                facts = {**described, "seed": self.seed, "source": describe_value(problem.source)}
                digest = fingerprint(described["problem"])
                self.store = Store.create(
                    Path(str(store)), {**facts, "fingerprint": digest, "versions": answer.versions()}, budget
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
        return cls.load(Store.open(Path(path)), budget=budget)

    @classmethod
    def load(cls, store: Store, *, budget: int | None = None) -> Self:
        """Return the optimizer of an open store, one opened for reading too."""
        try:
            meta = store.meta()
            problem = _rebuilt(meta)
            options = rebuild_value(meta["options"])
            data = [(x, outcomes) for x, outcomes in meta["data"]]
        except BaseException:
            store.close()
            raise
        return cls(
            problem,
            meta["method"],
            budget=budget,
            x0=meta["x0"],
            data=data,
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
    def pending(self) -> list[Candidate]:
        """Candidates handed out whose evaluation has not ended."""
        return [candidate for candidate, _ in self._pending.values()]

    @property
    def n_ended(self) -> int:
        """Evaluations of this run that have ended, failed ones included."""
        return self.n_asked - len(self._pending)

    @property
    def exhausted(self) -> bool:
        """Whether the whole budget has been handed out."""
        return self.budget is not None and self.n_asked >= self.budget

    def ask(self, n: int | None = None) -> list[Candidate]:
        """Return new candidates without blocking, never more than the budget allows.

        ``None`` asks for what the current iteration still lacks, possibly nothing; ``n`` asks for up to
        that many, further exploration points beyond the iteration's need.
        """
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ArgumentError("n", "None or an integer of at least 1", repr(n))
        left = None if self.budget is None else self.budget - self.n_asked
        if left is not None and left <= 0:
            return []
        with self._threads.limit(limits=1):
            proposals = self._method.ask(n, left)
        candidates = []
        for proposal in proposals:
            x = self.problem.space.from_unit(proposal.u)
            x.flags.writeable = False
            candidates.append(Candidate(proposal.key, x, proposal.role, proposal.iteration))
        if self.store is not None and candidates:
            handed = [(c, proposal.u) for c, proposal in zip(candidates, proposals, strict=True)]
            self.store.record_ask(n, handed, self._method.info(), self._method.state())
        self._hand_out(candidates)
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
            raise ArgumentError("tell", "either outcomes or failed='reason'", "both" if failed else "neither")
        told = {} if outcomes is None else read_outcomes("outcomes", outcomes, self.problem)
        if failed is None:
            broken = [
                f"outcome {name!r} is {value}" for name, value in told.items() if not math.isfinite(value)
            ]
            failed = "; ".join(broken) or None
        if id in self._ended:
            self._check_repeat(self._ended[id], told, failed)
            return
        if id not in self._pending:
            waiting = ", ".join(map(str, sorted(self._pending))) or "none"
            raise TellError(f"id: expected a candidate that was asked for (pending: {waiting}); got {id!r}")
        _check_same(id, self._pending[id][1], told)
        record = record or Record()
        if self.store is not None:
            finite = {name: value for name, value in told.items() if math.isfinite(value)}
            self.store.record_tell(id, finite, failed=failed, final=final, record=record)
        event = self._accept(id, told, failed, final, record)
        if event is not None:
            with self._threads.limit(limits=1):
                self._method.tell(event.key, event.y)

    def late(
        self,
        id: int,
        outcomes: Mapping[str, float] | None = None,
        *,
        failed: str | None = None,
        record: Record | None = None,
    ) -> None:
        """Put on record what came of an evaluation that had been given up; the run does not use it."""
        if id not in self._ended:
            raise TellError(f"id: expected a candidate whose evaluation has ended; got {id!r}")
        if self.store is not None:
            came = read_outcomes("outcomes", outcomes or {}, self.problem)
            finite = {name: value for name, value in came.items() if math.isfinite(value)}
            self.store.record_tell(
                id, finite, failed=failed, final=True, record=record or Record(), late=True
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

    def events(self) -> list[dict[str, Any]]:
        """Return what happened inside the method: the changes of a trust region, say."""
        return [asdict(event) for event in self._method.events]

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

    def _begin(self, entries: list[Entry], budget: int | None) -> None:
        """Build the method and bring it to where the entries of the store end."""
        self.budget = self._setup.budget
        self._method: Method = registry.make(self.method, self._setup, self.options)
        self.log = Log(self.problem)
        self.n_asked = 0
        self._pending: dict[int, tuple[Candidate, dict[str, float]]] = {}
        self._ended: dict[int, Observation] = {}
        for x, outcomes in self._prior:
            key = self._method.include(self.problem.space.to_unit(x), self.problem.to_rows(outcomes))
            self._end(Observation(key, x, "data", 0, outcomes))
        if not entries:
            return
        assert self.store is not None
        with self._threads.limit(limits=1):
            self._replay(entries, self.store.state())
        self.problem.resume_at(self.n_ended)
        if budget is not None and budget != self.budget:
            if self.budget is None or budget < self.budget:
                stated = "an open budget" if self.budget is None else f"at least {self.budget}"
                raise ArgumentError("budget", f"{stated}, as the run has", budget)
            self.store.record_budget(budget)
            self.budget = budget
            self._method.extend(budget)

    def _replay(self, entries: list[Entry], state: tuple[int, Mapping[str, Any]] | None) -> None:
        """Bring the new method to the end of the entries: by its state, else by asking it all again."""
        restored_at = -1 if state is None else state[0]
        past: list[Event] = []
        for entry in entries:
            by_state = entry.seq <= restored_at
            if isinstance(entry, Budgeted):
                self.budget = entry.budget
                self._method.extend(entry.budget)
            elif isinstance(entry, Asked):
                past += self._asked_again(entry, recompute=not by_state)
            elif not entry.late:
                event = self._accept(entry.id, entry.outcomes, entry.failed, entry.final, entry.record)
                if event is not None and by_state:
                    past.append(event)
                elif event is not None:
                    self._method.tell(event.key, event.y)
            if state is not None and entry.seq == restored_at:
                self._method.restore(state[1], past)

    def _asked_again(self, entry: Asked, recompute: bool) -> list[Proposal]:
        """Hand out what a stored ask handed out; a method without state must propose the same again."""
        stored = [Proposal(c.id, u, c.role, c.iteration) for c, u in entry.candidates]
        if recompute:
            left = None if self.budget is None else self.budget - self.n_asked
            again = self._method.ask(entry.n, left)
            same = len(again) == len(stored) and all(
                a.key == b.key and np.array_equal(a.u, b.u) for a, b in zip(again, stored, strict=False)
            )
            if not same:
                raise StoreError(
                    f"{self.method} resumes by repeating its calls, and did not repeat them: ask {entry.seq} "
                    "gives other points than the run has; other versions of lcbo or SciPy can be the cause"
                )
        self._hand_out([candidate for candidate, _ in entry.candidates])
        return stored

    def _hand_out(self, candidates: list[Candidate]) -> None:
        for candidate in candidates:
            self._pending[candidate.id] = (candidate, {})
        self.n_asked += len(candidates)

    def _accept(
        self, id: int, told: Mapping[str, float], failed: str | None, final: bool, record: Record
    ) -> Told | None:
        """Enter what was told of a pending candidate; return what the method gets once it has ended."""
        candidate, known = self._pending[id]
        known |= told
        missing = [name for name in self.problem.outcomes if name not in known]
        if failed is None and missing and not final:
            return None
        if failed is None and not known:
            failed = "no outcome came"
        del self._pending[id]
        came = {} if failed else dict(known)
        self._end(Observation(id, candidate.x, candidate.role, candidate.iteration, came, failed, record))
        return Told(id, None if failed else self.problem.to_rows(came))

    def _end(self, observation: Observation) -> None:
        self._ended[observation.id] = observation
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


def _opened(store: str | Path | Store | None) -> Store | None:
    """Return the store of a run that exists, ``None`` for a new one."""
    if store is None or isinstance(store, Store):
        return store
    if not isinstance(store, str | Path):
        raise ArgumentError("store", "a path", type(store).__name__)
    return Store.open(Path(store)) if Path(store).exists() else None


def _rebuilt(meta: Mapping[str, Any]) -> Problem:
    """Return a stored run's problem, with its function where there is a recipe that works here."""
    if meta["source"] is not None:
        with suppress(LcboError, ImportError):
            return from_source(meta["source"])
    return rebuild_problem(meta["problem"])


def _continued_seed(store: Store, described: Mapping[str, Any], rng: Any) -> int:
    """Return the seed of a stored run, or raise with what differs from how it was begun."""
    meta = store.meta()
    given = {
        **described,
        "seed": meta["seed"] if rng is None or isinstance(rng, np.random.Generator) else rng,
    }
    changed = differences({key: meta[key] for key in given}, given)
    if changed:
        listed = "\n  ".join(changed)
        raise StoreError(f"{store.path}: this run was begun with other arguments:\n  {listed}")
    versions = answer.versions()
    if versions != meta["versions"]:
        lines = "; ".join(differences(meta["versions"], versions))
        warnings.warn(f"{store.path}: begun with other versions: {lines}", StoreWarning, stacklevel=4)
    return int(meta["seed"])
