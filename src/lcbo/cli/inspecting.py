"""Commands that look at a stored run, also while it is being written."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.table import Table

import lcbo
from lcbo.cli import screen
from lcbo.cli.arguments import NOT_FEASIBLE, Confidence, Json, RunFile, examples
from lcbo.errors import RunInUseError
from lcbo.reporting.format import failure, moment, next_command, run_name, summary
from lcbo.text import brief, duration

if TYPE_CHECKING:
    from lcbo.store.stored_run import Status, StoredRun

Output = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="File to write; by default it is named after RUN."),
]
_EXPORT = "A .csv or .json file, or .parquet with the package pyarrow."
Watch = Annotated[bool, typer.Option("--watch", help="Redraw the page while the run goes on.")]
Every = Annotated[float, typer.Option(help="Seconds between two drawings of --watch.", min=0.1)]
Slopes = Annotated[
    bool, typer.Option("--sensitivities", help="Show the slope of every outcome by every variable.")
]


@examples("lcbo status run.db", "lcbo status run.db --json")
def status(run: RunFile, json: Json = False) -> None:
    """Show the state of a run on one screen."""
    stored = lcbo.open_run(run)
    if json:
        screen.say_json(_status_json(stored))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _status_facts(stored).items():
        if value:
            table.add_row(name, screen.plain(value))
    screen.say(table)


@examples("lcbo best run.db", "lcbo best run.db --json > design.json", "lcbo best run.db --sensitivities")
def best(
    run: RunFile, confidence: Confidence = None, json: Json = False, sensitivities: Slopes = False
) -> None:
    """Show the best design so far; exit code 3 when it is not feasible."""
    stored = lcbo.open_run(run)
    result = stored.result(confidence)
    screen.show_answer(stored.problem, result, json, sensitivities)
    if not result.success:
        raise typer.Exit(NOT_FEASIBLE)


@examples("lcbo export run.db history.csv", "lcbo export run.db history.json")
def export(run: RunFile, out: Annotated[Path, typer.Argument(metavar="FILE", help=_EXPORT)]) -> None:
    """Write every evaluation as a row of a table."""
    stored = lcbo.open_run(run)
    stored.export(out)
    screen.remark(f"{stored.status.ended} evaluations written to {out}")


@examples("lcbo plot run.db", "lcbo plot run.db -o run.svg")
def plot(run: RunFile, out: Output = None) -> None:
    """Draw convergence and constraint slacks; the ending of FILE chooses the format (.png, .svg, .pdf)."""
    from lcbo.reporting.plots import plot_run

    target = out or Path(f"{run.stem}.png")
    plot_run(lcbo.open_run(run), target)
    screen.remark(f"written to {target}")


@examples("lcbo report run.db", "lcbo report run.db -o report.html", "lcbo report run.db --watch")
def report(run: RunFile, out: Output = None, watch: Watch = False, every: Every = 5.0) -> None:
    """Write one self-contained HTML page about a run; --watch keeps it up to date."""
    from lcbo.reporting.report import write_report

    target = out or Path(f"{run.stem}.html")
    if watch:
        screen.remark(f"{target}: open it in a browser; it is drawn again every {every:g} s, until Ctrl-C")
        with suppress(KeyboardInterrupt):
            _watch(run, target, every)
    write_report(lcbo.open_run(run), target)
    screen.remark(f"written to {target}")


def _watch(run: Path, target: Path, every: float) -> None:
    """Draw the page again whenever there is news, until the run is over."""
    from lcbo.reporting.report import write_report

    drawn, written = None, False
    while True:
        stored = lcbo.open_run(run)
        at = stored.status
        if at != drawn:
            write_report(stored, target, every)
        drawn, written = at, written or bool(at.writing)
        spent = at.budget is not None and at.ended >= at.budget
        if not at.writing and (spent or written):
            return
        time.sleep(every)


@examples("lcbo unlock run.db")
def unlock(run: RunFile) -> None:
    """Release a run whose process on another machine died without releasing it."""
    from lcbo.store.store import unlock as release

    at = lcbo.open_run(run).status
    if at.writing:
        raise RunInUseError(f"{run}: {at.writer} is alive and writing to this run; stop it first")
    release(run)
    screen.remark(f"{run}: free; before, it belonged to {at.writer or 'nobody'}")


def _status_facts(run: StoredRun) -> dict[str, str]:
    at = run.status
    shown = {
        "run": f"{run_name(run)}: {summary(run.problem)}",
        "file": f"{run.path} ({decimal(run.path.stat().st_size)})",
        "method": f"{at.method}, iteration {at.iteration}, seed {run.meta['seed']}",
        "progress": _progress(at),
        "best": screen.best_so_far(run.log),
        "amended": "\n".join(f"{moment(entry.time)}: {entry}" for entry in run.amendments),
        "pace": _pace(run),
        "last entry": f"{duration(max(time.time() - at.updated, 0.0))} ago",
        "writing": _writer(at),
    }
    failures = [o for o in run.log.evaluations if o.failed]
    if failures:
        why, files = failure(failures[-1].failed)
        latest = f"the latest, candidate {failures[-1].id}: {brief(why, 200)}"
        shown["failed"] = f"{len(failures)}; {latest}" + (f"\nits files: {files}" if files else "")
    pending = [c.id for c in run.pending]
    if pending:
        more = f" and {len(pending) - 20} more" if len(pending) > 20 else ""
        shown["pending"] = ", ".join(map(str, pending[:20])) + more
    if not at.writing:
        shown["next"] = next_command(run)
    return shown


def _progress(at: Status) -> str:
    counts = f"{at.pending} pending, {at.failed} failed"
    if at.budget is None:
        return f"{at.ended} evaluations, {counts}"
    cells = round(24 * at.ended / at.budget)
    bar = "\N{BLACK SQUARE}" * cells + "\N{WHITE SQUARE}" * (24 - cells)
    return f"{bar} {at.ended} of {at.budget} evaluations, {counts}"


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


def _status_json(run: StoredRun) -> dict[str, Any]:
    at, log = run.status, run.log
    seen = log.incumbent()
    return {
        "run": str(run.path),
        **vars(at),
        "pending": [c.id for c in run.pending],
        "amendments": [
            {"time": e.time, "reason": e.reason, "changes": [asdict(change) for change in e.changes]}
            for e in run.amendments
        ],
        "writer": at.writer and str(at.writer),
        "feasible": log.best is not None,
        "best": None if seen is None else {"id": seen.id, **seen.outcomes},
        "violation": None if seen is None else run.problem.infeasibility(seen.outcomes, log.scale()),
    }
