"""What the commands print: answers on standard output, remarks on standard error, in plain text."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lcbo.reporting.format import sentences, with_error

if TYPE_CHECKING:
    from lcbo.optimizer.log import Log
    from lcbo.optimizer.result import Result
    from lcbo.problem import Problem
    from lcbo.types import Array

_OUTCOMES = 6  # columns of slopes that fit on a screen
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
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    sys.stdout.write(json.dumps(finite) + "\n")


def plain(text: object) -> Text:
    """Return a text without markup or control characters, which could change a terminal."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return Text(shown)


def number(value: float | None, digits: int = 6, missing: str = "") -> Text:
    """Return a number for a table."""
    there = value is not None and not math.isnan(value)
    return Text(f"{value:.{digits}g}" if there else missing, justify="right")


def table(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    """Return a table of at least one row; a column whose first cell is a number is one of numbers."""
    drawn = Table(box=None, pad_edge=False, header_style="dim")
    for name, cell in zip(names, rows[0], strict=True):
        right = cell.justify == "right"
        drawn.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def design(problem: Problem, x: Array) -> Table:
    """Return every variable with its value and where it lies between its bounds."""
    share = problem.space.shares(x)
    rows = [
        [plain(name), number(value), number(low), number(high), _place(at), plain(kind)]
        for name, value, low, high, at, kind in zip(
            problem.variables, x, problem.lb, problem.ub, share, problem.kinds, strict=True
        )
    ]
    head = ["variable", "value", "low", "high", "", "kind"]
    return table(head, rows) if any(problem.kinds) else table(head[:-1], [row[:-1] for row in rows])


def limits(problem: Problem, result: Result) -> Table:
    """Return every constraint with its value, how much room it leaves and what it costs.

    It holds when it is violated by no more than what is allowed.
    """
    rows, values, costs = [], result.constr, result.multipliers
    for c in problem.constraints:
        value = values.get(c.name, math.nan)
        room, allowed = float(c.slack(value)), result.feasibility_tol.get(c.name, 0.0)
        more = [_estimate(costs[c.name], result.multiplier_errors[c.name])] if costs else []
        rows.append([plain(c), number(value), number(room, 4), *more, verdict(room + allowed)])
    return table(["constraint", "value", "slack", *["multiplier"] * bool(costs), ""], rows)


def slopes(problem: Problem, result: Result) -> Table | str:
    """Return the slopes by variable: of the objective, then of the outcomes with the least room."""
    found = result.sensitivities
    if found is None:
        return f"{result.method} has no model, so there are no slopes."
    costs = {name: abs(value) for name, value in found.multipliers.items()}
    names = [problem.objective.name, *sorted(costs, key=lambda name: -costs[name])][:_OUTCOMES]
    rows = [found.outcomes.index(name) for name in names]
    lines = [
        [plain(found.variables[i]), *(_estimate(found.slopes[r, i], found.errors[r, i]) for r in rows)]
        for i in found.strongest(rows, len(found.variables))
    ]
    return table(["slope by", *names], lines)


def verdict(room: float) -> Text:
    """Return whether a constraint with this slack holds, in a word."""
    if math.isnan(room):
        return Text("not known", style="dim")
    return Text("holds", style="green") if room >= 0.0 else Text("violated", style="red")


def best_so_far(log: Log) -> str:
    """Return the best evaluation of a run in words."""
    name, seen = log.problem.objective.name, log.incumbent()
    if seen is None:
        there = any(evaluation.outcomes for evaluation in log.evaluations)
        return "nothing evaluated within the bounds yet" if there else "nothing evaluated yet"
    value = f"{name} = {seen.outcomes[name]:.6g}"
    if log.best is not None:
        return f"{value}, feasible as observed (candidate {seen.id})"
    violation = log.problem.infeasibility(seen.outcomes, log.scale())
    return f"nothing feasible yet; least violation {violation:.3g} sd, with {value} (candidate {seen.id})"


def show_answer(problem: Problem, result: Result, json: bool, sensitivities: bool = False) -> None:
    """Print the design, its constraints and its objective, or everything as JSON; with slopes where asked."""
    if json:
        say_json(_answer(problem, result) | (_slopes_json(result) if sensitivities else {}))
        return
    if result.x is None:
        say(result.message)
        return
    say(design(problem, result.x), "")
    if problem.constraints:
        say(limits(problem, result), "")
    if result.feasibility_tol and result.rule == "observed":
        most = max(result.feasibility_tol.items(), key=lambda item: item[1])
        say(f"A limit counts as met within the feasibility tolerance, at most {most[1]:.2g} ({most[0]}).", "")
    if sensitivities:
        say(slopes(problem, result), "")
    say(f"{problem.objective.name} = {result.fun:.6g} after {result.nfev} evaluations: {result.message}")
    if result.stationarity:
        say(f"{sentences(result.stationarity)}.")
    for remark in result.remarks:
        say(f"{sentences(remark)}.")


def named(problem: Problem, x: Array | None) -> dict[str, float] | None:
    """Return a point by variable."""
    return None if x is None else dict(zip(problem.variables, x.tolist(), strict=True))


def _answer(problem: Problem, result: Result) -> dict[str, Any]:
    """Return an answer as JSON values, in user units and by name."""
    name = problem.objective.name
    return {
        "success": bool(result.success),
        "message": result.message,
        "x": named(problem, result.x),
        "fun": float(result.fun),
        "outcomes": {name: float(result.fun), **result.constr},
        "slack": {str(c): float(c.slack(result.constr.get(c.name, math.nan))) for c in problem.constraints},
        "pof": float(result.pof),
        **{field: result[field] for field in ("confidence", "rule", "feasibility_tol")},
        "multipliers": result.multipliers,
        "multiplier_errors": result.multiplier_errors,
        "stationarity": result.stationarity,
        "remarks": result.remarks,
        "kkt": result.kkt,
        "observed": {
            "x": named(problem, result.x_observed),
            "outcomes": {name: float(result.fun_observed), **result.constr_observed},
        },
        **{field: result[field] for field in ("nfev", "nit", "nfail", "method")},
        "seed": result.rng,
    }


def _slopes_json(result: Result) -> dict[str, Any]:
    """Return the slopes by outcome and variable as JSON values."""
    found = result.sensitivities
    if found is None:
        return {"sensitivities": None}
    pairs = np.stack([found.slopes, found.errors], -1).tolist()
    by_name = {
        outcome: {
            name: {"slope": slope, "error": error}
            for name, (slope, error) in zip(found.variables, row, strict=True)
        }
        for outcome, row in zip(found.outcomes, pairs, strict=True)
    }
    return {"sensitivities": by_name}


def _estimate(value: float, error: float) -> Text:
    return Text(with_error(value, error), justify="right")


def _place(share: float) -> Text:
    """Return a bar with a mark at a share of the way between the bounds, NaN for a fixed variable."""
    if math.isnan(share):
        return Text("fixed", style="dim")
    cells = 16
    at = round((cells - 1) * share)
    line = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    mark = ("\N{BLACK CIRCLE}", "yellow" if share in (0.0, 1.0) else "cyan")
    return Text.assemble((line * at, "dim"), mark, (line * (cells - 1 - at), "dim"))


def _console(file: TextIO) -> Console:
    console = Console(file=file, highlight=False)
    return console if console.is_terminal else Console(file=file, highlight=False, width=_PIPED)
