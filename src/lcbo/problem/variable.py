"""Variables as the user states them: bounds, their scale and their kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcbo.checks import is_number, truth
from lcbo.errors import ArgumentError
from lcbo.problem.constraint import check_name
from lcbo.problem.scipy import bounds_array
from lcbo.text import described

_CATEGORIES = (
    "a (low, high) pair of numbers, or lcbo.Variable(low, high, integer=True) for whole ones (of a "
    "categorical input make one run per value: results = {value: lcbo.minimize(partial(fun, value), bounds, "
    "...) for value in values})"
)


@dataclass(frozen=True)
class Variable:
    """Bounds of a variable with its scale and its kind.

    Args:
        low: lower bound.
        high: upper bound; a variable with ``low == high`` is fixed.
        log: factors count, not differences: 1e-6 is as far from 1e-5 as 0.1 from 1. Both bounds are above 0.
        integer: only whole numbers are evaluated; both bounds are whole.
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def __post_init__(self) -> None:
        argument, low, high = "Variable", self.low, self.high
        if not (is_number(low) and is_number(high)):
            raise ArgumentError(argument, "low and high, two numbers", described((low, high)))
        if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(float(high) - float(low))):
            raise ArgumentError(argument, "finite numbers", (low, high))
        if low > high:
            raise ArgumentError(argument, "low <= high", (low, high))
        if truth(f"{argument}, log", self.log) and not low > 0:
            raise ArgumentError(argument, "bounds above 0 for a variable with log=True", (low, high))
        if truth(f"{argument}, integer", self.integer) and not (_whole(low) and _whole(high)):
            raise ArgumentError(argument, "whole bounds for a variable with integer=True", (low, high))

    @property
    def kind(self) -> str:
        """Scale and kind in words, empty for a plain variable."""
        return " ".join(["log"] * self.log + ["integer"] * self.integer)


def read_variables(bounds: Any) -> dict[str, Variable]:
    """Return the variables by name."""
    bounds = bounds_array(bounds)
    if isinstance(bounds, str) or not isinstance(bounds, Mapping | Iterable):
        raise ArgumentError("bounds", "a (low, high) pair per variable", described(bounds))
    if not isinstance(bounds, Mapping):
        bounds = list(bounds)
        if bounds and all(map(is_number, bounds)):
            expected = "a (low, high) pair per variable (a point to start from is x0=...)"
            raise ArgumentError("bounds", expected, f"{len(bounds)} numbers")
    stated = bounds if isinstance(bounds, Mapping) else {f"x{i}": each for i, each in enumerate(bounds, 1)}
    if not stated:
        raise ArgumentError("bounds", "a (low, high) pair per variable", "none")
    for name in stated:
        check_name("variable", name)
    return {name: _read_variable(f"bounds of {name!r}", entry) for name, entry in stated.items()}


def _read_variable(argument: str, entry: Any) -> Variable:
    """Return one variable; anything but two numbers is read as an attempt at a category."""
    if isinstance(entry, Variable):
        return entry
    listed = isinstance(entry, Sequence | np.ndarray) and not isinstance(entry, str | range)
    if not listed or len(entry) != 2 or not all(map(is_number, entry)):
        raise ArgumentError(argument, _CATEGORIES, described(entry))
    try:
        return Variable(float(entry[0]), float(entry[1]))
    except ArgumentError as error:
        raise ArgumentError(argument, error.expected, error.got) from None


def _whole(value: float) -> bool:
    return float(value).is_integer()
