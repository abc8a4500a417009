"""Picture of a truss design: areas, stress utilization and the deformed shape."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lcbo.problems.figures import GHOST, INK, add_color_bar, save, utilization_colors
from lcbo.problems.structures.truss25 import DISPLACEMENT_LIMIT, LOADS, STRESS_LIMIT, SUPPORTS, Truss25
from lcbo.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEFORMED_SIZE = 20.0  # in: length at which the largest displacement is drawn
_ARROW_SIZE = 60.0  # in: length at which the largest load is drawn


def draw_truss(problem: Truss25, x: Array, path: str | Path | None = None) -> Figure:
    """The truss twice: as designed, and deformed over its undeformed shape.

    Thickness grows with the square root of the area, color with |stress| / 40 000 psi.
    """
    from matplotlib.figure import Figure

    response = problem.model.respond(x[None, :], problem.force)
    utilization = np.abs(response.stress[0]) / STRESS_LIMIT
    move = np.zeros_like(problem.model.nodes)
    move[problem.model.free_nodes] = response.displacement[0].reshape(-1, 3)
    factor = _DEFORMED_SIZE / max(float(np.abs(move).max()), 1e-12)
    colors = utilization_colors()
    outcomes = problem.evaluate(x)

    figure = Figure(figsize=(11.0, 5.2), layout="constrained")
    left = figure.add_subplot(1, 2, 1, projection="3d")
    right = figure.add_subplot(1, 2, 2, projection="3d")
    _bars(left, problem, problem.model.nodes, x, colors.to_rgba(utilization))
    _nodes(left, problem)
    _loads(left, problem)
    left.set_title(f"design: {outcomes['weight']:.1f} lb, thickness by area", fontsize=11)
    _bars(right, problem, problem.model.nodes, np.full(len(x), 0.05), [GHOST] * len(x), style="--")
    _bars(right, problem, problem.model.nodes + factor * move, x, colors.to_rgba(utilization))
    ratio = outcomes["max_disp"] / DISPLACEMENT_LIMIT
    right.set_title(
        f"deformed, drawn x{factor:.0f}: largest {outcomes['max_disp']:.3f} in ({ratio:.2f} of limit)",
        fontsize=11,
    )
    for axes in (left, right):
        _frame(axes)
    add_color_bar(figure, colors, [left, right], "|stress| / 40 000 psi")
    save(figure, path)
    return figure


def _bars(axes: Any, problem: Truss25, nodes: Array, areas: Array, colors: Any, style: str = "-") -> None:
    for (start, end), area, color in zip(problem.model.bars, areas, colors, strict=True):
        ends = nodes[[start, end]]
        axes.plot(*ends.T, style, color=color, linewidth=0.6 + 3.2 * np.sqrt(area), solid_capstyle="round")


def _nodes(axes: Any, problem: Truss25) -> None:
    for number, position in enumerate(problem.model.nodes, start=1):
        fixed = number in SUPPORTS
        axes.plot(*position[:, None], "^" if fixed else "o", color=INK, markersize=8 if fixed else 4)
        axes.text(*(position + np.array([6.0, 0.0, 6.0])), str(number), fontsize=9, color=INK)


def _loads(axes: Any, problem: Truss25) -> None:
    loads = LOADS[problem.load]
    largest = max(float(np.linalg.norm(force)) for force in loads.values())
    for node, force in loads.items():
        arrow = np.asarray(force) / largest * _ARROW_SIZE
        axes.quiver(*problem.model.nodes[node - 1], *arrow, color="#1f5fa8", linewidth=1.4)


def _frame(axes: Any) -> None:
    from matplotlib.ticker import MultipleLocator

    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.08)
    axes.view_init(elev=16.0, azim=-58.0)
    axes.set(xlim=(-105, 105), ylim=(-105, 105), zlim=(0, 210), xlabel="x (in)", ylabel="y (in)")
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MultipleLocator(50))
        axis.pane.set_facecolor("white")
    axes.tick_params(labelsize=8)
