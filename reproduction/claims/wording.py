"""Numbers as text, three significant digits, each with the number of runs behind it."""

from __future__ import annotations

import math

import pandas as pd

from lcbo.compare.score import Spread
from reproduction.claims.statistics import Check, Comparison, Count


def number(value: float) -> str:
    """Return a value with three digits; ``none`` for infinity: no feasible point was found."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "none"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def spread(values: pd.Series) -> str:
    """Return median, quartiles and n of values, such as ``5.1 [4.9, 5.4] (n = 10)``."""
    s = Spread.of(values)
    if s.n == 0:
        return "not run (n = 0)"
    if s.n == 1:
        return f"{number(s.median)} (n = 1)"
    return f"{number(s.median)} [{number(s.low)}, {number(s.high)}] (n = {s.n})"


def percent(share: float) -> str:
    """Return a signed percentage; infinite where only one of two has a feasible point."""
    if math.isnan(share):
        return "-"
    if math.isinf(share):
        return "+∞" if share > 0 else "-∞"
    return f"{100.0 * share:+.3g} %" if abs(share) < 9.995 else f"{100.0 * share:+.0f} %"


def effect(pair: Comparison) -> str:
    """Return the effect, its interval and n, such as ``+12 % [+8 %, +15 %] (n = 10)``."""
    if pair.n == 0:
        return "not run (n = 0)"
    if pair.n == 1:
        return f"{percent(pair.effect)} (n = 1)"
    low, high = pair.interval
    return f"{percent(pair.effect)} [{percent(low)}, {percent(high)}] (n = {pair.n})"


def seen(check: Check) -> str:
    """Return the effect of a comparison, or what was counted."""
    if isinstance(check.of, Count):
        return f"{check.of.hits} of {check.of.n} runs"
    return effect(check.of)
