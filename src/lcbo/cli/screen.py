"""What the commands print: answers on standard output, remarks on standard error, in plain text."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lcbo.text import duration

if TYPE_CHECKING:
    from lcbo.optimizer.result import Result
    from lcbo.problem import Problem
    from lcbo.types import Array

_PIPED = 200  # columns where there is no terminal to ask


def out() -> Console:
    """Return the console of standard output."""
    return _console(sys.stdout)


def is_terminal() -> bool:
    """Return whether a person reads standard output."""
    return out().is_terminal


def remark(text: str) -> None:
    """Print a line to standard error, which a pipe does not receive."""
    _console(sys.stderr).print(plain(text), soft_wrap=True)


def say(*parts: str | Text | Table) -> None:
    """Print lines of plain text, or tables."""
    console = out()
    for part in parts:
        if isinstance(part, str):
            console.print(plain(part), soft_wrap=True)
        elif console.is_terminal:
            console.print(part)
        else:  # a table fills its lines with blanks, which do not belong in a file
            with console.capture() as drawn:
                console.print(part)
            sys.stdout.writelines(f"{line.rstrip()}\n" for line in drawn.get().splitlines())


def say_json(value: Any) -> None:
    """Print one line of JSON; numbers that are not finite are ``null``."""
    sys.stdout.write(json.dumps(_finite(value), allow_nan=False) + "\n")


def plain(text: object, style: str = "") -> Text:
    """Return a text without markup or control characters, which could change a terminal."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return Text(shown, style=style)


def one_line_warnings() -> None:
    """Make Python print warnings as one line each."""

    def show(*about: Any, **_: Any) -> None:
        remark(f"lcbo: warning: {about[0]}")

    warnings.showwarning = show


def number(value: float | None, digits: int = 6) -> Text:
    """Return a number for a table, empty where there is none."""
    return Text("" if value is None or math.isnan(value) else f"{value:.{digits}g}")


def facts(rows: Mapping[str, object]) -> Table:
    """Return a table of names and values, one per line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value if isinstance(value, Text) else plain(value))
    return table


def design(problem: Problem, x: Array) -> Table:
    """Return every variable with its value and where it lies between its bounds."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("variable", overflow="fold")
    for name in ("value", "low", "high"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for name, value, low, high in zip(problem.variables, x, problem.lb, problem.ub, strict=True):
        table.add_row(plain(name), number(value), number(low), number(high), _place(value, low, high))
    return table


def limits(problem: Problem, values: Mapping[str, float], multipliers: Mapping[str, float]) -> Table:
    """Return every constraint with its value and how much room it leaves."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("constraint", overflow="fold")
    for name in ("value", "slack", "multiplier") if multipliers else ("value", "slack"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for constraint in problem.constraints:
        value = values.get(constraint.name, math.nan)
        room = float(constraint.slack(value))
        row = [plain(constraint), number(value), number(room, 4)]
        if multipliers:
            row.append(number(multipliers.get(constraint.name), 4))
        table.add_row(*row, verdict(room))
    return table


def verdict(room: float) -> Text:
    """Return whether a constraint with this slack holds, in a word."""
    if math.isnan(room):
        return Text("not known", style="dim")
    return Text("holds", style="green") if room >= 0.0 else Text("violated", style="red")


def show_answer(problem: Problem, result: Result) -> None:
    """Print the design, its constraints and its objective."""
    if result.x is None:
        say(result.message)
        return
    say(design(problem, result.x), "")
    if problem.constraints:
        say(limits(problem, result.constr, result.multipliers), "")
    say(f"{problem.objective.name} = {result.fun:.6g} after {result.nfev} evaluations: {result.message}")


def answer_json(problem: Problem, result: Result) -> dict[str, Any]:
    """Return an answer as JSON values, in user units and by name."""
    named = None if result.x is None else dict(zip(problem.variables, map(float, result.x), strict=True))
    seen = result.x_observed
    return {
        "success": bool(result.success),
        "message": result.message,
        "x": named,
        "fun": float(result.fun),
        "outcomes": {problem.objective.name: float(result.fun), **result.constr},
        "slack": {str(c): float(c.slack(result.constr.get(c.name, math.nan))) for c in problem.constraints},
        "pof": float(result.pof),
        "multipliers": result.multipliers,
        "kkt": result.kkt,
        "observed": {
            "x": None if seen is None else dict(zip(problem.variables, map(float, seen), strict=True)),
            "outcomes": {problem.objective.name: float(result.fun_observed), **result.constr_observed},
        },
        "nfev": result.nfev,
        "nit": result.nit,
        "nfail": result.nfail,
        "method": result.method,
        "seed": result.rng,
    }


def size(path: Path) -> str:
    """Return the size of a file in words."""
    count = path.stat().st_size
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def ago(then: float) -> str:
    """Return how long ago a moment was, in words."""
    return f"{duration(max(time.time() - then, 0.0))} ago"


def _place(value: float, low: float, high: float) -> Text:
    """Return a bar with a mark where a value lies between its bounds."""
    if low == high:
        return Text("fixed", style="dim")
    cells = 16
    at = round((cells - 1) * (value - low) / (high - low))
    line = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    mark = ("\N{BLACK CIRCLE}", "yellow" if value in (low, high) else "cyan")
    return Text.assemble((line * at, "dim"), mark, (line * (cells - 1 - at), "dim"))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _console(file: TextIO) -> Console:
    console = Console(file=file, highlight=False)
    return console if console.is_terminal else Console(file=file, highlight=False, width=_PIPED)
