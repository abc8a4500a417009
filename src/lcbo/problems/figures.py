"""Which drawing belongs to which problem, and what the drawings share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcbo.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

INK = "#333333"
GHOST = "#b8b8b8"
_FORMATS = (".png", ".svg")
# By class; a drawing imports its problem and matplotlib, so it is imported when it is needed.
_DRAWINGS = {
    "Truss25": ("structures.truss_drawing", "draw_truss"),
    "Beam50": ("structures.beam_drawing", "draw_beam"),
    "HalfCheetah": ("gait_drawing", "draw_gait"),
}


def drawing_of(problem: type) -> Callable[..., Any]:
    """Return the function ``(problem, x, path)`` that draws a design of a class of problems."""
    module, name = _DRAWINGS.get(problem.__name__, ("slice_drawing", "draw_slice"))
    drawing: Callable[..., Any] = getattr(import_module(f"lcbo.problems.{module}"), name)
    return drawing


def utilization_colors() -> ScalarMappable:
    """Color map of a load divided by its limit: 0 pale, 1 dark red; above 1 it stays at black."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colors = colormaps["YlOrRd"](range(60, 256))
    cmap = ListedColormap(colors).with_extremes(over="black")
    return ScalarMappable(norm=Normalize(0.0, 1.0), cmap=cmap)


def add_color_bar(figure: Figure, colors: ScalarMappable, axes: Any, label: str) -> None:
    """Add a color bar with its label; black is above the limit."""
    bar = figure.colorbar(colors, ax=axes, extend="max", shrink=0.75, pad=0.03)
    bar.set_label(label)


def save(figure: Figure, path: str | Path | None) -> None:
    """Write the figure as PNG or SVG, by the ending of ``path``; nothing when it is None."""
    if path is None:
        return
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        raise ArgumentError("path", "a file name ending in .png or .svg", repr(str(path)))
    figure.savefig(path, dpi=150)
