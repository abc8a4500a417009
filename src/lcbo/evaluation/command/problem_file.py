"""A problem and how to run it, out of a TOML file.

Tables and keys
    objective       name of the outcome to minimize, or ``{ name = "range", maximize = true }``
    constraints     texts such as ``"stress <= 40000"``, or tables with name, lb, ub, eq, tol, confidence
    known           conditions on the variables that no evaluated point breaks, texts such as
                    ``"height >= 2 * width"``, ``"a + b + c == 1"`` or ``"x2 * x3 <= 40"``
    noise           standard deviation of every outcome, or by name; or ``deterministic = true``
    [variables]     by name: ``[low, high]``, or ``{ low = .., high = .. }`` with ``log = true``,
                    ``integer = true`` (see `lcbo.Variable`) and ``count = n`` for name1 .. name<n>
    [start]         a point to evaluate first, by variable (or by the name of a counted group)
    [command]       how to run the simulator, see `lcbo.Command`
    function        or a Python function, ``"model.py:simulate"``; with ``named = true`` it gets a mapping,
                    with ``vectorized = true`` many points at once; without either the run is for ask and tell
    [run]           budget, method, seed and the like: what the command line does not say otherwise
    [options]       options of the method
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.checks import integer, is_number, truth
from lcbo.errors import ArgumentError, LcboError
from lcbo.evaluation.command.command import Command
from lcbo.evaluation.python_file import FileFunction
from lcbo.optimizer.plan.setup import read_path
from lcbo.problem import Problem, Variable
from lcbo.problem.constraint import Constraint, Objective
from lcbo.problem.sources import plain_problem
from lcbo.types import Array

_TABLES = ("variables", "start", "command", "run", "options")
_FUNCTION = ("function", "named", "vectorized")
_KEYS = ("objective", "constraints", "known", "noise", "deterministic", *_FUNCTION, *_TABLES)
_OPTIONAL = ("confidence", "confirm", "feasibility_tol")  # of an `Optimizer`, under the same names
_ARGUMENTS = ("budget", "method", "seed", "n_init", *_OPTIONAL)
_EVALUATION = (
    "workers",
    "timeout",
    "retries",
    "max_failure_rate",
    "common_random_numbers",
    "time_limit",
    "target",
    "kkt_tol",
)


@dataclass(frozen=True)
class RunSpec:
    """A problem and how to run it."""

    name: str
    problem: Problem  # with its function, or without one for ask and tell
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the run, as in the table [run]
    options: Mapping[str, Any] = field(default_factory=dict)  # of the method
    start: Array | None = None  # a point to evaluate first

    def arguments(self, options: Mapping[str, Any], **given: Any) -> dict[str, Any]:
        """Return the arguments of an `Optimizer`; what is given (and not ``None``) goes first."""
        stated = self._stated(given)
        return {
            "budget": stated.get("budget"),
            "method": stated.get("method", "lcbo"),
            "rng": stated.get("seed", 0),
            "n_init": stated.get("n_init"),
            "x0": self.start,
            "options": {**self.options, **options},
            **{name: stated[name] for name in _OPTIONAL if name in stated},
        }

    def evaluation(self, **given: Any) -> dict[str, Any]:
        """Return what `minimize` wants to know about evaluating and stopping."""
        return {name: value for name, value in self._stated(given).items() if name in _EVALUATION}

    def _stated(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.settings, **{name: value for name, value in given.items() if value is not None}}


def read_problem_file(path: str | Path) -> RunSpec:
    """Return the task a problem file describes; an error names the file and the key."""
    path = read_path("problem file", path)
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(str(path), "a problem file", error.strerror) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(str(path), "a TOML file", error) from None
    try:
        return _task(path, stated)
    except ArgumentError as error:
        raise ArgumentError(f"{path}, {error.argument}", error.expected, error.got) from None
    except LcboError as error:
        raise type(error)(f"{path}, {error}") from None


def from_source(source: Mapping[str, Any], description: Mapping[str, Any]) -> Problem:
    """Return the problem of a recipe (`Problem.source`) whose function is a command."""
    problem = plain_problem(description, Command.from_dict(source["command"], source["folder"]))
    problem.source = source
    return problem


def executed(source: Mapping[str, Any]) -> str | None:
    """Return in words what evaluating the problem of a recipe will execute; ``None`` for a benchmark."""
    if "command" in source:
        run = source["command"]["run"]
        line = run if isinstance(run, str) else shlex.join(run)
        return f"the command `{line}`, in {source['folder']}"
    if "function" in source:
        return f"the function {source['function']}, in {source['folder']}"
    return None


def _task(path: Path, stated: Mapping[str, Any]) -> RunSpec:
    _only("keys", stated, _KEYS)
    tables = {key: stated.get(key, {}) for key in _TABLES}
    for key, table in tables.items():
        if not isinstance(table, Mapping):
            raise ArgumentError(key, f"a table [{key}]", repr(table))
    variables, groups = _variables(tables["variables"])
    _only("[run]", tables["run"], (*_ARGUMENTS, *_EVALUATION))
    function = _function(path.parent, stated, tables["command"])
    problem = Problem(
        variables,
        _constraints(stated.get("constraints", [])),
        _objective(stated.get("objective")),
        fun=function,
        noise=stated.get("noise"),
        deterministic=stated.get("deterministic", False),
        known=_known(stated.get("known", [])),
        **{key: stated[key] for key in _FUNCTION[1:] if key in stated},
    )
    start = _start(tables["start"], problem.variables, groups) if "start" in stated else None
    return RunSpec(path.stem, problem, tables["run"], tables["options"], start)


def _function(folder: Path, stated: Mapping[str, Any], command: Mapping[str, Any]) -> Any:
    """Return the command or the function that evaluates, or ``None``."""
    if "function" not in stated:
        if stray := [key for key in _FUNCTION if key in stated]:
            raise ArgumentError(stray[0], "function = a Python function beside it", "none")
        return Command.from_dict(command, folder) if command else None
    if command:
        raise ArgumentError("function", "either function or [command]", "both")
    flags = {key: truth(key, stated.get(key, False)) for key in _FUNCTION[1:]}
    return FileFunction(stated["function"], str(folder.absolute()), **flags)


def _variables(stated: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the bounds by name, and the names each counted group stands for."""
    bounds: dict[str, Any] = {}
    groups: dict[str, list[str]] = {}
    for name, entry in stated.items():
        pair, names = entry, [name]
        if isinstance(entry, Mapping):
            _only(f"[variables] {name}", entry, ("low", "high", "log", "integer", "count"))
            count = integer(f"[variables] {name}, count", entry.get("count", 1))
            pair = _variable(f"[variables] {name}", entry)
            names = [f"{name}{i}" for i in range(1, count + 1)] if "count" in entry else [name]
            groups[name] = names
        twice = [each for each in names if each in bounds]
        if twice:
            raise ArgumentError("[variables]", "every name once", f"{twice[0]!r} twice")
        bounds |= dict.fromkeys(names, pair)
    return bounds, groups


