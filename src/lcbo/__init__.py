"""Local constrained Bayesian optimization: the best feasible design from an expensive, noisy black box.

Names are imported when they are first used, so that ``import lcbo`` stays light.
The logger ``lcbo`` says what happens in a run to whoever listens; by default nobody does.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lcbo import problems
    from lcbo.errors import (
        ArgumentError,
        DataWarning,
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
    from lcbo.integrations.scipy import scipy_method
    from lcbo.loop.minimize import minimize
    from lcbo.methods.protocol import Method, MethodSpec, Proposal
    from lcbo.methods.registry import register
    from lcbo.optimizer.optimizer import Optimizer
    from lcbo.optimizer.result import Result, Snapshot
    from lcbo.problem import Problem
    from lcbo.problem.constraint import Constraint, Objective
    from lcbo.problem.known import Known
    from lcbo.problem.variable import Variable
    from lcbo.reporting.plots import plot_convergence
    from lcbo.store.stored_run import StoredRun, open_run
    from lcbo.types import Candidate, Evaluation, Measured, Record

logging.getLogger("lcbo").addHandler(logging.NullHandler())

__version__ = "0.2.0.dev0"

__all__ = [
    "ArgumentError",
    "Candidate",
    "Command",
    "Constraint",
    "DataWarning",
    "Evaluation",
    "EvaluationError",
    "FunctionError",
    "Known",
    "LcboError",
    "Measured",
    "Method",
    "MethodSpec",
    "ModelError",
    "NumericalRescueWarning",
    "Objective",
    "Optimizer",
    "OutcomeError",
    "Problem",
    "Proposal",
    "Record",
    "Result",
    "RunInUseError",
    "Snapshot",
    "StoreError",
    "StoreWarning",
    "StoredRun",
    "TellError",
    "TooManyFailuresError",
    "Variable",
    "WorkerError",
    "minimize",
    "open_run",
    "plot_convergence",
    "plot_sensitivities",
    "problems",
    "register",
    "scipy_method",
]

_HOME = {
    "Candidate": "types",
    "Command": "evaluation.command.command",
    "Constraint": "problem.constraint",
    "Evaluation": "types",
    "Known": "problem.known",
    "Measured": "types",
    "Method": "methods.protocol",
    "MethodSpec": "methods.protocol",
    "Objective": "problem.constraint",
    "Optimizer": "optimizer.optimizer",
    "Problem": "problem.problem",
    "Proposal": "methods.protocol",
    "Record": "types",
    "Result": "optimizer.result",
    "Snapshot": "optimizer.result",
    "StoredRun": "store.stored_run",
    "Variable": "problem.variable",
    "minimize": "loop.minimize",
    "open_run": "store.stored_run",
    "plot_convergence": "reporting.plots",
    "plot_sensitivities": "reporting.plots",
    "register": "methods.registry",
    "scipy_method": "integrations.scipy",
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
