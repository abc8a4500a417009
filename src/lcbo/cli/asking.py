"""Commands for evaluations made elsewhere, in a laboratory or a batch queue: new, ask, tell."""

from __future__ import annotations

import csv
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import lcbo
from lcbo.cli import arguments as given
from lcbo.cli import screen
from lcbo.errors import ArgumentError, RunInUseError, StoreError
from lcbo.reporting.format import one_line
from lcbo.text import brief

if TYPE_CHECKING:
    from lcbo.optimizer.optimizer import Optimizer
    from lcbo.problem import Problem
    from lcbo.types import Candidate

_N = "Number of candidates; by default, the rest of the current iteration."
_PENDING = "Show the candidates that were handed out and not yet told."
_FAILED = "Report that the evaluation failed, with the reason."
_FINAL = "The outcomes not told by now are missing for good."
_ALSO = "A further value, kept on record: amend can put a limit on it later. Repeatable."
_FROM = "Read many results from a .csv or .json file; - reads JSON lines."
_WAIT = "Seconds to wait while another process writes to the run."
Wait = Annotated[float, typer.Option(help=_WAIT, min=0.0)]


@given.examples("lcbo new run.db problem.toml", "lcbo new run.db problem.toml --budget 200 --seed 3")
def new(
    run: given.RunFile,
    problem: given.Target,
    budget: given.Budget = None,
    method: given.Method = None,
    seed: given.Seed = None,
    option: given.Options = None,
    variant: given.Variant = None,
    confidence: given.Confidence = None,
    data: given.Data = None,
) -> None:
    """Begin a run for ask and tell: you evaluate the candidates yourself."""
    if run.exists():
        raise StoreError(f"{run}: exists already; lcbo ask {run} goes on with it")
    task = given.read_task(problem, variant, noise=None, seed=seed)
    options = given.pairs("--option", option)
    stated = {"budget": budget, "method": method, "seed": seed, "confidence": confidence}
    arguments = task.arguments(options=options, **stated)
    with lcbo.Optimizer(task.problem, store=run, data=data, **arguments) as optimizer:
        total = optimizer.budget or "open"
        screen.remark(f"{run}: begun with {optimizer.method}, seed {optimizer.seed}, budget {total}")
        screen.remark(f"Next: lcbo ask {shlex.quote(str(run))} -n 4")


@given.examples(
    "lcbo ask run.db",
    "lcbo ask run.db -n 4",
    "lcbo ask run.db -n 4 --csv > todo.csv",
    "lcbo ask run.db --pending --json",
)
def ask(
    run: given.RunFile,
    n: Annotated[int | None, typer.Option("-n", help=_N, min=1)] = None,
    pending: Annotated[bool, typer.Option("--pending", help=_PENDING)] = False,
    json: given.Json = False,
    table: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    wait: Wait = 60.0,
) -> None:
    """Hand out candidates to evaluate: a table on a terminal, else one JSON object per line."""
    if pending:
        stored, nothing = lcbo.open_run(run), "no candidate is pending"
        problem, candidates = stored.problem, stored.pending
    else:
        with _opened(run, wait) as optimizer:
            problem, candidates = optimizer.problem, optimizer.ask(n)
            nothing = _why_nothing(optimizer, run)
    if table:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["id", "role", "iteration", *problem.variables])
        writer.writerows([c.id, c.role, c.iteration, *c.x.tolist()] for c in candidates)
    elif json or not screen.is_terminal():
        for c in candidates:
            x = screen.named(problem, c.x)
            screen.say_json({"id": c.id, "role": c.role, "iteration": c.iteration, "x": x})
    else:
        columns = max(1, (screen.out().width - 20) // 13)
        for first in range(0, len(candidates), columns):
            _show(problem, candidates[first : first + columns])
    if not candidates:
        screen.remark(f"lcbo: {nothing}")
        raise typer.Exit(given.NOTHING)


@given.examples(
    "lcbo tell run.db 7 weight=512.3 stress=31000 disp=0.33",
    "lcbo tell run.db 7 weight=512.3 --final",
    "lcbo tell run.db 7 weight=512.3 stress=31000 --also mass=11.5",
    "lcbo tell run.db 8 --failed 'mesh did not converge'",
    "lcbo tell run.db --from results.csv",
)
def tell(
    run: given.RunFile,
    id: Annotated[int | None, typer.Argument(metavar="ID", help="Id of the candidate.")] = None,
    outcomes: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="Outcomes by name.")
    ] = None,
    failed: Annotated[str | None, typer.Option(metavar="REASON", help=_FAILED)] = None,
    final: Annotated[bool, typer.Option("--final", help=_FINAL)] = False,
    also: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help=_ALSO)] = None,
    source: Annotated[Path | None, typer.Option("--from", metavar="FILE", help=_FROM)] = None,
    wait: Wait = 60.0,
) -> None:
    """Report outcomes or failures; they are stored on return, and telling them again does nothing."""
    if (id is None) == (source is None):
        raise typer.BadParameter("expected either an ID or --from FILE", param_hint="ID")
    if source is not None and (outcomes or failed is not None or final or also):
        raise typer.BadParameter("expected nothing beside --from FILE", param_hint="--from")
    if id is not None and bool(outcomes) == (failed is not None):
        raise typer.BadParameter("expected either outcomes or --failed REASON", param_hint="NAME=NUMBER")
    told = None if failed is not None else given.pairs("NAME=NUMBER", outcomes, float)
    with _opened(run, wait) as optimizer:
        more = given.pairs("--also", also, float)
        result = {"id": id, "outcomes": told, "failed": failed, "final": final, "also": more}
        reports: list[dict[str, Any]] = [result]
        if source is not None:
            reports = _results(source, optimizer.problem)
        before = optimizer.log.n_failed
        for number, report in enumerate(reports):
            try:
                optimizer.tell(**report)
            except Exception:
                if number:
                    screen.remark(f"{number} of {len(reports)} results were told before this error:")
                raise
        total = "" if optimizer.budget is None else f" of {optimizer.budget}"
        counts = f"{optimizer.n_ended}{total} evaluations ended, {len(optimizer.pending)} pending"
        words = f"told {len(reports)}"
        if failures := optimizer.log.n_failed - before:
            last = next(e.failed for e in reversed(optimizer.log.evaluations) if e.failed)
            words += f", of which {failures} failed ({brief(one_line(last), 200)})"
        screen.remark(f"{words}; {counts}; best: {screen.best_so_far(optimizer.log)}")


