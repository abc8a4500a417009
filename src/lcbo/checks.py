"""Checks of single arguments: each returns the value as the library uses it, or raises `ArgumentError`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from lcbo.errors import ArgumentError
from lcbo.text import shown

MOST_POINTS = 10**6  # held in memory at once
LARGEST = 10**9  # of all counts: more than anybody waits for, and less than any file or array refuses


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, NaN and infinity included; truth values are not.

    Nor are integers and fractions beyond what a float can hold.
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def integer(argument: str, value: Any, least: int = 1, most: int = LARGEST) -> int:
    """Return an integer of at least ``least`` and at most ``most``."""
    if not is_integer(value) or int(value) < least:
        raise ArgumentError(argument, f"an integer of at least {least}", shown(value))
    if int(value) > most:
        raise ArgumentError(argument, f"an integer of at most {most}", shown(value))
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
        raise ArgumentError(argument, bounds[least is not None, most is not None], shown(value))
    return float(value)


def positive(argument: str, value: Any) -> float | None:
    """Return a number above 0, or ``None``."""
    if value is None:
        return None
    if not is_number(value) or not float(value) > 0.0:
        raise ArgumentError(argument, "a number above 0", shown(value))
    return float(value)


def above_zero(argument: str, value: Any, most: float | None = None) -> float:
    """Return a finite number above 0, up to ``most``."""
    within = is_number(value) and math.isfinite(value) and value > 0.0
    if not within or (most is not None and value > most):
        limit = "" if most is None else f" and up to {most:g}"
        raise ArgumentError(argument, f"a finite number above 0{limit}", shown(value))
    return float(value)


def probability(argument: str, value: Any) -> float:
    """Return a number above 0 and below 1."""
    if not is_number(value) or not 0.0 < value < 1.0:
        raise ArgumentError(argument, "a probability above 0 and below 1", repr(value))
    return float(value)


def truth(argument: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(argument, "True or False", shown(value))
    return bool(value)


def choice(argument: str, value: Any, words: Iterable[str]) -> str:
    """Return one of several words."""
    known = list(words)
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(argument, " or ".join(map(repr, known)), shown(value))
    return value


def mapping(argument: str, value: Any) -> Mapping[str, Any]:
    """Return a mapping whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArgumentError(argument, "a mapping from names to values", shown(value))
    return value
