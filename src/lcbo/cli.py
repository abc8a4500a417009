"""The command line: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lcbo

if TYPE_CHECKING:
    from lcbo import Problem, Result

app = typer.Typer(
    help="Local constrained Bayesian optimization.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the two pictures.")] = Path(),
    budget: Annotated[int, typer.Option(help="Evaluations in all.", min=4)] = 1000,
    method: Annotated[str, typer.Option(help="Name of the method.")] = "lcbo",
    seed: Annotated[int, typer.Option(help="Seed of the run.", min=0)] = 0,
) -> None:
    """Minimise the weight of the 25-bar truss and show the design."""
    console = Console()
    problem = lcbo.problems.make("truss25")
    console.print(
        f"25-bar truss: {problem.dim} areas, minimise {problem.objective.name}, "
        f"subject to {' and '.join(map(str, problem.constraints))}."
    )
    result = lcbo.minimize(problem, budget=budget, method=method, rng=seed)
    _print_design(console, problem, result)
    out.mkdir(parents=True, exist_ok=True)
    best = problem.best_known
    lcbo.plot_convergence(
        result,
        out / "truss25-convergence.png",
        reference=None if best is None else best.value,
        label="weight [lb]",
    )
    if result.x is not None:
        problem.plot(result.x, out / "truss25-design.png")
    console.print(f"Pictures: {out / 'truss25-convergence.png'} and {out / 'truss25-design.png'}")


@app.command()
def problems() -> None:
    """List the benchmark problems."""
    table = Table("problem", "variables", "constraints", "best known", box=None)
    for name in lcbo.problems.names():
        try:
            problem = lcbo.problems.make(name)
        except ImportError as missing:  # an optional extra; the message says which
            table.add_row(name, "", escape(str(missing)), "")
            continue
        best = problem.best_known
        conditions = ", ".join(map(str, problem.constraints[:3])) + ", ..." * (len(problem.constraints) > 3)
        table.add_row(name, str(problem.dim), conditions, "" if best is None else f"{best.value:.8g}")
    Console().print(table)


@app.command()
def methods() -> None:
    """List the methods and their options with the defaults."""
    from lcbo.methods import registry

    console = Console()
    for name in registry.names():
        spec = registry.spec(name)
        console.print(f"[bold]{name}[/bold]  {spec.summary}", highlight=False)
        for option, default in spec.options.items():
            console.print(f"    {option} = {default!r}", highlight=False)


def _print_design(console: Console, problem: Problem, result: Result) -> None:
    """Print the design, and how much room every constraint leaves."""
    if result.x is None:
        console.print(result.message)
        return
    design = Table(title="Design", box=None)
    columns = 5
    for _ in range(columns):
        design.add_column("", style="dim")
        design.add_column(justify="right")
    cells = [(name, f"{value:.4f}") for name, value in zip(problem.variables, result.x, strict=True)]
    for first in range(0, len(cells), columns):
        design.add_row(*(text for cell in cells[first : first + columns] for text in cell))
    console.print(design)

    slack = Table("constraint", "value", "slack", "multiplier", title="Constraints", box=None)
    for constraint in problem.constraints:
        value = result.constr[constraint.name]
        low, high = constraint.interval
        multiplier = result.multipliers.get(constraint.name)
        slack.add_row(
            str(constraint),
            f"{value:.5g}",
            f"{min(value - low, high - value):.5g}",
            "" if multiplier is None else f"{multiplier:.5g}",
        )
    console.print(slack)
    console.print(
        f"{problem.objective.name} = {result.fun:.6g} after {result.nfev} evaluations. {result.message}"
    )
