"""Every error and warning the library raises on purpose."""

from __future__ import annotations


class LcboError(Exception):
    """Base of all errors of the library."""


class ArgumentError(LcboError, ValueError):
    """An argument is wrong; the message names it, what was expected and what came."""

    def __init__(self, argument: str, expected: str, got: object) -> None:
        super().__init__(argument, expected, got)
        self.argument, self.expected, self.got = argument, expected, got

    def __str__(self) -> str:
        return f"{self.argument}: expected {self.expected}; got {self.got}"


class OutcomeError(LcboError, ValueError):
    """An evaluation returned something that is not the outcomes of the problem."""


class EvaluationError(LcboError, RuntimeError):
    """An evaluation gave no outcomes; a function may raise it with the reason of its failure."""


class FunctionError(LcboError, RuntimeError):
    """The first evaluation of a run ended with a programming error, so the run ended with it.

    Attributes:
        trace: the traceback of the function's own code, as text.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class WorkerError(LcboError, RuntimeError):
    """No worker can evaluate the function any more."""


class TellError(LcboError, ValueError):
    """A ``tell`` names an unknown candidate or contradicts what was told before."""


class TooManyFailuresError(LcboError, RuntimeError):
    """No evaluation of a run succeeded, so there is nothing to return."""


class ModelError(LcboError, RuntimeError):
    """A Gaussian process could not be built, not even after every rescue."""


class StoreError(LcboError, RuntimeError):
    """A run file cannot be read, written or continued; the message says what is safe."""


class RunInUseError(StoreError):
    """Another process is writing to the run."""


class DataWarning(UserWarning):
    """Some of the evaluations brought along cannot be used."""


class StoreWarning(UserWarning):
    """A run file works, but not in the way it should."""


class NumericalRescueWarning(RuntimeWarning):
    """A numerical rescue (jitter, refit, fallback) was needed."""
