"""The command that runs several methods on one problem."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lcbo.cli import screen
from lcbo.cli.arguments import Budget, Noise, Target, Variant, examples, pairs
from lcbo.cli.exit_codes import ERROR, INTERRUPTED, NOT_FEASIBLE
from lcbo.errors import ArgumentError

_DEFAULT = ["lcbo", "scbo", "cobyqa"]
Jobs = Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)]
Methods = Annotated[list[str], typer.Option(metavar="NAME...", help="Names out of `lcbo methods`.")]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="By default PROBLEM-comparison.")]
Seeds = Annotated[int, typer.Option(help="Runs of every method, from seeds 0, 1, ...", min=1)]


@examples(
    "lcbo compare problem.toml --methods lcbo scbo cobyqa --seeds 5 --jobs 2 --out comparison",
    "lcbo compare truss25 --budget 200 --noise 0.1",
    "lcbo compare gp_sample --variant d=10 --methods lcbo cobyla",
)
def compare(
    problem: Target,
    methods: Methods = _DEFAULT,
    seeds: Seeds = 3,
    budget: Budget = None,
    jobs: Jobs = None,
    out: Out = None,
    variant: Variant = None,
    noise: Noise = None,
) -> None:
    """Run several methods on one problem; the same command again goes on, more seeds or methods add runs."""
    from lcbo.cli.tasks import read_task
    from lcbo.compare.comparison import Comparison
    from lcbo.compare.figure import draw_figure
    from lcbo.compare.runner import Progress
    from lcbo.compare.runner import compare as run_all
    from lcbo.compare.score import score_table
    from lcbo.evaluation.pool import available_cores
    from lcbo.methods import registry
    from lcbo.reporting.format import summary

    for method in methods:
        registry.spec(method)
    task = read_task(problem, pairs("--variant", variant), noise, seed=None)
    budget = budget or task.settings.get("budget")
    if budget is None:
        raise ArgumentError("--budget", "evaluations of a run, here or as budget in [run]", "none")
    folder = out or Path(f"{task.name}-comparison")
    comparison = Comparison.begin(folder, task, budget=budget, noise=noise or 0.0)
    runs = comparison.plan(methods, seeds)
    there = len(Progress(runs).done)
    screen.remark(f"{task.name}: {summary(task.problem)}; {there} of {len(runs)} runs are in {folder}")
    try:
        progress = run_all(runs, jobs=jobs or available_cores(), console=Console(file=sys.stderr))
    except KeyboardInterrupt:
        screen.remark(f"lcbo: interrupted; everything is in {folder}, the same command goes on")
        raise typer.Exit(INTERRUPTED) from None
    for line in progress.troubles():
        screen.remark(line)
    objective = comparison.problem.objective
    found = score_table(comparison.scores(), objective.sign)
    if not found.empty:
        found.to_csv(folder / "comparison.csv", index=False)
        draw_figure(comparison, folder / "comparison.png")
        goal = "largest" if objective.maximize else "smallest"
        screen.say(f"{goal} feasible {objective.name} after {budget} evaluations:")
        table = Table(box=None, pad_edge=False)
        for name in found:
            table.add_column(str(name).replace("_", " "), justify="left" if name == "method" else "right")
        for method, *values in found.itertuples(index=False):
            table.add_row(method, *("none" if math.isnan(value) else f"{value:.6g}" for value in values))
        screen.say(table)
        screen.remark(f"Table: {folder / 'comparison.csv'} · figure: {folder / 'comparison.png'}")
    if progress.failed or found.empty:
        raise typer.Exit(ERROR)
    if not found["feasible"].any():
        raise typer.Exit(NOT_FEASIBLE)
