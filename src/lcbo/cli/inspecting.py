"""Commands that look at a stored run, also while it is being written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lcbo.cli import screen
from lcbo.cli.arguments import Json, RunFile, examples
from lcbo.cli.exit_codes import NOT_FEASIBLE
from lcbo.errors import RunInUseError
from lcbo.reporting.format import next_command, one_line, run_name, summary
from lcbo.text import brief

if TYPE_CHECKING:
    from lcbo.store.stored_run import Status, StoredRun

Output = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="File to write.")]


@examples("lcbo status run.db", "lcbo status run.db --json")
def status(run: RunFile, json: Json = False) -> None:
    """Show the state of a run on one screen."""
    from lcbo.store.stored_run import open_run

    stored = open_run(run)
    at, shown = stored.status, _status_facts(stored)
    if json:
        screen.say_json(_status_json(stored, at))
        return
    screen.say(screen.facts(shown))


@examples("lcbo best run.db", "lcbo best run.db --json > design.json")
def best(run: RunFile, json: Json = False) -> None:
    """Show the best design so far; exit code 3 when it is not feasible."""
    from lcbo.store.stored_run import open_run

    stored = open_run(run)
    problem, result = stored.problem, stored.result()
    if json:
        screen.say_json(screen.answer_json(problem, result))
    else:
        screen.show_answer(problem, result)
    if not result.success:
        raise typer.Exit(NOT_FEASIBLE)


@examples("lcbo export run.db history.csv", "lcbo export run.db history.parquet")
def export(
    run: RunFile,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .csv file, or .parquet with the package pyarrow.")
    ],
) -> None:
    """Write every evaluation as a row of a table."""
    from lcbo.store.stored_run import open_run

    stored = open_run(run)
    stored.export(out)
    screen.remark(f"{stored.status.ended} evaluations written to {out}")


@examples("lcbo plot run.db", "lcbo plot run.db -o run.svg")
def plot(run: RunFile, out: Output = None) -> None:
    """Draw convergence and constraint slacks; the ending of FILE chooses the format (.png, .svg, .pdf)."""
    from lcbo.reporting.plots import plot_run
    from lcbo.store.stored_run import open_run

    target = out or Path(f"{run.stem}.png")
    stored = open_run(run)
    plot_run(stored, target)
    screen.remark(f"written to {target}")


@examples("lcbo report run.db", "lcbo report run.db -o report.html")
def report(run: RunFile, out: Output = None) -> None:
    """Write one self-contained HTML page about a run."""
    from lcbo.reporting.report import write_report
    from lcbo.store.stored_run import open_run

    target = out or Path(f"{run.stem}.html")
    stored = open_run(run)
    write_report(stored, target)
    screen.remark(f"written to {target}")


@examples("lcbo unlock run.db")
def unlock(run: RunFile) -> None:
    """Release a run whose process on another machine died without releasing it."""
    from lcbo.store.store import unlock as release
    from lcbo.store.stored_run import open_run

    stored = open_run(run)
    at = stored.status
    if at.writing:
        raise RunInUseError(f"{run}: {at.writer} is alive and writing to this run; stop it first")
    release(run)
    who = "nobody" if at.writer is None else str(at.writer)
    screen.remark(f"{run}: free; before, it belonged to {who}")


def _status_facts(run: StoredRun) -> dict[str, Any]:
    at = run.status
    shown: dict[str, Any] = {
        "run": f"{run_name(run)}: {summary(run.problem)}",
        "file": f"{run.path} ({screen.size(run.path)})",
        "method": f"{at.method}, iteration {at.iteration}, seed {run.meta['seed']}",
        "progress": _progress(at),
        "best": _best(run),
        "pace": _pace(run),
        "last entry": screen.ago(at.updated),
        "writing": _writer(at),
    }
    failures = [o for o in run.log.evaluations if o.failed]
    if failures:
        latest = brief(one_line(failures[-1].failed), 200)
        shown["failed"] = f"{len(failures)}; the latest, candidate {failures[-1].id}: {latest}"
    pending = [c.id for c in run.pending]
    if pending:
        more = f" and {len(pending) - 20} more" if len(pending) > 20 else ""
        shown["pending"] = ", ".join(map(str, pending[:20])) + more
    if not at.writing:
        shown["next"] = next_command(run)
    return {name: value for name, value in shown.items() if value}


def _progress(at: Status) -> str:
    counts = f"{at.pending} pending, {at.failed} failed"
    if at.budget is None:
        return f"{at.ended} evaluations, {counts}"
    cells = round(24 * at.ended / at.budget)
    bar = "\N{BLACK SQUARE}" * cells + "\N{WHITE SQUARE}" * (24 - cells)
    return f"{bar} {at.ended} of {at.budget} evaluations, {counts}"


def _best(run: StoredRun) -> str:
    log, name = run.log, run.problem.objective.name
    seen = log.incumbent()
    if seen is None:
        return "nothing evaluated yet"
    value = f"{name} = {seen.outcomes[name]:.6g}"
    if log.best is not None:
        return f"{value}, feasible as observed (candidate {seen.id})"
    violation = run.problem.infeasibility(seen.outcomes, log.scale())
    return f"nothing feasible yet; least violation {violation:.3g} sd, with {value} (candidate {seen.id})"


def _pace(run: StoredRun) -> str:
    """Return evaluations per minute over the latest fifty."""
    from lcbo.optimizer.recorder import TellEntry

    times = [entry.time for entry in run.entries if isinstance(entry, TellEntry) and not entry.late][-50:]
    if len(times) < 2 or times[-1] <= times[0]:
        return ""
    return f"{60.0 * (len(times) - 1) / (times[-1] - times[0]):.3g} evaluations per minute, lately"


def _writer(at: Status) -> str:
    if at.writer is None:
        return "nobody"
    state = {True: "alive", False: "dead; the next to write takes over", None: "on another machine"}
    return f"{at.writer}, {state[at.writing]}"


def _status_json(run: StoredRun, at: Status) -> dict[str, Any]:
    log = run.log
    seen = log.incumbent()
    return {
        "run": str(run.path),
        "method": at.method,
        "budget": at.budget,
        "asked": at.asked,
        "ended": at.ended,
        "failed": at.failed,
        "pending": [c.id for c in run.pending],
        "iteration": at.iteration,
        "created": at.created,
        "updated": at.updated,
        "writer": None if at.writer is None else str(at.writer),
        "writing": at.writing,
        "feasible": log.best is not None,
        "best": None if seen is None else {"id": seen.id, **seen.outcomes},
        "violation": None if seen is None else run.problem.infeasibility(seen.outcomes, log.scale()),
    }
