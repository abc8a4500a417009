"""Methods by name. The name is the same on the command line, in figures and in results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from lcbo.errors import ArgumentError
from lcbo.methods.lcbo import Lcbo
from lcbo.methods.lcbo_options import LcboOptions, paper_preset, theory_preset
from lcbo.methods.protocol import Method, MethodSpec, Setup


def _lcbo(preset: Callable[[int], Mapping[str, Any]]) -> Callable[[Setup, Mapping[str, Any]], Method]:
    def build(setup: Setup, options: Mapping[str, Any]) -> Method:
        return Lcbo(setup, LcboOptions(**{**preset(setup.dim), **options}))

    return build


_DEFAULTS = {f.name: getattr(LcboOptions(), f.name) for f in fields(LcboOptions)}

_SPECS = {
    spec.name: spec
    for spec in (
        MethodSpec(
            "lcbo",
            "local constrained Bayesian optimization, robust defaults: start here",
            _lcbo(lambda _: {}),
            _DEFAULTS,
        ),
        MethodSpec(
            "lcbo-paper",
            "the paper's Algorithm 1 with the settings of its Table 1",
            _lcbo(paper_preset),
            {**_DEFAULTS, **paper_preset(25)},
        ),
        MethodSpec(
            "lcbo-theory",
            "the theorem's schedules: growing batches, fixed true hyperparameters, no local box",
            _lcbo(theory_preset),
            {**_DEFAULTS, **theory_preset(8)},
        ),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_SPECS)


def spec(name: str) -> MethodSpec:
    """Return one method's entry."""
    if name not in _SPECS:
        raise ArgumentError("method", f"one of {', '.join(_SPECS)}", repr(name))
    return _SPECS[name]


def make(name: str, setup: Setup, options: Mapping[str, Any] | None = None) -> Method:
    """Build a method; an option it does not have is an error that lists the ones it has."""
    entry, given = spec(name), dict(options or {})
    unknown = sorted(set(given) - set(entry.options))
    if unknown:
        raise ArgumentError("options", f"options of {name}: {', '.join(entry.options)}", unknown)
    method: Method = entry.build(setup, given)
    return method