def _opened(run: Path, wait: float) -> Optimizer:
    """Return the optimizer of a run, after waiting until no other process writes to it."""
    if not run.exists():
        raise StoreError(f"{run}: there is no such run file; lcbo new {run} problem.toml begins one")
    deadline = time.monotonic() + wait
    while True:
        try:
            return lcbo.Optimizer.open(run)
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


def _show(problem: Problem, candidates: Sequence[Candidate]) -> None:
    """Print candidates as columns, variables as rows."""
    rows = [[Text("role", style="dim"), *(Text(c.role, style="dim", justify="right") for c in candidates)]]
    for index, name in enumerate(problem.variables):
        rows.append([screen.plain(name), *(screen.number(c.x[index]) for c in candidates)])
    screen.say(screen.table(["id", *(str(c.id) for c in candidates)], rows), "")


def _results(path: Path, problem: Problem) -> list[dict[str, Any]]:
    """Return the arguments of `Optimizer.tell` for the results in a file; ``-`` reads JSON lines.

    All of them are checked before any is told. Rows without any outcome are not done yet and left out, the
    columns that ``lcbo ask`` prints are ignored.
    """
    piped = str(path) == "-"
    if piped or path.suffix.lower() in (".json", ".jsonl"):
        name = "standard input" if piped else str(path)
        text = sys.stdin.read() if piped else path.read_text(encoding="utf-8-sig")
        entries = [(f"{name}, entry {number}", entry) for number, entry in _objects(name, text)]
    elif path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = enumerate(csv.DictReader(file), 2)
            entries = [(f"{path}, line {number}", _cells(row)) for number, row in rows]
    else:
        raise ArgumentError("--from", "a file ending in .csv, .json or .jsonl, or -", repr(str(path)))
    told = [result for where, entry in entries if (result := _result(where, entry, problem))]
    if not told:
        raise ArgumentError(str(path), f"results with outcomes out of {list(problem.outcomes)}", "none")
    return told


def _objects(name: str, text: str) -> list[tuple[int, Any]]:
    """Return the objects of a JSON list, of one JSON object, or of JSON lines, numbered from 1."""
    with suppress(json.JSONDecodeError):
        whole = json.loads(text)
        return list(enumerate(whole if isinstance(whole, list) else [whole], 1))
    try:
        return [(n, json.loads(line)) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    except json.JSONDecodeError as error:
        raise ArgumentError(name, "JSON: a list, or one object per line", error) from None


def _cells(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """Return the filled cells of a row, numbers as numbers."""
    if None in row:
        raise ArgumentError("--from", "as many cells in every row as in the first", row[None])
    cells = {str(name).strip(): text for name, text in row.items() if text and text.strip()}
    for name in cells.keys() - {"failed"}:
        with suppress(ValueError):
            cells[name] = float(cells[name])
    return cells


def _result(where: str, entry: Any, problem: Problem) -> dict[str, Any] | None:
    """Return one result, ``None`` where there is nothing yet.

    An entry is ``{"id": 7, "weight": 5.1}``; its outcomes may also stand under ``"outcomes"``.
    """
    from lcbo.checks import is_number
    from lcbo.problem import outcome_value

    nested = entry.get("outcomes", {}) if isinstance(entry, Mapping) else None
    if not isinstance(nested, Mapping) or "id" not in entry:
        raise ArgumentError(where, "an id and outcomes", repr(entry))
    fields = {name: value for name, value in {**entry, **nested}.items() if value is not None}
    id, failed, final = fields.pop("id", None), fields.pop("failed", ""), bool(fields.pop("final", False))
    if not is_number(id) or id % 1:
        raise ArgumentError(where, "the id of a candidate, a whole number", repr(id))
    ignored = {"outcomes", "role", "iteration", "x", *problem.variables}
    unknown = [name for name in fields if name not in problem.outcomes and name not in ignored]
    if unknown:
        raise ArgumentError(where, f"outcome names out of {list(problem.outcomes)}", unknown)
    if failed:
        return {"id": int(id), "failed": str(failed)}
    told = {name: outcome_value(name, fields[name]) for name in problem.outcomes if name in fields}
    return {"id": int(id), "outcomes": told, "final": final} if told else None
