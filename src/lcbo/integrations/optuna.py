"""A sampler for Optuna: `LcboSampler`.

All a sampler knows is in the study's trials. It repeats the run from them, in the order they began and
ended: a trial whose parameters the optimizer proposes is one of its own, any other is an evaluation made
elsewhere. So a study of any storage goes on after a crash, and several processes can work on one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from lcbo.integrations.following import Follower, Range
from lcbo.methods.protocol import MethodSpec
from lcbo.optimizer.optimizer import Optimizer
from lcbo.problem import Constraint, Objective, Problem

Space = Mapping[str, BaseDistribution]
OBJECTIVE = "objective"


class LcboSampler(BaseSampler):
    """Proposes the numbers of a trial by a method of lcbo; categories are sampled at random.

    Log ranges are searched on their logarithm, integers and steps are rounded. A trial that fails or is
    pruned counts as a failed evaluation.

    Args:
        search_space: distributions by name. Without it the first trial is random, and those that every
            trial so far has in common are searched.
        constraints: names given to ``trial.set_constraint``, each to be at most 0; by default those that
            trials have set.
        constraints_func: maps a finished trial to the values of constraints, as other samplers have it.
        method: name of a method of lcbo, or a `MethodSpec`.
        seed: root of every random stream. Workers of one study should have the same.
        noise: known standard deviation of objective and constraints.
        deterministic: says that there is no noise.
        n_init: size of the initial design, by default the number of parameters.
        options: options of the method.
    """

    def __init__(
        self,
        search_space: Space | None = None,
        constraints: Sequence[str] | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        *,
        method: str | MethodSpec = "lcbo",
        seed: int | None = 0,
        noise: float | None = None,
        deterministic: bool = False,
        n_init: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._search_space = search_space
        self._constraints = None if constraints is None else tuple(constraints)
        self._constraints_func = constraints_func
        self._stated = {"noise": noise, "deterministic": deterministic}
        self._arguments = {"method": method, "rng": seed, "n_init": n_init, "options": options}
        self._independent = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()
        self._run: _Run | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_run": None, "_lock": None}  # the run is in the trials

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002
        """Return the numeric parameters that can vary."""
        space = self._search_space
        with self._lock:
            space = self._common.calculate(study) if space is None else space
        return {name: each for name, each in space.items() if not each.single() and _is_numeric(each)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the parameters of the optimizer's next candidate, and random categories."""
        self._raise_error_if_multi_objective(study)
        numeric = {name: each for name, each in search_space.items() if _is_numeric(each)}
        params = {
            name: self.sample_independent(study, trial, name, each)
            for name, each in search_space.items()
            if name not in numeric
        }
        if not numeric or set(numeric) <= set(trial.system_attrs.get("fixed_params", ())):
            return params
        with self._lock:
            run = self._followed(study, trial, numeric)
            return params | run.hand_out(trial.number)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value."""
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,  # noqa: ARG002
    ) -> None:
        """Record what ``constraints_func`` says."""
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)

    def reseed_rng(self) -> None:
        """Give the random values another seed."""
        self._independent.reseed_rng()

    def _followed(self, study: Study, trial: FrozenTrial, space: Space) -> _Run:
        """Return the run of all trials but one, begun anew where the problem is another than before."""
        trials = [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]
        names = self._constraints
        if names is None:
            ended = [t for t in trials if t.state == TrialState.COMPLETE]
            names = tuple(dict.fromkeys(name for t in ended for name in t.constraints))
        key = (study._study_id, dict(space), names)
        if self._run is None or self._run.key != key:
            problem = Problem(
                [_range(each).ends for each in space.values()],
                [Constraint(f"c{i}", ub=0.0) for i in range(len(names))],
                Objective(OBJECTIVE, maximize=study.direction == StudyDirection.MAXIMIZE),
                **self._stated,  # type: ignore[arg-type]
            )
            self._run = _Run(key, Optimizer(problem, **self._arguments), space, names)  # type: ignore[arg-type]
        self._run.follow(trials, trial)
        return self._run


class _Run(Follower):
    """Follows the trials of a study."""

    def __init__(self, key: Any, optimizer: Optimizer, space: Space, names: tuple[str, ...]) -> None:
        super().__init__(optimizer, {name: _range(each) for name, each in space.items()})
        self.key = key
        self._space, self._names = space, names
        self._begun: set[int] = set()
        self._ended: set[int] = set()

    def follow(self, trials: Sequence[FrozenTrial], new: FrozenTrial) -> None:
        """Enter what has happened since the last time and before a new trial, in its order.

        Every process that follows a study sees the same, so all propose the same candidates. A trial before
        this one whose parameters cannot be seen yet is presumed to get the next.
        """
        news: list[Any] = []
        for trial in trials:
            sampling = trial.state == TrialState.RUNNING and trial.number < new.number and not trial.params
            if trial.number not in self._begun and (sampling or self._is_point(trial)):
                when = min(trial.datetime_start, new.datetime_start) if sampling else trial.datetime_start
                news.append((when, trial.number, False, trial))
            if trial.number not in self._ended and trial.state.is_finished():
                news.append((trial.datetime_complete, trial.number, True, trial))
        for when, number, is_end, trial in sorted(news, key=lambda event: event[:3]):
            if when > new.datetime_start:
                break
            (self._ended if is_end else self._begun).add(number)
            if is_end:
                params = trial.params if self._is_point(trial) else {}
                self.end(number, params, self._outcomes(trial), f"the trial ended as {trial.state.name}")
            elif trial.params:
                self.begin(number, trial.params)
            else:
                self.hand_out(number)
        self._begun.add(new.number)

    def _is_point(self, trial: FrozenTrial) -> bool:
        """Whether a trial has numbers for all parameters, within the ranges."""
        known = trial.distributions
        same = all(name in known and type(known[name]) is type(each) for name, each in self._space.items())
        return same and self.covers(trial.params)

    def _outcomes(self, trial: FrozenTrial) -> dict[str, float] | None:
        """Return the values of a complete trial; constraints it did not set are left out."""
        if trial.state != TrialState.COMPLETE or trial.value is None:
            return None
        found = trial.constraints
        named = {f"c{i}": found[name] for i, name in enumerate(self._names) if name in found}
        return {OBJECTIVE: trial.value, **named}


def _is_numeric(distribution: BaseDistribution) -> bool:
    return isinstance(distribution, FloatDistribution | IntDistribution)


def _range(distribution: Any) -> Range:
    integer = isinstance(distribution, IntDistribution)
    return Range(distribution.low, distribution.high, distribution.log, distribution.step, integer)
