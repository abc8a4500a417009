"""Wording that reports, pictures and commands share."""

from __future__ import annotations

import math
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lcbo.problem import Problem
    from lcbo.store.stored_run import StoredRun


def number(value: float) -> str:
    """Return a number as a reader wants it: six digits, a true minus sign, a dash where there is none."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else "\N{EN DASH}"


def with_error(value: float, error: float) -> str:
    """Return a value with its standard error, both to the digits the error leaves."""
    if not (math.isfinite(value) and math.isfinite(error)):
        return number(value)
    if error <= 0.0:
        return number(float(f"{value:.4g}"))
    digits = min(1 - math.floor(math.log10(error)), 300)
    return f"{number(round(value, digits))} \N{PLUS-MINUS SIGN} {number(float(f'{error:.2g}'))}"


def counted(n: int, noun: str) -> str:
    """Return a number of things, such as ``1 variable`` or ``3 variables``."""
    return f"{n} {noun}" + "s" * (n != 1)


def moment(seconds: float) -> str:
    """Return a time, given in seconds since the epoch, as date and minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def one_line(text: object) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def failure(reason: object) -> tuple[str, str]:
    """Return why an evaluation failed, on one line, and where a command left its files, if it did."""
    why, _, files = str(reason).partition("\nfiles: ")
    return one_line(why), files


def sentences(text: str) -> str:
    """Return a message with a capital at the beginning of every sentence."""
    return re.sub(r"(^|\. )(\w)", lambda found: found[1] + found[2].upper(), text)


def run_name(run: StoredRun) -> str:
    """Return what to call a run: its benchmark, else its file."""
    source = run.meta.get("source") or {}
    return str(source.get("name", run.path.stem))


def summary(problem: Problem) -> str:
    """Return what is to be solved in one sentence; more than four constraints are only counted."""
    limits = [str(c) for c in problem.constraints] + [f"{name} (known)" for name in problem.known.names]
    if len(limits) > 4:
        known = f", {len(problem.known)} known" if len(problem.known) else ""
        limits = [counted(len(problem.constraints), "constraint") + known]
    listed = " and ".join([", ".join(limits[:-1]), limits[-1]] if len(limits) > 1 else limits)
    words = f"{problem.objective} over {counted(problem.n_variables, 'variable')}{problem.counted_kinds}"
    return f"{words} subject to {listed}" if limits else words


def next_command(run: StoredRun) -> str:
    """Return the command that continues a run: ``resume`` where its function is known and the budget is."""
    at, file = run.status, shlex.quote(str(run.path))
    if run.problem.fun is None or at.budget is None:
        return f"lcbo ask {file}"
    return f"lcbo resume {file}" + (f" --budget {2 * at.budget}" if at.ended >= at.budget else "")
