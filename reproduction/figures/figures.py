"""All figures of the reproduction by name, drawn from whatever has been run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.figures import progress as figure_progress
from reproduction.figures.mechanism import mechanism
from reproduction.figures.overview import overview
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: Mapping[str, Callable[[Results], Figure]] = {
    "overview": overview,
    "synthetic": figure_progress.synthetic,
    "real": figure_progress.real,
    "recommended": figure_progress.recommended,
    "mechanism": mechanism,
    "batch": figure_progress.batch,
    "components": figure_progress.components,
    "penalty": figure_progress.penalty,
}


def draw_figures(results: Results, folder: Path) -> list[Path]:
    """Write every figure as a PNG file into a folder and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in FIGURES.items():
        path = folder / f"{name}.png"
        # without the software's name in the file, the same picture is the same bytes
        draw(results).savefig(path, dpi=130, metadata={"Software": None})
        paths.append(path)
    return paths
