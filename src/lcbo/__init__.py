"""Local constrained Bayesian optimization: the best feasible design from an expensive, noisy black box.

Names are imported when they are first used, so that ``import lcbo`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lcbo import problems
    from lcbo.constraint import Constraint, Objective
    from lcbo.errors import (
        ArgumentError,
        EvaluationError,
        LcboError,
        ModelError,
        NumericalRescueWarning,
        OutcomeError,
        RunInUseError,
        StoreError,
        StoreWarning,
        TellError,
        TooManyFailuresError,
        WorkerError,
    )
    from lcbo.problem import Problem
    from lcbo.run.command import Command
    from lcbo.run.loop import minimize
    from lcbo.run.optimizer import Optimizer
    from lcbo.run.picture import plot_convergence
    from lcbo.run.result import Result, Snapshot
    from lcbo.run.runs import Run, open_run
    from lcbo.types import Candidate, Observation, Record

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Candidate",
    "Command",
    "Constraint",
    "EvaluationError",
    "LcboError",
    "ModelError",
    "NumericalRescueWarning",
    "Objective",
    "Observation",
    "Optimizer",
    "OutcomeError",
    "Problem",
    "Record",
    "Result",
    "Run",
    "RunInUseError",
    "Snapshot",
    "StoreError",
    "StoreWarning",
    "TellError",
    "TooManyFailuresError",
    "WorkerError",
    "minimize",
    "open_run",
    "plot_convergence",
    "problems",
]

_HOME = {
    "Candidate": "types",
    "Command": "run.command",
    "Constraint": "constraint",
    "Objective": "constraint",
    "Observation": "types",
    "Optimizer": "run.optimizer",
    "Problem": "problem",
    "Record": "types",
    "Result": "run.result",
    "Run": "run.runs",
    "Snapshot": "run.result",
    "minimize": "run.loop",
    "open_run": "run.runs",
    "plot_convergence": "run.picture",
}


def __getattr__(name: str) -> object:
    if name == "problems":
        return import_module("lcbo.problems")
    if name in __all__:
        value = getattr(import_module(f"lcbo.{_HOME.get(name, 'errors')}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'lcbo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
