"""The mechanism figure: how a trust region shrinks and restarts beside the progress of both methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reproduction.claims.metrics import READINGS, Restarts, restarts
from reproduction.figures.appearance import style_of, view
from reproduction.figures.panel import (
    INK,
    PALE,
    SIZE,
    common_seeds,
    draw_panel,
    dress,
    missing_text,
    new_figure,
    series_of,
)
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASK, METHOD = "truss-case1", "scbo"
SHOWN = (*READINGS, METHOD, "lcbo")


def mechanism(results: Results) -> Figure:
    """SCBO's trust region on the truss (right) beside the progress of LCBO and SCBO (left)."""
    figure, panels = new_figure(2, width=5.4)
    seeds = common_seeds(results, [("main", TASK, label) for label in SHOWN])
    lines = series_of(results, "main", TASK, SHOWN, seeds=seeds)
    missing = missing_text(SHOWN, lines)
    draw_panel(panels[0], TASK, lines, reference=results.reference(TASK), missing=missing)
    stats = restarts(results, TASK, METHOD)
    if stats.first.n and len(lines):
        _mark_restarts(panels[0], stats)
    _draw_lengths(panels[1], results)
    return figure


def _mark_restarts(axes: Axes, stats: Restarts) -> None:
    """Mark the medians of first and second restart."""
    for spread, name in ((stats.first, "1st"), (stats.second, "2nd")):
        if math.isfinite(spread.median):
            axes.axvline(spread.median, color=style_of(METHOD).color, lw=0.8, ls=":")
            axes.annotate(f"{name} restart\n(median)", (spread.median, 0.12), xytext=(3, 0),
                          xycoords=("data", "axes fraction"), textcoords="offset points",
                          va="bottom", fontsize=SIZE - 1, color=INK)  # fmt: skip


def _draw_lengths(axes: Axes, results: Results) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    dress(axes, f"{view(TASK).title.split(',')[0]}: trust region of {METHOD}", "evaluations")
    axes.set_ylabel("length of the region", fontsize=SIZE)
    events = results.events_of("main", TASK, METHOD)
    if not len(events):
        axes.set(xticks=[], yticks=[])
        axes.text(
            0.5, 0.5, "no runs yet", transform=axes.transAxes, ha="center", color=PALE, fontsize=SIZE + 2
        )
        return
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(LogLocator(base=2))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_power_of_two))
    for _, part in events.groupby("seed"):
        axes.step(
            part["evaluations"],
            part["length"],
            where="post",
            color=style_of(METHOD).color,
            lw=0.9,
            alpha=0.55,
        )
        again = part[part["kind"] == "restart"]
        axes.plot(
            again["evaluations"],
            again["length"],
            "v",
            ms=5,
            color=style_of(METHOD).color,
            mec="white",
            mew=0.5,
        )
    axes.set(xlim=(0, results.budget("main", TASK)), ylim=(2.0**-8.5, 2.0))
    axes.set_title(_sentence(restarts(results, TASK, METHOD)), loc="right", fontsize=SIZE - 1, color=PALE)


def _sentence(stats: Restarts) -> str:
    least, most = int(stats.counts.min()), int(stats.counts.max())
    often = f"{least}" if least == most else f"{least} to {most}"
    return f"{often} restarts (triangles) per run, n={len(stats.counts)}"


def _power_of_two(value: float, _: object) -> str:
    power = round(math.log2(value))
    return f"{value:g}" if power >= 0 else f"1/{2**-power}"
