"""The ask/tell optimizer: candidates and outcomes in user units, around a method in the unit cube."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from lcbo.errors import ArgumentError, TellError
from lcbo.methods import registry
from lcbo.methods.protocol import Method
from lcbo.problem import Problem
from lcbo.run import answer
from lcbo.run.log import Log
from lcbo.run.result import Result
from lcbo.run.setup import build_setup, read_data, read_outcomes
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
    ) -> None:
        if not isinstance(problem, Problem):
            raise ArgumentError("problem", "a Problem", type(problem).__name__)
        self.problem = problem
        self.method = method
        self.options = dict(options or {})
        prior = read_data(data, problem)
        self._setup = build_setup(problem, budget=budget, x0=x0, n_init=n_init, n_data=len(prior), rng=rng)
        self.budget = self._setup.budget
        self._method: Method = registry.make(method, self._setup, self.options)
        # The algebra is small: several threads make it no faster on an idle machine and many times slower
        # on a busy one, and one thread sums in one order. The user's function keeps all its threads.
        self._threads = ThreadpoolController()
        self.log = Log(problem)
        self.n_asked = 0
        self._pending: dict[int, tuple[Candidate, dict[str, float]]] = {}
        self._ended: dict[int, Observation] = {}
        for x, outcomes in prior:
            key = self._method.include(problem.space.to_unit(x), problem.to_rows(outcomes))
            self._end(Observation(key, x, "data", 0, outcomes))

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
            candidate = Candidate(proposal.key, x, proposal.role, proposal.iteration)
            self._pending[candidate.id] = (candidate, {})
            candidates.append(candidate)
        self.n_asked += len(candidates)
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
        candidate, known = self._pending[id]
        _check_same(id, known, told)
        known |= told
        missing = [name for name in self.problem.outcomes if name not in known]
        if failed is None and missing and not final:
            return
        if failed is None and not known:
            failed = "no outcome came"
        del self._pending[id]
        came = {} if failed else dict(known)
        self._end(
            Observation(
                id, candidate.x, candidate.role, candidate.iteration, came, failed, record or Record()
            )
        )
        with self._threads.limit(limits=1):
            self._method.tell(id, None if failed else self.problem.to_rows(known))

    def recommend(self) -> Array | None:
        """Return the point the model believes best in user units, ``None`` before there is a model."""
        with self._threads.limit(limits=1):
            u = self._method.recommend()
        return None if u is None else self.problem.space.from_unit(u)

    def info(self) -> Mapping[str, float]:
        """Return the method's numbers worth showing: iteration, step size and so on."""
        return self._method.info()

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
