"""``python -m reproduction theory`` and ``mechanism2d``: run what is missing, draw, and write the page."""

from __future__ import annotations

from pathlib import Path

from reproduction.theory import error_functions, mechanism2d, mechanism2d_figure
from reproduction.theory import figures as theory_figures
from reproduction.theory import residuals as theory
from reproduction.theory.claims import FOLDER, read
from reproduction.theory.page import write


def report_theory(root: Path, images: Path, page: Path, *, quick: bool) -> list[Path]:
    """Make the theorem's runs under ``root`` and return the pictures and the page."""
    folder = root / FOLDER
    runs = theory.run_study(folder, theory.QUICK if quick else theory.FULL)
    table = error_functions.run_tables(folder, error_functions.QUICK if quick else error_functions.FULL)
    return [*theory_figures.draw(images, runs, table), _written(folder, images, page)]


def report_mechanism(root: Path, images: Path, page: Path, *, quick: bool) -> list[Path]:
    """Make the walks around the disc under ``root`` and return the pictures and the page."""
    folder = root / FOLDER
    walks = mechanism2d.run_settings(folder, mechanism2d.QUICK if quick else mechanism2d.FULL)
    return [*mechanism2d_figure.draw(images, walks), _written(folder, images, page)]


def _written(folder: Path, images: Path, page: Path) -> Path:
    """Write the page from all that is in the folder."""
    runs = sorted(read(folder, "within-*"), key=lambda run: (run["d"], run["seed"]))
    walks = sorted(read(folder, "mechanism-*"), key=lambda walk: (-walk["noise"], -walk["d"]))
    tables = read(folder, "error-functions")
    write(page, images, runs, tables[0] if tables else None, walks)
    return page