def _variable(where: str, stated: Mapping[str, Any]) -> Variable:
    kinds = {key: stated[key] for key in ("log", "integer") if key in stated}
    try:
        return Variable(stated.get("low"), stated.get("high"), **kinds)  # type: ignore[arg-type]
    except ArgumentError as error:
        raise ArgumentError(where, error.expected, error.got) from None


def _constraints(stated: Any) -> list[Constraint]:
    if not isinstance(stated, Sequence) or isinstance(stated, str):
        raise ArgumentError("constraints", "a list of texts or tables", repr(stated))
    read = []
    for entry in stated:
        if isinstance(entry, Mapping):
            _only("constraints", entry, ("name", "lb", "ub", "eq", "tol", "confidence"))
            read.append(Constraint(**{"name": None, **entry}))
        else:
            read.append(Constraint.parse(str(entry)))
    return read


def _known(stated: Any) -> list[str]:
    if not isinstance(stated, list) or not all(isinstance(entry, str) for entry in stated):
        raise ArgumentError("known", "a list of texts such as 'height >= 2 * width'", repr(stated))
    return stated


def _objective(stated: Any) -> Objective:
    if isinstance(stated, Mapping):
        _only("objective", stated, ("name", "maximize"))
        return Objective(**{"name": None, **stated})
    if stated is None:
        raise ArgumentError("objective", "the name of the outcome to minimize", "none")
    return Objective(stated)


def _start(stated: Mapping[str, Any], variables: Sequence[str], groups: Mapping[str, list[str]]) -> Array:
    """Return the starting point; a counted group may state one value for all or a list."""
    point: dict[str, Any] = {}
    for name, value in stated.items():
        names = groups.get(name, [name])
        values = list(value) if isinstance(value, list) else [value] * len(names)
        if len(values) != len(names):
            raise ArgumentError(f"[start] {name}", f"one number, or {len(names)}", len(values))
        point |= dict(zip(names, values, strict=True))
    _only("[start]", point, variables)
    missing = [name for name in variables if name not in point]
    if missing:
        raise ArgumentError("[start]", "a value for every variable", f"none for {', '.join(missing[:5])}")
    for name, value in point.items():
        if not is_number(value):
            raise ArgumentError(f"[start] {name}", "a number", repr(value))
    return np.array([float(point[name]) for name in variables])


def _only(where: str, stated: Mapping[str, Any], allowed: Sequence[str]) -> None:
    unknown = [name for name in stated if name not in allowed]
    if unknown:
        listed = ", ".join(allowed[:20]) + ", ..." * (len(allowed) > 20)
        raise ArgumentError(where, f"names out of {listed}", repr(unknown[0]))
