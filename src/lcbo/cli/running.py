"""Commands that evaluate: run, resume, check."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    examples,
    pairs,
)
from lcbo.cli.exit_codes import ERROR, INTERRUPTED, NOT_FEASIBLE
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
            help="File of the run, PROBLEM.db by default; a run found there is continued.",
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
    """Optimize a problem file or a named problem; the run's file keeps every evaluation."""
    from lcbo.cli.tasks import read_task
    from lcbo.reporting.format import summary

    task = read_task(problem, pairs("--variant", variant), noise, seed)
    arguments = task.arguments(budget=budget, method=method, seed=seed, options=pairs("--option", option))
    if task.problem.fun is None:
        path = shlex.quote(problem)
        raise ArgumentError(problem, "a table [command]", f"none; lcbo new run.db {path} is for ask and tell")
    if arguments["budget"] is None:
        raise ArgumentError("--budget", "a number of evaluations, here or as budget in [run]", "none")
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
    budget: Annotated[int | None, typer.Option(help="New total number of evaluations.", min=1)] = None,
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
        from_recipe(source, stored.meta["problem"])  # raises the reason why it cannot be rebuilt
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
    """Run until the end or Ctrl-C, print the answer and exit with its code."""
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
    repeats: Annotated[
        int, typer.Option(help="Number of evaluations; two or more show the noise.", min=1)
    ] = 1,
    variant: Variant = None,
    noise: Noise = None,
) -> None:
    """Evaluate the start, or the middle of the box, and explain what was returned."""
    from lcbo.cli.checking import check_task
    from lcbo.cli.tasks import read_task

    task = read_task(problem, pairs("--variant", variant), noise, seed=None)
    if not check_task(task, repeats):
        raise typer.Exit(ERROR)
