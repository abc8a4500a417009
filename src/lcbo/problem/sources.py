"""Problems as JSON: the description that identifies one, and the recipe that makes its function again.

A recipe (`Problem.source`) names its kind by one of its keys. What rebuilds a kind is found here by name and
imported when it is needed, so that nobody who reads a run has to load the benchmarks or the commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import Any

from lcbo.errors import LcboError
from lcbo.problem.constraint import Constraint, Objective
from lcbo.problem.known import Conditions
from lcbo.problem.problem import Problem
from lcbo.problem.variable import Variable

_MAKERS = {
    "name": "lcbo.problems.registry:from_source",
    "command": "lcbo.evaluation.command.problem_file:from_source",
    "function": "lcbo.evaluation.python_file:from_source",
}  # by the key of a recipe; each maps (recipe, description) to the problem


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Return what makes a problem this problem, as JSON values; its function is not part of it."""
    return {
        "variables": {
            name: [float(low), float(high), *([kind] if kind else [])]
            for name, (low, high), kind in zip(problem.variables, problem.bounds, problem.kinds, strict=True)
        },
        "objective": asdict(problem.objective),
        "constraints": [
            {key: value for key, value in asdict(c).items() if value is not None} for c in problem.constraints
        ],
        "noise": dict(sorted(problem.noise.items())),
        **({"known": list(problem.known.stated)} if len(problem.known) else {}),
    }


def plain_problem(
    description: Mapping[str, Any],
    fun: Callable[..., Any] | None = None,
    known: Conditions | None = None,
) -> Problem:
    """Return the problem of a description, with a function or without.

    A description has the names of functions that are ``known`` conditions, not the functions.
    """
    source: Mapping[str, Any] = getattr(fun, "source", None) or {}
    return Problem(
        {name: _variable(*stated) for name, stated in description["variables"].items()},
        [Constraint(**c) for c in description["constraints"]],
        Objective(**description["objective"]),
        fun=fun,
        noise=description["noise"],
        known=description.get("known", ()) if known is None else known,
        **{key: source[key] for key in ("named", "vectorized") if key in source},
    )


def _variable(low: float, high: float, kind: str = "") -> Variable:
    return Variable(low, high, **dict.fromkeys(kind.split(), True))


def from_recipe(recipe: Mapping[str, Any], description: Mapping[str, Any]) -> Problem | None:
    """Return the problem a recipe makes, ``None`` where it is of no kind that is known here."""
    for key, home in _MAKERS.items():
        if key in recipe:
            module, _, function = home.partition(":")
            problem: Problem = getattr(import_module(module), function)(recipe, description)
            return problem
    return None


def rebuild_problem(description: Mapping[str, Any], recipe: Mapping[str, Any] | None) -> Problem:
    """Return a problem, with its function where there is a recipe that still gives this problem."""
    with suppress(LcboError, ImportError):
        problem = from_recipe(recipe or {}, description)
        if problem is not None and _same(describe_problem(problem), renumbered(description)):
            problem.variables = tuple(description["variables"])  # a run keeps the names it has
            return problem
    return plain_problem(description)


def renumbered(description: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a description whose unnamed variables are ``x1``, ``x2``, ...; they began at ``x0`` once."""
    bounds = description["variables"]
    if list(bounds) != [f"x{i}" for i in range(len(bounds))]:
        return description
    return {**description, "variables": {f"x{i}": pair for i, pair in enumerate(bounds.values(), 1)}}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two descriptions are of one problem; the order of the variables is part of it."""
    return one == other and list(one["variables"]) == list(other["variables"])
