"""Pictures of the theory's runs: averaged residuals, how they grow with d, and the error functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lcbo.types import Array
from reproduction.figures.panel import INK, PALE, SIZE, dress, new_figure
from reproduction.theory.error_functions import KERNELS, batch_slope
from reproduction.theory.numbers import at_end, averages, boosts, dims, exact, of_dim, oracle_calls

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dimensions are ordered, and so are their colors; no method has them.
COLORS = {2: "#44AA99", 4: "#4477AA", 8: "#AA4499", 16: "#332288"}
WORDS = {"r_s": r"stationarity $r_s$", "r_f": r"feasibility $r_f$"}
TITLES = {"rbf": "RBF", "matern52": "Matérn-5/2"}


def residual_figure(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Averaged residuals over K, with both step lengths, and over the number of oracle calls."""
    figure, panels = new_figure(3, 2, width=4.3, height=3.3)
    for row, name in enumerate(WORDS):
        for column, boost in enumerate(boosts(runs)[:2]):
            axes = panels[3 * row + column]
            _over_iterations(axes, runs, name, boost)
            scale = "steps of the theorem" if boost == 1 else f"steps {boost} times as long"
            _dressed(axes, f"{WORDS[name]}, {scale}", "K")
        _over_calls(panels[3 * row + 2], runs, name)
        _dressed(panels[3 * row + 2], f"{WORDS[name]} over oracle calls", "n = (m + 1) evaluations")
        panels[3 * row].set_ylabel("average over k = 1 .. K", fontsize=SIZE)
    _legend(panels[0], runs)
    return figure


def _over_iterations(axes: Axes, runs: Sequence[Mapping[str, Any]], name: str, boost: int) -> None:
    _logarithmic(axes)
    start = []
    for dim in dims(runs):
        part = of_dim(runs, dim)
        k, control = exact(part, name, boost)
        low, median, high = np.quantile(control, (0.25, 0.5, 0.75), axis=0)
        axes.fill_between(k, low, high, color=COLORS[dim], alpha=0.10, lw=0)
        axes.plot(k, median, color=COLORS[dim], lw=1.2, ls=(0, (3, 1.5)))
        measured = np.median(averages(part, name, boost), axis=0)
        axes.plot(np.arange(1, len(measured) + 1), measured, color=COLORS[dim], lw=3.2, alpha=0.9)
        start.append(float(median[0]))
    _guide(axes, (30.0, float(k[-1])), 2.0 * max(start), -0.5, r"$K^{-1/2}$")


def _over_calls(axes: Axes, runs: Sequence[Mapping[str, Any]], name: str) -> None:
    _logarithmic(axes, decades=False)
    top, last = 0.0, 1.0
    for boost in boosts(runs)[:2]:
        for dim in dims(runs):
            part = of_dim(runs, dim)
            median = np.median(averages(part, name, boost), axis=0)
            calls = oracle_calls(part, boost)
            shape = "o-" if boost == 1 else "s:"
            axes.plot(calls, median, shape, color=COLORS[dim], lw=1.4, ms=2.6)
            top, last = max(top, float(median.max())), max(last, float(calls[-1]))
    _guide(axes, (30.0, last), 1.6 * top, -1.0 / 6.0, r"$n^{-1/6}$")
    if name == "r_s":
        handles = [_line(ls="-", marker="o", color=INK), _line(ls=":", marker="s", color=INK)]
        factors = [f"{boost} x step" for boost in boosts(runs)[:2]]
        axes.legend(handles[: len(factors)], factors, fontsize=SIZE - 1, frameon=False, loc="lower left")


def dimension_figure(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """The averages at the end of a run over d, of ``lcbo-theory`` and of exact gradients at large K."""
    figure, panels = new_figure(2, width=4.6, height=3.2)
    k_run, k_exact = len(runs[0]["series"]["1"]["r_s"]), int(runs[0]["series"]["1"]["exact_K"][-1])
    for axes, name in zip(panels, WORDS, strict=True):
        _logarithmic(axes)
        top = 0.0
        for boost, marker in zip(boosts(runs)[:2], "os", strict=False):
            for source, filled in (("run", True), ("exact", False)):
                spreads = [at_end(of_dim(runs, d), name, boost, source) for d in dims(runs)]
                ends = np.array([np.quantile(values, (0.25, 0.5, 0.75)) for values in spreads]).T
                where = f"lcbo-theory, K = {k_run}" if filled else f"exact gradients, K = {k_exact}"
                aside = 1.0 + 0.02 * (boost > 1) - 0.02 * filled
                axes.errorbar(
                    aside * np.array(dims(runs)), ends[1], [ends[1] - ends[0], ends[2] - ends[1]],
                    marker=marker, color=INK if filled else PALE, mfc=INK if filled else "white", ms=5,
                    lw=1.2, capsize=2, ls="-" if boost == 1 else ":", label=f"{where}, {boost} x step",
                )  # fmt: skip
                top = max(top, float(ends[2].max()))
        _guide(axes, (dims(runs)[0], dims(runs)[-1]), 1.5 * top, 1.0, r"$d^{\,1}$")
        _dressed(axes, WORDS[name], "d")
        axes.set_xticks(dims(runs), [str(d) for d in dims(runs)])
        axes.minorticks_off()
    panels[0].set_ylabel("average over k = 1 .. K", fontsize=SIZE)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=SIZE - 1,
                  frameon=False)  # fmt: skip
    return figure


