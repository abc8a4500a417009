"""The picture of the walk around the disc: iterates of LCBO, boxes of SCBO, and what each reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.figures.appearance import Style, style_of
from reproduction.figures.panel import INK, PALE, SIZE, dress, new_figure
from reproduction.theory.mechanism2d import CENTER, METHODS, RADIUS, SPREAD, START, AroundTheDisc, Setting
from reproduction.theory.numbers import best_curves, median_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEED = 0  # the one that is drawn, whatever came of it
LCBO = Style("#D55E00", width=2.2)  # the default is gray elsewhere, and strong here: the walk is its own


def mechanism_figure(found: Mapping[str, Any]) -> Figure:
    """Above, the plane of x_1 and x_2 with seed 0 of both methods and SCBO's median run.

    Below, the progress of all seeds and the lengths of SCBO's boxes in its two runs.
    """
    figure, panels = new_figure(3, 2, width=4.4, height=4.0)
    noise = f"noise {found['noise']:g}" if found["noise"] else "no noise"
    figure.suptitle(f"{found['d']} variables, {noise}: the plane of $x_1$ and $x_2$", fontsize=SIZE + 4)
    first = {run["method"]: run for run in found["runs"] if run["seed"] == SEED}
    middle = median_run(found, "scbo")
    for axes in panels[:3]:
        _terrain(axes, found["d"])
    _path(panels[0], first["lcbo"], f"lcbo, seed {SEED}")
    _boxes(panels[1], first["scbo"], f"scbo, seed {SEED}")
    _boxes(panels[2], middle, f"scbo, its median run (seed {middle['seed']})")
    _progress(panels[3], found)
    for axes, run in ((panels[4], first["scbo"]), (panels[5], middle)):
        _lengths(axes, run, found["budget"])
    return figure


def _terrain(axes: Axes, dim: int) -> None:
    """Contours of the objective, other variables at their best, the forbidden disc, start and answer."""
    from matplotlib.patches import Circle, Rectangle

    problem = AroundTheDisc(dim)
    side = np.linspace(0.0, 1.0, 81)
    points = np.full((side.size**2, dim), 0.5)
    points[:, 0], points[:, 1] = np.tile(side, side.size), np.repeat(side, side.size)
    values = problem.evaluate_batch(points)["f"].reshape(side.size, side.size)
    axes.contour(side, side, values, levels=14, colors="#c9c9c9", linewidths=0.7, zorder=1)
    axes.add_patch(Circle((CENTER[0], CENTER[1]), RADIUS, fc="#f0e3e3", ec="#b03a3a", lw=1.2, zorder=2))
    axes.text(0.55, 0.5, "forbidden", color="#b03a3a", fontsize=SIZE, ha="center", zorder=3)
    corner = START - SPREAD
    axes.add_patch(
        Rectangle((corner[0], corner[1]), 2 * SPREAD, 2 * SPREAD, fc="none", ec=INK, lw=0.9, ls=":", zorder=3)
    )
    axes.annotate("initial design", (START[0], START[1] - SPREAD), xytext=(-4, -10), ha="center",
                  textcoords="offset points", fontsize=SIZE - 1, color=INK, zorder=6)  # fmt: skip
    assert problem.best_known is not None
    assert problem.best_known.x is not None
    axes.plot(*problem.best_known.x[:2], "*", ms=15, color="white", mec=INK, zorder=7)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")


def _path(axes: Axes, run: Mapping[str, Any], name: str) -> None:
    steps = np.array(run["iterates"])
    color = LCBO.color
    axes.plot(steps[:, 1], steps[:, 2], "-", color=color, lw=1.6, zorder=5)
    axes.plot(steps[:, 1], steps[:, 2], "o", color=color, ms=3.5, mec="white", mew=0.4, zorder=5)
    dress(axes, f"{name}: {len(steps)} iterates", "$x_1$")
    axes.grid(visible=False)


def _boxes(axes: Axes, run: Mapping[str, Any], name: str) -> None:
    from matplotlib.patches import Rectangle

    color = style_of("scbo").color
    changes: list[tuple[float, float, float]] = []
    for _, _, length, x, y in run["boxes"]:
        if not changes or (length, x, y) != changes[-1]:
            changes.append((length, x, y))
    for i, (length, x, y) in enumerate(changes):
        late = (i + 1) / len(changes)
        axes.add_patch(
            Rectangle(
                (x - length / 2, y - length / 2), length, length, fc="none", ec=color, lw=0.9,
                alpha=0.25 + 0.6 * late, zorder=4, clip_on=True,
            )
        )  # fmt: skip
    centers = np.array([(x, y) for _, x, y in changes])
    axes.plot(centers[:, 0], centers[:, 1], "o-", color=color, ms=3.5, mec="white", mew=0.4, lw=1.4, zorder=5)
    dress(axes, f"{name}: {len(changes)} boxes", "$x_1$")
    axes.grid(visible=False)


def _progress(axes: Axes, found: Mapping[str, Any]) -> None:
    x = np.array(found["evaluations"])
    for method in METHODS:
        rows = best_curves(found, method)
        style = LCBO if method == "lcbo" else style_of(method)
        low, median, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf")
        axes.fill_between(x, low, high, step="post", color=style.color, alpha=0.15, lw=0)
        axes.step(
            x, median, where="post", color=style.color, lw=style.width, label=f"{method}, n = {len(rows)}"
        )
        axes.step(x, rows[SEED], where="post", color=style.color, lw=0.8, ls=":")
    answer = AroundTheDisc(found["d"]).best_known
    assert answer is not None
    axes.axhline(answer.value, color=INK, lw=0.9, ls=(0, (1, 2)))
    axes.annotate("optimum", (0.01, answer.value), xycoords=("axes fraction", "data"), xytext=(0, 2),
                  textcoords="offset points", fontsize=SIZE - 1, color=INK)  # fmt: skip
    dress(axes, f"best feasible f: median and quartiles, seed {SEED} dotted", "evaluations")
    axes.legend(fontsize=SIZE, frameon=False, loc="upper right")
    axes.set_xlim(0, found["budget"])


def _lengths(axes: Axes, run: Mapping[str, Any], budget: int) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    color = style_of("scbo").color
    rows = run["boxes"]
    axes.step(
        [r[1] for r in rows] + [budget], [r[2] for r in rows] + [rows[-1][2]], where="post", color=color
    )
    again = [(r[1], r[2]) for r in rows if r[0] == "restart"]
    axes.plot([a for a, _ in again], [b for _, b in again], "v", color=color, ms=6, mec="white")
    axes.axhline(2.0**-7, color=PALE, lw=0.9, ls=(0, (1, 2)))
    axes.annotate("restart below", (0.99, 2.0**-7), xycoords=("axes fraction", "data"), xytext=(0, 3),
                  ha="right", textcoords="offset points", fontsize=SIZE - 1, color=PALE)  # fmt: skip
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(LogLocator(base=2))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"1/{round(1 / v)}" if v < 1 else f"{v:g}"))
    axes.set(xlim=(0, budget), ylim=(2.0**-7.6, 2.0))
    dress(axes, f"length of the box, seed {run['seed']}; restarts: {len(again)}", "evaluations")


def draw(folder: Path, found: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Write the picture of the noisy runs, in 20 variables and in two, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for dim, name in ((20, "mechanism-2d"), (2, "mechanism-2d-plain")):
        path = folder / f"{name}.png"
        figure = mechanism_figure(found[Setting(dim, 0.1, 0).name])
        figure.savefig(path, dpi=130, metadata={"Software": None})
        paths.append(path)
    return paths
