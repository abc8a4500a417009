"""A node for Ax's generation strategies: `LcboNode`."""

from __future__ import annotations

from typing import Any

import numpy as np
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.outcome_constraint import OutcomeConstraint
from ax.core.parameter import FixedParameter, Parameter, ParameterType, RangeParameter
from ax.core.types import ComparisonOp, TParameterization
from ax.generation_strategy.external_generation_node import ExternalGenerationNode

from lcbo.errors import ArgumentError
from lcbo.integrations.following import Follower, Range
from lcbo.methods.protocol import MethodSpec
from lcbo.optimizer.optimizer import Optimizer
from lcbo.problem import Constraint, Objective, Problem


class LcboNode(ExternalGenerationNode):
    """Generates the trials of an experiment by a method of lcbo.

    Its state is in the experiment: a new node on an old experiment repeats the run and goes on. Range
    parameters are searched, log scales on their logarithm and integers by rounding; fixed ones are passed on.
    The objective is one metric; outcome constraints bound one metric each, absolutely. The noise is read off
    the first data that state a standard error. A trial that ends without data is a failed evaluation.

    Args:
        method: name of a method of lcbo, or a `MethodSpec`.
        run: further arguments of `lcbo.Optimizer`: ``rng``, ``n_init``, ``options``, ...
    """

    def __init__(self, method: str | MethodSpec = "lcbo", **run: Any) -> None:
        # The method repeats the iterate to learn the noise, so the same point may come again.
        super().__init__(name="lcbo", should_deduplicate=False)
        self._arguments = {"method": method, **run}
        self._noise: dict[str, float] | None = None
        self._follower: Follower | None = None
        self._fixed: dict[str, Any] = {}
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._next = 0

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Follow the trials of the experiment; the run begins anew where the noise comes to be known."""
        rows = _rows(data)
        noise = self._stated_noise(data) if self._noise is None else self._noise
        if self._follower is None or noise != self._noise:
            self._noise = noise
            self._begin(experiment)
        assert self._follower is not None
        names = self._follower.optimizer.problem.outcomes
        for number, trial in sorted(experiment.trials.items()):
            if number in self._ended or len(trial.arms) != 1:
                continue
            params = trial.arms[0].parameters
            if number not in self._begun:
                self._begun.add(number)
                self._follower.begin(number, params)
            if trial.status.is_terminal:
                self._ended.add(number)
                known = {name: value for name, value in rows.get(number, {}).items() if name in names}
                outcomes = known if trial.status.is_completed and names[0] in known else None
                self._follower.end(number, params, outcomes, f"the trial ended as {trial.status.name}")
        self._next = 1 + max(experiment.trials, default=-1)

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:  # noqa: ARG002
        """Return the parameters of the next trial."""
        assert self._follower is not None
        params = self._follower.hand_out(self._next)
        self._begun.add(self._next)
        self._next += 1
        return {**params, **self._fixed}

    def _begin(self, experiment: Experiment) -> None:
        space, config = experiment.search_space, experiment.optimization_config
        if space.parameter_constraints:
            raise ArgumentError("parameter_constraints", "none", space.parameter_constraints)
        if config is None or not config.objective.is_single_objective:
            raise ArgumentError("objective", "one metric to minimize or to maximize", config)
        self._fixed = {n: p.value for n, p in space.parameters.items() if isinstance(p, FixedParameter)}
        ranges = {n: _range(p) for n, p in space.parameters.items() if n not in self._fixed}
        problem = Problem(
            {name: each.ends for name, each in ranges.items()},
            [_constraint(stated) for stated in config.outcome_constraints],
            Objective(config.objective.metric_names[0], maximize=not config.objective.minimize),
            noise=self._noise or None,
        )
        self._follower = Follower(Optimizer(problem, **self._arguments), ranges)
        self._begun, self._ended = set(), set()

    def _stated_noise(self, data: Data) -> dict[str, float] | None:
        """Return the median standard error of every metric that has one; ``None`` before there are data."""
        if data.df.empty:
            return None
        known = data.df[np.isfinite(data.df["sem"].astype(float))]
        return {str(name): float(sem) for name, sem in known.groupby("metric_name")["sem"].median().items()}


def _rows(data: Data) -> dict[int, dict[str, float]]:
    rows: dict[int, dict[str, float]] = {}
    if not data.df.empty:
        columns = data.df[["trial_index", "metric_name", "mean"]]
        for number, name, mean in columns.itertuples(index=False):
            rows.setdefault(int(number), {})[str(name)] = float(mean)
    return rows


def _range(parameter: Parameter) -> Range:
    if not isinstance(parameter, RangeParameter):
        raise ArgumentError(f"parameter {parameter.name!r}", "a range, or a fixed value", parameter)
    integer = parameter.parameter_type == ParameterType.INT
    return Range(parameter.lower, parameter.upper, bool(parameter.log_scale), None, integer)


def _constraint(stated: OutcomeConstraint) -> Constraint:
    if stated.relative or len(stated.metric_weights) != 1:
        raise ArgumentError("outcome_constraints", "absolute bounds of one metric each", stated)
    ((name, weight),) = stated.metric_weights
    bound = float(stated.bound) / weight
    upper = (stated.op == ComparisonOp.LEQ) == (weight > 0.0)
    return Constraint(name, ub=bound) if upper else Constraint(name, lb=bound)
