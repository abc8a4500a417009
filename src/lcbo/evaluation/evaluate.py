"""Calling the user's function once: outcomes, or the reason why there are none."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import traceback
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lcbo.errors import EvaluationError, OutcomeError
from lcbo.problem import Problem, not_finite
from lcbo.types import Evaluation, Measured

REASON_LIMIT, TRACEBACK_LIMIT = 2_000, 20_000  # characters; an exception may carry a gigabyte
_COMMANDS = Path(__file__).parent / "command"

current: ContextVar[int | None] = ContextVar("current", default=None)
"""Id of the candidate being evaluated in this thread, for a function that wants to name files by it."""

current_seed: ContextVar[int | None] = ContextVar("current_seed", default=None)
"""Seed of that evaluation, for an external simulator."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at an evaluation that has ended, done or failed."""

    evaluation: Evaluation
    error: BaseException | None = None  # behind a failure; from another process only an OutcomeError comes
    broken: bool = False  # whether the failure is a programming error
    late: bool = False  # whether it had been given up before

    def portable(self) -> Attempt:
        """Return the attempt without an exception that need not survive the way to another process."""
        malformed = isinstance(self.error, OutcomeError)
        return replace(self, error=OutcomeError(self.evaluation.failed) if malformed else None)


def evaluate(problem: Problem, candidate: Evaluation, *, numbered: bool = True) -> Attempt:
    """Evaluate one candidate and record where, when and for how long.

    Any exception but ``KeyboardInterrupt`` (a simulator that calls ``sys.exit`` must not end the run) and
    any value that is not finite makes a failed evaluation. A worker the candidate's record names stays.
    ``numbered`` says whether the function may name files by the candidate's id.
    """
    assert problem.fun is not None
    started, clock = time.time(), time.perf_counter()
    seed = candidate.id if candidate.seed is None else candidate.seed
    token, seeded = current.set(candidate.id if numbered else None), current_seed.set(seed)
    outcomes: dict[str, float] = {}
    sem: dict[str, float] = {}
    reason: str | None
    error: BaseException | None = None
    try:
        returned = problem.call(candidate.x, seed)
        outcomes, sem = problem.read(returned), _sem(problem, returned)
        reason = not_finite(outcomes)
        outcomes |= problem.additional(returned)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        reason, error = shortened(_reason(raised), REASON_LIMIT), raised
    finally:
        current.reset(token)
        current_seed.reset(seeded)
    return _ended(candidate, outcomes, sem, reason, error, started, time.perf_counter() - clock)


def evaluate_many(problem: Problem, candidates: Sequence[Evaluation]) -> list[Attempt]:
    """Evaluate several candidates by one call of a vectorized function, as `evaluate` does one.

    An exception fails all of them: nobody knows whose it was. The time is shared out.
    """
    started, clock = time.time(), time.perf_counter()
    attempts: list[tuple[dict[str, float], dict[str, float], str | None, BaseException | None]] = []
    try:
        seeds = [c.id if c.seed is None else c.seed for c in candidates]
        returned = problem.call_many(np.array([candidate.x for candidate in candidates]), seeds)
        for row in returned:
            try:
                outcomes = problem.read(row)
                more = problem.additional(row)
                attempts.append((outcomes | more, _sem(problem, row), not_finite(outcomes), None))
            except OutcomeError as raised:
                attempts.append(({}, {}, shortened(_reason(raised), REASON_LIMIT), raised))
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        attempts = [({}, {}, shortened(_reason(raised), REASON_LIMIT), raised)] * len(candidates)
    seconds = (time.perf_counter() - clock) / len(candidates)
    return [
        _ended(candidate, *attempt, started, seconds)
        for candidate, attempt in zip(candidates, attempts, strict=True)
    ]


def _ended(
    candidate: Evaluation,
    outcomes: dict[str, float],
    sem: dict[str, float],
    reason: str | None,
    error: BaseException | None,
    started: float,
    seconds: float,
) -> Attempt:
    record = replace(
        candidate.record,
        worker=candidate.record.worker or here(),
        started=started,
        seconds=seconds,
        traceback="" if error is None else shortened(_trace(error)),
    )
    if reason is None:
        return Attempt(replace(candidate, status="done", outcomes=outcomes, sem=sem, record=record))
    failed = replace(candidate, status="failed", outcomes={}, failed=reason, record=record)
    return Attempt(failed, error, broken=is_programming_error(error))


def is_programming_error(error: BaseException | None) -> bool:
    """Return whether an exception says that the function cannot work anywhere, not that it failed here.

    A file that is not found is one when it is the program to start.
    """
    if isinstance(error, EvaluationError):  # a `Command` says so of its program
        error = error.__cause__
        return isinstance(error, FileNotFoundError | PermissionError)
    if isinstance(error, FileNotFoundError | PermissionError):
        frames = traceback.extract_tb(error.__traceback__)
        return bool(frames) and frames[-1].filename == subprocess.__file__
    return isinstance(error, TypeError | NameError | ImportError | AttributeError | SyntaxError)


def _trace(error: BaseException) -> str:
    """Return the traceback of the function's own code, without the line that called it.

    A `Command` that failed has none: its program is no Python, and its reason says all there is.
    """
    trace = error.__traceback__
    frames = traceback.extract_tb(trace)
    if isinstance(error, EvaluationError) and frames and Path(frames[-1].filename).parent == _COMMANDS:
        return ""
    return "".join(traceback.format_exception(type(error), error, trace and trace.tb_next))


def _sem(problem: Problem, returned: object) -> dict[str, float]:
    return problem.read_sem(returned) if isinstance(returned, Measured) else {}


def lost(candidate: Evaluation, reason: str, started: float, traceback: str = "") -> Evaluation:
    """Return an evaluation as failed now because nothing came back from where it ran."""
    record = replace(candidate.record, started=started, seconds=time.time() - started, traceback=traceback)
    return replace(candidate, status="failed", outcomes={}, failed=reason, record=record)


def here() -> str:
    """Return the name of this process for the records, ``host:pid``."""
    return f"{platform.node()}:{os.getpid()}"


def shortened(text: str, limit: int = TRACEBACK_LIMIT) -> str:
    """Return a text with its middle left out where it is too long: its end matters most."""
    if len(text) <= limit:
        return text
    head = limit // 4
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[head - limit :]}"


def _reason(error: BaseException) -> str:
    """Return what an exception says; our own kinds are sentences already."""
    try:
        text = str(error)
    except Exception:  # a message that cannot be made must not hide the failure
        text = "(its message cannot be read)"
    if isinstance(error, OutcomeError | EvaluationError):
        return text
    return f"{type(error).__name__}: {text}"
