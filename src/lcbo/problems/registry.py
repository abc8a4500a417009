"""Problems by name; a problem's module is imported when the problem is made."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from lcbo.errors import ArgumentError
from lcbo.problems.base import Benchmark

_CLASSES = {
    "truss25": ("truss25", "Truss25"),
    "beam50": ("beam50", "Beam50"),
    "gp_sample": ("gp_sample", "GPSample"),
    "eq_sphere": ("equality", "EqSphere"),
    "eq_qp": ("equality", "EqQP"),
    "hs71": ("hock_schittkowski", "HS71"),
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
    return factory(**variant)
