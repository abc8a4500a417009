"""One panel of a figure: median lines with quartile bands, named at their right ends."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lcbo.types import Array
from reproduction.claims.metrics import band, curves
from reproduction.figures.appearance import shown, style_of, view
from reproduction.harness.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE = "#333333", "#8a8a8a"
SIZE = 8.0  # points of the lettering
ROOM = 1.35  # of its height between the names of two lines


@dataclass(frozen=True)
class Series:
    """A label's curves on one panel: ``band`` has low, median and high over x; ``n`` runs."""

    label: str
    band: pd.DataFrame
    n: int
    name: str = ""

    @property
    def text(self) -> str:
        """What stands at the end of the line."""
        return self.name or shown(self.label)


def series_of(
    results: Results,
    spec: str,
    task: str,
    labels: Sequence[str],
    *,
    column: str = "best",
    along: str = "evaluations",
    seeds: Collection[int] | None = None,
) -> list[Series]:
    """Return the series of the labels that have run the seeds; without ``seeds``, of all they have run."""
    found = []
    for label in labels:
        wide = curves(results, spec, task, label, column, along)
        if seeds is not None:
            wide = wide[list(seeds)] if set(seeds) <= set(wide) else wide.iloc[:0]
        if wide.size:
            found.append(Series(label, band(wide), wide.shape[1]))
    return found


def common_seeds(results: Results, sources: Sequence[tuple[str, str, str]]) -> list[int]:
    """Return the seeds a panel shows, the same for all its lines.

    Of the strong lines those with the most runs are shown: as many of them as make the square of their number
    times the number of seeds largest. Few lines of many seeds are no comparison, many of one seed are none.

    Args:
        results: the runs.
        sources: spec, task and label of every line.
    """
    runs = [seeds for source in sources if style_of(source[2]).strong and (seeds := results.seeds(*source))]
    choices = [[seeds for seeds in runs if len(seeds) >= least] for least in sorted(set(map(len, runs)))]
    best = max(choices, key=lambda kept: len(kept) ** 2 * len(set.intersection(*kept)), default=[])
    return sorted(set.intersection(*best)) if best else []


def missing_text(sources: Sequence[str], lines: Sequence[Series]) -> str:
    """Return which labels are not drawn because the panel's seeds were not run."""
    drawn = {line.label for line in lines}
    absent = [shown(label) for label in sources if label not in drawn]
    return f"not run on these seeds yet: {', '.join(absent)}" if absent else ""


def new_figure(
    columns: int, rows: int = 1, *, width: float = 4.6, height: float = 3.5
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    return figure, list(grid.ravel())


def draw_panel(
    axes: Axes,
    task: str,
    lines: Sequence[Series],
    *,
    title: str | None = None,
    x_label: str = "evaluations",
    y_label: str | None = None,
    reference: float | None = None,
    y_range: tuple[float, float] | None = None,
    log: bool | None = None,
    missing: str = "",
) -> None:
    """Draw the lines of one task.

    A band whose upper quartile is infinite reaches to the top. A line begins where its median becomes
    finite; one that never does is named at the top. ``reference`` is the best known value; ``y_range``
    replaces the usual `limits`, ``log`` what the task usually has.
    """
    shape = view(task) if log is None else replace(view(task), log=log)
    words = shape.title if title is None else title
    dress(axes, f"{words}, n = {lines[0].n}" if lines else words, x_label)
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(f"best feasible {shape.value}" if y_label is None else y_label, fontsize=SIZE)
    if not lines:
        axes.set(xticks=[], yticks=[])
        axes.text(
            0.5, 0.5, "no runs yet", transform=axes.transAxes, ha="center", color=PALE, fontsize=SIZE + 2
        )
        note(axes, missing)
        return
    low, high = limits(lines, reference, log=shape.log) if y_range is None else y_range
    if shape.log and low > 0.0:
        _log_axis(axes)
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(float(line.band.index[-1]) for line in lines))
    if reference is not None:
        axes.axhline(reference, color=INK, lw=0.9, ls=(0, (1, 2)), zorder=1)
        axes.annotate("best known", (0.01, reference), xycoords=("axes fraction", "data"), xytext=(0, 2),
                      textcoords="offset points", fontsize=SIZE - 1, color=INK)  # fmt: skip
    for line in lines:
        _draw_line(axes, line, high)
    name_ends(axes, lines)
    note(axes, missing)


