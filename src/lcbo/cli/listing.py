"""Commands that list the benchmark problems and the methods."""

from __future__ import annotations

from textwrap import wrap
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

import lcbo
from lcbo.cli import screen
from lcbo.cli.arguments import examples

_WIDTH = 90  # of the lines that say what an option means


@examples("lcbo problems")
def problems() -> None:
    """List the benchmark problems."""
    table = Table("problem", "variables", "constraints", "best known", box=None, pad_edge=False)
    for name in lcbo.problems.names():
        try:
            problem = lcbo.problems.make(name)
        except ImportError as missing:  # an optional extra; the message says which
            table.add_row(name, "", screen.plain(missing), "")
            continue
        best = problem.best_known
        conditions = ", ".join(map(str, problem.constraints[:3])) + ", ..." * (len(problem.constraints) > 3)
        table.add_row(name, str(problem.dim), conditions, "" if best is None else f"{best.value:.8g}")
    screen.say(table)


@examples("lcbo methods", "lcbo methods lcbo-paper")
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this method only.", show_default=False)
    ] = None,
) -> None:
    """List the methods and their options with the defaults; of one method, with what each option means."""
    from lcbo.methods import registry

    for known in registry.names() if name is None else [registry.spec(name).name]:
        entry = registry.spec(known)
        screen.say(Text.assemble((known, "bold"), f"  {entry.summary}"))
        meanings = {} if name is None else registry.meanings(entry)
        for option, default in entry.options.items():
            screen.say(f"    {option} = {default!r}")
            screen.say(*(f"        {line}" for line in wrap(meanings.get(option, ""), _WIDTH)))
