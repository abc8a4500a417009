"""Conditions on the inputs that are known exactly before anything is evaluated, in user units.

Linear ones are rows ``lb <= a.x <= ub``, all others curves: cheap functions of x that must not be above 0. A
text is whichever it is, and a run file keeps both; of a Python function it keeps the name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcbo.checks import is_number, mapping, number
from lcbo.errors import ArgumentError
from lcbo.problem.calling import ByName
from lcbo.problem.expression import FORMS, parse
from lcbo.problem.space import Space
from lcbo.text import described, shown
from lcbo.types import Array

CLOSE = 1e-9  # of its scale: by how much a point given by the user may miss a condition
TERMS = 6  # of a row that are written out
ACCEPTED = f"a SciPy LinearConstraint, lcbo.Known(fun, ub=0) or {FORMS}"
Points = Callable[[Array], Array]  # n x len(variables) points to n x k values


@dataclass(frozen=True)
class Known:
    """A condition on the inputs that a cheap and exact function decides: ``fun(x) <= ub``.

    No point that breaks it is ever evaluated. The function is called thousands of times, so it should take
    microseconds, and it should be continuous; where it raises or returns NaN the condition does not hold.

    Args:
        fun: maps a point (1-D float64 array, user units; a mapping by name in a problem with ``named=True``)
            to a number, or to several that must all hold.
        ub: largest allowed value.
        name: what messages and reports call it; by default the function's name.
    """

    fun: Callable[..., Any]
    ub: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.fun):
            raise ArgumentError("Known", "a function of one point", described(self.fun))
        object.__setattr__(self, "ub", number("Known, ub", self.ub))
        if not isinstance(self.name, str):
            raise ArgumentError("Known, name", "a text", described(self.name))
        object.__setattr__(self, "name", self.name or getattr(self.fun, "__name__", type(self.fun).__name__))

    def __str__(self) -> str:
        return f"{self.name} <= {self.ub:g}"


@dataclass(frozen=True)
class Absent:
    """The function of a `Known` that a run file has only by name."""

    name: str

    def __call__(self, x: Any) -> Any:  # noqa: ARG002
        """Refuse."""
        raise ArgumentError("known", f"the function of {self.name!r}, which a run file does not hold", "none")


@dataclass(frozen=True)
class Row:
    """``lb <= coefficients . x <= ub``; an equality has equal sides."""

    name: str
    coefficients: Array
    lb: float
    ub: float

    def missed(self, x: Array) -> float:
        """Return by how much a point is beyond a side, at most 0 inside."""
        value = float(self.coefficients @ x)
        return max(value - self.ub, self.lb - value)


@dataclass(frozen=True)
class Curve:
    """A function of points whose values must not be above 0."""

    name: str
    fun: Points

    def __call__(self, x: Array) -> Array:
        """Return the values at points, ``n x len(variables)``, as ``n x k``; infinite where it has none."""
        values = self.fun(x)
        return np.where(np.isnan(values), np.inf, values)


@dataclass(frozen=True)
class Conditions:
    """All known conditions of a problem.

    Attributes:
        rows: the linear ones.
        curves: all others.
        stated: what a run file keeps of each, as JSON values.
        names: how each is shown.
        absent: names of the functions that a run file does not hold.
    """

    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
    stated: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def broken(self, x: Array, space: Space) -> str | None:
        """Return which condition a point misses most and by how much, in words; ``None`` if it meets all."""
        size = np.maximum(np.abs(space.lb), np.abs(space.ub))
        missed = {
            row.name: (row.missed(x), CLOSE * float(np.abs(row.coefficients) @ size)) for row in self.rows
        }
        for curve in self.curves:
            missed[curve.name] = float(np.max(curve(x[None, :]))), CLOSE
        beyond = {name: amount for name, (amount, close) in missed.items() if amount > close}
        if not beyond:
            return None
        worst = max(beyond, key=lambda name: beyond[name])
        return f"{worst!r} missed by {beyond[worst]:.3g}"


def read_known(known: Any, variables: Sequence[str], named: bool, integer: Iterable[bool]) -> Conditions:
    """Return what the user or a run file states as known; conditions that were read before as they are."""
    if isinstance(known, Conditions):
        return known
    if isinstance(known, str | Known) or is_linear_constraint(known):
        known = [known]
    if isinstance(known, Mapping) or not isinstance(known, Iterable):
        raise ArgumentError("known", f"a list: each {ACCEPTED}", described(known))
    found = Conditions()
    for entry in known:
        if isinstance(entry, str):
            part = _from_text(entry, variables)
        elif isinstance(entry, Known):
            part = _from_function(entry, variables, named, integer)
        elif isinstance(entry, Mapping):
            part = _from_file(entry, variables)
        elif is_linear_constraint(entry):
            part = _from_scipy(entry, variables)
        else:
            raise ArgumentError("known", ACCEPTED, described(entry))
        found = Conditions(
            found.rows + part.rows,
            found.curves + part.curves,
            found.stated + part.stated,
            found.names + part.names,
            found.absent + part.absent,
        )
    return found


def is_linear_constraint(value: object) -> bool:
    """Return whether a value has the form of a SciPy ``LinearConstraint``."""
    return all(hasattr(value, name) for name in ("A", "lb", "ub"))


def _from_text(text: str, variables: Sequence[str]) -> Conditions:
    name, rows, curves = " ".join(text.split()), list[Row](), list[Curve]()
    for comparison in parse(text, variables):
        linear = comparison.expression.affine(len(variables))
        if linear is None:
            if comparison.equality:
                expected = (
                    "<= or >= where it is not linear (solve the equality for a variable, in the function)"
                )
                raise ArgumentError("known", expected, shown(name))
            curves.append(Curve(name, _Column(comparison.expression)))
            continue
        coefficients, constant = linear
        if not (np.isfinite(coefficients).all() and math.isfinite(constant)):
            raise ArgumentError("known", "finite numbers", shown(name))
        if not coefficients.any():
            raise ArgumentError("known", "a condition on the variables", shown(name))
        lb = -constant if comparison.equality else -math.inf
        rows.append(Row(name, coefficients, lb, -constant))
    return Conditions(tuple(rows), tuple(curves), (name,), (name,))


def _from_function(
    known: Known, variables: Sequence[str], named: bool, integer: Iterable[bool]
) -> Conditions:
    stated = {"function": known.name, "ub": known.ub}
    if isinstance(known.fun, Absent):
        return Conditions(stated=(stated,), names=(str(known),), absent=(known.name,))
    fun = ByName(known.fun, variables, integer) if named else known.fun
    curve = Curve(str(known), _Called(fun, known.ub, known.name))
    return Conditions(curves=(curve,), stated=(stated,), names=(str(known),))


def _from_file(stated: Mapping[str, Any], variables: Sequence[str]) -> Conditions:
    """Return a condition out of a run file, or a linear one by name: ``coefficients``, ``lb``, ``ub``."""
    if "function" in stated:
        absent = Known(Absent(stated["function"]), stated["ub"], stated["function"])
        return _from_function(absent, variables, False, ())
    if not set(stated) <= {"coefficients", "lb", "ub"} or "coefficients" not in stated:
        raise ArgumentError("known", ACCEPTED, shown(stated))
    named = mapping("known, coefficients", stated["coefficients"])
    if unknown := [name for name in named if name not in variables]:
        raise ArgumentError("known, coefficients", f"variables out of {list(variables)[:20]}", unknown)
    row = np.array([number("known, coefficients", named.get(name, 0.0)) for name in variables])
    lb, ub = (np.array([stated.get(side, limit)]) for side, limit in (("lb", -math.inf), ("ub", math.inf)))
    return _rows(row[None, :], lb, ub, variables)


def _from_scipy(constraint: Any, variables: Sequence[str]) -> Conditions:
    """Return the rows of a ``LinearConstraint``, whose columns are the variables in their order."""
    where = "LinearConstraint"
    try:
        matrix = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        matrix = np.atleast_2d(np.array(matrix, dtype=np.float64))
        lb, ub = (np.asarray(side, dtype=np.float64) for side in (constraint.lb, constraint.ub))
    except (TypeError, ValueError):
        raise ArgumentError(where, "A, lb and ub of numbers", described(constraint.A)) from None
    if matrix.ndim != 2 or matrix.shape[1] != len(variables):
        expected = f"A with {len(variables)} columns, one per variable"
        raise ArgumentError(where, expected, f"shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ArgumentError(where, "finite numbers in A", shown(matrix.tolist()))
    try:
        lb, ub = (np.broadcast_to(side, len(matrix)) for side in (lb, ub))
    except ValueError:
        expected = f"lb and ub of one number, or of {len(matrix)}, one per row of A"
        raise ArgumentError(where, expected, f"{lb.size} and {ub.size}") from None
    return _rows(matrix, lb, ub, variables)


def _rows(matrix: Array, lb: Array, ub: Array, variables: Sequence[str]) -> Conditions:
    rows, stated = list[Row](), list[Any]()
    for a, low, high in zip(matrix, lb.tolist(), ub.tolist(), strict=True):
        if not (is_number(low) and is_number(high)) or math.isnan(low) or math.isnan(high):
            raise ArgumentError("LinearConstraint", "numbers as lb and ub", (low, high))
        name = _written(a, low, high, variables)
        if low > high or low == math.inf or high == -math.inf:
            raise ArgumentError("LinearConstraint", "lb <= ub", name)
        if math.isinf(low) and math.isinf(high):
            continue
        rows.append(Row(name, a, low, high))
        named = {v: c for v, c in zip(variables, a.tolist(), strict=True) if c != 0.0}
        sides = {"lb": low, "ub": high}
        stated.append({"coefficients": named, **{k: v for k, v in sides.items() if math.isfinite(v)}})
    return Conditions(tuple(rows), (), tuple(stated), tuple(row.name for row in rows))


def _written(coefficients: Array, lb: float, ub: float, variables: Sequence[str]) -> str:
    """Return a row as a text; a long one is cut."""
    parts: list[str] = []
    for name, c in zip(variables, coefficients.tolist(), strict=True):
        if c != 0.0:
            sign = ("-" if c < 0.0 else "") if not parts else (" - " if c < 0.0 else " + ")
            parts.append(sign + (name if abs(c) == 1.0 else f"{abs(c):g} * {name}"))
    cut = " + ..." * (len(parts) > TERMS)
    total = "".join(parts[:TERMS]) + cut or "0"
    if lb == ub:
        return f"{total} == {ub:g}"
    if math.isinf(lb):
        return f"{total} <= {ub:g}"
    return f"{total} >= {lb:g}" if math.isinf(ub) else f"{lb:g} <= {total} <= {ub:g}"


@dataclass(frozen=True)
class _Column:
    """An expression as a curve of one value."""

    expression: Callable[[Array], Array]

    def __call__(self, x: Array) -> Array:
        return self.expression(x)[..., None]


@dataclass(frozen=True)
class _Called:
    """A user's function as a curve, called point by point."""

    fun: Callable[[Array], Any]
    ub: float
    name: str

    def __call__(self, x: Array) -> Array:
        values = [self._at(point) for point in x]
        width = max((len(v) for v in values), default=1)
        return np.array([v if len(v) == width else np.full(width, np.nan) for v in values])

    def _at(self, x: Array) -> Array:
        try:
            with np.errstate(all="ignore"):
                returned = self.fun(x.copy())
        except (ArithmeticError, ValueError):  # outside of where it is defined
            return np.full(1, np.nan)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ArgumentError(f"known, {self.name}", "a function of one point", reason) from error
        try:
            values = np.atleast_1d(np.asarray(returned, dtype=np.float64)).ravel()
        except (TypeError, ValueError):
            values = np.empty(0)
        if returned is None or not values.size:
            expected = "a function that returns a number, or several"
            raise ArgumentError(f"known, {self.name}", expected, described(returned))
        return values - self.ub
