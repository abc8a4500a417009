"""Local constrained Bayesian optimization: the best feasible design from an expensive, noisy black box.

Names are imported when they are first used, so that ``import lcbo`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lcbo import problems
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
    from lcbo.evaluation.command.command import Command
    from lcbo.loop.minimize import minimize
    from lcbo.optimizer.optimizer import Optimizer
    from lcbo.optimizer.result import Result, Snapshot
    from lcbo.problem import Problem
    from lcbo.problem.constraint import Constraint, Objective
    from lcbo.reporting.plots import plot_convergence
    from lcbo.store.stored_run import Run, open_run
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
    "Command": "evaluation.command.command",
    "Constraint": "problem.constraint",
    "Objective": "problem.constraint",
    "Observation": "types",
    "Optimizer": "optimizer.optimizer",
    "Problem": "problem.problem",
    "Record": "types",
    "Result": "optimizer.result",
    "Run": "store.stored_run",
    "Snapshot": "optimizer.result",
    "minimize": "loop.minimize",
    "open_run": "store.stored_run",
    "plot_convergence": "reporting.plots",
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
