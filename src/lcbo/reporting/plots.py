"""Pictures of a run: what was evaluated, the best feasible value so far, how much room the limits leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lcbo.errors import ArgumentError
from lcbo.optimizer.plan.setup import read_path
from lcbo.optimizer.result import Result
from lcbo.reporting.format import counted, one_line, with_error
from lcbo.text import brief

if TYPE_CHECKING:
    from lcbo.optimizer.log import EvaluationTable
    from lcbo.optimizer.sensitivity import Sensitivities
    from lcbo.problem import Problem
    from lcbo.store.stored_run import StoredRun

_SLACKS = 6  # lines a reader can follow
_PANELS, _BARS = 4, 20


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
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    _draw_convergence(axes, result, reference, label)
    axes.set_xlabel("evaluations")
    _save(figure, path)
    return figure


def plot_run(run: StoredRun, path: str | Path | None = None) -> Figure:
    """Return a figure of convergence and constraint slacks over evaluations; written to ``path`` if given."""
    problem, result = run.problem, run.result()
    best = getattr(problem, "best_known", None)
    two = any(np.isfinite(result.history.outcomes[c.name]).any() for c in problem.constraints)
    rows = 2 if two else 1
    figure = Figure(figsize=(8.0, 3.4 * rows), layout="constrained")
    axes = figure.add_subplot(rows, 1, 1)
    _draw_convergence(axes, result, None if best is None else best.value, problem.objective.name)
    if two:
        axes = figure.add_subplot(rows, 1, 2, sharex=axes)
        _draw_slacks(axes, problem, result.history, run.log.scale())
    axes.set_xlabel("evaluations")
    _save(figure, path)
    return figure


def plot_sensitivities(result: Result, path: str | Path | None = None) -> Figure:
    """Return a figure of what moves what at the answer, with error bars; written to ``path`` if given.

    Every panel is an outcome: the objective, then those whose limits cost most. A bar is its change when a
    variable moves up by a hundredth of its range, its whisker two standard errors. The title of an outcome
    with a limit says what the limit costs.

    Args:
        result: the answer of a run, of a method with a model.
        path: file to write; its ending chooses the format.
    """
    found = result.sensitivities
    if found is None:
        raise ArgumentError(
            "result", "an answer with sensitivities", f"one of {result.method} without a model"
        )
    held = {name: abs(value) for name, value in found.multipliers.items()}
    costly = sorted(found.outcomes[1:], key=lambda name: -held[name])[: _PANELS - 1]
    rows = [0, *(found.outcomes.index(name) for name in costly)]
    chosen = found.strongest(rows, _BARS)[::-1]
    figure = Figure(figsize=(1.6 + 2.6 * len(rows), 1.4 + 0.24 * len(chosen)), layout="constrained")
    change, error = found.changes()
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for axes, row in zip(panels, rows, strict=True):
        axes.barh(range(len(chosen)), change[row, chosen], color="tab:blue", alpha=0.8)
        axes.errorbar(
            change[row, chosen], range(len(chosen)), xerr=2.0 * error[row, chosen], fmt="none", ecolor="0.2"
        )
        axes.axvline(0.0, color="black", lw=1)
        largest = float(np.abs(change[row, chosen]).max()) or 1.0
        arm = np.minimum(2.0 * error[row, chosen], largest)  # a slope hardly known must not hide the others
        low, high = (change[row, chosen] - arm).min(), (change[row, chosen] + arm).max()
        axes.set_xlim(min(1.05 * low, 0.0), max(1.05 * high, 0.0))
        axes.set_title(_verbatim(f"{found.outcomes[row]}\n{_cost(found, row)}"), fontsize=10)
        axes.grid(alpha=0.3, axis="x")
        axes.tick_params(axis="x", labelsize=8)
        axes.locator_params(axis="x", nbins=4)
    panels[0].set_yticks(range(len(chosen)), [_verbatim(found.variables[i]) for i in chosen])
    figure.supxlabel("change per hundredth of a variable's range, two standard errors", fontsize=9)
    _save(figure, path)
    return figure


def _cost(found: Sensitivities, row: int) -> str:
    """Return what the limit of an outcome costs, nothing for the objective."""
    if row == 0:
        return ""
    name = found.outcomes[row]
    value, error = found.multipliers[name], found.multiplier_errors[name]
    return f"limit costs {with_error(abs(value), error)}" if value or error else "limit leaves room"


def _draw_convergence(axes: Axes, result: Result, reference: float | None, label: str) -> None:
    history = result.history
    values = next(iter(history.outcomes.values()))
    number = np.arange(1, len(history) + 1)
    feasible = history.feasible
    axes.scatter(number[~feasible], values[~feasible], s=9, color="0.75", label="infeasible", zorder=1)
    axes.scatter(number[feasible], values[feasible], s=9, color="tab:blue", label="feasible", zorder=2)
    best = history.best_feasible
    axes.step(number, best, where="post", color="tab:red", lw=2, label="best feasible", zorder=3)
    if reference is not None:
        axes.axhline(reference, color="black", lw=1, ls="--", label=f"best known {reference:.5g}")
    axes.set_ylabel(_verbatim(label))
    failed = history.failed != ""
    if failed.any():
        edge = axes.get_xaxis_transform()  # along the bottom, wherever the values are
        at = np.full(int(failed.sum()), 0.03)
        axes.plot(number[failed], at, "x", color="tab:red", ms=4, transform=edge, label="failed")
    if not np.isfinite(values).any():
        axes.text(0.5, 0.5, "no evaluation has succeeded", ha="center", color="0.4", transform=axes.transAxes)
        axes.set_yticks([])
    axes.set_xlim(0.0, max(len(history), 1) * 1.02)
    found = "nothing succeeded" if result.x is None else f"{result.fun:.5g}"
    axes.set_title(f"{result.method}: {found} after {counted(result.nfev, 'evaluation')}")
    axes.grid(alpha=0.3)
    _beside(axes)


def _draw_slacks(axes: Axes, problem: Problem, history: EvaluationTable, scale: dict[str, float]) -> None:
    """Draw slacks in standard deviations of their outcomes, those with the least room at the end."""
    number = np.arange(1, len(history) + 1)
    rooms = []
    for constraint in problem.constraints:
        room = constraint.slack(history.outcomes[constraint.name])
        words = str(constraint).replace(constraint.name, brief(one_line(constraint.name), 28))
        rooms.append((room / scale[constraint.name], words))
    rooms.sort(key=lambda room: np.nanmedian(room[0][-50:]) if np.isfinite(room[0][-50:]).any() else np.inf)
    for room, name in rooms[:_SLACKS]:
        axes.plot(number, room, ".", ms=3, label=_verbatim(name))
    axes.axhline(0.0, color="black", lw=1)
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylabel("slack [sd], below 0 violated")
    axes.grid(alpha=0.3)
    _beside(axes, markerscale=3)


def _beside(axes: Axes, **settings: Any) -> None:
    """Put the legend beside the picture, where it hides nothing; long names are shortened."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), **settings)


def _verbatim(text: str) -> str:
    """Return a text that matplotlib draws as it is, not as mathematics."""
    return text.replace("$", r"\$")


def _save(figure: Figure, path: str | Path | None) -> None:
    if path is None:
        return
    path = read_path("path", path)
    known = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in known:
        raise ArgumentError("path", f"a file ending in {', '.join(known)}", repr(str(path)))
    figure.savefig(path, dpi=150)