def error_figure(table: Mapping[str, Any]) -> Figure:
    """``e(b)`` and ``E(b)`` with the orders the paper gives for them."""
    figure, panels = new_figure(3, width=4.3, height=3.4)
    b = np.array(table["b"], dtype=np.float64)
    for axes in panels:
        _logarithmic(axes)
    panels[0].plot(b, table["e"], color=INK, lw=1.4, label="closed form")
    panels[0].plot(b, table["e_model"], "o", color=INK, ms=4, mfc="white", label="variance of the model")
    panels[0].plot(b, table["sigma"] ** 2 / b, color=PALE, ls=(0, (1, 2)), label=r"order $\sigma^2 b^{-1}$")
    _dressed(panels[0], "value, e(b)", "b")
    panels[0].legend(fontsize=SIZE - 1, frameon=False)
    for axes, kernel in zip(panels[1:], KERNELS, strict=True):
        for name, row in table["E"][kernel].items():
            dim = int(name)
            found = batch_slope(table, kernel, dim)
            axes.plot(b, row, "o-", color=COLORS[dim], ms=3.5, lw=1.4, label=f"d = {dim}, slope {found:.2f}")
            order = table["sigma"] * dim**1.5 * b**-0.5
            shown = b >= dim
            axes.plot(b[shown], order[shown], color=COLORS[dim], lw=0.9, ls=(0, (1, 2)))
        _dressed(axes, f"gradient, E(b), {TITLES[kernel]}", "b")
    panels[1].set_ylabel("trace of the covariance", fontsize=SIZE)
    for axes in panels[1:]:
        axes.set_ylim(bottom=0.25 * axes.get_ylim()[0])
        handles, names = axes.get_legend_handles_labels()
        handles.append(_line(ls=(0, (1, 2)), color=INK, lw=0.9))
        names.append(r"$\sigma d^{3/2} b^{-1/2}$")
        axes.legend(handles, names, fontsize=SIZE - 1, frameon=False, loc="lower left")
    return figure


def _logarithmic(axes: Axes, decades: bool = True) -> None:
    """Make both axes logarithmic with a quiet grid; plain labels where the vertical one is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(xscale="log", yscale="log")
    if not decades:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _dressed(axes: Axes, title: str, x_label: str) -> None:
    dress(axes, title, x_label)
    axes.grid(visible=False, axis="y", which="minor")


def _guide(axes: Axes, span: tuple[float, float], top: float, exponent: float, name: str) -> None:
    """A straight line of a given slope, named at its upper end."""
    x: Array = np.array(span)
    anchor = x[0] if exponent < 0 else x[-1]
    axes.plot(x, top * (x / anchor) ** exponent, color=INK, lw=1.0, ls=(0, (1, 2)))
    side = 1 if exponent < 0 else -1
    axes.annotate(name, (anchor, top), xytext=(7 * side, 0), textcoords="offset points", va="center",
                  ha="left" if side > 0 else "right", fontsize=SIZE, color=INK)  # fmt: skip


def _legend(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    handles = [_line(color=COLORS[d], lw=2.5) for d in dims(runs)]
    names = [f"d = {d}, n = {len(of_dim(runs, d))} draws" for d in dims(runs)]
    handles += [_line(color=INK, lw=3.2), _line(color=INK, lw=1.2, ls=(0, (3, 1.5)))]
    names += ["lcbo-theory, median", "exact gradients, quartiles"]
    axes.legend(handles, names, fontsize=SIZE - 1, frameon=False, loc="lower left")


def _line(**style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], ms=3, **style)


def draw(folder: Path, runs: Sequence[Mapping[str, Any]], table: Mapping[str, Any]) -> list[Path]:
    """Write the pictures into a folder and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "theory-residuals": residual_figure(runs),
        "theory-dimension": dimension_figure(runs),
        "theory-error-functions": error_figure(table),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
    return [folder / f"{name}.png" for name in figures]
