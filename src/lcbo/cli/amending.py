"""The command that changes a run under way: amend."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lcbo
from lcbo.cli import arguments as given
from lcbo.cli import screen
from lcbo.reporting.format import counted, next_command

_CORRECT = "Give outcomes of an evaluation other values; nan makes it a failure. Repeatable."
_WITHDRAW = "Let an evaluation no longer count; its budget is spent. Repeatable."
_LIMIT = "Change a limit that there is. Repeatable."
_CONSTRAIN = "Add a limit on an outcome that was recorded. Repeatable."
_BOUND = "Tighten or widen the bounds of a variable. Repeatable."
_FIX = "Fix a variable. Repeatable."
Texts = list[str] | None


@given.examples(
    "lcbo amend run.db --limit 'stress <= 35000' --reason 'another steel'",
    "lcbo amend run.db --correct 7 weight=512.3 stress=31000",
    "lcbo amend run.db --withdraw 12 --withdraw 13",
    "lcbo amend run.db --constrain 'mass <= 12' --bound height=0.1:2.5 --fix width=1.2",
)
def amend(
    run: given.RunFile,
    correct: Annotated[Texts, typer.Option(metavar="ID NAME=NUMBER", help=_CORRECT)] = None,
    withdraw: Annotated[list[int] | None, typer.Option(metavar="ID", help=_WITHDRAW)] = None,
    limit: Annotated[Texts, typer.Option(metavar="LIMIT", help=_LIMIT)] = None,
    constrain: Annotated[Texts, typer.Option(metavar="LIMIT", help=_CONSTRAIN)] = None,
    bound: Annotated[Texts, typer.Option(metavar="NAME=LOW:HIGH", help=_BOUND)] = None,
    fix: Annotated[Texts, typer.Option(metavar="NAME=NUMBER", help=_FIX)] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")] = False,
) -> None:
    """Change evaluations, limits or bounds of a run; what was before stays on record."""
    changes: dict[str, Any] = {
        "correct": _corrections(correct),
        "withdraw": withdraw or [],
        "limits": limit or [],
        "constrain": constrain or [],
        "bounds": given.pairs("--bound", bound, _range),
        "fix": given.pairs("--fix", fix, float),
        "reason": reason,
    }
    opened = lcbo.Optimizer.inspect(run) if dry_run else lcbo.Optimizer.open(run)
    with opened as optimizer:
        before = screen.best_so_far(optimizer.log)
        entry = optimizer.amend(**changes, dry_run=dry_run)
        screen.say("Would change:" if dry_run else "Changed:", *(f"  {change}" for change in entry.changes))
        if dry_run:
            return
        log = optimizer.log
        outside = sum(not optimizer.problem.space.holds(e.x) for e in log.evaluations)
    if outside:
        screen.remark(f"{counted(outside, 'evaluation')} outside the bounds no longer used")
    screen.remark(f"best before: {before}")
    screen.remark(f"best now: {screen.best_so_far(log)}")
    screen.remark(f"Next: {next_command(lcbo.open_run(run))}")


def _corrections(texts: Texts) -> dict[int, dict[str, float]]:
    """Return an id and ``NAME=NUMBER`` on lines of their own as outcomes by id."""
    found: dict[int, dict[str, float]] = {}
    for text in texts or ():
        id, *outcomes = text.split("\n")
        if not id.isdecimal() or not outcomes:
            got = " ".join([id, *outcomes])
            raise typer.BadParameter(f"expected ID NAME=NUMBER; got {got!r}", param_hint="--correct")
        found.setdefault(int(id), {}).update(given.pairs("--correct", outcomes, float))
    return found


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        expected = f"expected NAME=LOW:HIGH; got {text!r}"
        raise typer.BadParameter(expected, param_hint="--bound") from None
