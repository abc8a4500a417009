"""The command that runs several methods on one problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from lcbo.cli import screen
from lcbo.cli.arguments import Budget, Noise, Target, Variant, pairs
from lcbo.cli.exit_codes import ERROR, INTERRUPTED, NOT_FEASIBLE, examples
from lcbo.errors import ArgumentError

if TYPE_CHECKING:
    from lcbo.compare.comparison import Comparison
    from lcbo.compare.runner import PlannedRun, Progress
    from lcbo.compare.table import Row


@examples(
    "lcbo compare problem.toml --methods lcbo scbo cobyqa --seeds 5 --jobs 2 --out comparison",
    "lcbo compare truss25 --budget 200 --noise 0.1",
    "lcbo compare gp_sample --variant d=10 --methods lcbo cobyla",
)
def compare(
    problem: Target,
    methods: Annotated[list[str], typer.Option(metavar="NAME...", help="Names out of `lcbo methods`.")] = [  # noqa: B006  typer needs the list
        "lcbo",
        "scbo",
        "cobyqa",
    ],
    seeds: Annotated[int, typer.Option(help="Runs of every method, from seeds 0, 1, ...", min=1)] = 3,
    budget: Budget = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the comparison; PROBLEM-comparison by default."),
    ] = None,
    variant: Variant = None,
    noise: Noise = None,
) -> None:
    """Run several methods on one problem; the same command again goes on, more seeds or methods add runs."""
    from lcbo.cli.tasks import read_task, summary
    from lcbo.compare.comparison import Comparison
    from lcbo.compare.display import ending_words
    from lcbo.compare.figure import draw_figure
    from lcbo.compare.runner import Progress
    from lcbo.compare.table import rows, write_csv
    from lcbo.evaluation.pool import available_cores
    from lcbo.methods import registry

    for method in methods:
        registry.spec(method)
    task = read_task(problem, pairs("--variant", variant), noise, seed=None)
    budget = budget or task.settings.get("budget")
    if budget is None:
        raise ArgumentError("--budget", "evaluations of a run, here or as budget in [run]", "none")
    comparison = Comparison.begin(
        out or Path(f"{task.name}-comparison"), task, budget=budget, noise=noise or 0.0
    )
    folder, runs = comparison.folder, comparison.plan(methods, seeds)
    there = len(Progress.of(runs).done)
    screen.remark(f"{task.name}: {summary(task.problem)}; {there} of {len(runs)} runs are in {folder}")
    progress = _run(runs, jobs or available_cores(), folder)
    for line in ending_words(progress):
        screen.remark(line)
    table = rows(comparison.scores(), task.problem.objective.sign)
    if table:
        write_csv(table, folder / "comparison.csv")
        draw_figure(comparison, folder / "comparison.png")
        screen.say(_table(comparison, table))
        screen.remark(f"Table: {folder / 'comparison.csv'} · figure: {folder / 'comparison.png'}")
    if progress.failed or not table:
        raise typer.Exit(ERROR)
    if not any(row.feasible for row in table):
        raise typer.Exit(NOT_FEASIBLE)


def _run(runs: list[PlannedRun], jobs: int, folder: Path) -> Progress:
    """Make the runs that are missing, with a table of the progress on a terminal."""
    from lcbo.compare.display import progress_table
    from lcbo.compare.runner import compare

    console = Console(file=sys.stderr)
    try:
        with Live(console=console, refresh_per_second=2, transient=True) as live:

            def show(progress: Progress) -> None:
                if console.is_terminal:
                    live.update(progress_table(runs, progress, jobs))

            return compare(runs, jobs=jobs, watch=show)
    except KeyboardInterrupt:
        screen.remark(f"lcbo: interrupted; everything is in {folder}, the same command goes on")
        raise typer.Exit(INTERRUPTED) from None


def _table(comparison: Comparison, rows: list[Row]) -> Table:
    """Return the table of the methods for the terminal."""
    objective = comparison.problem.objective
    direction = "largest" if objective.maximize else "smallest"
    title = f"{direction} feasible {objective.name} after {comparison.facts['budget']} evaluations"
    table = Table(
        title=screen.plain(title), title_justify="left", box=None, pad_edge=False, header_style="dim"
    )
    table.add_column("method")
    for name in ("median", "quartiles", "", "feasible", "first feasible", "evaluations", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        values = (row.median, row.lower_quartile, row.upper_quartile)
        table.add_row(
            row.method,
            *("none" if value is None else f"{value:.6g}" for value in values),
            f"{row.feasible} of {row.runs}",
            "none" if row.first_feasible is None else f"{row.first_feasible:g}",
            f"{row.evaluations:g}",
            f"{row.seconds:.1f}",
        )
    return table
