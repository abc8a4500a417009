"""The evaluations of a run in the order they ended, and the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lcbo.problem import Problem
from lcbo.scaling import Scaling
from lcbo.types import Array, Evaluation

if TYPE_CHECKING:
    import pandas as pd


FEASIBILITY_TOL = 1e-6  # of an outcome's standard deviation over the run
WORTHLESS = 1e-5  # of the objective's: no limit is left for so small a gain


@dataclass(frozen=True, repr=False)
class EvaluationTable:
    """A run as arrays, one entry per ended evaluation, in user units.

    Attributes:
        variables: names of the columns of ``X``.
        id: candidate ids.
        X: ``n x len(variables)`` points.
        outcomes: by name, ``n`` values; NaN where the outcome never came or the evaluation failed.
        role: ``init``, ``iterate``, ``explore``, ``confirm``, or ``data`` for evaluations brought along.
        iteration: the method's iteration that asked for the point.
        feasible: whether all constraints held as observed, within the feasibility tolerance.
        best_feasible: best observed objective among the feasible so far, NaN before the first.
        failed: the reason of a failure, empty otherwise.
    """

    variables: tuple[str, ...]
    id: NDArray[np.int64]
    X: Array
    outcomes: dict[str, Array]
    role: NDArray[np.str_]
    iteration: NDArray[np.int64]
    feasible: NDArray[np.bool_]
    best_feasible: Array
    failed: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        return f"<EvaluationTable of {len(self)} evaluations>"

    def to_frame(self) -> pd.DataFrame:
        """Return the history as a DataFrame indexed by candidate id."""
        import pandas as pd

        columns: dict[str, object] = {"role": self.role, "iteration": self.iteration}
        columns |= {name: self.X[:, i] for i, name in enumerate(self.variables)}
        columns |= self.outcomes
        columns |= {"feasible": self.feasible, "best_feasible": self.best_feasible, "failed": self.failed}
        return pd.DataFrame(columns, index=pd.Index(self.id, name="id"))


@dataclass(frozen=True)
class Basin:
    """What one descent of a run found.

    Attributes:
        x: its best feasible point observed, else the least infeasible one, in user units.
        outcomes: observed there, by name.
        feasible: whether all constraints held there.
        evaluations: how many the descent took.
    """

    x: Array
    outcomes: dict[str, float]
    feasible: bool
    evaluations: int


class Log:
    """Ended evaluations; adding one costs the same at the end of a run as at its start.

    Those outside the bounds, which can be after bounds were changed, are part of the history and of nothing
    else.

    Args:
        problem: the problem.
        feasibility_tol: by how much of its standard deviation over the run an outcome may be beyond its
            limit and count as feasible.
    """

    def __init__(self, problem: Problem, feasibility_tol: float = FEASIBILITY_TOL) -> None:
        self.problem = problem
        self.feasibility_tol = feasibility_tol
        self.evaluations: list[Evaluation] = []  # in the order they ended
        self.n_failed = 0
        self.n_data = 0  # brought along rather than made by this run
        self.n_chosen = 0  # beyond designs and data: what the method expected to succeed
        self.n_chosen_failed = 0
        self._y = np.empty((64, len(problem.outcomes)))
        self._found: tuple[int, Evaluation | None] = 0, None  # the best of so many evaluations

    def add(self, evaluation: Evaluation) -> Array:
        """Append an ended evaluation and return its output rows."""
        if len(self.evaluations) == len(self._y):
            self._y = np.concatenate([self._y, np.empty_like(self._y)])
        row = self.problem.to_rows(evaluation.outcomes)
        inside = self.problem.space.holds(evaluation.x)
        self._y[len(self.evaluations)] = row if inside else np.nan
        self.evaluations.append(evaluation)
        self.n_failed += evaluation.failed is not None
        self.n_data += evaluation.role == "data"
        chosen = evaluation.role not in ("init", "data")
        self.n_chosen += chosen
        self.n_chosen_failed += chosen and evaluation.failed is not None
        return row

    @property
    def best(self) -> Evaluation | None:
        """The feasible evaluation with the best objective; what is feasible depends on the whole run."""
        if self._found[0] != len(self.evaluations):
            best = self._best_of(np.arange(len(self.evaluations)))
            self._found = len(self.evaluations), None if best is None else self.evaluations[best]
        return self._found[1]

    @property
    def allowed(self) -> Array:
        """By how much each output row may be beyond its limit and count as feasible, in its units."""
        allowed: Array = self.feasibility_tol * Scaling.of(self.rows).std
        return allowed

    @property
    def rows(self) -> Array:
        """Output rows of all evaluations, ``n x (1 + m)``; NaN where missing, failed or out of bounds."""
        return self._y[: len(self.evaluations)]

    def incumbent(self) -> Evaluation | None:
        """Return the best feasible evaluation, else the least infeasible one, else ``None``.

        Violations are measured in standard deviations of their outcome over the run.
        """
        if self.best is not None:
            return self.best
        if not (~np.isnan(self.rows[:, 0])).any():
            return None
        return self.evaluations[self.problem.terms.best(self.rows)]

    def basins(self, starts: Sequence[int]) -> list[Basin]:
        """Return what each descent found, in their order.

        Args:
            starts: id of the first evaluation of each.
        """
        of = np.searchsorted(starts, [e.id for e in self.evaluations], side="right") - 1
        feasible, known, found = self._feasible(), ~np.isnan(self.rows[:, 0]), []
        for basin in range(len(starts)):
            here = np.flatnonzero((of == basin) & known)
            if not len(here):
                continue
            best = self._best_of(here)
            if best is None:
                best = int(here[self.problem.terms.best(self.rows[here])])
            seen = self.evaluations[best]
            found.append(
                Basin(seen.x.copy(), dict(seen.outcomes), bool(feasible[best]), int((of == basin).sum()))
            )
        return found

    def observed(self) -> Array:
        """Return output rows as `rows` does, with those outside the bounds."""
        rows = [self.problem.to_rows(e.outcomes) for e in self.evaluations]
        return np.array(rows).reshape(len(rows), len(self.problem.outcomes))

    def scale(self) -> dict[str, float]:
        """Return every outcome's standard deviation over the run; see `Scaling.of`."""
        return dict(zip(self.problem.outcomes, Scaling.of(self.rows).std.tolist(), strict=True))

    def history(self) -> EvaluationTable:
        """Return the run as arrays."""
        problem, seen = self.problem, self.evaluations
        feasible = self._feasible()
        running = np.minimum.accumulate(np.where(feasible, self.rows[:, 0], np.inf))
        sign = problem.objective.sign
        rows = self.observed()
        rows[:, 0] *= sign
        return EvaluationTable(
            variables=problem.variables,
            id=np.array([o.id for o in seen], dtype=np.int64),
            X=np.array([o.x for o in seen]).reshape(len(seen), problem.n_variables),
            outcomes={name: rows[:, row] for row, name in enumerate(problem.outcomes)},
            role=np.array([o.role for o in seen], dtype=np.str_),
            iteration=np.array([o.iteration for o in seen], dtype=np.int64),
            feasible=feasible,
            best_feasible=np.where(np.isinf(running), np.nan, sign * running),
            failed=np.array([o.failed or "" for o in seen], dtype=np.str_),
        )

    def _best_of(self, ids: NDArray[np.intp]) -> int | None:
        """Return which of some evaluations is feasible with the best objective, ``None`` without one.

        Where the best is beyond a limit for a gain of less than ``WORTHLESS`` of the objective's standard
        deviation, it is the best of those that keep every limit.
        """
        met = self._feasible()[ids]
        if not met.any():
            return None
        value = np.where(met, self.rows[ids, 0], np.inf)
        as_good = value <= value.min() + WORTHLESS * Scaling.of(self.rows).std[0]
        exact = as_good & self.problem.terms.feasible(self.rows[ids])
        return int(ids[np.where(exact if exact.any() else as_good, value, np.inf).argmin()])

    def _feasible(self) -> NDArray[np.bool_]:
        """Whether each evaluation was feasible as observed; a failed one has no outcomes."""
        return self.problem.terms.feasible(self.rows, self.allowed)
