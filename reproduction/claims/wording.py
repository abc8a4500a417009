"""Numbers as text, each with the number of runs behind it."""

from __future__ import annotations

import math

import pandas as pd

from lcbo.compare.score import Spread
from reproduction.claims.metrics import Paired


def number(value: float) -> str:
    """Return a value with four digits; ``none`` for infinity: no feasible point was found."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def spread(values: pd.Series) -> str:
    """Return median, quartiles and n of values, such as ``5.1 [4.9, 5.4] (n = 10)``."""
    s = Spread.of(values)
    if s.n == 0:
        return "not run (n = 0)"
    if s.n == 1:
        return f"{number(s.median)} (n = 1)"
    return f"{number(s.median)} [{number(s.low)}, {number(s.high)}] (n = {s.n})"


def against(pair: Paired) -> str:
    """Return how often the first of a pair was better, with the p-value where there are a few pairs."""
    p = "" if math.isnan(pair.p) or pair.n < 3 else f", p = {pair.p:.2g}"
    return f"lower on {pair.better} of {pair.n} seeds{p}"


def shares(values: pd.Series) -> str:
    """Return median, quartiles and n of shares as percentages."""
    s = Spread.of(values)
    quartiles = f" [{percent(s.low)}, {percent(s.high)}]" if s.n > 1 else ""
    return f"{percent(s.median)}{quartiles} (n = {s.n})"


def percent(share: float) -> str:
    """Return a share as a whole percentage."""
    return "-" if math.isnan(share) else f"{100.0 * share:.0f} %"
