"""A result, a problem or a stored run as a piece of HTML, for notebooks: short, and safe inside any page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from lcbo.optimizer.log import EvaluationTable
from lcbo.optimizer.result import Result
from lcbo.problem import Problem
from lcbo.reporting.chart import Chart, limits, wants_log
from lcbo.reporting.format import number, one_line, run_name, sentences, summary
from lcbo.reporting.page import breakable, fold
from lcbo.store.stored_run import StoredRun
from lcbo.types import Array

_ROWS = 10  # of a table; the rest is folded
_STYLE = (
    ".lcbo table{border-collapse:collapse;font-size:inherit;margin:4px 0;font-variant-numeric:tabular-nums}"
    ".lcbo th,.lcbo td{padding:2px 10px 2px 0;text-align:left;border:0}"
    ".lcbo th{font-weight:600;opacity:.65}.lcbo td.n,.lcbo th.n{text-align:right}"
    ".lcbo .side{display:flex;flex-wrap:wrap;gap:4px 32px;align-items:flex-start}"
    ".lcbo .ok{color:#1b7f4d}.lcbo .bad{color:#c0362c}.lcbo b.mark{padding-right:8px}"
    ".lcbo svg{width:380px;max-width:100%;height:auto}"
    ".lcbo svg text{fill:currentColor;fill-opacity:.7;font-size:13px}"
    ".lcbo svg .end{text-anchor:end}.lcbo svg .middle{text-anchor:middle}"
    ".lcbo svg path{fill:none}.lcbo svg .grid{stroke:currentColor;stroke-opacity:.12}"
    ".lcbo svg .axis{stroke:currentColor;stroke-opacity:.4}"
    ".lcbo svg .dots{stroke-linecap:round;stroke-width:5}.lcbo svg .dots.key{stroke-width:8}"
    ".lcbo svg .no{stroke:#9aa4b0}.lcbo svg .yes{stroke:#2f76d2}"
    ".lcbo svg .best{stroke:#d9581c;stroke-width:2.5}"
)


def html(value: object) -> str:
    """Return what a notebook shows of a value; where that cannot be made, what Python prints."""
    makers: dict[type, Callable[[Any], str]] = {Result: _result, Problem: _problem, StoredRun: _run}
    try:
        make = next(make for kind, make in makers.items() if isinstance(value, kind))
        return f'<div class="lcbo"><style>{_STYLE}</style>{make(value)}</div>'
    except Exception:  # showing a value must never be what breaks
        return f"<pre>{escape(repr(value))}</pre>"


def _result(result: Result) -> str:
    if result.x is None:
        return f'<p><b class="mark bad">no result</b>{escape(sentences(result.message))}</p>'
    history = result.history
    name = next(iter(history.outcomes), "objective")
    kind, word = ("ok", "feasible") if result.success else ("bad", "not feasible")
    head = f'<p><b class="mark {kind}">{word}</b>{breakable(name)} = <b>{number(result.fun)}</b>. '
    head += f"{escape(sentences(result.message))}</p>"
    design = _table(["variable", "value"], _values(history, result.x))
    return f'{head}<div class="side">{design}{_slacks(result.slack)}{_chart(name, history)}</div>'


def _values(history: EvaluationTable, x: Array) -> list[tuple[str, str]]:
    return [(name, number(value)) for name, value in zip(history.variables, x, strict=True)]


def _slacks(slack: Mapping[str, float]) -> str:
    if not slack:
        return ""
    tightest = sorted(slack.items(), key=lambda entry: math.inf if math.isnan(entry[1]) else entry[1])
    return _table(["constraint", "slack"], [(name, number(float(f"{room:.4g}"))) for name, room in tightest])


def _chart(name: str, history: EvaluationTable) -> str:
    values, count = history.outcomes.get(name, np.zeros(0)), np.arange(1, len(history) + 1)
    if not np.isfinite(values).any():
        return ""
    log = wants_log(values)
    chart = Chart(f"{name} of every evaluation", len(history), limits(values, log=log, robust=True), log)
    chart.points(count[~history.feasible], values[~history.feasible], "no", "infeasible")
    chart.points(count[history.feasible], values[history.feasible], "yes", "feasible")
    chart.line(count, history.best_feasible, "best", "best feasible", step=True)
    return chart.svg()


def _problem(problem: Problem) -> str:
    box = [
        (
            name,
            f"{number(low)} to {number(high)} {kind}".rstrip() if low < high else f"fixed at {number(low)}",
        )
        for name, low, high, kind in zip(
            problem.variables, problem.lb, problem.ub, problem.kinds, strict=True
        )
    ]
    conditions = [(str(c), "") for c in problem.constraints] + [
        (name, "known") for name in problem.known.names
    ]
    tables = _table(["variable", "range"], box) + (
        _table(["constraint", ""], conditions) if conditions else ""
    )
    return f'<p>{escape(sentences(summary(problem)))}.</p><div class="side">{tables}</div>'


def _run(run: StoredRun) -> str:
    at = run.status
    words = f"{at.method}, {at.ended} of {at.budget or 'open'} evaluations, {at.failed} failed"
    words += ", being written" if at.writing else ""
    return f"<p><b>{breakable(run_name(run))}</b>: {escape(words)}</p>{_result(run.result())}"


def _table(head: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of names and numbers, of which the first few are not folded."""

    def drawn(part: Sequence[tuple[str, str]]) -> str:
        top = f'<tr><th>{escape(head[0])}</th><th class="n">{escape(head[1])}</th></tr>'
        lines = (f'<tr><td>{breakable(one_line(n))}</td><td class="n">{escape(v)}</td></tr>' for n, v in part)
        return f"<table>{top}{''.join(lines)}</table>"

    rest = fold(f"{len(rows) - _ROWS} more", drawn(rows[_ROWS:])) if len(rows) > _ROWS else ""
    return f"<div>{drawn(rows[:_ROWS])}{rest}</div>"
