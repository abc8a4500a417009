"""The pictures of a report, each an HTML ``<figure>``, or nothing where a run has nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from lcbo.reporting.chart import Chart, bend_of, limits, wants_log
from lcbo.reporting.format import number, one_line
from lcbo.reporting.page import breakable
from lcbo.text import brief
from lcbo.types import Array

if TYPE_CHECKING:
    import pandas as pd

    from lcbo.optimizer.log import EvaluationTable
    from lcbo.optimizer.sensitivity import Sensitivities
    from lcbo.problem import Constraint, Problem

# Names of a method's numbers that deserve words; others are shown under their own name.
TRACE_TITLES = {
    "step": "Step size (share of the unit cube)",
    "penalty": "Penalty factor",
    "rescues": "Numerical rescues so far",
    "gradient_uncertainty": "Gradient uncertainty (0: known, 1: unknown)",
    "restarts": "Restarts so far",
    "successes": "Successes of the trust region in a row",
    "failures": "Failures of the trust region in a row",
}
_SLACKS, _BARS, _DESIGNS, _AXES = 8, 15, 20, 60
_LABEL = 28  # characters of a name in a picture; the whole of it stands in a table


def figure(title: str, picture: str, caption: str = "", *, wide: bool = False) -> str:
    """Return a figure with its heading and a sentence on how to read it."""
    note = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}><h3>{breakable(title)}</h3><div>{picture}</div>{note}</figure>"


def convergence(problem: Problem, history: EvaluationTable, reference: float | None, noisy: bool) -> str:
    """Return every observed objective, and the best feasible one so far."""
    name = problem.objective.name
    values, count = history.outcomes[name], np.arange(1, len(history) + 1)
    if not np.isfinite(values).any():
        return ""
    log = wants_log(values)
    shown = values if reference is None else np.append(values, reference)
    chart = Chart(f"{name} of every evaluation", len(history), limits(shown, log=log, robust=True), log)
    chart.points(count[~history.feasible], values[~history.feasible], "no", "infeasible")
    chart.points(count[history.feasible], values[history.feasible], "yes", "feasible")
    if reference is not None:
        chart.level(reference, "known", "best known")
    chart.line(count, history.best_feasible, "best", "best feasible", step=True)
    caption = "As observed. With noise the best of many observations looks better than it is."
    return figure(f"{name} over evaluations", chart.svg(), caption if noisy else "")


def violation(problem: Problem, history: EvaluationTable, scale: dict[str, float]) -> str:
    """Return the sum of violations of every evaluation, in standard deviations, and the least so far."""
    if not problem.constraints:
        return ""
    total = np.zeros(len(history))
    for constraint in problem.constraints:
        room = constraint.slack(history.outcomes[constraint.name])
        total += np.maximum(-room, 0.0) / scale[constraint.name]
    count, broken = np.arange(1, len(history) + 1), total > 0.0
    if not broken.any():
        return ""
    chart = Chart("violation of every evaluation", len(history), limits(total[broken], log=True), True)
    chart.points(count[broken], total[broken], "no", "violation")
    least = np.fmin.accumulate(np.where(np.isnan(total), np.inf, total))
    chart.line(count, np.where(least > 0.0, least, np.nan), "best", "least so far")
    share = float(np.mean(~broken[np.isfinite(total)]))
    caption = (
        f"Sum over the constraints, each in standard deviations of its outcome. {share:.0%} of the "
        "evaluations were feasible and do not appear."
    )
    return figure("Violation over evaluations", chart.svg(), caption)


def slacks(history: EvaluationTable, constraints: Sequence[Constraint]) -> list[str]:
    """Return a picture of the slack over time of the first few constraints."""
    pictures = []
    count, iterate = np.arange(1, len(history) + 1), history.role == "iterate"
    for constraint in constraints[:_SLACKS]:
        room = constraint.slack(history.outcomes[constraint.name])
        if not np.isfinite(room).any():
            continue
        bend = bend_of(room)
        low, high = limits(np.append(room, 0.0))
        chart = Chart(f"slack of {constraint}", len(history), (low, high), bend=bend)
        chart.shade_below(0.0, "forbidden")
        held = room >= 0.0
        chart.points(count[~held], room[~held], "no", "violated")
        chart.points(count[held], room[held], "yes", "holds")
        chart.line(count[iterate], room[iterate], "path", "iterates")
        chart.level(0.0, "zero")
        pictures.append(figure(str(constraint), chart.svg()))
    return pictures


def traces(trace: pd.DataFrame) -> tuple[list[str], dict[str, float]]:
    """Return a picture per number of the method that changed during the run, and the numbers that did not."""
    pictures, constants = [], {}
    for name in trace.columns.difference(["asked", "time", "iteration"], sort=False):
        values = trace[name].to_numpy(dtype=np.float64, na_value=np.nan)
        different = np.unique(values[np.isfinite(values)])
        if different.size == 1:
            constants[TRACE_TITLES.get(name, str(name))] = float(different[0])
        if different.size < 2:
            continue
        title, log = TRACE_TITLES.get(name, name), wants_log(values)
        asked = trace["asked"].to_numpy(dtype=np.float64)
        chart = Chart(title, asked.max(), limits(values, log=log), log)
        chart.line(asked, values, "path", step=True)
        pictures.append(figure(title, chart.svg()))
    return pictures, constants


def sensitivity(found: Sensitivities, tightest: Sequence[Constraint]) -> list[str]:
    """Return bars of the slopes at the answer: of the objective, then of the tightest outcomes.

    A bar is the change of the outcome when a variable moves by a hundredth of its range. The variables
    are those with the largest slopes, every outcome's measured by its own largest.
    """
    rows = [0, *dict.fromkeys(found.outcomes.index(c.name) for c in tightest)][:4]
    chosen = found.strongest(rows, _BARS)
    names = [found.variables[i] for i in chosen]
    change, error = found.changes()
    return [figure(found.outcomes[row], bars(names, change[row, chosen], error[row, chosen])) for row in rows]


def bars(names: Sequence[str], values: Array, spread: Array) -> str:
    """Return horizontal bars around zero, with a whisker of one standard deviation."""
    reach = float(np.max(np.abs(values) + spread)) or 1.0
    shown = [brief(one_line(name), _LABEL) for name in names]
    room = max(70.0, 7.5 * max(map(len, shown)))  # for the names
    height, half = 22, (506.0 - room) / 2 - 50.0
    middle = room + 16.0 + half
    parts = []
    for i, (name, value, sd) in enumerate(zip(names, values, spread, strict=True)):
        y, end, arm = 8 + height * i, middle + half * value / reach, half * sd / reach
        left, width = min(middle, end), abs(end - middle)
        kind = "up" if value >= 0 else "down"
        title = f"<title>{escape(name)}</title>" if shown[i] != name else ""
        parts.append(f'<text class="end" x="{room:g}" y="{y + 13}">{escape(shown[i])}{title}</text>')
        box = f'x="{left:.1f}" y="{y + 2}" width="{width:.1f}" height="14" rx="2"'
        parts.append(f'<rect class="{kind}" {box}/>')
        parts.append(f'<path class="whisker" d="M{end - arm:.1f} {y + 9}H{end + arm:.1f}"/>')
        parts.append(f'<text class="end" x="516" y="{y + 13}">{number(float(f"{value:.3g}"))}</text>')
    total = 16 + height * len(names)
    axis = f'<path class="axis" d="M{middle} 4V{total - 4}"/>'
    return f'<svg viewBox="0 0 520 {total}" role="img" aria-label="slopes">{axis}{"".join(parts)}</svg>'


def parallel(problem: Problem, history: EvaluationTable, x: Array) -> str:
    """Return the best designs as lines across the variables, each between its bounds, the answer on top."""
    free = np.flatnonzero(~problem.space.fixed)
    values = problem.objective.sign * history.outcomes[problem.objective.name]
    usable = np.flatnonzero(history.feasible & np.isfinite(values))
    if not 2 <= free.size <= _AXES or not usable.size:
        return ""
    chosen = usable[np.argsort(values[usable], kind="stable")][:_DESIGNS]
    top, bottom = 14.0, 200.0
    across = np.linspace(24.0, 1036.0, free.size)
    parts = [f'<path class="grid" d="M{at:.1f} {top}V{bottom}"/>' for at in across]
    cube = problem.space.shares(history.X[chosen])[:, free]
    lines = [(u, "other") for u in cube[::-1]] + [(problem.space.shares(x)[free], "best")]
    for u, style in lines:
        heights = bottom - u * (bottom - top)
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, heights, strict=True))
        parts.append(f'<path class="line {style}" d="M{path}"/>')
    longest = 4
    for at, index in zip(across, free, strict=True):
        name = brief(one_line(problem.variables[index]), _LABEL)
        longest = max(longest, len(name))
        turn = f"translate({at + 4:.1f} {bottom + 12}) rotate(-60)"
        parts.append(f'<text class="end" transform="{turn}">{escape(name)}</text>')
    left, height = 4.0 * longest, bottom + 24.0 + 6.5 * longest
    box = f"{-left:g} 0 {1060 + left:g} {height:g}"
    svg = f'<svg viewBox="{box}" role="img" aria-label="the best designs">{"".join(parts)}</svg>'
    caption = (
        f"The answer (bold) and the {len(cube)} best feasible evaluations; every variable runs from its "
        "lower bound (bottom) to its upper bound (top). Where lines spread, good designs differ there."
    )
    return figure("The best designs side by side", svg, caption, wide=True)


def durations(history: pd.DataFrame) -> str:
    """Return how long every evaluation took, failed ones apart."""
    seconds = history["seconds"].to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(seconds).any():
        return ""
    failed = (history["failed"] != "").to_numpy()
    count, log = np.arange(1, len(history) + 1), wants_log(seconds)
    chart = Chart("seconds per evaluation", len(history), limits(seconds, log=log, robust=True), log)
    chart.points(count[~failed], seconds[~failed], "yes", "succeeded")
    chart.points(count[failed], seconds[failed], "failed", "failed")
    return figure("Seconds per evaluation", chart.svg())
