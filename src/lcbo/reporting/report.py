"""The HTML report of a stored run: answer, progress, failures, settings, next commands."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lcbo.optimizer.plan.setup import read_path
from lcbo.optimizer.recorder import BudgetEntry
from lcbo.reporting import figures
from lcbo.reporting.format import (
    counted,
    failure,
    moment,
    next_command,
    number,
    run_name,
    sentences,
    with_error,
)
from lcbo.reporting.page import (
    breakable,
    code,
    columns,
    facts,
    fold,
    note,
    page,
    paragraph,
    place,
    section,
    table,
    tiles,
)
from lcbo.text import brief, duration

if TYPE_CHECKING:
    from lcbo.optimizer.result import Result
    from lcbo.optimizer.sensitivity import Sensitivities
    from lcbo.problem import Constraint
    from lcbo.store.stored_run import StoredRun

_OUTCOMES = 6  # columns of the table of slopes
_ROWS, _LIMITS = 30, 12  # variables and constraints shown at once; the rest is folded


def write_report(run: StoredRun, path: str | Path, every: float | None = None) -> Path:
    """Write the page of a run and return its path.

    With ``every`` a browser loads it again every so many seconds; it then never sees half a page.
    """
    target = read_path("path", path)
    if every is None:
        target.write_text(report(run), encoding="utf-8")
        return target
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        fresh.write_text(report(run, every), encoding="utf-8")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target


def report(run: StoredRun, every: float | None = None) -> str:
    """Return the page of a run, whatever state it is in: empty, all failed, running, without a model."""
    result = run.result()
    tightest = _tightest(run, result)
    body = [_header(run, result), _tiles(run, result), _answer(run, result, tightest)]
    body += [_progress(result, tightest), _sensitivity(run, result, tightest)]
    body += [part(run) for part in (_method, _failures, _times, _problem, _amendments, _settings, _continue)]
    at = run.status
    return page(f"{run_name(run)}: report ({at.ended} of {at.budget or 'open'})", body, every)


def _header(run: StoredRun, result: Result) -> str:
    at, problem = run.status, run.problem
    if result.x is None:
        badge = '<span class="badge wait">no result yet</span>'
    elif result.success:
        badge = '<span class="badge">feasible</span>'
    else:
        badge = '<span class="badge bad">not feasible</span>'
    words = (
        f"{problem.objective} over {counted(problem.n_variables, 'variable')} under "
        f"{counted(len(problem.constraints), 'constraint')}, with {at.method}. "
        f"Run file {run.path.name}, last entry {moment(at.updated)}."
    )
    if at.writing:
        words += f" The run is going on: {at.writer} is writing to it."
    return f"<header><h1>{breakable(run_name(run))}{badge}</h1>{note(sentences(words))}</header>"


def _tiles(run: StoredRun, result: Result) -> str:
    at, name = run.status, run.problem.objective.name
    if result.x is None:
        feasible = "\N{EN DASH}", "feasible"
    elif result.rule == "observed":
        feasible = "yes" if result.success else "no", "feasible, as observed"
    else:
        feasible = f"{result.pof:.1%}", f"probability of being feasible, {result.confidence:.4g} asked for"
    return tiles(
        [
            (number(result.fun), f"{name} at the answer"),
            feasible,
            (str(at.ended), f"evaluations of {at.budget}" if at.budget else "evaluations"),
            (str(at.failed), "failed"),
            (str(at.iteration), "iterations"),
            (duration(at.updated - at.created), "from beginning to last entry"),
        ]
    )


def _answer(run: StoredRun, result: Result, tightest: list[Constraint]) -> str:
    if result.x is None:
        return section("Answer", paragraph(sentences(result.message)))
    problem = run.problem
    share = problem.space.shares(result.x)
    rows = [
        [breakable(name), number(x), "fixed" if fixed else place(s), number(low), number(high)]
        for name, x, s, fixed, low, high in zip(
            problem.variables, result.x, share, problem.space.fixed, problem.lb, problem.ub, strict=True
        )
    ]
    head, numeric = ["variable", "value", "between its bounds", "low", "high"], (1, 3, 4)
    if any(problem.kinds):
        head, rows = [*head, "kind"], [[*row, kind] for row, kind in zip(rows, problem.kinds, strict=True)]
    design = table(head, rows[:_ROWS], numeric)
    at_bound = int(((share <= 0.001) | (share >= 0.999)).sum())
    if len(rows) > _ROWS:
        design += fold(f"the other {len(rows) - _ROWS} variables", table(head, rows[_ROWS:], numeric))
    if at_bound:
        design += note(f"{counted(at_bound, 'variable')} at a bound (orange).")
    best = getattr(problem, "best_known", None)
    noisy = result.rule != "observed"
    picture = figures.convergence(problem, result.history, None if best is None else best.value, noisy)
    picture += figures.violation(problem, result.history, run.log.scale())
    right = _limits(result, tightest) + _stationarity(result) + _remarks(result) + picture
    both = columns([f"<div><h3>Design</h3>{design}</div>", f"<div>{right}</div>"])
    return section("Answer", paragraph(sentences(result.message)), both)


def _limits(result: Result, tightest: list[Constraint]) -> str:
    if not tightest:
        return ""
    head, words = ["constraint", "", "value", "slack"], "Tightest first. Slack is the distance to the limit."
    if result.multipliers:
        head.append("multiplier")
        words += (
            " The multiplier, with its standard error, says by how much the objective would improve per unit "
            "that a limit is raised; so it is negative for a lower limit."
        )
    rows = []
    for constraint in tightest:
        value = result.constr[constraint.name]
        room = float(constraint.slack(value))
        holds = room >= -result.feasibility_tol[constraint.name]
        verdict = '<span class="ok">holds</span>' if holds else '<span class="bad-text">violated</span>'
        if math.isnan(room):
            verdict = "not known"
        row = [breakable(constraint), verdict, number(value), number(float(f"{room:.4g}"))]
        if result.multipliers:
            name = constraint.name
            row.append(with_error(result.multipliers[name], result.multiplier_errors[name]))
        rows.append(row)
    drawn = table(head, rows[:_LIMITS], (2, 3, 4))
    if len(rows) > _LIMITS:
        drawn += fold(f"the other {len(rows) - _LIMITS} constraints", table(head, rows[_LIMITS:], (2, 3, 4)))
    return "<h3>Constraints at the answer</h3>" + drawn + note(words)


def _remarks(result: Result) -> str:
    return "".join(note(sentences(f"{remark}.")) for remark in result.remarks)


def _stationarity(result: Result) -> str:
    return note(sentences(f"{result.stationarity}.")) if result.stationarity else ""


def _progress(result: Result, tightest: list[Constraint]) -> str:
    rooms = figures.slacks(result.history, tightest)
    if not rooms:
        return ""
    words = (
        "Slack is the distance to the limit: below the red line the constraint is broken. A line joins "
        "the iterates, the other dots explore around them."
    )
    if len(tightest) > len(rooms):
        words += f" The {len(rooms)} tightest of {len(tightest)} constraints are drawn."
    return section("Constraints over time", note(words), columns(rooms))


def _sensitivity(run: StoredRun, result: Result, tightest: list[Constraint]) -> str:
    if result.x is None:
        return ""
    designs = figures.parallel(run.problem, result.history, result.x)
    found = result.sensitivities
    if found is None:
        return section("Design space", designs)
    words = (
        "Change of the outcome when a variable moves up by a hundredth of its range, for the variables with "
        "the largest slopes. Whiskers are one standard error."
    )
    title = "<h3 class=next>What moves what at the answer</h3>"
    pictures = columns(figures.sensitivity(found, tightest))
    return section("Design space", designs, title, note(words), pictures, _slopes(found, tightest))


def _slopes(found: Sensitivities, tightest: list[Constraint]) -> str:
    """Return a table of slopes in user units: the objective, then the tightest outcomes."""
    rows = [0, *dict.fromkeys(found.outcomes.index(c.name) for c in tightest)][:_OUTCOMES]
    lines = [
        [escape(found.variables[i]), *(with_error(found.slopes[r, i], found.errors[r, i]) for r in rows)]
        for i in found.strongest(rows, len(found.variables))
    ]
    head = ["slope by", *(found.outcomes[row] for row in rows)]
    numeric = tuple(range(1, len(head)))
    shown = table(head, lines[:_ROWS], numeric)
    if len(lines) > _ROWS:
        shown += fold(f"the other {len(lines) - _ROWS} variables", table(head, lines[_ROWS:], numeric))
    left = len(found.outcomes) - len(rows)
    more = f" The {left} outcomes with the most room are left out." if left else ""
    return shown + note(f"Slopes per unit of the variable, with standard errors, strongest first.{more}")


def _method(run: StoredRun) -> str:
    pictures, constants = figures.traces(run.trace)
    words = ", ".join(f"{name} {number(value)}" for name, value in constants.items())
    unchanged = note(f"Unchanged throughout: {words}.") if words else ""
    return section("Method over time", columns(pictures), unchanged)


def _failures(run: StoredRun) -> str:
    failed = [o for o in run.log.evaluations if o.failed]
    if not failed:
        return ""
    reasons = [brief(failure(o.failed)[0], 300) for o in failed]
    count = Counter(reasons)
    latest = {reason: o.id for reason, o in zip(reasons, failed, strict=True)}
    rows = [(escape(reason), str(n), str(latest[reason])) for reason, n in count.most_common(20)]
    told = len(run.log.evaluations) - run.log.n_data
    parts = [
        paragraph(f"{len(failed)} of {told} evaluations failed. They are recorded and the run went on."),
        table(("reason", "times", "latest candidate"), rows, (1, 2)),
    ]
    if len(count) > len(rows):
        parts.append(note(f"{len(count) - len(rows)} further reasons are not shown."))
    traced = next((o for o in reversed(failed) if o.record.traceback), None)
    if traced is not None:
        text = traced.record.traceback[-20_000:]
        parts.append(fold(f"latest traceback, of candidate {traced.id}", code(text, trace=True)))
    return section("Failures", *parts)


def _times(run: StoredRun) -> str:
    history = run.history
    picture = figures.durations(history)
    if not picture:
        return ""
    seconds = history["seconds"].dropna()
    words = (
        f"{len(seconds)} evaluations took {duration(float(seconds.sum()))} in all, half of them at most "
        f"{duration(float(seconds.median()))}, the longest {duration(float(seconds.max()))}."
    )
    by_worker = seconds.groupby(history["worker"]).agg(["count", "sum", "median"])
    rows = [
        (escape(str(worker)) or "not named", str(int(count)), duration(total), duration(median))
        for worker, count, total, median in by_worker.sort_values("count", ascending=False)[:20].itertuples()
    ]
    workers = table(("worker", "evaluations", "busy", "median"), rows, (1, 2, 3))
    return section("Evaluation times", paragraph(words), columns([picture, workers]))


def _problem(run: StoredRun) -> str:
    problem = run.problem
    fixed, words = len(problem.fixed), f"{problem.n_variables}{problem.counted_kinds}"
    if problem.deterministic:
        noise = "none: the problem is stated as deterministic"
    elif problem.noise:
        noise = ", ".join(f"{name} {number(sd)}" for name, sd in problem.noise.items())
    else:
        noise = "unknown, learned from the run"
    rows = [
        ("objective", escape(str(problem.objective))),
        ("constraints", _listed(problem.constraints)),
        *([("known of the variables", _listed(problem.known.names))] if len(problem.known) else []),
        ("variables", f"{words}, of which {fixed} fixed" if fixed else words),
        ("noise (standard deviation)", escape(noise)),
    ]
    box = [
        (breakable(name), number(low), number(high))
        for name, low, high in zip(problem.variables, problem.lb, problem.ub, strict=True)
    ]
    bounds = fold("bounds of all variables", table(("variable", "low", "high"), box, (1, 2)))
    return section("Problem", facts(rows), bounds)


def _amendments(run: StoredRun) -> str:
    rows = [
        (moment(entry.time), "<br>".join(breakable(change) for change in entry.changes), escape(entry.reason))
        for entry in run.amendments
    ]
    if not rows:
        return ""
    words = (
        "The method began anew after each, from the evaluations that there were. Their values, limits and "
        "bounds are shown as they are now."
    )
    return section("Amendments", note(words), table(("when", "what was changed", "why"), rows, (0,)))


def _listed(constraints: Sequence[Constraint | str]) -> str:
    texts = [breakable(c) for c in constraints]
    rest = fold(f"{len(texts) - _LIMITS} more", "<br>".join(texts[_LIMITS:])) if len(texts) > _LIMITS else ""
    return ("<br>".join(texts[:_LIMITS]) or "none") + rest


def _settings(run: StoredRun) -> str:
    meta = run.meta
    budgets = [entry.budget for entry in run.entries if isinstance(entry, BudgetEntry)]
    rows = [
        ("method", escape(meta["method"])),
        ("options", escape(json.dumps(meta["options"])) if meta["options"] else "defaults"),
        ("seed", str(meta["seed"])),
        ("budget", ", then ".join("open" if b is None else str(b) for b in budgets)),
        ("initial design", "default" if meta["n_init"] is None else str(meta["n_init"])),
        ("starting points", str(len(meta["x0"])) if meta["x0"] else "none given"),
        ("evaluations brought along", str(len(meta["data"]))),
        ("begun", moment(meta["created"])),
        ("fingerprint of the problem", escape(str(meta["fingerprint"]))),
        ("versions", escape(", ".join(f"{name} {v}" for name, v in meta["versions"].items()))),
    ]
    return section("Settings", facts(rows))


def _continue(run: StoredRun) -> str:
    file = shlex.quote(str(run.path))
    told = " ".join(f"{shlex.quote(name)}=VALUE" for name in run.problem.outcomes[:4])
    lines = [
        next_command(run),
        *([f"lcbo tell {file} ID {told}"] if run.problem.fun is None else []),
        f"lcbo status {file}",
        f"lcbo best {file}",
        f"lcbo export {file} {shlex.quote(run.path.stem)}.csv",
    ]
    python = f"import lcbo\n\nrun = lcbo.open_run({str(run.path)!r})\nprint(run.result())\nprint(run.history)"
    return section("Go on from here", code("\n".join(lines)), paragraph("Or in Python:"), code(python))


def _tightest(run: StoredRun, result: Result) -> list[Constraint]:
    """Return the constraints, least slack at the answer in standard deviations first, unknown ones last."""
    scale = run.log.scale()

    def room(constraint: Constraint) -> float:
        slack = float(constraint.slack(result.constr.get(constraint.name, math.nan)))
        return math.inf if math.isnan(slack) else slack / scale[constraint.name]

    return sorted(run.problem.constraints, key=room)
