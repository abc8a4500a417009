"""Methods by name. The name is the same on the command line, in figures and in results.

A method's own module is imported when the method is built: listing the methods costs nothing, and the
packages of one method (PyTorch, cma) are not needed for another. So option classes live in modules of their
own that import nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from lcbo.checks import mapping
from lcbo.errors import ArgumentError
from lcbo.methods.classical.options import CmaesOptions, CobylaOptions, CobyqaOptions, SobolOptions
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.presets import paper_preset, theory_preset
from lcbo.methods.protocol import Method, MethodSpec, Setup
from lcbo.methods.regions.options import HdsafeboOptions, ScboOptions
from lcbo.methods.search.options import EpboOptions, GlobalOptions
from lcbo.models.options import ModelOptions

Preset = Callable[[int], Mapping[str, Any]]


def _entry(
    name: str,
    summary: str,
    home: str,
    options: type,
    *,
    preset: Preset = lambda _: {},
    shown_dim: int = 25,
    **facts: bool,
) -> MethodSpec:
    """Return the entry of a class that takes ``(setup, options)``.

    Args:
        name: of the method.
        summary: one line.
        home: where the class is, as ``module:Class`` in ``lcbo.methods``.
        options: dataclass of the options, every field with its default.
        preset: maps d to options that replace the dataclass's defaults.
        shown_dim: the d for which the defaults are listed.
        facts: what the method declares of itself, see `MethodSpec`.
    """

    def build(setup: Setup, given: Mapping[str, Any]) -> Method:
        chosen = options(**{**preset(setup.dim), **given})
        if isinstance(chosen, ModelOptions):
            chosen.check_sizes(setup.n_outputs, setup.dim)
        module, _, name = home.partition(":")
        method: Method = getattr(import_module(f"lcbo.methods.{module}"), name)(setup, chosen)
        return method

    plain = options()
    defaults = {f.name: getattr(plain, f.name) for f in fields(options)} | dict(preset(shown_dim))
    return MethodSpec(name, summary, build, defaults, options, **facts)


_SPECS: dict[str, MethodSpec] = {}


def register(spec: MethodSpec) -> None:
    """Add a method, so that `lcbo.minimize` and the command line know its name."""
    if spec.name in _SPECS:
        raise ArgumentError("spec", "a name that no method has yet", repr(spec.name))
    _SPECS[spec.name] = spec


for _spec in (
    _entry(
        "lcbo",
        "local constrained Bayesian optimization, robust defaults: start here",
        "lcbo.method:Lcbo",
        LcboOptions,
    ),
    _entry(
        "lcbo-paper",
        "the paper's Algorithm 1 with the settings of its Table 1",
        "lcbo.method:Lcbo",
        LcboOptions,
        preset=paper_preset,
    ),
    _entry(
        "lcbo-theory",
        "the theorem's schedules: growing batches, fixed true hyperparameters, no local box",
        "lcbo.method:Lcbo",
        LcboOptions,
        preset=theory_preset,
        shown_dim=8,
    ),
    _entry(
        "scbo",
        "SCBO: constrained Thompson sampling in a trust region, large batches",
        "regions.scbo:Scbo",
        ScboOptions,
    ),
    _entry(
        "hdsafebo",
        "HDsafeBO without embedding: Thompson sampling in the optimistic safe part of a trust region",
        "regions.hdsafebo:HdSafeBo",
        HdsafeboOptions,
        supports_equality=False,
    ),
    _entry(
        "cei",
        "constrained expected improvement over the whole cube, one point at a time",
        "search.cei:Cei",
        GlobalOptions,
    ),
    _entry(
        "epbo",
        "exact penalty of optimistic violations over the whole cube, one point at a time",
        "search.epbo:Epbo",
        EpboOptions,
    ),
    _entry(
        "cobyqa",
        "SciPy's COBYQA: trust-region SQP on quadratic models, sequential, for functions without noise",
        "classical.cobyqa:Cobyqa",
        CobyqaOptions,
        sequential=True,
    ),
    _entry(
        "cobyla",
        "SciPy's COBYLA: trust region on linear models, sequential",
        "classical.cobyla:Cobyla",
        CobylaOptions,
        sequential=True,
    ),
    _entry(
        "cmaes",
        "CMA-ES with an augmented Lagrangian, a population at a time (needs the extra lcbo[cma])",
        "classical.cmaes:Cmaes",
        CmaesOptions,
    ),
    _entry(
        "sobol",
        "scrambled Sobol sequence: search that learns nothing",
        "classical.sobol:Sobol",
        SobolOptions,
        supports_equality=False,
    ),
):
    register(_spec)


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_SPECS)


def spec(name: str) -> MethodSpec:
    """Return one method's entry."""
    if not isinstance(name, str) or name not in _SPECS:
        raise ArgumentError("method", f"one of {', '.join(_SPECS)}", repr(name))
    return _SPECS[name]


def make(name: str | MethodSpec, setup: Setup, options: Mapping[str, Any] | None = None) -> Method:
    """Build a method by name or from its entry.

    Raises:
        ArgumentError: an option the method does not have (the message lists the ones it has), or an equality
            constraint it cannot treat (the message lists the methods that can).
    """
    entry = name if isinstance(name, MethodSpec) else spec(name)
    given = {} if options is None else mapping("options", options)
    unknown = sorted(set(given) - set(entry.options))
    if unknown:
        listed = ", ".join(entry.options) or "it has none"
        raise ArgumentError("options", f"options of {entry.name}: {listed}", unknown)
    if not entry.supports_equality and setup.terms.equality.any():
        able = ", ".join(other.name for other in _SPECS.values() if other.supports_equality)
        raise ArgumentError("method", f"one that treats equality constraints: {able}", repr(entry.name))
    method: Method = entry.build(setup, given)
    return method
