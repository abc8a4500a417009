"""Picture of any problem: a plane through a point, with objective, feasible region and equalities."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lcbo.problems.base import Benchmark
from lcbo.problems.figures import INK
from lcbo.types import Array

_GRID = 101
_LEVELS = 16
_WASHED = (1.0, 1.0, 1.0, 0.6)
_LINES = ("#b03a3a", "#1f5fa8", "#2d7d46")


def draw_slice(problem: Benchmark, x: Array) -> Figure:
    """The objective over the first two variables with all others held at ``x``.

    Colors are quantiles of the objective, so that steep problems stay readable; washed out is infeasible
    by an inequality, a colored line is where an equality holds, the star is ``x``.
    """
    across, up = plane = np.linspace(problem.lb[:2], problem.ub[:2], _GRID).T
    points = np.tile(x, (_GRID * _GRID, 1))
    points[:, 0] = np.tile(across, _GRID)
    points[:, 1] = np.repeat(up, _GRID)
    values = problem.evaluate_batch(points)
    outcomes = {name: values[name].reshape(_GRID, _GRID) for name in problem.outcomes}
    figure = Figure(figsize=(5.6, 4.4), layout="constrained")
    axes = figure.add_subplot()
    name = problem.objective.name
    levels = np.unique(np.quantile(outcomes[name], np.linspace(0.0, 1.0, _LEVELS)))
    if len(levels) > 1:
        norm = BoundaryNorm(levels, 256)
        shades = axes.contourf(*plane, outcomes[name], levels=levels, cmap="viridis", norm=norm)
        bar = figure.colorbar(shades, ax=axes, spacing="uniform", format="%.3g")
        bar.set_label(name)
    _mark_infeasible(axes, problem, plane, outcomes)
    _mark_equalities(axes, problem, plane, outcomes)
    axes.plot(*x[:2], "*", color="white", markeredgecolor=INK, markersize=16, clip_on=False)
    axes.set(xlabel=problem.variables[0], ylabel=problem.variables[1])
    others = "" if problem.n_variables == 2 else ", other variables fixed"
    axes.set_title(f"{name} = {problem.evaluate(x)[name]:.5g} at the star{others}", fontsize=11)
    return figure


def _mark_infeasible(axes: Any, problem: Benchmark, plane: Array, outcomes: dict[str, Array]) -> None:
    """Wash out where an inequality is broken and draw the border of that region."""
    worst = np.full((_GRID, _GRID), -np.inf)
    for constraint in problem.constraints:
        if constraint.eq is None:
            value = outcomes[constraint.name]
            size = max(float(np.abs(value).max()), 1e-300)
            worst = np.maximum(worst, -constraint.slack(value) / size)
    if worst.max() <= 0.0:
        return
    axes.contourf(*plane, worst, levels=[0.0, np.inf], colors=[_WASHED])
    if worst.min() < 0.0:
        axes.contour(*plane, worst, levels=[0.0], colors=[INK], linewidths=1.5)


def _mark_equalities(axes: Any, problem: Benchmark, plane: Array, outcomes: dict[str, Array]) -> None:
    """Draw where each equality holds, in a color of its own."""
    handles = []
    targets = {c.name: c.eq for c in problem.constraints if c.eq is not None}
    for (name, target), color in zip(targets.items(), _LINES, strict=False):
        error = outcomes[name] - target
        if error.min() < 0.0 < error.max():
            axes.contour(*plane, error, levels=[0.0], colors=[color], linewidths=2.0)
            handles.append(Line2D([], [], color=color, linewidth=2.0, label=f"{name} = {target:g}"))
    if handles:
        axes.legend(handles=handles, loc="upper right", fontsize=9)
