"""The figure of a comparison: best feasible value over evaluations, median and quartiles of every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lcbo.compare.comparison import Comparison
from lcbo.compare.score import Score, Spread, score_table
from lcbo.types import Array

# Okabe and Ito's colors, which color-blind people can tell apart; the dashes help where lines cross.
_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
_DASHES = ("-", "--", "-.", ":")


def draw_figure(comparison: Comparison, path: Path) -> None:
    """Draw all finished runs of a comparison as a PNG file.

    A run without a feasible point counts as worse than any other: a band reaches the edge of the figure while
    more than a quarter of the runs has none, and a line begins when half of them have one.
    """
    from matplotlib.figure import Figure

    problem, facts, scores = comparison.problem, comparison.facts, comparison.scores()
    objective = problem.objective
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    at = np.arange(1, facts["budget"] + 1)
    bands = {method: _band(runs) for method, runs in scores.items()}
    good, bad = _limits(list(bands.values()))
    for number, row in enumerate(score_table(scores, objective.sign).to_dict("records")):
        low, median, high = bands[row["method"]]
        color, dash = _COLORS[number % len(_COLORS)], _DASHES[number // len(_COLORS) % len(_DASHES)]
        label = row["method"]
        if row["feasible"] < row["runs"]:
            label += f"\n{row['feasible']} of {row['runs']} runs feasible"
        line = objective.sign * np.where(np.isfinite(median), median, np.nan)
        axes.step(at, line, where="post", color=color, ls=dash, lw=2, label=label)
        edges = objective.sign * low, objective.sign * np.where(np.isfinite(high), high, 2.0 * bad - good)
        axes.fill_between(at, *edges, where=np.isfinite(low), step="post", color=color, alpha=0.15, lw=0)
    known = getattr(problem, "best_known", None)
    if known is not None and abs(objective.sign * known.value - good) < bad - good:
        axes.axhline(known.value, color="0.3", lw=1, ls=":", label=f"best known {known.value:.5g}")
        good = min(good, objective.sign * known.value)
    ends = sorted(objective.sign * value for value in (good - 0.05 * (bad - good), bad))
    axes.set(xlim=(0, facts["budget"]), ylim=ends, xlabel="evaluations")
    direction = "maximized" if objective.maximize else "minimized"
    axes.set_ylabel(f"best feasible {objective.name} ({direction})".replace("$", r"\$"))
    seeds = max(len(runs) for runs in scores.values())
    noise = f", noise {facts['noise']:g}, scored without noise" if facts["noise"] else ""
    title = f"{facts['name']}{noise}: median and quartiles of {seeds} runs"
    axes.set_title(title.replace("$", r"\$"), fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9)
    figure.savefig(path, dpi=120)


def _band(runs: Sequence[Score]) -> Array:
    """Return lower quartile, median and upper quartile after 1, 2, ... evaluations, as rows."""
    spreads = [Spread.of(values) for values in np.array([run.best for run in runs]).T]
    return np.array([(s.low, s.median, s.high) for s in spreads]).T


def _limits(bands: Sequence[Array]) -> tuple[float, float]:
    """Return the best value and one that nearly all of the curves stay below; the start may be far above."""
    values = np.concatenate(bands, axis=None)
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    good, bad = float(values.min()), float(np.quantile(values, 0.95))
    return good, bad + 0.05 * (bad - good) if bad > good else good + 1.0
