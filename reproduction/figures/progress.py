"""Figures of progress: best feasible value over evaluations on the tasks and in the ablations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reproduction.claims.metrics import BASELINES, band, curves, pooled, strongest
from reproduction.figures.appearance import shown, view
from reproduction.figures.panel import (
    Series,
    draw_panel,
    limits,
    missing_text,
    new_figure,
    series_of,
)
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SYNTHETIC = ("synthetic-25", "synthetic-50", "synthetic-100")
REAL = ("truss-case1", "truss-node1", "beam", "halfcheetah")
ABLATION = ("truss-case1", "synthetic-50")


def synthetic(results: Results) -> Figure:
    """Progress on the synthetic tasks: values on common functions (above), regret on all (below)."""
    figure, panels = new_figure(len(SYNTHETIC), rows=2)
    for column, task in enumerate(SYNTHETIC):
        labels = results.labels("main", task)
        _draw_task(panels[column], results, "main", task)
        lines = series_of(results, "main", task, labels, column="regret")
        title = f"{view(task).title}: regret"
        draw_panel(
            panels[3 + column], task, lines, title=title, y_label="regret of the best feasible f", log=True
        )
    return figure


def real(results: Results) -> Figure:
    """Progress on the truss under both loads, the beam and HalfCheetah."""
    return _tasks(results, "main", REAL, columns=2)


def components(results: Results) -> Figure:
    """LCBO without one of its components, beside the strongest of the paper's baselines."""
    return _tasks(results, "components", ABLATION, columns=2, baseline=True)


def penalty(results: Results) -> Figure:
    """LCBO with the growing penalty and with four constants."""
    return _tasks(results, "penalty", ABLATION, columns=2)


def batch(results: Results) -> Figure:
    """The three batch schedules against evaluations (above) and iterations (below)."""
    figure, panels = new_figure(len(SYNTHETIC), rows=2)
    for column, task in enumerate(SYNTHETIC):
        labels = results.labels("batch", task)
        missing = missing_text(results, "batch", task, labels)
        seeds = _comparable(results, task, [("batch", label) for label in labels])
        lines = series_of(results, "batch", task, labels, seeds=seeds)
        known = _reference(results, task, lines, seeds)
        draw_panel(panels[column], task, lines, reference=known, missing=missing)
        steps = series_of(results, "batch", task, labels, along="iteration", seeds=seeds)
        if steps:
            last = min(int(line.band.index[-1]) for line in steps)
            steps = [replace(line, band=line.band.loc[:last]) for line in steps]
        title = f"{view(task).title}, per iteration"
        draw_panel(panels[3 + column], task, steps, title=title, x_label="iterations")
    return figure


def recommended(results: Results) -> Figure:
    """What a user would be handed on the noisy truss: the recommended point beside the best feasible one.

    The best feasible point is only known to us, who see the function without noise. A recommended point may
    be lighter because it breaks a constraint, so its violation stands beside it. Recommendations jump from
    point to point, so these panels pool the last tenth of the budget before each evaluation.
    """
    task, labels = "truss-case1", ("lcbo", "lcbo-paper", "scbo")
    figure, panels = new_figure(3)
    missing, words = missing_text(results, "main", task, labels), view(task)
    best = series_of(results, "main", task, labels)
    value, error = (
        _settled(results, task, labels, name) for name in ("recommended", "recommended_violation")
    )
    known = _reference(results, task, best)
    same = limits([*best, *value], known, log=words.log)
    high = [value for line in error for value in line.band["high"].iloc[len(line.band) // 20 :].dropna()]
    worst = max(high, default=0.0) or 1.0
    title = f"{words.title}: best feasible"
    draw_panel(panels[0], task, best, title=title, reference=known, y_range=same, missing=missing)
    title, what = "Recommended point", f"its {words.value} without noise"
    draw_panel(panels[1], task, value, title=title, y_label=what, reference=known, y_range=same)
    what = "its largest violation (0: feasible)"
    draw_panel(panels[2], "", error, title=title, y_label=what, y_range=(-0.04 * worst, 1.04 * worst))
    return figure


def _settled(results: Results, task: str, labels: Sequence[str], column: str) -> list[Series]:
    """Return the series of a jumpy column, each value pooled with the tenth of the budget before it."""
    found = []
    for label in labels:
        wide = curves(results, "main", task, label, column)
        if len(wide) and wide.iloc[-1].notna().any():
            found.append(Series(label, band(pooled(wide, len(wide) // 10)), wide.shape[1]))
    return found


def _tasks(
    results: Results, spec: str, tasks: Sequence[str], *, columns: int, baseline: bool = False
) -> Figure:
    figure, panels = new_figure(columns, rows=-(-len(tasks) // columns))
    for axes, task in zip(panels, tasks, strict=True):
        _draw_task(axes, results, spec, task, baseline=baseline)
    return figure


def _draw_task(axes: Axes, results: Results, spec: str, task: str, *, baseline: bool = False) -> None:
    labels, best = results.labels(spec, task), strongest(results, task, BASELINES) if baseline else None
    missing = missing_text(results, spec, task, labels)
    rivals = [("main", best)] if best is not None else []
    seeds = _comparable(results, task, [*((spec, label) for label in labels), *rivals])
    lines = series_of(results, spec, task, labels, seeds=seeds)
    for source, rival in rivals:
        name = f"strongest: {shown(rival)}"
        lines += [replace(line, name=name) for line in series_of(results, source, task, [rival], seeds=seeds)]
    if baseline and best is None:
        missing = "; ".join(filter(None, [missing, "no baseline to compare with yet"]))
    draw_panel(axes, task, lines, reference=_reference(results, task, lines, seeds), missing=missing)


def _comparable(results: Results, task: str, sources: Sequence[tuple[str, str]]) -> set[int] | None:
    """Return the seeds all of a panel's lines have, ``None`` (any) where every seed is the same function."""
    if task not in results.varied:
        return None
    run = [seeds for spec, label in sources if (seeds := results.seeds(spec, task, label))]
    return set.intersection(*run) if run else set()


def _reference(
    results: Results, task: str, lines: Sequence[Series], seeds: Collection[int] | None = None
) -> float | None:
    """Return the best known value, where a line comes near enough for it to be of use in the panel."""
    known = results.reference(task, seeds)
    if known is None or not lines:
        return None
    seen = np.concatenate([line.band["median"].to_numpy(dtype=np.float64) for line in lines])
    seen = seen[np.isfinite(seen)]
    if not seen.size:
        return None
    return known if seen.min() - known < 2.0 * np.ptp(seen) else None
