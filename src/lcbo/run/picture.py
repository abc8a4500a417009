"""The picture of a run: what was evaluated and the best feasible value so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lcbo.run.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_convergence(
    result: Result,
    path: str | Path | None = None,
    *,
    reference: float | None = None,
    label: str = "objective",
) -> Figure:
    """Return a figure of the observed objective over evaluations, and write it to ``path`` if given.

    Args:
        result: the answer of a run.
        path: file to write; its ending chooses the format.
        reference: a value to draw as a line, such as the best known.
        label: name of the objective on the axis.
    """
    from matplotlib.figure import Figure

    history = result.history
    values = next(iter(history.outcomes.values()))
    number = np.arange(1, len(history) + 1)
    feasible = history.feasible
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(number[~feasible], values[~feasible], s=9, color="0.75", label="infeasible", zorder=1)
    axes.scatter(number[feasible], values[feasible], s=9, color="tab:blue", label="feasible", zorder=2)
    axes.step(
        number, history.best_feasible, where="post", color="tab:red", lw=2, label="best feasible", zorder=3
    )
    if reference is not None:
        axes.axhline(reference, color="black", lw=1, ls="--", label=f"best known {reference:.5g}")
    axes.set_xlabel("evaluations")
    axes.set_ylabel(label)
    axes.set_title(f"{result.method}: {result.fun:.5g} after {result.nfev} evaluations")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
