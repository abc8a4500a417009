"""Calling the user's function once: outcomes, or the reason why there are none."""

from __future__ import annotations

import math
import os
import platform
import time
import traceback
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from lcbo.errors import EvaluationError, OutcomeError
from lcbo.problem import Problem
from lcbo.types import Array, Record

MAX_FAILURE_RATE = 0.5  # of all evaluations, judged once there are MIN_EVALUATIONS
MIN_EVALUATIONS = 20
ALL_FAILED = 10  # so many failures and not one success: the function is broken
REASON_LIMIT, TRACEBACK_LIMIT = 2_000, 20_000  # characters; an exception may carry a gigabyte

current: ContextVar[int | None] = ContextVar("current", default=None)
"""Id of the candidate being evaluated in this thread, for a function that wants to name files by it."""


@dataclass(frozen=True)
class Evaluation:
    """Outcomes by name, or why there are none.

    Attributes:
        outcomes: values by name; empty after a failure.
        failed: the reason of a failure.
        traceback: of the exception behind it, if there was one.
        malformed: whether the function returned something of the wrong form.
        error: the exception itself; only where the evaluation ran in this process.
    """

    outcomes: dict[str, float] = field(default_factory=dict)
    failed: str | None = None
    traceback: str = ""
    malformed: bool = False
    error: BaseException | None = None


def evaluate(problem: Problem, x: Array, id: int | None = None) -> tuple[Evaluation, Record]:
    """Evaluate one point and record where, when and for how long.

    Any exception but ``KeyboardInterrupt`` (a simulator that calls ``sys.exit`` must not end the run) and
    any value that is not finite makes a failed evaluation.

    Args:
        problem: a problem with a function.
        x: the point in user units; the function gets a copy.
        id: the candidate's id.
    """
    started, clock = time.time(), time.perf_counter()
    token = current.set(id)
    try:
        evaluation = _evaluate(problem, x)
    finally:
        current.reset(token)
    seconds = time.perf_counter() - clock
    return evaluation, Record(here(), started, seconds, evaluation.traceback)


def here() -> str:
    """Return the name of this process for the records, ``host:pid``."""
    return f"{platform.node()}:{os.getpid()}"


def too_many_failed(n: int, n_failed: int, max_rate: float = MAX_FAILURE_RATE) -> bool:
    """Return whether a run of ``n`` evaluations should stop because of its failures."""
    if n_failed == n:
        return n >= ALL_FAILED
    return n >= MIN_EVALUATIONS and n_failed > max_rate * n


def shortened(text: str, limit: int = TRACEBACK_LIMIT) -> str:
    """Return a text with its middle left out where it is too long: its end matters most."""
    if len(text) <= limit:
        return text
    head = limit // 4
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[head - limit :]}"


def _evaluate(problem: Problem, x: Array) -> Evaluation:
    assert problem.fun is not None
    try:
        outcomes = problem.read(problem.fun(np.array(x, dtype=np.float64)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Evaluation(
            failed=shortened(_reason(error), REASON_LIMIT),
            traceback=shortened("".join(traceback.format_exception(error))),
            malformed=isinstance(error, OutcomeError),
            error=error,
        )
    broken = [f"outcome {name!r} is {value}" for name, value in outcomes.items() if not math.isfinite(value)]
    return Evaluation(failed="; ".join(broken)) if broken else Evaluation(outcomes)


def _reason(error: BaseException) -> str:
    """Return what an exception says; our own kinds are sentences already."""
    try:
        text = str(error)
    except Exception:  # a message that cannot be made must not hide the failure
        text = "(its message cannot be read)"
    if isinstance(error, OutcomeError | EvaluationError):
        return text
    return f"{type(error).__name__}: {text}"
