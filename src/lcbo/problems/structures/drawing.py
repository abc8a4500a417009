"""Pictures of structures: size, deformed shape and stress divided by its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from lcbo.problems.figures import GHOST, INK
from lcbo.problems.structures.beam50 import BEAM, TIP_LIMIT, Beam50
from lcbo.problems.structures.truss25 import DISPLACEMENT_LIMIT, LOADS, STRESS_LIMIT, SUPPORTS, TRUSS, Truss25
from lcbo.types import Array

_LOAD = "#1f5fa8"
_DEFORMED_SIZE = 20.0  # in: length at which the largest displacement is drawn
_ARROW_SIZE = 60.0  # in: length at which the largest load is drawn
_TALLEST = 3.0  # utilization at which the bars of the beam are cut off
_EDGED = {"align": "edge", "edgecolor": INK, "linewidth": 0.5}


def draw_truss(problem: Truss25, x: Array) -> Figure:
    """The truss twice: as designed, and deformed over its undeformed shape.

    Thickness grows with the square root of the area, color with |stress| / 40 000 psi.
    """
    response = TRUSS.respond(x[None, :], problem.force)
    move = np.zeros_like(TRUSS.nodes)
    move[TRUSS.free_nodes] = response.displacement[0].reshape(-1, 3)
    factor = _DEFORMED_SIZE / max(float(np.abs(move).max()), 1e-12)
    outcomes = problem.evaluate(x)

    figure = Figure(figsize=(11.0, 5.2), layout="constrained")
    left, right = panels = figure.subplots(1, 2, subplot_kw={"projection": "3d"})
    shades = _shades(figure, panels, np.abs(response.stress[0]) / STRESS_LIMIT, "|stress| / 40 000 psi")
    _bars(left, TRUSS.nodes, x, shades)
    _nodes(left)
    _loads(left, problem)
    left.set_title(f"design: {outcomes['weight']:.1f} lb, thickness by area", fontsize=11)
    _bars(right, TRUSS.nodes, np.full(len(x), 0.05), [GHOST] * len(x), style="--")
    _bars(right, TRUSS.nodes + factor * move, x, shades)
    ratio = outcomes["max_disp"] / DISPLACEMENT_LIMIT
    right.set_title(
        f"deformed, drawn x{factor:.0f}: largest {outcomes['max_disp']:.3f} in ({ratio:.2f} of limit)",
        fontsize=11,
    )
    for axes in panels:
        axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.08)
        axes.view_init(elev=16.0, azim=-58.0)
        axes.set(xlim=(-105, 105), ylim=(-105, 105), zlim=(0, 210), xlabel="x (in)", ylabel="y (in)")
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_major_locator(MultipleLocator(50))
            axis.pane.set_facecolor("white")
        axes.tick_params(labelsize=8)
    return figure


def _bars(axes: Any, nodes: Array, areas: Array, colors: Any, style: str = "-") -> None:
    for ends, area, color in zip(TRUSS.bars, areas, colors, strict=True):
        width = 0.6 + 3.2 * np.sqrt(area)
        axes.plot(*nodes[ends].T, style, color=color, linewidth=width, solid_capstyle="round")


def _nodes(axes: Any) -> None:
    for number, position in enumerate(TRUSS.nodes, start=1):
        fixed = number in SUPPORTS
        axes.plot(*position[:, None], "^" if fixed else "o", color=INK, markersize=8 if fixed else 4)
        axes.text(*(position + np.array([6.0, 0.0, 6.0])), str(number), fontsize=9, color=INK)


def _loads(axes: Any, problem: Truss25) -> None:
    loads = LOADS[problem.load]
    largest = max(float(np.linalg.norm(force)) for force in loads.values())
    for node, force in loads.items():
        arrow = np.asarray(force) / largest * _ARROW_SIZE
        axes.quiver(*TRUSS.nodes[node - 1], *arrow, color=_LOAD, linewidth=1.4)


def draw_beam(problem: Beam50, x: Array) -> Figure:
    """Side view (heights), top view (widths) and sigma / 40 000 psi of every segment."""
    width, height = x[0::2], x[1::2]
    utilization = BEAM.stress(width[None, :], height[None, :])[0] / STRESS_LIMIT
    outcomes = problem.evaluate(x)
    volume, tip = outcomes["volume"], outcomes["tip"]
    start, step = BEAM.joints[:-1], BEAM.length / BEAM.segments

    figure = Figure(figsize=(10.0, 6.4), layout="constrained")
    side, top, bars = panels = figure.subplots(3, 1, sharex=True, height_ratios=(1.0, 1.0, 0.9))
    shades = _shades(figure, panels, utilization, "stress / 40 000 psi")
    for axes, size, label in ((side, height, "height (in)"), (top, width, "width (in)")):
        axes.bar(start, size, step, bottom=-size / 2, color=shades, **_EDGED)
        axes.fill_between(
            [-2.0, 0.0], -2.7, 2.7, facecolor="none", edgecolor=INK, hatch="////", linewidth=0.0
        )
        axes.axvline(0.0, color=INK, linewidth=1.5)
        axes.set(ylim=(-2.7, 2.7), ylabel=label, yticks=np.arange(-2.0, 2.1, 1.0))
    side.annotate(
        f"{BEAM.load:.0f} lb",
        xy=(BEAM.length, 0.0),
        xytext=(BEAM.length, 2.1),
        ha="center",
        arrowprops={"arrowstyle": "-|>", "color": _LOAD, "linewidth": 1.6},
    )
    title = f"volume {volume:.1f} in$^3$, tip deflection {tip:.3f} in ({tip / TIP_LIMIT:.2f} of limit)"
    side.set_title(title, fontsize=11)
    bars.bar(start, utilization, step, color=shades, **_EDGED)
    bars.axhline(1.0, color=INK, linestyle="--", linewidth=1.0)
    bars.set_title(f"largest stress {utilization.max():.2f} of limit", fontsize=11)
    bars.set(xlabel="distance from the clamp (in)", ylabel="stress / limit", xlim=(-2.0, BEAM.length + 4.0))
    bars.set_ylim(0.0, float(np.clip(1.05 * utilization.max(), 1.25, _TALLEST)))
    return figure


def _shades(figure: Figure, panels: Any, utilization: Array, label: str) -> Any:
    """Add a color bar, 0 pale, 1 dark red and black above, and return the colors of the loads."""
    cmap = ListedColormap(colormaps["YlOrRd"](range(60, 256))).with_extremes(over="black")
    colors = ScalarMappable(norm=Normalize(0.0, 1.0), cmap=cmap)
    bar = figure.colorbar(colors, ax=panels, extend="max", shrink=0.75, pad=0.03)
    bar.set_label(label)
    return colors.to_rgba(utilization)
