"""Checks of single arguments: each returns the value as the library uses it, or raises `ArgumentError`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from lcbo.errors import ArgumentError


def count(argument: str, value: Any, least: int = 1) -> int:
    """Return an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(argument, f"an integer of at least {least}", repr(value))
    return int(value)


def positive(argument: str, value: Any) -> float | None:
    """Return a number above 0, or ``None``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0.0:
        raise ArgumentError(argument, "a number above 0", repr(value))
    return float(value)


def fraction(argument: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ArgumentError(argument, "a number from 0 to 1", repr(value))
    return float(value)


def is_integer(value: object) -> bool:
    """Return whether a value is a whole number; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_number(value: object) -> bool:
    """Return whether a value is a real number, NaN and infinity included; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def integer(argument: str, value: Any, least: int = 1) -> int:
    """Return an integer of at least ``least``."""
    if not is_integer(value) or int(value) < least:
        raise ArgumentError(argument, f"an integer of at least {least}", repr(value))
    return int(value)


def number(argument: str, value: Any, least: float | None = None, most: float | None = None) -> float:
    """Return a finite number from ``least`` to ``most``."""
    within = is_number(value) and math.isfinite(value)
    if not within or (least is not None and value < least) or (most is not None and value > most):
        bounds = {
            (False, False): "a finite number",
            (True, False): f"a finite number of at least {least}",
            (False, True): f"a finite number of at most {most}",
            (True, True): f"a number from {least} to {most}",
        }
        raise ArgumentError(argument, bounds[least is not None, most is not None], repr(value))
    return float(value)


def choice(argument: str, value: Any, words: Iterable[str]) -> str:
    """Return one of several words."""
    known = list(words)
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(argument, " or ".join(map(repr, known)), repr(value))
    return value
