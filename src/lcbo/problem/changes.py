"""Changes to a run under way: what was before and what is now, and the problem after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from lcbo.checks import is_number, mapping
from lcbo.errors import ArgumentError
from lcbo.problem.constraint import Constraint
from lcbo.problem.problem import Problem
from lcbo.problem.sources import describe_problem
from lcbo.problem.variable import Variable
from lcbo.text import described, shown

Kind = Literal["correct", "withdraw", "limit", "constrain", "bound", "fix"]


@dataclass(frozen=True)
class Change:
    """One change, as JSON values.

    Attributes:
        kind: what was done.
        what: the outcome, or the variable.
        before: the value, limit, bounds or outcomes of before; ``None`` where there was none.
        now: likewise, ``None`` where there is none any more.
        id: of the evaluation that was corrected or withdrawn.
    """

    kind: Kind
    what: str
    before: Any
    now: Any
    id: int | None = None

    def __str__(self) -> str:
        words: dict[str, Callable[[], str]] = {
            "correct": lambda: (
                f"evaluation {self.id}, {self.what}: {_value(self.before)} corrected to {_value(self.now)}"
            ),
            "withdraw": lambda: f"evaluation {self.id} withdrawn ({self.what})",
            "limit": lambda: f"limit {self.before} changed to {self.now}",
            "constrain": lambda: f"limit {self.now} added",
            "bound": lambda: f"{self.what} in {_range(self.now)}, before {_range(self.before)}",
            "fix": lambda: f"{self.what} fixed at {self.now:.6g}, before in {_range(self.before)}",
        }
        return words[self.kind]()


def changed(
    problem: Problem, recorded: Iterable[str], *, limits: Any, constrain: Any, bounds: Any, fix: Any
) -> tuple[dict[str, Any], list[Change]]:
    """Return the description of a problem after changes, and the changes; what changes nothing is no change.

    Args:
        problem: before.
        recorded: outcomes that the evaluations have, whether there is a limit on them or not.
        limits: constraints in the places of those that there are.
        constrain: constraints to add.
        bounds: new ``(low, high)`` by variable.
        fix: values by variable.
    """
    description = describe_problem(problem)
    variables, changes = _moved(description["variables"], bounds, fix)
    constraints = list(problem.constraints)
    for new in _listed("limits", limits):
        changes += _limit(constraints, new)
    known = dict.fromkeys([*problem.outcomes, *recorded])
    for new in _listed("constrain", constrain):
        if new.name not in known:
            expected = f"an outcome that was recorded: {', '.join(known)}"
            raise ArgumentError("constrain", expected, repr(new.name))
        constraints.append(new)
        changes.append(Change("constrain", new.name, None, str(new)))
    noise = dict(problem.noise)
    if problem.deterministic:
        noise |= {c.name: 0.0 for c in constraints}
    stated = Problem(
        {name: _variable(name, entry) for name, entry in variables.items()},
        constraints,
        problem.objective,
        noise=noise,
    )
    description |= {key: describe_problem(stated)[key] for key in ("variables", "constraints", "noise")}
    return description, [change for change in changes if change.before != change.now]


def _moved(
    variables: Mapping[str, list[Any]], bounds: Any, fix: Any
) -> tuple[dict[str, list[Any]], list[Change]]:
    """Return the variables within their new bounds, each ``[low, high]`` and perhaps its kind."""
    bounds = {} if bounds is None else mapping("bounds", bounds)
    fix = {} if fix is None else mapping("fix", fix)
    if both := sorted(set(bounds) & set(fix)):
        raise ArgumentError("fix", "variables whose bounds are not changed at the same time", both)
    moved, changes = {name: list(entry) for name, entry in variables.items()}, []
    for argument, given in (("bounds", bounds), ("fix", fix)):
        if unknown := [name for name in given if name not in variables]:
            raise ArgumentError(argument, f"variables out of {shown(list(variables))}", shown(unknown))
    for name, pair in bounds.items():
        listed = isinstance(pair, Iterable) and not isinstance(pair, str | Mapping)
        ends = list(pair) if listed else []
        if len(ends) != 2 or not all(map(is_number, ends)):
            raise ArgumentError(f"bounds of {name!r}", "(low, high), two numbers", described(pair))
        moved[name][:2] = map(float, ends)
        changes.append(Change("bound", name, variables[name][:2], moved[name][:2]))
    for name, value in fix.items():
        low, high = variables[name][:2]
        if not is_number(value) or not low <= value <= high:
            expected = f"a number within its bounds [{low:g}, {high:g}]"
            raise ArgumentError(f"fix, {name!r}", expected, shown(value))
        moved[name][:2] = [float(value)] * 2
        if low < high:
            changes.append(Change("fix", name, [low, high], float(value)))
    return moved, changes


def _variable(name: str, entry: list[Any]) -> Variable:
    low, high, *kind = entry
    try:
        return Variable(low, high, **dict.fromkeys("".join(kind).split(), True))
    except ArgumentError as error:
        raise ArgumentError(f"bounds of {name!r}", error.expected, error.got) from None


def _limit(constraints: list[Constraint], new: Constraint) -> list[Change]:
    """Put the sides of a limit in the places of those that there are; a side that there is not is refused."""
    sides = ["eq"] if new.eq is not None else [s for s in ("lb", "ub") if getattr(new, s) is not None]
    places = [
        (place, side)
        for place, old in enumerate(constraints)
        for side in sides
        if old.name == new.name and getattr(old, side) is not None
    ]
    if len(places) != len(sides):
        there = [str(c) for c in constraints if c.name == new.name] or sorted({c.name for c in constraints})
        expected = f"a limit that there is, to be changed: {', '.join(there) or 'none'} (constrain adds one)"
        raise ArgumentError("limits", expected, str(new))
    changes = []
    for place in dict.fromkeys(place for place, _ in places):
        old = constraints[place]
        values: dict[str, Any] = {side: getattr(new, side) for at, side in places if at == place}
        if new.eq is not None:
            values["tol"] = new.tol
        if new.confidence is not None:
            values["confidence"] = new.confidence
        constraints[place] = replace(old, **values)
        changes.append(Change("limit", new.name, str(old), str(constraints[place])))
    return changes


def _listed(argument: str, given: Any) -> list[Constraint]:
    single = isinstance(given, str | Constraint)
    if not single and (isinstance(given, Mapping) or not isinstance(given, Iterable)):
        raise ArgumentError(argument, "constraints such as 'stress <= 40000'", described(given))
    read = []
    for entry in [given] if single else given:
        if not isinstance(entry, str | Constraint):
            raise ArgumentError(argument, "constraints such as 'stress <= 40000'", described(entry))
        try:
            read.append(Constraint.parse(entry) if isinstance(entry, str) else entry)
        except ArgumentError as error:
            named = argument if error.argument == "constraints" else f"{argument}, {error.argument}"
            raise ArgumentError(named, error.expected, error.got) from None
    return read


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _range(pair: list[float]) -> str:
    return f"[{pair[0]:.6g}, {pair[1]:.6g}]"
