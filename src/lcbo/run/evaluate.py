"""Calling the user's function once: outcomes, or the reason why there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from lcbo.errors import OutcomeError
from lcbo.problem import Problem
from lcbo.types import Array

MAX_FAILURE_RATE = 0.5  # of all evaluations, judged once there are MIN_EVALUATIONS
MIN_EVALUATIONS = 20
ALL_FAILED = 10  # so many failures and not one success: the function is broken


@dataclass(frozen=True)
class Evaluation:
    """Outcomes by name, or the reason of the failure with the exception behind it, if any."""

    outcomes: dict[str, float] = field(default_factory=dict)
    failed: str | None = None
    error: Exception | None = None


def evaluate(problem: Problem, x: Array, *, strict: bool) -> Evaluation:
    """Evaluate one point; an exception or a value that is not finite makes a failed evaluation.

    Args:
        problem: a problem with a function.
        x: the point in user units; the function gets a copy.
        strict: raise `OutcomeError` when the function returns something of the wrong form (a string, a
            wrong length, missing names). True until a first evaluation succeeds: before that it is a
            mistake in the function, after that it must not end a run that has been paid for.
    """
    assert problem.fun is not None
    try:
        outcomes = problem.read(problem.fun(np.array(x, dtype=np.float64)))
    except OutcomeError as error:
        if strict:
            raise
        return Evaluation(failed=str(error), error=error)
    except Exception as error:
        return Evaluation(failed=f"{type(error).__name__}: {error}", error=error)
    broken = [f"outcome {name!r} is {value}" for name, value in outcomes.items() if not math.isfinite(value)]
    return Evaluation(failed="; ".join(broken)) if broken else Evaluation(outcomes)


def too_many_failed(n: int, n_failed: int) -> bool:
    """Return whether a run of ``n`` evaluations should stop because of its failures."""
    if n_failed == n:
        return n >= ALL_FAILED
    return n >= MIN_EVALUATIONS and n_failed > MAX_FAILURE_RATE * n
