"""Data and performance profiles of the suite, per kind and noise (Moré and Wild 2009, Dolan and Moré 2002).

The data profile of a method at k is the share of problems it solves within k (d + 1) evaluations; its
performance profile at r is the share it solves with at most r times the evaluations of the fastest method
shown. A problem here is a problem of the suite with its noise and seed, read off the longest run stored, and
only those that every method shown has run count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from suite_problems import BY_NAME, KINDS, posed
from suite_scores import Key, Record, Yardstick

from lcbo.types import Array

Instance = tuple[str, float, int]  # problem, noise, seed
_DASHES = ("-", "--", "-.", ":")


def longest(runs: Mapping[Key, Record]) -> dict[Instance, Record]:
    """Return the run with the largest budget of every instance."""
    ordered = sorted(runs.values(), key=lambda record: record.multiple)
    return {(record.problem, record.noise, record.seed): record for record in ordered}


def data_profile(times: Array, dims: Array, units: Array) -> Array:
    """Return the share of ``times`` (evaluations to solve, infinite if never) within ``units`` (d + 1)."""
    return (times[:, None] <= units * (dims[:, None] + 1.0)).mean(axis=0)


def performance_profile(times: Mapping[str, Array], ratios: Array) -> dict[str, Array]:
    """Return by method the share solved within ``ratios`` times the evaluations of the fastest."""
    fastest = np.min(list(times.values()), axis=0)
    # A problem that nobody solves is unsolved at every ratio.
    within = np.where(np.isfinite(fastest), fastest, 0.0)[:, None] * ratios
    return {name: (each[:, None] <= within).mean(axis=0) for name, each in times.items()}


def draw(stored: Mapping[str, Mapping[Key, Record]], yard: Yardstick, tau: float, folder: Path) -> list[Path]:
    """Draw both profiles of the methods at ``tau``, a row per kind and one of all, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for what in ("data", "performance"):
        files.append(folder / f"{what}_profiles_{tau:g}.png")
        _figure(stored, yard, what, [(kind, tau) for kind in (*KINDS, "all")]).savefig(files[-1], dpi=110)
    return files


def draw_overview(
    stored: Mapping[str, Mapping[Key, Record]], yard: Yardstick, taus: Sequence[float], path: Path
) -> None:
    """Draw the data profiles of the methods over all kinds, a row per tau: the picture of the README."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _figure(stored, yard, "data", [("all", tau) for tau in taus]).savefig(path, dpi=110)


def _figure(
    stored: Mapping[str, Mapping[Key, Record]], yard: Yardstick, what: str, rows: Sequence[tuple[str, float]]
) -> Figure:
    runs = {label: longest(records) for label, records in stored.items()}
    common = sorted(set.intersection(*(set(each) for each in runs.values())))
    noises = sorted({noise for _, noise, _ in common})
    shown = [row for row in rows if row[0] == "all" or any(BY_NAME[i[0]].kind == row[0] for i in common)]
    figure = Figure(figsize=(3.0 * len(noises) + 1.4, 2.3 * len(shown)), layout="constrained")
    grid = figure.subplots(len(shown), len(noises), sharex=True, sharey=True, squeeze=False)
    for axes_row, (kind, tau) in zip(grid, shown, strict=True):
        for axes, noise in zip(axes_row, noises, strict=True):
            chosen = [i for i in common if i[1] == noise and kind in (BY_NAME[i[0]].kind, "all")]
            if chosen:
                here = {label: [each[i] for i in chosen] for label, each in runs.items()}
                _panel(axes, what, here, yard, tau)
            axes.set_title(f"{kind}, noise {noise:g}, {len(chosen)} runs", fontsize=9)
            axes.grid(alpha=0.3)
        axes_row[0].set_ylabel(f"solved to {tau:g}", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("evaluations / (d + 1)" if what == "data" else "evaluations / the fastest's")
    grid[0, 0].set_ylim(-0.02, 1.02)
    figure.legend(*grid[-1, 0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return figure


def _panel(axes: Any, what: str, runs: Mapping[str, Sequence[Record]], yard: Yardstick, tau: float) -> None:
    times = {
        label: np.array([record.evaluations_to(yard.target(record.problem, tau)) for record in records])
        for label, records in runs.items()
    }
    if what == "data":
        most = max(record.multiple for records in runs.values() for record in records)
        dims = np.array([posed(record.problem).dim for record in next(iter(runs.values()))], dtype=float)
        at = np.linspace(0.0, most, 401)
        curves = {label: data_profile(each, dims, at) for label, each in times.items()}
    else:
        at = np.geomspace(1.0, 64.0, 301)
        curves = performance_profile(times, at)
        axes.set_xscale("log", base=2)
    for number, (label, curve) in enumerate(curves.items()):
        style = {"color": f"C{number % 10}", "ls": _DASHES[number % len(_DASHES)]}
        style["lw"] = 2.5 if label == "lcbo" else 1.5
        axes.step(at, curve, where="post", label=label, **style)
