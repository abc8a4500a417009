"""Commands that evaluate: run, resume, check."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lcbo
from lcbo.cli import arguments as given
from lcbo.cli import screen
from lcbo.errors import ArgumentError
from lcbo.reporting.format import summary

if TYPE_CHECKING:
    from lcbo.problem import Problem

_STORE = "File of the run, PROBLEM.db by default; a run found there is continued."
Store = Annotated[Path | None, typer.Option(metavar="RUN", help=_STORE)]
Total = Annotated[int | None, typer.Option(help="New total number of evaluations.", min=1)]


@given.examples(
    "lcbo run truss25 --budget 300",
    "lcbo run problem.toml",
    "lcbo run problem.toml --store run.db --budget 500 --workers 4 --timeout 600",
    "lcbo run truss25 --noise 0.1 --method lcbo-paper --seed 3",
    "lcbo run gp_sample --variant d=20 --option explore=5",
)
def run(
    problem: given.Target,
    store: Store = None,
    budget: given.Budget = None,
    method: given.Method = None,
    seed: given.Seed = None,
    option: given.Options = None,
    variant: given.Variant = None,
    noise: given.Noise = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    retries: given.Retries = None,
    json: given.Json = False,
) -> None:
    """Optimize a problem file or a named problem; the run's file keeps every evaluation."""
    task = given.read_task(problem, variant, noise, seed)
    options = given.pairs("--option", option)
    arguments = task.arguments(budget=budget, method=method, seed=seed, options=options)
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
    _minimize(task.problem, file, json, **arguments, **evaluation)


@given.examples("lcbo resume run.db", "lcbo resume run.db --budget 2000 --workers 4")
def resume(
    run: given.RunFile,
    budget: Total = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    retries: given.Retries = None,
    json: given.Json = False,
) -> None:
    """Continue a run where it stopped, with the workers and limits that were given to `lcbo run`."""
    from lcbo.evaluation.command.problem_file import Task, rebuilt_command_problem
    from lcbo.store.describe import rebuild_value

    stored = lcbo.open_run(run)
    meta, problem, at = stored.meta, stored.problem, stored.status
    source = meta["source"] or {}
    if problem.fun is None and "command" in source:
        problem = rebuilt_command_problem(meta)  # raises the reason why it cannot be rebuilt
    if problem.fun is None:
        raise ArgumentError(
            str(run),
            "a run of a named problem or of a command",
            "one whose function is not in the file; use lcbo ask and tell, or lcbo.minimize(..., store=...)",
        )
    task = Task(run.stem, problem, source.get("evaluation", {}))
    screen.remark(f"{run}: going on after {at.ended} evaluations")
    _minimize(
        problem,
        run,
        json,
        budget=budget or at.budget,
        rng=meta["seed"],
        options=rebuild_value(meta["options"]),
        **{name: meta[name] for name in ("method", "x0", "n_init", "data")},
        **task.evaluation(workers=workers, timeout=timeout, retries=retries),
    )


def _minimize(problem: Problem, file: Path, json: bool, **arguments: Any) -> None:
    """Run until the end or Ctrl-C, print the answer and exit with its code."""
    path = shlex.quote(str(file))
    try:
        result = lcbo.minimize(problem, store=file, **arguments)
    except KeyboardInterrupt:
        begun = f"continue with: lcbo resume {path}" if file.exists() else "nothing was evaluated yet"
        screen.remark(f"lcbo: interrupted; {begun}")
        raise typer.Exit(given.INTERRUPTED) from None
    screen.show_answer(problem, result, json)
    if result.reason == "interrupted":
        screen.remark(f"lcbo: interrupted; continue with: lcbo resume {path}")
        raise typer.Exit(given.INTERRUPTED)
    screen.remark(f"More: lcbo report {path} · lcbo resume {path} --budget {2 * arguments['budget']}")
    if not result.success:
        raise typer.Exit(given.NOT_FEASIBLE)
