"""Conditions on outcomes in natural units: ``lb <= y``, ``y <= ub``, ``y == eq`` within ``tol``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lcbo.checks import number, probability, truth
from lcbo.errors import ArgumentError
from lcbo.terms import Term
from lcbo.types import Array

Value = TypeVar("Value", float, Array)

_FORMS = "a text such as 'stress <= 40000', 'a >= 1', '0 <= y <= 3' or 'h == 0 +/- 1e-3'"


@dataclass(frozen=True)
class Objective:
    """The outcome to minimize, or to maximize."""

    name: str = "objective"
    maximize: bool = False

    def __post_init__(self) -> None:
        check_name("objective", self.name)
        truth("objective, maximize", self.maximize)

    def __str__(self) -> str:
        return f"{'maximize' if self.maximize else 'minimize'} {self.name}"

    @property
    def sign(self) -> float:
        """-1 if the outcome is to be maximized, else 1: times it, less is better."""
        return -1.0 if self.maximize else 1.0


@dataclass(frozen=True)
class Constraint:
    """A condition on the outcome ``name``: an interval, or a value met within a tolerance.

    Args:
        name: the outcome, a key of what the function returns.
        lb: least allowed value, or ``None``.
        ub: largest allowed value, or ``None``.
        eq: required value, instead of ``lb`` and ``ub``.
        tol: largest allowed ``|y - eq|``; required with ``eq``, since a measured value never equals exactly.
        confidence: probability with which the answer must meet this condition by itself, above 0 and below
            1. Conditions without one meet the run's ``confidence`` together.
    """

    name: str
    lb: float | None = None
    ub: float | None = None
    eq: float | None = None
    tol: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        check_name("constraint", self.name)
        where = f"constraint {self.name!r}"
        for side, missing in (("lb", -math.inf), ("ub", math.inf), ("eq", None), ("tol", None)):
            value = getattr(self, side)
            value = None if value is None or value == missing else number(f"{where}, {side}", value)
            object.__setattr__(self, side, value)
        if self.confidence is not None:
            object.__setattr__(self, "confidence", probability(f"{where}, confidence", self.confidence))
        if self.eq is not None:
            if self.lb is not None or self.ub is not None:
                raise ArgumentError(where, "either eq with tol, or lb and ub", "both")
            if self.tol is None:
                raise ArgumentError(where, f"a tolerance beside eq={self.eq:g}, such as tol=1e-3", "tol=None")
            if self.tol <= 0.0:
                raise ArgumentError(f"{where}, tol", "a number above 0", f"{self.tol:g}")
            return
        if self.tol is not None:
            raise ArgumentError(where, "tol only beside eq", f"tol={self.tol:g} without eq")
        if self.lb is None and self.ub is None:
            raise ArgumentError(where, "a finite lb, ub or eq", "none of them")
        if self.lb is not None and self.ub is not None and self.lb >= self.ub:
            expected = "lb < ub (for a single value use eq and tol)"
            raise ArgumentError(where, expected, f"[{self.lb:g}, {self.ub:g}]")

    @property
    def interval(self) -> tuple[float, float]:
        """The feasible values, both ends included."""
        if self.eq is not None:
            tol = self.tol or 0.0
            return self.eq - tol, self.eq + tol
        return (-math.inf if self.lb is None else self.lb), (math.inf if self.ub is None else self.ub)

    def slack(self, value: Value) -> Value:
        """Return how far inside its limits a value lies, in the outcome's units; negative outside.

        Args:
            value: a number, or an array of them.
        """
        if self.eq is not None:
            return (self.tol or 0.0) - abs(value - self.eq)
        low, high = self.interval
        room: Value = np.minimum(value - low, high - value)
        return room

    def violation(self, value: float) -> float:
        """Return how far a value lies outside the feasible interval, 0 inside, in the outcome's units."""
        return max(0.0, -float(self.slack(value)))

    def holds(self, value: float) -> bool:
        """Return whether a value is feasible; NaN is not."""
        return self.violation(value) == 0.0 and not math.isnan(value)

    def terms(self, row: int) -> tuple[Term, ...]:
        """Return the one-sided (or equality) conditions on output row ``row``."""
        if self.eq is not None:
            return (Term(row, 1.0, self.eq, equality=True, tol=self.tol or 0.0),)
        upper = () if self.ub is None else (Term(row, 1.0, self.ub),)
        lower = () if self.lb is None else (Term(row, -1.0, self.lb),)
        return upper + lower

    def __str__(self) -> str:
        if self.eq is not None:
            return f"{self.name} == {self.eq:g} +/- {self.tol:g}"
        low = "" if self.lb is None else f"{self.lb:g} <= "
        high = "" if self.ub is None else f" <= {self.ub:g}"
        return low + self.name + high

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Read a constraint from text; chains such as ``0 <= y <= 3`` give both bounds."""
        tokens = [part.strip() for part in re.split(r"(<=|>=|==|=<|=>|[<>=])", text)]
        parts, operators = tokens[::2], tokens[1::2]
        names = [part for part in parts if _parsed(part) is None]
        if len(parts) == 2 and operators == ["=="] and _parsed(parts[0]) is None:
            return cls._parse_equality(parts[0], parts[1], text)
        ordered = operators in (["<="], [">="], ["<=", "<="], [">=", ">="])
        if not ordered or len(names) != 1 or (len(parts) == 3 and parts[1] != names[0]):
            raise ArgumentError("constraints", _FORMS, repr(text))
        low, high = (parts[0], parts[-1]) if operators[0] == "<=" else (parts[-1], parts[0])
        return cls(names[0], lb=_parsed(low), ub=_parsed(high))

    @classmethod
    def _parse_equality(cls, name: str, value: str, text: str) -> Constraint:
        target, *tolerance = re.split(r"\+/-|\+-|±", value)
        eq = _parsed(target)
        tol = _parsed(tolerance[0]) if len(tolerance) == 1 else None
        if eq is None or tol is None:
            expected = f"a tolerance: '{name} == 0 +/- 1e-3' or Constraint({name!r}, eq=0, tol=1e-3)"
            raise ArgumentError("constraints", expected, repr(text))
        return cls(name, eq=eq, tol=tol)


def check_name(argument: str, name: object) -> None:
    """Raise unless ``name`` can be the name of an outcome."""
    if not isinstance(name, str) or not name.strip():
        raise ArgumentError(f"{argument} name", "a non-empty text", repr(name))


def _parsed(text: str) -> float | None:
    """Return the number a text states, ``None`` where it is a name."""
    try:
        return float(text)
    except ValueError:
        return None


def outcome_names(objective: Objective, constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Return the objective's name and every constrained name once.

    A side may be stated only once, and some value must meet both.
    """
    sides: set[tuple[str, str]] = set()
    limits: dict[str, list[Constraint]] = {}
    for c in constraints:
        if c.name == objective.name:
            raise ArgumentError("constraints", "outcomes other than the objective", f"{c.name!r} as both")
        stated = {side for side in ("lb", "ub") if getattr(c, side) is not None or c.eq is not None}
        if any((c.name, side) in sides for side in stated):
            raise ArgumentError("constraints", "each outcome bounded once per side", f"{c.name!r} twice")
        sides.update((c.name, side) for side in stated)
        limits.setdefault(c.name, []).append(c)
    for same in limits.values():
        low, high = max(c.interval[0] for c in same), min(c.interval[1] for c in same)
        if low >= high:
            expected = "limits that leave an outcome room (for a single value use eq and tol)"
            raise ArgumentError("constraints", expected, " and ".join(map(str, same)))
    return (objective.name, *dict.fromkeys(c.name for c in constraints))
