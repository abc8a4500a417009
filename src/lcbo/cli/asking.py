"""Commands for evaluations made elsewhere, in a laboratory or a batch queue: new, ask, tell."""

from __future__ import annotations

import csv
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from lcbo.cli import screen
from lcbo.cli.arguments import (
    Budget,
    Json,
    Method,
    Options,
    RunFile,
    Seed,
    Target,
    Variant,
    Wait,
    examples,
    numbers,
    pairs,
)
from lcbo.cli.exit_codes import NOTHING
from lcbo.errors import RunInUseError, StoreError

if TYPE_CHECKING:
    from lcbo.optimizer.optimizer import Optimizer
    from lcbo.problem import Problem
    from lcbo.types import Candidate


@examples("lcbo new run.db problem.toml", "lcbo new run.db problem.toml --budget 200 --seed 3")
def new(
    run: RunFile,
    problem: Target,
    budget: Budget = None,
    method: Method = None,
    seed: Seed = None,
    option: Options = None,
    variant: Variant = None,
) -> None:
    """Begin a run for ask and tell: you evaluate the candidates yourself."""
    from lcbo.cli.tasks import read_task
    from lcbo.optimizer.optimizer import Optimizer

    if run.exists():
        raise StoreError(f"{run}: exists already; lcbo ask {run} goes on with it")
    task = read_task(problem, pairs("--variant", variant), noise=None, seed=seed)
    arguments = task.arguments(budget=budget, method=method, seed=seed, options=pairs("--option", option))
    with Optimizer(task.problem, store=run, **arguments) as optimizer:
        stated = "open" if optimizer.budget is None else str(optimizer.budget)
        screen.remark(f"{run}: begun with {optimizer.method}, seed {optimizer.seed}, budget {stated}")
        screen.remark(f"Next: lcbo ask {shlex.quote(str(run))} -n 4")


@examples(
    "lcbo ask run.db",
    "lcbo ask run.db -n 4",
    "lcbo ask run.db -n 4 --csv > todo.csv",
    "lcbo ask run.db --pending --json",
)
def ask(
    run: RunFile,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", help="Number of candidates; by default, the rest of the current iteration.", min=1
        ),
    ] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="Show the candidates that were handed out and not yet told.")
    ] = False,
    json: Json = False,
    table: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    wait: Wait = 60.0,
) -> None:
    """Hand out candidates to evaluate: a table on a terminal, else one JSON object per line."""
    if pending:
        from lcbo.store.stored_run import open_run

        stored = open_run(run)
        problem, candidates = stored.problem, stored.pending
        nothing = "no candidate is pending"
    else:
        with _opened(run, wait) as optimizer:
            problem, candidates = optimizer.problem, optimizer.ask(n)
            nothing = _why_nothing(optimizer, run)
    _print(problem, candidates, "csv" if table else "json" if json or not screen.is_terminal() else "table")
    if not candidates:
        screen.remark(f"lcbo: {nothing}")
        raise typer.Exit(NOTHING)


@examples(
    "lcbo tell run.db 7 weight=512.3 stress=31000 disp=0.33",
    "lcbo tell run.db 7 weight=512.3 --final",
    "lcbo tell run.db 8 --failed 'mesh did not converge'",
    "lcbo tell run.db --from results.csv",
)
def tell(
    run: RunFile,
    id: Annotated[int | None, typer.Argument(metavar="ID", help="Id of the candidate.")] = None,
    outcomes: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="Outcomes by name.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option(metavar="REASON", help="Report that the evaluation failed, with the reason.")
    ] = None,
    final: Annotated[
        bool, typer.Option("--final", help="The outcomes not told by now are missing for good.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="Read many results from a .csv or .json file; - reads JSON lines."
        ),
    ] = None,
    wait: Wait = 60.0,
) -> None:
    """Report outcomes or failures; they are stored on return, and telling them again does nothing."""
    if (id is None) == (source is None):
        raise typer.BadParameter("expected either an ID or --from FILE", param_hint="ID")
    if source is not None and (outcomes or failed is not None or final):
        raise typer.BadParameter("expected nothing beside --from FILE", param_hint="--from")
    if id is not None and bool(outcomes) == (failed is not None):
        raise typer.BadParameter("expected either outcomes or --failed REASON", param_hint="NAME=NUMBER")
    told = None if failed is not None else numbers("NAME=NUMBER", outcomes)
    from lcbo.cli.tell_rows import TellRow, read_results

    with _opened(run, wait) as optimizer:
        if source is not None:
            reports = read_results(source, optimizer.problem)
        else:
            assert id is not None
            reports = [TellRow(id, told, failed, final)]
        for number, report in enumerate(reports):
            try:
                optimizer.tell(report.id, report.outcomes, failed=report.failed, final=report.final)
            except Exception:
                if number:
                    screen.remark(f"{number} of {len(reports)} results were told before this error:")
                raise
        screen.remark(_state(optimizer, len(reports)))


def _opened(run: Path, wait: float) -> Optimizer:
    """Return the optimizer of a run, after waiting until no other process writes to it."""
    from lcbo.optimizer.optimizer import Optimizer

    if not run.exists():
        raise StoreError(f"{run}: there is no such run file; lcbo new {run} problem.toml begins one")
    deadline = time.monotonic() + wait
    while True:
        try:
            return Optimizer.open(run)
        except RunInUseError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)


def _why_nothing(optimizer: Optimizer, run: Path) -> str:
    if optimizer.exhausted:
        return f"the budget of {optimizer.budget} evaluations is handed out; lcbo best {run} shows the answer"
    waiting = len(optimizer.pending)
    if waiting:
        return f"{waiting} candidates are pending; tell some of them, or ask for more with -n"
    return "the method has nothing more to propose"


def _state(optimizer: Optimizer, told: int) -> str:
    """Return one line on the run after a tell."""
    log, problem = optimizer.log, optimizer.problem
    total = "" if optimizer.budget is None else f" of {optimizer.budget}"
    best = "nothing feasible yet"
    if log.best is not None:
        name = problem.objective.name
        best = f"best feasible {name} {log.best.outcomes[name]:.6g} (candidate {log.best.id})"
    return (
        f"told {told}; {optimizer.n_ended}{total} evaluations ended, {len(optimizer.pending)} pending; {best}"
    )


def _print(problem: Problem, candidates: Sequence[Candidate], form: str) -> None:
    if form == "json":
        for c in candidates:
            screen.say_json({"id": c.id, "role": c.role, "iteration": c.iteration, "x": _named(problem, c)})
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["id", "role", "iteration", *problem.variables])
        writer.writerows([c.id, c.role, c.iteration, *c.x.tolist()] for c in candidates)
    else:
        columns = max(1, (screen.out().width - 20) // 13)
        for first in range(0, len(candidates), columns):
            screen.say(_table(problem, candidates[first : first + columns]), "")


def _table(problem: Problem, candidates: Sequence[Candidate]) -> Table:
    """Return candidates as columns, variables as rows."""
    table = Table(box=None, pad_edge=False)
    table.add_column("id", style="dim", overflow="fold")
    for c in candidates:
        table.add_column(str(c.id), justify="right", no_wrap=True)
    table.add_row("role", *(c.role for c in candidates), style="dim")
    for index, name in enumerate(problem.variables):
        table.add_row(screen.plain(name), *(screen.number(c.x[index]) for c in candidates))
    return table


def _named(problem: Problem, candidate: Candidate) -> dict[str, Any]:
    return dict(zip(problem.variables, candidate.x.tolist(), strict=True))
