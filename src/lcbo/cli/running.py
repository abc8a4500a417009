"""Commands that evaluate: run, resume, check, demo."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import lcbo
from lcbo.cli import screen
from lcbo.cli.arguments import (
    Budget,
    Device,
    Json,
    Method,
    Noise,
    Options,
    Retries,
    RunFile,
    Seed,
    Target,
    Timeout,
    Variant,
    Workers,
    pairs,
)
from lcbo.cli.exit_codes import ERROR, INTERRUPTED, NOT_FEASIBLE, examples
from lcbo.errors import ArgumentError

if TYPE_CHECKING:
    from lcbo.optimizer.result import Result
    from lcbo.problem import Problem


@examples(
    "lcbo run truss25 --budget 300",
    "lcbo run problem.toml",
    "lcbo run problem.toml --store run.db --budget 500 --workers 4 --timeout 600",
    "lcbo run truss25 --noise 0.1 --method lcbo-paper --seed 3",
    "lcbo run gp_sample --variant d=20 --option explore=5",
)
def run(
    problem: Target,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="File that keeps the run, PROBLEM.db by default; a run that is there is continued.",
        ),
    ] = None,
    budget: Budget = None,
    method: Method = None,
    seed: Seed = None,
    option: Options = None,
    variant: Variant = None,
    noise: Noise = None,
    workers: Workers = None,
    timeout: Timeout = None,
    retries: Retries = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Optimize a problem file or a named problem; every evaluation is kept in the run's file."""
    from lcbo.cli.tasks import read_task, summary

    task = read_task(problem, pairs("--variant", variant), noise, seed)
    arguments = task.arguments(budget=budget, method=method, seed=seed, options=pairs("--option", option))
    if task.problem.fun is None:
        path = shlex.quote(problem)
        raise ArgumentError(problem, "a table [command]", f"none; lcbo new run.db {path} is for ask and tell")
    if arguments["budget"] is None:
        raise ArgumentError("--budget", "evaluations in all, here or as budget in [run]", "none")
    file = store or Path(f"{task.name}.db")
    evaluation = task.evaluation(workers=workers, timeout=timeout, retries=retries)
    task.problem.source = {**(task.problem.source or {}), "evaluation": evaluation}
    words = f"going on with {file}" if file.exists() else f"kept in {file}"
    screen.remark(f"{task.name}: {summary(task.problem)}; {words}")
    _finish(
        lambda: lcbo.minimize(task.problem, store=file, device=device, **arguments, **evaluation),
        task.problem,
        file,
        json,
        arguments["budget"],
    )


@examples("lcbo resume run.db", "lcbo resume run.db --budget 2000 --workers 4")
def resume(
    run: RunFile,
    budget: Annotated[int | None, typer.Option(help="Evaluations in all, to add some.", min=1)] = None,
    workers: Workers = None,
    timeout: Timeout = None,
    retries: Retries = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Continue a run where it stopped, with the workers and limits that were given to `lcbo run`."""
    from lcbo.loop.minimize import resume as go_on
    from lcbo.problem.sources import from_recipe
    from lcbo.store.stored_run import open_run

    stored = open_run(run)
    source, at = stored.meta["source"] or {}, stored.status
    if stored.problem.fun is None and "command" in source:
        from_recipe(source, stored.meta["problem"])  # raises what is the matter with it
    if stored.problem.fun is None:
        raise ArgumentError(
            str(run),
            "a run of a named problem or of a command",
            "one whose function is not in the file; use lcbo ask and tell, or lcbo.minimize(..., store=...)",
        )
    given = {"workers": workers, "timeout": timeout, "retries": retries}
    evaluation = {
        **source.get("evaluation", {}),
        **{name: value for name, value in given.items() if value is not None},
    }
    screen.remark(f"{run}: going on after {at.ended} evaluations")
    budget = budget or at.budget
    _finish(lambda: go_on(run, budget=budget, device=device, **evaluation), stored.problem, run, json, budget)


def _finish(run: Callable[[], Result], problem: Problem, file: Path, json: bool, budget: int | None) -> None:
    """Run to the end or to Ctrl-C, print the answer and leave with the exit code it deserves."""
    path = shlex.quote(str(file))
    try:
        result = run()
    except KeyboardInterrupt:
        begun = f"continue with: lcbo resume {path}" if file.exists() else "nothing was evaluated yet"
        screen.remark(f"lcbo: interrupted; {begun}")
        raise typer.Exit(INTERRUPTED) from None
    _print_answer(problem, result, json)
    if result.reason == "interrupted":
        screen.remark(f"lcbo: interrupted; continue with: lcbo resume {path}")
        raise typer.Exit(INTERRUPTED)
    more = f" --budget {2 * budget}" if budget else ""
    screen.remark(f"More: lcbo report {path} · lcbo resume {path}{more}")
    if not result.success:
        raise typer.Exit(NOT_FEASIBLE)


def _print_answer(problem: Problem, result: Result, json: bool) -> None:
    if json:
        screen.say_json(screen.answer_json(problem, result))
    else:
        screen.show_answer(problem, result)


@examples("lcbo check problem.toml", "lcbo check problem.toml --repeats 3", "lcbo check truss25 --noise 0.1")
def check(
    problem: Target,
    repeats: Annotated[int, typer.Option(help="Evaluate so often; from 2 on the noise is shown.", min=1)] = 1,
    variant: Variant = None,
    noise: Noise = None,
) -> None:
    """Evaluate the start (or the middle of the box) once and explain what came back."""
    from lcbo.cli.checking import check_task
    from lcbo.cli.tasks import read_task

    task = read_task(problem, pairs("--variant", variant), noise, seed=None)
    if not check_task(task, repeats):
        raise typer.Exit(ERROR)


@examples("lcbo demo", "lcbo demo --out pictures --budget 300")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the two pictures.")] = Path(),
    budget: Annotated[int, typer.Option(help="Evaluations in all.", min=4)] = 1000,
    method: Annotated[str, typer.Option(help="Name of the method.")] = "lcbo",
    seed: Annotated[int, typer.Option(help="Seed of the run.", min=0)] = 0,
) -> None:
    """Minimize the weight of the 25-bar truss and show the design."""
    problem = lcbo.problems.make("truss25")
    screen.say(
        f"25-bar truss: {problem.dim} areas, minimize {problem.objective.name}, "
        f"subject to {' and '.join(map(str, problem.constraints))}."
    )
    result = lcbo.minimize(problem, budget=budget, method=method, rng=seed)
    if result.x is not None:
        screen.say(_areas(problem, result))
    screen.say(screen.limits(problem, result.constr, result.multipliers))
    name = problem.objective.name
    screen.say(f"{name} = {result.fun:.6g} after {result.nfev} evaluations. {result.message}")
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
    screen.say(f"Pictures: {out / 'truss25-convergence.png'} and {out / 'truss25-design.png'}")


def _areas(problem: Problem, result: Result) -> Table:
    """Return the design, five areas to a line."""
    assert result.x is not None
    table, columns = Table(box=None, show_header=False, pad_edge=False), 5
    for _ in range(columns):
        table.add_column(style="dim")
        table.add_column(justify="right")
    cells = [(name, f"{value:.4f}") for name, value in zip(problem.variables, result.x, strict=True)]
    for first in range(0, len(cells), columns):
        table.add_row(*(text for cell in cells[first : first + columns] for text in cell))
    return table
