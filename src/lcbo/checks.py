"""Single arguments, checked."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

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
