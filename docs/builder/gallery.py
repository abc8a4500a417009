"""The gallery: the scripts of examples/gallery executed, as pages and as notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "image_scrapers": ("builder.gallery.figures",),
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "first_notebook_cell": "%matplotlib inline",
}


def figures(block: tuple[Any, ...], block_vars: dict[str, Any], settings: Mapping[str, Any]) -> str:
    """Save the pictures of a block: those of pyplot, and those that lcbo returns, unknown to pyplot."""
    rst: str = matplotlib_scraper(block, block_vars, settings)
    for name, figure in block_vars["example_globals"].items():
        if isinstance(figure, Figure) and not hasattr(figure, "number") and not hasattr(figure, "shown"):
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=110)
            figure.shown = True  # type: ignore[attr-defined]
            words = [ax.get_title() or ax.get_ylabel() for ax in figure.axes]
            rst += figure_rst([path], settings["src_dir"], f"{name}: {', '.join(filter(None, words))}")
    return rst


def forget_if_stale() -> None:
    """Let the examples be executed again when the library has changed, not only when they have."""
    made = ROOT / "docs" / "gallery"
    known, content = made / "library.sha256", sha256()
    for path in sorted((ROOT / "src" / "lcbo").rglob("*.py")):
        content.update(path.read_bytes())
    if not known.exists() or known.read_text() != content.hexdigest():
        for path in made.glob("*.md5"):
            path.unlink()
        made.mkdir(exist_ok=True)
        known.write_text(content.hexdigest())
