"""The picture of the README: the final values of every run on every task, method beside method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lcbo.compare.score import Spread
from reproduction.claims.metrics import BASELINES, READINGS
from reproduction.claims.paper import REAL, SYNTHETIC
from reproduction.figures.appearance import style_of, view
from reproduction.figures.panel import INK, PALE, SIZE, dress, new_figure
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("lcbo", *READINGS, *BASELINES)


def overview(results: Results) -> Figure:
    """Final values by task and method: a dot per run and a bar at the median."""
    tasks = [task for task in (*REAL, *SYNTHETIC) if results.budget("main", task)]
    columns = 3
    figure, panels = new_figure(columns, rows=max(-(-len(tasks) // columns), 1), width=4.0, height=2.9)
    for axes, task in zip(panels, tasks, strict=False):
        _draw(axes, results, task)
    for axes in panels[len(tasks) :]:
        axes.set_axis_off()
    if not tasks:
        panels[0].text(0.5, 0.5, "no runs yet", ha="center", color=PALE, fontsize=SIZE + 2)
    return figure


def _draw(axes: Axes, results: Results, task: str) -> None:
    dress(axes, view(task).title, "")
    axes.set_ylabel(f"best feasible {view(task).value}", fontsize=SIZE)
    known = results.reference(task)
    if known is not None:
        axes.axhline(known, color=INK, lw=0.8, ls=(0, (1, 2)), zorder=1)
        # On the side of the rivals, whose dots are farther above.
        axes.annotate("best known", (1.0, known), xycoords=("axes fraction", "data"), xytext=(-2, 2),
                      textcoords="offset points", ha="right", fontsize=SIZE - 2, color=INK)  # fmt: skip
    names, noted = [], False
    for place, label in enumerate(METHODS):
        values = results.values("main", task, label).to_numpy(dtype=np.float64)
        finite, color = values[np.isfinite(values)], style_of(label).color
        names.append(f"{label}\nn={len(values)}" if len(values) else f"{label}\nnot run")
        beside = place + 0.22 * np.linspace(-1.0, 1.0, len(finite)) if len(finite) > 1 else [float(place)]
        axes.plot(beside[: len(finite)], finite, "o", ms=3.2, color=color, mec="white", mew=0.3, alpha=0.85)
        middle = Spread.of(values).median
        if math.isfinite(middle):
            axes.plot([place - 0.36, place + 0.36], [middle] * 2, color=color, lw=2.2, solid_capstyle="butt")
        if len(finite) < len(values):
            noted, lost = True, f"{len(values) - len(finite)} of {len(values)}\nnot feasible"
            axes.annotate(lost, (place, 0.97), xycoords=("data", "axes fraction"), ha="center", va="top",
                          fontsize=SIZE - 3, color=PALE)  # fmt: skip
    axes.set_xticks(
        range(len(METHODS)), names, fontsize=SIZE - 2, rotation=35, ha="right", rotation_mode="anchor"
    )
    axes.set_xlim(-0.6, len(METHODS) - 0.4)
    if noted:  # above the dots
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.12 * (high - low))
