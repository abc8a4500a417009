"""The page of the theory's runs and of the walk around the disc, every number computed from the results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lcbo.types import Array
from reproduction.claims.wording import number, spread
from reproduction.theory import numbers
from reproduction.theory.error_functions import KERNELS, batch_slope, dimension_slope
from reproduction.theory.figures import TITLES
from reproduction.theory.mechanism2d import CENTER, METHODS, RADIUS, AroundTheDisc
from reproduction.theory.residuals import first_iteration
from reproduction.theory.text import (
    ERROR_READING,
    ERRORS,
    INTRODUCTION,
    MECHANISM,
    RESIDUAL_READING,
    RESIDUALS,
    WALK_READING,
)

CLOSE = 0.1  # above the optimum: a run that came round the disc
SHOWN = {  # what a picture shows, for those who do not see it
    "theory-residuals": "Averaged KKT residuals over iterations, beside the recursion with exact gradients",
    "theory-dimension": "Residuals over the number of variables",
    "theory-error-functions": "The error functions over the batch size, for two kernels",
    "mechanism-2d": "Runs of LCBO and SCBO around the disc, in the plane of a problem with 20 variables",
    "mechanism-2d-plain": "The same with these two variables alone",
}


def page(
    runs: Sequence[numbers.Run],
    table: Mapping[str, Any] | None,
    walks: Sequence[Mapping[str, Any]],
    images: str,
) -> str:
    """Return the page as Markdown, of whatever has been computed; ``images`` links to the pictures."""
    parts = [INTRODUCTION]
    if runs:
        parts += [RESIDUALS, _picture(images, "theory-residuals"), _residuals(runs), RESIDUAL_READING]
        parts += [_picture(images, "theory-dimension"), _growth(runs)]
    if table is not None:
        parts += [ERRORS, _picture(images, "theory-error-functions"), _errors(table), ERROR_READING]
    if walks:
        parts += [MECHANISM, _picture(images, "mechanism-2d"), _picture(images, "mechanism-2d-plain")]
        parts += [_walks(walks), WALK_READING]
    return "\n".join(parts)


def write(
    path: Path,
    images: Path,
    runs: Sequence[numbers.Run],
    table: Mapping[str, Any] | None,
    walks: Sequence[Mapping[str, Any]],
) -> None:
    """Write the page, with links to the pictures in a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    link = Path(os.path.relpath(images, path.parent)).as_posix()
    path.write_text(page(runs, table, walks, link), encoding="utf-8")


def _picture(images: str, name: str) -> str:
    return f"![{SHOWN[name]}]({images}/{name}.png)\n"


def _spread(values: Array) -> str:
    return spread(pd.Series(values))


def _exponents(values: Array) -> str:
    """Median, quartiles and n with two decimals, enough for exponents and ratios."""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{median:.2f} [{low:.2f}, {high:.2f}] (n = {len(values)})"


def _residuals(runs: Sequence[numbers.Run]) -> str:
    last = len(runs[0]["series"]["1"]["r_s"])
    lines = [
        "| d | L_m | distance moved | evaluations | K~ | evaluations up to K~ |",
        "|---|---|---|---|---|---|",
    ]
    for dim in numbers.dims(runs):
        part = numbers.of_dim(runs, dim)
        first = [run["series"]["1"] for run in part]
        start = np.array([first_iteration(run["L_m"], run["series"]["1"]["gamma"]) for run in part])
        bends, moved = np.array([run["L_m"] for run in part]), np.array([s["moved"] for s in first])
        lines.append(
            f"| {dim} | {_spread(bends)} | {_spread(moved)} | {first[0]['evaluations'][-1]} "
            f"| {_spread(start)} | about {dim * float(np.median(start)) ** 3 / 3.0:.0e} |"
        )
    lines += [
        "",
        f"| step | d | | average at K = {last} | slope from K = 5 | over exact | exact, last decade |",
        "|---|---|---|---|---|---|---|",
    ]
    for boost in numbers.boosts(runs):
        for dim in numbers.dims(runs):
            part = numbers.of_dim(runs, dim)
            for name in ("r_s", "r_f"):
                end = _spread(numbers.at_end(part, name, boost, "run"))
                cells = [
                    numbers.run_slopes(part, name, boost),
                    numbers.tracking(part, name, boost),
                    numbers.exact_slopes(part, name, boost),
                ]
                words = " | ".join(_exponents(cell) for cell in cells)
                lines.append(f"| {boost} x | {dim} | {name} | {end} | {words} |")
    k = int(runs[0]["series"]["1"]["exact_K"][-1])
    lines += [
        "",
        "Slope: exponent in K of a least-squares fit to each run's averages; the theorem's is at most -1/2, "
        "and a third of it, -1/6, in n. Over exact: the average divided by that of exact gradients after as "
        f"many iterations. Exact, last decade: exponent from K = {k // 10} to {k}.\n",
    ]
    return "\n".join(lines)


