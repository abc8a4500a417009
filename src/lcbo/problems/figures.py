"""Which drawing belongs to which problem, and how a drawing is saved."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from lcbo.errors import ArgumentError
from lcbo.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lcbo.problems.base import Benchmark

INK = "#333333"
GHOST = "#b8b8b8"
# By class; a drawing imports its problem and matplotlib, so it is imported when it is needed.
_DRAWINGS = {
    "Truss25": ("structures.drawing", "draw_truss"),
    "Beam50": ("structures.drawing", "draw_beam"),
    "HalfCheetah": ("gait_drawing", "draw_gait"),
}


def draw(problem: Benchmark, x: Array, path: str | Path | None) -> Figure:
    """Return the drawing of a design, written as PNG or SVG, by its ending, where there is a ``path``."""
    if path is not None and Path(path).suffix.lower() not in (".png", ".svg"):
        raise ArgumentError("path", "a file name ending in .png or .svg", repr(str(path)))
    module, name = _DRAWINGS.get(type(problem).__name__, ("slice_drawing", "draw_slice"))
    figure: Figure = getattr(import_module(f"lcbo.problems.{module}"), name)(problem, x)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