def _draw_line(axes: Axes, line: Series, top: float) -> None:
    style, x = style_of(line.label), line.band.index.to_numpy(dtype=np.float64)
    low, median, high = (line.band[name].to_numpy(dtype=np.float64) for name in ("low", "median", "high"))
    if line.n > 1 and style.strong:
        there, alpha = np.isfinite(low), 0.15 if style.dash == "-" else 0.08
        axes.fill_between(x[there], low[there], np.minimum(high[there], 2.0 * abs(top) + top), step="post",
                          color=style.color, alpha=alpha, lw=0, zorder=2)  # fmt: skip
    above = 4.0 if style.width > 2 else 3.0 if style.strong else 1.5
    axes.step(x, np.where(np.isfinite(median), median, np.nan), where="post", color=style.color,
              ls=style.dash, lw=style.width, zorder=above)  # fmt: skip


def limits(lines: Sequence[Series], reference: float | None, *, log: bool = False) -> tuple[float, float]:
    """Return the range of a panel's vertical axis.

    It holds every median from the first tenth of the budget on, where curves fall steeply, and the best
    known value; never empty.
    """
    values: list[Array] = []
    for line in lines:
        x = line.band.index.to_numpy(dtype=np.float64)
        median = line.band["median"].to_numpy(dtype=np.float64)
        values += [median[x >= 0.05 * x[-1]], line.band["low"].to_numpy(dtype=np.float64)[-1:]]
    v = np.concatenate([*values, [] if reference is None else [reference]])
    v = v[np.isfinite(v)]
    if not v.size:
        return 0.0, 1.0
    bottom, top = float(v.min()), float(v.max())
    if log and bottom > 0.0:
        room = 0.06 * math.log(top / bottom) or 0.1
        return bottom * math.exp(-room), top * math.exp(room)
    room = 0.06 * (top - bottom) or 0.1 * abs(top) or 1.0
    return bottom - room, top + room


def name_ends(axes: Axes, lines: Sequence[Series]) -> None:
    """Write every line's name beside its right end, moved apart where they would overlap."""
    height = axes.get_position().height * axes.figure.get_figure(root=True).get_figheight()
    step = ROOM * SIZE / 72.0 / height
    wanted = []
    for line in lines:
        end = float(line.band["median"].iloc[-1])
        wanted.append(1.0 if math.isinf(end) else _fraction(axes, end))
    places = apart(wanted, step)
    for line, end, place in zip(lines, wanted, places, strict=True):
        nothing = math.isinf(float(line.band["median"].iloc[-1]))
        text = f"{line.text}: none feasible" if nothing else line.text
        axes.annotate(
            text, (1.0, end), xytext=(1.035, place), xycoords="axes fraction", textcoords="axes fraction",
            va="center", fontsize=SIZE, color=_readable(style_of(line.label).color), annotation_clip=False,
            arrowprops={"arrowstyle": "-", "lw": 0.6, "color": style_of(line.label).color,
                        "shrinkA": 0, "shrinkB": 0, "relpos": (0.0, 0.5)},
        )  # fmt: skip


def apart(wanted: Sequence[float], step: float) -> list[float]:
    """Return places at least ``step`` apart, in the order of the wanted ones and as near to them as can be.

    Less ``i * step``, the i-th lowest place must not fall; the nearest such sequence is made by pooling
    neighbors that do to their mean. The whole is shifted back where it leaves 0 to 1.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    pools: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        mean, count = wanted[i] - rank * step, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    level = [mean for mean, count in pools for _ in range(count)]
    lowest, highest = 0.0, 1.0 - (len(wanted) - 1) * step
    places = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        places[i] = max(min(level[rank], highest), lowest) + rank * step
    return places


def note(axes: Axes, text: str) -> None:
    """Write what is missing below a panel."""
    if text:
        axes.annotate(_wrapped(text), (0.0, 0.0), xytext=(0, -30), xycoords="axes fraction",
                      textcoords="offset points", va="top", fontsize=SIZE - 1, color=PALE)  # fmt: skip


def dress(axes: Axes, title: str, x_label: str) -> None:
    """Set title, labels and a quiet frame."""
    axes.set_title(title, fontsize=SIZE + 2, loc="left", color=INK)
    axes.set_xlabel(x_label, fontsize=SIZE)
    axes.tick_params(labelsize=SIZE, colors=INK, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", lw=0.6, which="both")
    axes.set_axisbelow(True)


def _log_axis(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _fraction(axes: Axes, value: float) -> float:
    """Return where a value lies on the vertical axis, 0 the bottom and 1 the top."""
    at = axes.transAxes.inverted().transform(axes.transData.transform((0.0, value)))[1]
    return float(np.clip(at, 0.0, 1.0))


def _readable(color: str) -> tuple[float, float, float]:
    """Return a color darkened a little: thin letters look paler than lines."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.75 * red, 0.75 * green, 0.75 * blue


def _wrapped(text: str, width: int = 70) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))
