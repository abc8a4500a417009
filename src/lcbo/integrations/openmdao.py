"""A driver for OpenMDAO: `LcboDriver`."""

from __future__ import annotations

from typing import Any

import numpy as np
from openmdao.core.analysis_error import AnalysisError
from openmdao.core.driver import Driver, RecordingDebugging

from lcbo.errors import ArgumentError
from lcbo.loop.minimize import begun_or_continued
from lcbo.optimizer.result import Result
from lcbo.problem import Constraint, Objective, Problem
from lcbo.types import Array


class LcboDriver(Driver):
    """Minimizes the objective of a model over its design variables under its constraints.

    Design variables need finite bounds. An ``AnalysisError`` is a failed evaluation, any other exception is
    raised. Every evaluation is a driver case; the last case is the answer, where the model is left.

    Its options:
        budget: model runs, that last one excluded.
        method, seed, n_init, method_options: as in `lcbo.Optimizer`.
        deterministic: says that two runs of one design agree.
        eq_tol: within which equality constraints are to hold, in their units.
        store: a file that keeps the run, from which it goes on.

    Attributes:
        answer: the `lcbo.Result` of the latest run.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for supported in ("optimization", "inequality_constraints", "equality_constraints"):
            self.supports[supported] = True
        self.supports["two_sided_constraints"] = True
        self.supports["linear_constraints"] = True
        self.supports["integer_design_vars"] = False
        self.supports["distributed_design_vars"] = False
        self.supports._read_only = True
        self.answer: Result | None = None

    def _declare_options(self) -> None:
        declare = self.options.declare
        declare("budget", types=int, lower=1, desc="model runs in all, the last one at the answer excluded")
        declare("method", types=str, default="lcbo", desc="name of a method of lcbo")
        declare("seed", types=int, default=0, desc="root of every random stream")
        declare("n_init", types=int, default=None, allow_none=True, desc="size of the initial design")
        declare("deterministic", types=bool, default=False, desc="two runs of one design agree")
        declare("eq_tol", types=float, default=None, allow_none=True, desc="tolerance of equalities")
        declare("method_options", types=dict, default={}, desc="options of the method")
        declare("store", types=str, default=None, allow_none=True, desc="file that keeps the run")

    def _get_name(self) -> str:
        return "Lcbo"

    def run(self) -> bool:
        """Run the optimization and leave the model at the answer; True says that it is not feasible."""
        self.result.reset()
        self._check_for_missing_objective()
        self._check_for_invalid_desvar_values()
        problem, options = self._read_problem(), self.options
        now = self.get_design_var_values(driver_scaling=False)
        arguments = {
            "budget": options["budget"],
            "method": options["method"],
            "rng": options["seed"],
            "n_init": options["n_init"],
            "options": options["method_options"],
            "x0": np.concatenate([np.ravel(now[name]) for name in self._designvars]),
        }
        with begun_or_continued(problem, options["store"], **arguments) as optimizer:
            while batch := optimizer.pending or optimizer.ask():
                for candidate in batch:
                    try:
                        self._run_at(candidate.x)
                    except AnalysisError as error:
                        optimizer.tell(candidate.id, failed=str(error) or "AnalysisError")
                    else:
                        optimizer.tell(candidate.id, self._outcomes())
            found = self.answer = optimizer.result(f"budget of {options['budget']} model runs spent")
        if found.x is not None:
            self._run_at(found.x)
        self.result.exit_status = "SUCCESS" if found.success else "FAIL"
        return not found.success

    def _run_at(self, x: Array) -> None:
        at = 0
        for name, meta in self._designvars.items():
            self._set_design_var(name, x[at : at + meta["size"]])
            at += meta["size"]
        with RecordingDebugging(self._get_name(), self.iter_count, self):
            self.iter_count += 1
            self._run_solve_nonlinear()

    def _outcomes(self) -> dict[str, float]:
        """Return the responses; the objective as the driver scales it, so that ``scaler=-1`` maximizes."""
        values = self.get_objective_values() | self.get_constraint_values(driver_scaling=False)
        found: dict[str, float] = {}
        for name, value in values.items():
            names = _components(_response(name), np.size(value))
            found |= zip(names, map(float, np.ravel(value)), strict=True)
        return found

    def _read_problem(self) -> Problem:
        """Return the problem in the model's units; limits that are infinite are none."""
        bounds: dict[str, tuple[float, float]] = {}
        for name, meta in self._designvars.items():
            low, high = (np.broadcast_to(meta[side], meta["size"]) for side in ("lower", "upper"))
            pairs = zip(low.tolist(), high.tolist(), strict=True)
            bounds |= zip(_components(name, meta["size"]), pairs, strict=True)
        (objective,) = self._objs
        if (size := self._objs[objective]["size"]) != 1:
            raise ArgumentError("objective", "one number", f"{size} in {objective!r}")
        constraints = [c for name, meta in self._cons.items() for c in self._constraints_of(name, meta)]
        deterministic = self.options["deterministic"]
        return Problem(bounds, constraints, Objective(_response(objective)), deterministic=deterministic)

    def _constraints_of(self, name: str, meta: dict[str, Any]) -> list[Constraint]:
        names, size = _components(_response(name), meta["size"]), meta["size"]
        if meta["equals"] is not None:
            if (tol := self.options["eq_tol"]) is None:
                raise ArgumentError("eq_tol", f"a tolerance for the equality constraint {name!r}", None)
            values = np.broadcast_to(meta["equals"], size).tolist()
            return [Constraint(each, eq=value, tol=tol) for each, value in zip(names, values, strict=True)]
        low, high = (_side(meta[side], size) for side in ("lower", "upper"))
        limits = [each for each in zip(names, low, high, strict=True) if each[1:] != (None, None)]
        return [Constraint(each, lb=lb, ub=ub) for each, lb, ub in limits]


def _side(limit: Any, size: int) -> list[float | None]:
    """Return the limits of all components on one side; OpenMDAO once wrote infinity as 1e30."""
    values = np.broadcast_to(np.inf if limit is None else limit, size).tolist()
    return [None if abs(value) >= 1e30 else value for value in values]


def _components(name: str, size: int) -> list[str]:
    return [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]


def _response(name: str) -> str:
    """Return the name of an outcome; a design variable may be constrained too, under the same name."""
    return f"response {name}"
