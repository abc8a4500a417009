"""Checks of the arguments that choose a variant of a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from lcbo.errors import ArgumentError


def check_choice(argument: str, value: object, allowed: Sequence[str]) -> None:
    """Raise unless ``value`` is one of the ``allowed`` words."""
    if value not in allowed:
        raise ArgumentError(argument, " or ".join(map(repr, allowed)), repr(value))


def check_positive(argument: str, value: object) -> None:
    """Raise unless ``value`` is a finite number above 0."""
    number = float(value) if isinstance(value, Real) else math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentError(argument, "a finite number above 0", repr(value))


def check_integer(argument: str, value: object, least: int) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(argument, f"an integer of at least {least}", repr(value))
