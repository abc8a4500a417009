"""Problems by name; a problem's module is imported when the problem is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from lcbo.errors import ArgumentError
from lcbo.problem import Problem
from lcbo.problems.base import Benchmark

_FORMULAS = {
    "cec2006": ("g01", "g03", "g07", "g10", "g13", "g14", "g18"),
    "hock_schittkowski": ("hs6", "hs7", "hs28", "hs39", "hs40", "hs48", "hs71", "hs79"),
    "engineering": ("welded_beam", "pressure_vessel", "tension_spring", "speed_reducer"),
}
_CLASSES = {
    "truss25": ("structures.truss25", "Truss25"),
    "beam50": ("structures.beam50", "Beam50"),
    "halfcheetah": ("halfcheetah", "HalfCheetah"),
    "gp_sample": ("gp_sample", "GPSample"),
    "eq_sphere": ("formulas.scalable", "EqSphere"),
    "eq_qp": ("formulas.scalable", "EqQP"),
    "keane": ("formulas.scalable", "Keane"),
    "ackley10": ("formulas.scalable", "ackley10"),
    **{name: (f"formulas.{module}", name) for module, names in _FORMULAS.items() for name in names},
}


def names() -> list[str]:
    """Names `make` accepts."""
    return list(_CLASSES)


def make(name: str, **variant: Any) -> Benchmark:
    """The benchmark ``name``; ``variant`` are the keyword arguments of its class.

    Names are not case-sensitive. The arguments are documented in the class, for example
    ``lcbo.problems.make("truss25", load="node1", alpha=10.0)``.

    Raises:
        ArgumentError: If the name, an argument or its value is unknown.
    """
    key = name.lower() if isinstance(name, str) else name
    if key not in _CLASSES:
        raise ArgumentError("name", f"one of {', '.join(_CLASSES)}", repr(name))
    module, attribute = _CLASSES[key]
    factory: type[Benchmark] = getattr(import_module(f"lcbo.problems.{module}"), attribute)
    allowed = list(inspect.signature(factory).parameters)
    unknown = [word for word in variant if word not in allowed]
    if unknown:
        expected = f"only the arguments {', '.join(allowed)}" if allowed else "no arguments"
        raise ArgumentError(f"make({key!r})", expected, f"{unknown[0]}={variant[unknown[0]]!r}")
    problem = factory(**variant)
    problem.source = {"name": key, "variant": variant}
    return problem


def from_source(source: Mapping[str, Any], description: Mapping[str, Any]) -> Problem:  # noqa: ARG001
    """The problem of a recipe (`Problem.source`): a benchmark, or its noisy view; the recipe says it all."""
    problem = make(source["name"], **source["variant"])
    return problem.noisy(**source["noise"]) if "noise" in source else problem
