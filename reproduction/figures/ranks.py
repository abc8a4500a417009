"""The final ranks of all methods on all tasks as a heat map with its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from reproduction.claims.metrics import ranks
from reproduction.figures.appearance import view
from reproduction.figures.panel import INK, PALE, SIZE, new_figure
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def final_ranks(results: Results) -> Figure:
    """Mean rank of the final best feasible value by task and method, 1 the best, with the seeds compared."""
    rows = results.cells[results.cells["spec"] == "main"]
    tasks, labels = list(dict.fromkeys(rows["task"])), list(dict.fromkeys(rows["label"]))
    value = np.full((len(tasks), len(labels)), math.nan)
    figure, panels = new_figure(
        1, width=1.6 + 0.75 * max(len(labels), 4), height=1.1 + 0.42 * max(len(tasks), 3)
    )
    axes = panels[0]
    for i, task in enumerate(tasks):
        found = ranks(results.wide("main", task), labels)
        best = min(found.rank.values(), default=math.nan)
        for j, label in enumerate(labels):
            if label not in found.rank:
                axes.text(j, i, "not run", ha="center", va="center", fontsize=SIZE - 2, color=PALE)
                continue
            value[i, j] = found.rank[label]
            weight = "bold" if value[i, j] == best else "normal"
            ink = "white" if value[i, j] < 0.45 * len(labels) else INK
            axes.text(
                j,
                i - 0.1,
                f"{value[i, j]:.1f}",
                ha="center",
                va="center",
                fontsize=SIZE + 1,
                color=ink,
                weight=weight,
            )
            axes.text(
                j, i + 0.28, f"n={found.n[label]}", ha="center", va="center", fontsize=SIZE - 2, color=ink
            )
    axes.imshow(
        np.ma.masked_invalid(value), cmap="Blues_r", vmin=-1.0, vmax=1.1 * max(len(labels), 2), aspect="auto"
    )
    axes.set_xticks(range(len(labels)), labels, fontsize=SIZE)
    axes.set_yticks(range(len(tasks)), [view(task).title for task in tasks], fontsize=SIZE)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(len(labels) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(tasks) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", lw=2)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel(
        "mean rank of the final best feasible value (1 best); n: seeds compared, at least",
        fontsize=SIZE,
        color=INK,
    )
    return figure
