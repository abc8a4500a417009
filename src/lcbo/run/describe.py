"""A run's problem and arguments as JSON: to recognise a run, to rebuild it, to say what changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

import numpy as np

from lcbo.constraint import Constraint, Objective
from lcbo.errors import StoreError
from lcbo.problem import Problem
from lcbo.steps.schedules import Growth, Power
from lcbo.types import Array

Json = Any


def describe_problem(problem: Problem) -> dict[str, Json]:
    """Return what makes a problem this problem; its function is not part of it."""
    return {
        "variables": {
            name: [float(low), float(high)]
            for name, (low, high) in zip(problem.variables, problem.bounds, strict=True)
        },
        "objective": asdict(problem.objective),
        "constraints": [
            {key: value for key, value in asdict(c).items() if value is not None} for c in problem.constraints
        ],
        "noise": dict(problem.noise),
    }


def rebuild_problem(description: Mapping[str, Json], fun: Callable[..., Any] | None = None) -> Problem:
    """Return the problem of a description, with a function or without."""
    return Problem(
        {name: tuple(pair) for name, pair in description["variables"].items()},
        [Constraint(**c) for c in description["constraints"]],
        Objective(**description["objective"]),
        fun=fun,
        noise=description["noise"],
    )


def describe_run(
    problem: Problem,
    method: str,
    options: Mapping[str, Any],
    *,
    x0: Array | None,
    n_init: int | None,
    data: Sequence[tuple[Array, Mapping[str, float]]],
) -> dict[str, Json]:
    """Return all that must stay the same when a run is continued, except its seed."""
    described = {
        "problem": describe_problem(problem),
        "method": method,
        "options": describe_value(options),
        "x0": describe_value(x0),
        "n_init": n_init,
        "data": [[x.tolist(), dict(outcomes)] for x, outcomes in data],
    }
    same: dict[str, Json] = json.loads(json.dumps(described))
    return same


def describe_value(value: Any) -> Json:
    """Return an option or argument as JSON; a function by its name and a digest of its code."""
    if isinstance(value, Mapping):
        return {str(key): describe_value(entry) for key, entry in value.items()}
    if isinstance(value, Power | Growth):
        return {type(value).__name__: list(astuple(value))}
    if isinstance(value, np.ndarray | np.generic):
        return describe_value(value.tolist())
    if isinstance(value, list | tuple):
        return [describe_value(entry) for entry in value]
    if callable(value):
        code = getattr(value, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(value))
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return {"function": name, "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"object": repr(value)}


def rebuild_value(stored: Json) -> Any:
    """Return the option a description stands for; a function cannot be rebuilt."""
    if isinstance(stored, Mapping):
        for kind in (Power, Growth):
            if set(stored) == {kind.__name__}:
                return kind(*stored[kind.__name__])
        if "function" in stored or "object" in stored:
            name = stored.get("function", stored.get("object"))
            raise StoreError(
                f"options: {name} is a Python object, which a run file does not hold; "
                "open the run with lcbo.Optimizer(problem, ..., options=..., store=path) as it was begun"
            )
        return {key: rebuild_value(value) for key, value in stored.items()}
    if isinstance(stored, Sequence) and not isinstance(stored, str):
        return [rebuild_value(value) for value in stored]
    return stored


def differences(stored: Json, given: Json, where: str = "") -> list[str]:
    """Return one line per place where two descriptions differ: what the run has and what came."""
    if isinstance(stored, Mapping) and isinstance(given, Mapping):
        lines = []
        for key in dict.fromkeys([*stored, *given]):
            place = f"{where}.{key}" if where else str(key)
            if key not in given:
                lines.append(f"{place}: the run has {_short(stored[key])}; now there is none")
            elif key not in stored:
                lines.append(f"{place}: the run has none; now it is {_short(given[key])}")
            else:
                lines += differences(stored[key], given[key], place)
        if not lines and list(stored) != list(given):
            lines.append(f"{where}: the run has the order {list(stored)}; now it is {list(given)}")
        return lines
    listed = isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given)
    if listed and any(isinstance(entry, Mapping | list) for entry in stored):
        pairs = enumerate(zip(stored, given, strict=True))
        return [line for i, (old, new) in pairs for line in differences(old, new, f"{where}[{i}]")]
    if stored == given:
        return []
    return [f"{where}: the run has {_short(stored)}; now it is {_short(given)}"]


def fingerprint(description: Json) -> str:
    """Return a short digest of a description; equal descriptions have equal digests."""
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