def _growth(runs: Sequence[numbers.Run]) -> str:
    k_run, k = len(runs[0]["series"]["1"]["r_s"]), int(runs[0]["series"]["1"]["exact_K"][-1])
    lines = [
        "| step | residual | " + f"`lcbo-theory`, K = {k_run} | exact gradients, K = {k} |",
        "|---|---|---|---|",
    ]
    for boost in numbers.boosts(runs):
        for name in ("r_s", "r_f"):
            found = [numbers.growth(runs, name, boost, source) for source in ("run", "exact")]
            lines.append(f"| {boost} x | {name} | {found[0]:.2f} | {found[1]:.2f} |")
    shown = ", ".join(f"{len(numbers.of_dim(runs, d))} draws at d = {d}" for d in numbers.dims(runs))
    return "\n".join([*lines, "", f"Exponents in d of the medians, {shown}.\n"])


def _errors(table: Mapping[str, Any]) -> str:
    worst = float(np.max(np.abs(np.array(table["e_model"]) / np.array(table["e"]) - 1.0)))
    most = table["b"][-1]
    lines = [
        f"e(b): closed form and model differ by at most {worst:.0e} of it (n = {len(table['b'])} values).\n",
        f"| kernel | d | slope in b | E({most}) | E({most}) over sigma d^(3/2) b^(-1/2) |",
        "|---|---|---|---|---|",
    ]
    for kernel in KERNELS:
        for name, row in table["E"][kernel].items():
            order = table["sigma"] * int(name) ** 1.5 * most**-0.5
            found = batch_slope(table, kernel, int(name))
            lines.append(
                f"| {TITLES[kernel]} | {name} | {found:.2f} | {number(row[-1])} | {row[-1] / order:.2f} |"
            )
    share = most // max(int(name) for name in table["E"]["rbf"])
    grown = [
        " and ".join(
            f"d^{dimension_slope(table, kernel, each):.2f} for {TITLES[kernel]}" for kernel in KERNELS
        )
        for each in (None, share)
    ]
    ending = f"At b = {most} E grows as {grown[0]}; at b = {share} d, as {grown[1]}: the order says d.\n"
    return "\n".join([*lines, "", ending])


def _walks(walks: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"| d | noise | evaluations | method | best feasible f | within {CLOSE} of the optimum "
        "| restarts | last center in the disc |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for found in walks:
        answer = AroundTheDisc(found["d"]).best_known
        assert answer is not None
        for method in METHODS:
            ends = numbers.best_curves(found, method)[:, -1]
            close = int((ends <= answer.value + CLOSE).sum())
            runs = [run for run in found["runs"] if run["method"] == method]
            restarts, misled = "-", "-"
            if method == "scbo":
                restarts = _spread(np.array([float(len(run["restarts"])) for run in runs]))
                misled = f"{sum(_in_disc(run['boxes'][-1][3:]) for run in runs)} of {len(runs)}"
            lines.append(
                f"| {found['d']} | {found['noise']:g} | {found['budget']} | `{method}` | {_spread(ends)} "
                f"| {close} of {len(ends)} | {restarts} | {misled} |"
            )
    return "\n".join([*lines, "", "The optimum is 0.441.\n"])


def _in_disc(center: Sequence[float]) -> bool:
    """Whether a point is truly forbidden, by more than the rounding of the results."""
    return bool(np.linalg.norm(np.array(center) - CENTER) < RADIUS - 1e-3)
