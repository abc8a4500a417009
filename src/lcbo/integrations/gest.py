"""A generator of the gest-api, which Xopt, libEnsemble and optimas run: `LcboGenerator`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from gest_api.generator import Generator
from gest_api.vocs import (
    VOCS,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    ExploreObjective,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
)

from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.result import Result
from lcbo.problem import Constraint, Objective, Problem
from lcbo.types import Array, Candidate

ID = "_id"
ERROR = "xopt_error"


class LcboGenerator(Generator):
    """Suggests points by a method of lcbo and learns from results, its own by ``_id`` and those of others.

    A result that states ``xopt_error``, or whose objective is missing or not finite, is a failed evaluation.
    The noise is read off the first results that come, where they state variances as ``<outcome>_var``. A copy
    repeats the calls of the original, which is all there is to its state.

    Args:
        vocs: continuous variables, one objective, any constraints.
        method: name of a method of lcbo, or a `MethodSpec`.
        deterministic: says that there is no noise.
        run: further arguments of `lcbo.Optimizer`: ``rng``, ``n_init``, ``options``, ...

    Attributes:
        vocs: the VOCS.
    """

    returns_id = True

    def __init__(self, vocs: VOCS, method: Any = "lcbo", *, deterministic: bool = False, **run: Any) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        self._arguments = {"method": method, **run}
        self._deterministic = deterministic
        self._calls: list[tuple[str, Any]] = []
        self._asked: list[int | None] = []
        self._heard = False
        self._optimizer = self._begun({})
        self._spare: list[Candidate] = []  # asked for and not suggested

    def __getstate__(self) -> dict[str, Any]:
        stated = {"deterministic": self._deterministic, **self._arguments}
        return {"vocs": self.vocs, "stated": stated, "calls": self._calls}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["vocs"], **state["stated"])  # type: ignore[misc]
        for name, argument in state["calls"]:
            with suppress(ValueError):  # as it was raised then
                getattr(self, name)(argument)

    def _validate_vocs(self, vocs: VOCS) -> None:
        for name, variable in vocs.variables.items():
            if not isinstance(variable, ContinuousVariable) or isinstance(variable, ContextualVariable):
                raise ValueError(f"variable {name!r}: lcbo takes continuous variables alone")
        kinds = list(vocs.objectives.values())
        if len(kinds) != 1 or isinstance(kinds[0], ExploreObjective):
            raise ValueError("objectives: lcbo takes exactly one, to be minimized or maximized")

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate with their ``_id``; as many as an iteration wants by default."""
        self._calls.append(("suggest", num_points))
        if num_points is None:
            if not self._spare:
                self._ask(None)
            if not self._spare:
                self._ask(1)
            num_points = max(len(self._spare), 1)
        elif len(self._spare) < num_points:
            self._ask(None)
        if len(self._spare) < num_points:
            self._ask(num_points - len(self._spare))
        if len(self._spare) < num_points:
            raise ValueError(
                f"num_points: expected at most {len(self._spare)}, all that the method proposes now; "
                f"got {num_points}"
            )
        chosen, self._spare = self._spare[:num_points], self._spare[num_points:]
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        names = self._optimizer.problem.variables
        return [{**dict(zip(names, c.x.tolist(), strict=True)), **constants, ID: c.id} for c in chosen]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Take the results of evaluations; one without an ``_id`` that is not pending was made elsewhere."""
        ids = [self._id_of(result) for result in results]
        self._calls.append(("ingest", [dict(result) for result in results]))
        if not self._heard and results:
            self._heard = True
            if not self._deterministic and (noise := self._stated_noise(results)):
                self._optimizer = self._begun(noise)
        for id, result in zip(ids, results, strict=True):
            outcomes = self._outcomes(result)
            if id is None:
                if outcomes is not None:
                    self._optimizer.include([(self._point(result), outcomes)])
            elif outcomes is None:
                self._optimizer.tell(id, failed=str(result.get("xopt_error_str") or "no objective came"))
            else:
                self._optimizer.tell(id, outcomes, final=True)

    def add_data(self, data: Any) -> None:
        """Take a DataFrame of evaluations made elsewhere, as Xopt hands it over."""
        records = data.to_dict(orient="records")
        self.ingest([{k: v for k, v in record.items() if k != ID} for record in records])

    def result(self) -> Result:
        """Return the answer so far."""
        return self._optimizer.result()

    def _begun(self, noise: Mapping[str, float]) -> Optimizer:
        """Return a new optimizer that has been asked as the one before; the first points are the same."""
        ((objective, kind),) = self.vocs.objectives.items()
        problem = Problem(
            {name: tuple(variable.domain) for name, variable in self.vocs.variables.items()},
            [_constraint(name, stated) for name, stated in self.vocs.constraints.items()],
            Objective(objective, maximize=isinstance(kind, MaximizeObjective)),
            noise=noise or None,
            deterministic=self._deterministic,
        )
        optimizer = Optimizer(problem, **self._arguments)
        for n in self._asked:
            optimizer.ask(n)
        return optimizer

    def _ask(self, n: int | None) -> None:
        if not self._heard:
            self._asked.append(n)
        self._spare += self._optimizer.ask(n)

    def _id_of(self, result: Mapping[str, Any]) -> int | None:
        """Return which candidate a result is of; one that a runner sent back without its ``_id`` is found."""
        stated = result.get(ID)
        if stated is not None and not (isinstance(stated, float) and math.isnan(stated)):
            if not 0 <= int(stated) < self._optimizer.n_asked + self._optimizer.log.n_data:
                raise ValueError(f"{ID}: expected that of a suggested point; got {stated!r}")
            return int(stated)
        point, spare = self._point(result), {candidate.id for candidate in self._spare}
        waiting = (c.id for c in self._optimizer.pending if c.id not in spare and np.array_equal(c.x, point))
        return next(waiting, None)

    def _point(self, result: Mapping[str, Any]) -> Array:
        return np.array([float(result[name]) for name in self.vocs.variables])

    def _outcomes(self, result: Mapping[str, Any]) -> dict[str, float] | None:
        if result.get(ERROR) is True or result.get(ERROR) == 1.0:
            return None
        named = {name: _known(result.get(name)) for name in self._optimizer.problem.outcomes}
        found = {name: value for name, value in named.items() if value is not None}
        return found if self._optimizer.problem.objective.name in found else None

    def _stated_noise(self, results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
        """Return the standard deviations that results state, each as the median over them."""
        found: dict[str, float] = {}
        for name in self._optimizer.problem.outcomes:
            stated = [v for r in results if (v := _known(r.get(f"{name}_var"))) is not None and v >= 0.0]
            if stated:
                found[name] = math.sqrt(float(np.median(stated)))
        return found


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(float(value)) else float(value)


def _constraint(name: str, stated: Any) -> Constraint:
    if isinstance(stated, LessThanConstraint):
        return Constraint(name, ub=stated.value)
    if isinstance(stated, GreaterThanConstraint):
        return Constraint(name, lb=stated.value)
    if isinstance(stated, BoundsConstraint):
        return Constraint(name, lb=stated.range[0], ub=stated.range[1])
    raise ValueError(f"constraint {name!r}: expected less than, greater than or bounds; got {stated!r}")
