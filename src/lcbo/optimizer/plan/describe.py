"""A run's problem, arguments and versions as JSON: to recognize a run, to rebuild it, to say what changed."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from statistics import NormalDist
from types import CodeType
from typing import Any

from lcbo.errors import StoreError
from lcbo.methods.protocol import MethodSpec
from lcbo.problem import Problem
from lcbo.problem.sources import describe_problem
from lcbo.steps.schedules import Growth, Power
from lcbo.text import brief
from lcbo.types import Evaluation

Json = Any
SHOWN = 80  # characters of a value in a message
_ENTRIES = 5  # of a list that are told one by one; more, such as rows of data, would hide all other changes


def describe_run(**arguments: Any) -> dict[str, Json]:
    """Return arguments of a run by name (``problem``, ``method``, ``options``, ...) as a file has them."""
    described = {name: describe_value(value) for name, value in arguments.items()}
    same: dict[str, Json] = json.loads(json.dumps(described))
    return same


def describe_value(value: Any) -> Json:
    """Return an option or argument as JSON, with sorted keys; a function by its name and a digest."""
    if isinstance(value, Problem):
        return describe_problem(value)
    if isinstance(value, MethodSpec):
        return value.name
    if isinstance(value, Evaluation):  # one that was brought along
        return [describe_value(value.x), describe_value(value.outcomes)]
    if isinstance(value, Mapping):
        return {key: describe_value(entry) for key, entry in sorted((str(k), v) for k, v in value.items())}
    if isinstance(value, Power | Growth):
        return {type(value).__name__: list(astuple(value))}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy and PyTorch
        return describe_value(value.tolist())
    if isinstance(value, list | tuple):
        return [describe_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__qualname__
    if callable(value):
        return {"function": getattr(value, "__qualname__", kind), "digest": fingerprint(_parts(value))}
    return {"object": kind if " at 0x" in repr(value) else repr(value)}


def _parts(function: Any) -> Json:
    """Return what a function does, as far as it can be told: its code, and the plain values it works with."""
    if isinstance(function, partial):
        return [_parts(function.func), describe_value([*function.args]), describe_value(function.keywords)]
    code = getattr(function, "__code__", None)
    if code is None:
        return [type(function).__qualname__, _plain(getattr(function, "__dict__", {}).values())]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [_code(code), _plain([*(function.__defaults__ or ()), *cells])]


def _code(code: CodeType) -> Json:
    constants = [
        _code(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
        for c in code.co_consts
    ]
    return [code.co_code.hex(), constants, list(code.co_names)]


def _plain(values: Iterable[Any]) -> Json:
    """Return values as JSON; only the name of the type of what is not a number, a text or an array."""
    plain = (int, float, str, type(None))
    return [
        describe_value(value)
        if isinstance(value, plain) or hasattr(value, "tolist")
        else type(value).__qualname__
        for value in values
    ]


_OLD_NAMES = {
    "standardise": "standardize",
    "normalise": "normalize",
    "optimiser": "optimizer",
    "optimiser_options": "optimizer_options",
}
_OLD_VALUES = {"linearised": "linearized"}
SUREST = 1.0 - 1e-9  # what a large margin becomes: a probability is below 1


def renamed_options(stored: Mapping[str, Json], method: str) -> dict[str, Json]:
    """Return a method's options under today's names; run files before version 0.2 have the British ones.

    The ``margin`` of the LCBO family was a number of standard deviations kept from an inequality. Its
    successor ``landing`` is the probability of staying inside; where one inequality is near, this one.
    """
    today: dict[str, Json] = {
        _OLD_NAMES.get(name, name): _OLD_VALUES.get(value, value) if isinstance(value, str) else value
        for name, value in stored.items()
    }
    if method.startswith("lcbo") and "margin" in today:
        today["landing"] = min(NormalDist().cdf(float(today.pop("margin"))), SUREST)
    return dict(sorted(today.items()))


def rebuild_value(stored: Json) -> Any:
    """Return the option a description stands for; a function cannot be rebuilt."""
    if isinstance(stored, Mapping):
        for kind in (Power, Growth):
            if set(stored) == {kind.__name__}:
                return kind(*stored[kind.__name__])
        if set(stored) in ({"function", "digest"}, {"object"}):
            name = stored.get("function", stored.get("object"))
            raise StoreError(
                f"the option {name} is Python code, which a run file does not hold; "
                "go on with lcbo.Optimizer.open(path, options=...), the options it was begun with"
            )
        return {key: rebuild_value(value) for key, value in stored.items()}
    if isinstance(stored, Sequence) and not isinstance(stored, str):
        return [rebuild_value(value) for value in stored]
    return stored


def differences(stored: Json, given: Json, where: str = "") -> list[str]:
    """Return one line per place where two descriptions differ: what the run has and what came."""
    if isinstance(stored, Mapping) and isinstance(given, Mapping):
        if set(stored) == set(given) and list(stored) != list(given):  # the variables; other keys are sorted
            return [f"{where}: the run has the order {_short(list(stored))}; now it is {_short(list(given))}"]
        return _entrywise(stored, given, f"{where}." if where else "")
    long = max(len(json.dumps(value)) for value in (stored, given)) > SHOWN
    if isinstance(stored, list) and isinstance(given, list) and long:
        old, new = ({f"[{i}]": entry for i, entry in enumerate(entries)} for entries in (stored, given))
        lines = _entrywise(old, new, where)
        if len(lines) <= _ENTRIES:
            return lines
        return [f"{where}: the run has {len(old)} entries; now there are {len(new)}, and {len(lines)} differ"]
    if stored == given:
        return []
    return [f"{where}: the run has {_short(stored)}; now it is {_short(given)}"]


def _entrywise(stored: Mapping[str, Json], given: Mapping[str, Json], prefix: str) -> list[str]:
    lines = []
    for key in dict.fromkeys([*stored, *given]):
        if key not in given:
            lines.append(f"{prefix}{key}: the run has {_short(stored[key])}; now there is none")
        elif key not in stored:
            lines.append(f"{prefix}{key}: the run has none; now it is {_short(given[key])}")
        else:
            lines += differences(stored[key], given[key], f"{prefix}{key}")
    return lines


def versions() -> dict[str, str]:
    """Return the versions a result depends on, without importing the packages."""
    packages = ("lcbo", "torch", "numpy", "scipy")
    return {"python": platform.python_version()} | {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    """Read a version once: parsing the description of a package takes longer than much of a small run.

    A run from a source tree that was not installed must not end without its result.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def fingerprint(description: Json) -> str:
    """Return a short digest of a description; equal descriptions have equal digests."""
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


def _short(value: Json) -> str:
    return brief(json.dumps(value), SHOWN)
