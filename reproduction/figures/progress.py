"""Figures of progress: best feasible value over evaluations on the tasks and in the ablations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from reproduction.claims.metrics import BASELINES, READINGS, band, curves, pooled, strongest
from reproduction.claims.paper import ABLATION, REAL, SYNTHETIC
from reproduction.figures.appearance import view
from reproduction.figures.panel import (
    Series,
    common_seeds,
    draw_panel,
    missing_text,
    new_figure,
    series_of,
)
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def synthetic(results: Results) -> Figure:
    """Progress on the synthetic tasks."""
    return _tasks(
        results, SYNTHETIC, 3, lambda task: [("main", label) for label in results.labels("main", task)]
    )


def real(results: Results) -> Figure:
    """Progress on the truss under both loads, the beam and HalfCheetah."""
    return _tasks(results, REAL, 2, lambda task: [("main", label) for label in results.labels("main", task)])


def components(results: Results) -> Figure:
    """LCBO and without one of its components, in both readings, beside the strongest rival of the paper."""

    def sources(task: str) -> list[tuple[str, str]]:
        return [*_with_lcbo(results, "components", task), ("main", strongest(results, task, BASELINES))]

    return _tasks(results, ABLATION, 2, sources, {label: f"strongest rival: {label}" for label in BASELINES})


def penalty(results: Results) -> Figure:
    """LCBO with the growing penalty and with four constants, in both readings."""
    return _tasks(results, ABLATION, 2, lambda task: _with_lcbo(results, "penalty", task))


def batch(results: Results) -> Figure:
    """The three batch schedules against evaluations (above) and iterations (below)."""
    figure, panels = new_figure(len(SYNTHETIC), rows=2)
    for column, task in enumerate(SYNTHETIC):
        labels = results.labels("batch", task)
        seeds = common_seeds(results, [("batch", task, label) for label in labels])
        lines = series_of(results, "batch", task, labels, seeds=seeds)
        known, missing = _reference(results, task, lines, seeds), missing_text(labels, lines)
        draw_panel(panels[column], task, lines, reference=known, missing=missing)
        steps = series_of(results, "batch", task, labels, along="iteration", seeds=seeds)
        if steps:
            last = min(int(line.band.index[-1]) for line in steps)
            steps = [replace(line, band=line.band.loc[:last]) for line in steps]
        title = f"{view(task).title}, per iteration"
        draw_panel(panels[3 + column], task, steps, title=title, x_label="iterations")
    return figure


def recommended(results: Results) -> Figure:
    """What a user would be handed on the noisy truss: value and violation of the recommended point.

    It may be lighter than the best feasible point because it breaks a constraint, so its violation stands
    beside it. Recommendations jump from point to point, so the panels pool the tenth of the budget before
    each evaluation.
    """
    task, labels = "truss-case1", (*READINGS, "scbo", "lcbo")
    figure, panels = new_figure(2, width=5.4)
    seeds = common_seeds(results, [("main", task, label) for label in labels])
    value, error = (
        _settled(results, task, labels, name, seeds) for name in ("recommended", "recommended_violation")
    )
    known, words = _reference(results, task, value, seeds), view(task)
    missing = missing_text(labels, value)
    title = f"{words.title}: recommended point"
    what = f"its {words.value} without noise"
    draw_panel(panels[0], task, value, title=title, y_label=what, reference=known, missing=missing)
    high = [v for line in error for v in line.band["high"].iloc[len(line.band) // 20 :].dropna()]
    worst = max(high, default=0.0) or 1.0
    what = "its largest violation (0: feasible)"
    draw_panel(panels[1], "", error, title=title, y_label=what, y_range=(-0.04 * worst, 1.04 * worst))
    return figure


def _settled(
    results: Results, task: str, labels: Sequence[str], column: str, seeds: Collection[int]
) -> list[Series]:
    """Return the series of a jumpy column, each value pooled with the tenth of the budget before it."""
    found = []
    for label in labels:
        wide = curves(results, "main", task, label, column)
        if len(wide) and set(seeds) <= set(wide) and wide.iloc[-1].notna().any():
            wide = wide[list(seeds)]
            found.append(Series(label, band(pooled(wide, len(wide) // 10)), wide.shape[1]))
    return found


def _with_lcbo(results: Results, spec: str, task: str) -> list[tuple[str, str]]:
    return [
        *(("main", reading) for reading in READINGS),
        *((spec, label) for label in results.labels(spec, task)),
    ]


def _tasks(
    results: Results,
    tasks: Sequence[str],
    columns: int,
    sources: Callable[[str], list[tuple[str, str]]],
    names: Mapping[str, str] = MappingProxyType({}),
) -> Figure:
    """Draw a panel per task with the lines of spec and label, some under another name."""
    figure, panels = new_figure(columns, rows=-(-len(tasks) // columns))
    for axes, task in zip(panels, tasks, strict=True):
        _draw_task(axes, results, task, sources(task), names)
    return figure


def _draw_task(
    axes: Axes, results: Results, task: str, sources: Sequence[tuple[str, str]], names: Mapping[str, str]
) -> None:
    """Draw the lines of spec and label, all over the same seeds."""
    seeds = common_seeds(results, [(spec, task, label) for spec, label in sources])
    lines = [
        replace(line, name=names.get(label, ""))
        for spec, label in sources
        for line in series_of(results, spec, task, [label], seeds=seeds)
    ]
    missing = missing_text([label for _, label in sources], lines)
    draw_panel(axes, task, lines, reference=_reference(results, task, lines, seeds), missing=missing)


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
