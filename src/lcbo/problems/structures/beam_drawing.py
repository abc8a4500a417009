"""Picture of a stepped cantilever: both views of its profile and the utilization along it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lcbo.problems.figures import INK, add_color_bar, save, utilization_colors
from lcbo.problems.structures.beam50 import BEAM, STRESS_LIMIT, TIP_LIMIT, Beam50
from lcbo.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TALLEST = 3.0  # utilization at which the bars are cut off


def draw_beam(problem: Beam50, x: Array, path: str | Path | None = None) -> Figure:
    """Side view (heights), top view (widths) and sigma / 40 000 psi of every segment."""
    from matplotlib.figure import Figure

    width, height = x[None, 0::2], x[None, 1::2]
    utilization = BEAM.stress(width, height)[0] / STRESS_LIMIT
    outcomes = problem.evaluate(x)
    colors = utilization_colors()
    shades = colors.to_rgba(utilization)

    figure = Figure(figsize=(10.0, 6.4), layout="constrained")
    side, top, bars = figure.subplots(3, 1, sharex=True, height_ratios=(1.0, 1.0, 0.9))
    _profile(side, height[0], shades, "height (in)")
    _profile(top, width[0], shades, "width (in)")
    side.annotate(
        f"{BEAM.load:.0f} lb",
        xy=(BEAM.length, 0.0),
        xytext=(BEAM.length, 2.1),
        ha="center",
        arrowprops={"arrowstyle": "-|>", "color": "#1f5fa8", "linewidth": 1.6},
    )
    side.set_title(
        f"volume {outcomes['volume']:.1f} in$^3$, tip deflection {outcomes['tip']:.3f} in "
        f"({outcomes['tip'] / TIP_LIMIT:.2f} of limit)",
        fontsize=11,
    )
    step = BEAM.length / BEAM.segments
    bars.bar(BEAM.joints[:-1], utilization, step, align="edge", color=shades, edgecolor=INK, linewidth=0.5)
    bars.axhline(1.0, color=INK, linestyle="--", linewidth=1.0)
    bars.set_title(f"largest stress {utilization.max():.2f} of limit", fontsize=11)
    bars.set(xlabel="distance from the clamp (in)", ylabel="stress / limit", xlim=(-2.0, BEAM.length + 4.0))
    bars.set_ylim(0.0, float(np.clip(1.05 * utilization.max(), 1.25, _TALLEST)))
    add_color_bar(figure, colors, [side, top, bars], "stress / 40 000 psi")
    save(figure, path)
    return figure


def _profile(axes: Any, size: Array, shades: Any, label: str) -> None:
    """One view: segments centered on the axis of the beam, hatched clamp at the left."""
    step = BEAM.length / BEAM.segments
    axes.bar(
        BEAM.joints[:-1],
        size,
        step,
        bottom=-size / 2,
        align="edge",
        color=shades,
        edgecolor=INK,
        linewidth=0.5,
    )
    axes.fill_between([-2.0, 0.0], -2.7, 2.7, facecolor="none", edgecolor=INK, hatch="////", linewidth=0.0)
    axes.axvline(0.0, color=INK, linewidth=1.5)
    axes.set(ylim=(-2.7, 2.7), ylabel=label, yticks=np.arange(-2.0, 2.1, 1.0))
