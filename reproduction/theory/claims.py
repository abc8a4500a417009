"""What the theorem, its corollary and the error functions say, judged by the theory's runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.claims.statistics import AGREE, CONTRADICTED, UNDECIDED, interval
from reproduction.theory import numbers
from reproduction.theory.error_functions import batch_slope
from reproduction.theory.residuals import first_iteration

FOLDER = Path("results/theory")
PAGE = "[theory-results.md](theory-results.md)"


@dataclass(frozen=True)
class TheoryClaim:
    """A claim with its verdict and what was seen."""

    title: str
    verdict: str
    seen: str


def theory_claims(root: Path) -> list[TheoryClaim]:
    """Return the claims of the theory, judged by the results under ``root``; none where nothing was run."""
    runs, tables = read(root / FOLDER, "within-*"), read(root / FOLDER, "error-functions")
    found = [theorem(runs), corollary(runs)] if runs else []
    return [*found, error_order(tables[0])] if tables else found


def theorem(runs: Sequence[numbers.Run]) -> TheoryClaim:
    """The averaged residuals fall as K^(-1/2), from an iteration on that no run reaches."""
    last = len(runs[0]["series"]["1"]["r_s"])
    needed = float(np.median([first_iteration(run["L_m"], run["series"]["1"]["gamma"]) for run in runs]))
    slopes = {name: numbers.run_slopes(runs, name, 1) for name in ("r_s", "r_f")}
    exact = {name: numbers.exact_slopes(runs, name, 1) for name in ("r_s", "r_f")}
    words = [
        f"{name} {_exponent(slopes[name])}, with exact gradients over the last decade of "
        f"{numbers.exact(runs, name, 1)[0][-1]:.0f} iterations {_exponent(exact[name])}"
        for name in slopes
    ]
    seen = (
        f"exponents in K after {last} iterations (n = {len(runs)}): {'; '.join(words)}. The theorem speaks "
        f"from about {needed:.0f} iterations on, which nobody can run ({PAGE})"
    )
    return TheoryClaim("theorem: averaged KKT residuals fall as K^(-1/2)", UNDECIDED, seen)


def corollary(runs: Sequence[numbers.Run]) -> TheoryClaim:
    """The stationarity residual grows at most linearly in d at a given number of iterations."""
    dims, rng = numbers.dims(runs), np.random.default_rng(0)
    ends = [numbers.at_end(numbers.of_dim(runs, d), "r_s", 1, "run") for d in dims]
    drawn = [np.median(e[rng.integers(0, len(e), (2000, len(e)))], axis=1) for e in ends]
    grown = np.polyfit(np.log(dims), np.log(drawn), 1)[0]
    low, high = np.quantile(grown, (0.025, 0.975))
    seen = (
        f"exponent of r_s in d {numbers.growth(runs, 'r_s', 1, 'run'):.2f} [{low:.2f}, {high:.2f}] against "
        f"at most 1, d = {', '.join(map(str, dims))}, n = {len(ends[0])} each, but before the theorem "
        f"speaks ({PAGE})"
    )
    return TheoryClaim(
        "corollary: the residual grows at most as d", CONTRADICTED if low > 1.0 else UNDECIDED, seen
    )


def error_order(table: dict[str, Any]) -> TheoryClaim:
    """The error function E(b) falls at least as b^(-1/2)."""
    slopes = [batch_slope(table, kernel, int(d)) for kernel, rows in table["E"].items() for d in rows]
    holds = max(slopes) <= -0.5
    seen = (
        f"exponents in b from {min(slopes):.2f} to {max(slopes):.2f} for {len(slopes)} pairs of kernel and "
        f"d, against at most -1/2 ({PAGE})"
    )
    return TheoryClaim(
        "lemma: the error function E(b) is of order b^(-1/2)", AGREE if holds else CONTRADICTED, seen
    )


def read(folder: Path, pattern: str) -> list[dict[str, Any]]:
    """Return the results of the theory whose names match, in order."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{pattern}.json"))]


def _exponent(values: np.ndarray) -> str:
    low, high = interval(np.asarray(values))
    return f"{np.median(values):.2f} [{low:.2f}, {high:.2f}]"
