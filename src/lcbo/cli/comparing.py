"""The command that runs several methods on one problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lcbo.cli import arguments as given
from lcbo.cli import screen
from lcbo.errors import ArgumentError
from lcbo.reporting.format import summary

_DEFAULT = ["lcbo", "scbo", "cobyqa"]
Jobs = Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)]
Methods = Annotated[list[str], typer.Option(metavar="NAME...", help="Names out of `lcbo methods`.")]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="By default PROBLEM-comparison.")]
Seeds = Annotated[int, typer.Option(help="Runs of every method, from seeds 0, 1, ...", min=1)]


@given.examples(
    "lcbo compare problem.toml --methods lcbo scbo cobyqa --seeds 5 --jobs 2 --out comparison",
    "lcbo compare truss25 --budget 200 --noise 0.1",
    "lcbo compare gp_sample --variant d=10 --methods lcbo cobyla",
)
def compare(
    problem: given.Target,
    methods: Methods = _DEFAULT,
    seeds: Seeds = 3,
    budget: given.Budget = None,
    jobs: Jobs = None,
    out: Out = None,
    variant: given.Variant = None,
    noise: given.Noise = None,
) -> None:
    """Run several methods on one problem; the same command again goes on, more seeds or methods add runs."""
    from lcbo.compare.comparison import Comparison
    from lcbo.compare.figure import draw_figure
    from lcbo.compare.runner import Progress
    from lcbo.compare.runner import compare as run_all
    from lcbo.compare.score import score_table
    from lcbo.evaluation.pool import available_cores
    from lcbo.methods import registry

    for method in methods:
        registry.spec(method)
    task = given.read_task(problem, variant, noise, seed=None)
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
        raise typer.Exit(given.INTERRUPTED) from None
    for line in progress.troubles():
        screen.remark(line)
    objective = comparison.problem.objective
    found = score_table(comparison.scores(), objective.sign)
    if not found.empty:
        found.to_csv(folder / "comparison.csv", index=False)
        draw_figure(comparison, folder / "comparison.png")
        goal = "largest" if objective.maximize else "smallest"
        screen.say(f"{goal} feasible {objective.name} after {budget} evaluations:")
        rows = [
            [screen.plain(method), *(screen.number(value, missing="none") for value in values)]
            for method, *values in found.itertuples(index=False)
        ]
        screen.say(screen.table([str(name).replace("_", " ") for name in found], rows))
        screen.remark(f"Table: {folder / 'comparison.csv'} · figure: {folder / 'comparison.png'}")
    if progress.failed or found.empty:
        raise typer.Exit(given.ERROR)
    if not found["feasible"].any():
        raise typer.Exit(given.NOT_FEASIBLE)
