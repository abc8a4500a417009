"""Methods by name. The name is the same on the command line, in figures and in results.

A method's own module is imported when the method is built: listing the methods costs nothing, and the
packages of one method (PyTorch, cma) are not needed for another. So option classes live in modules of their
own that import nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from inspect import getdoc
from typing import Any

from lcbo.checks import mapping
from lcbo.errors import ArgumentError
from lcbo.methods.classical.options import (
    CmaesOptions,
    CobylaOptions,
    CobyqaOptions,
    SlsqpOptions,
    SobolOptions,
)
from lcbo.methods.lcbo.options import LcboOptions, authors_preset, paper_preset, theory_preset
from lcbo.methods.protocol import Method, MethodSpec, Setup
from lcbo.methods.regions.options import FurboOptions, HdsafeboOptions, ScboOptions
from lcbo.methods.search.options import CeiOptions, EpboOptions, LogceiOptions
from lcbo.methods.sqp.options import BayesqpOptions
from lcbo.models.options import ModelOptions
from lcbo.text import shown

SUMMARIES = {
    "lcbo": "local constrained Bayesian optimization, robust defaults: start here",
    "lcbo-paper": "the paper's Algorithm 1 with the settings of its Table 1",
    "lcbo-authors": "Algorithm 1 as the authors' published code has it, hyperparameter resets included",
    "lcbo-theory": "the theorem's schedules: growing batches, fixed true hyperparameters, no local box",
    "scbo": "SCBO: constrained Thompson sampling in a trust region, large batches",
    "scbo-original": "scbo with the output transforms of the SCBO paper: copula and bilog",
    "furbo": "FuRBO: constrained Thompson sampling in a region found by inspectors of the model",
    "hdsafebo": "HDsafeBO without embedding: Thompson sampling in the optimistic safe part of a trust region",
    "bayesqp": "BayeSQP: quadratic subproblems with margins for uncertain values and slopes, line searches",
    "cei": "constrained expected improvement over the whole cube, one point at a time",
    "cei-plain": "cei without its logarithm: the acquisition as the textbooks have it",
    "logcei": "CEI as a BoTorch user runs it: learned model, bilog, noisy expected improvement, L-BFGS",
    "epbo": "exact penalty of optimistic violations over the whole cube, one point at a time",
    "cobyqa": "SciPy's COBYQA: trust-region SQP on quadratic models, sequential, for functions without noise",
    "cobyla": "SciPy's COBYLA: trust region on linear models, sequential",
    "slsqp": "SciPy's SLSQP: SQP on finite differences, d evaluations at a time, for little noise",
    "cmaes": "CMA-ES with an augmented Lagrangian, a population at a time (needs the extra lcbo[cma])",
    "sobol": "scrambled Sobol sequence: search that learns nothing",
}
Preset = Callable[[int], Mapping[str, Any]]  # maps d to options that replace the defaults of the class


def _entry(
    name: str, home: str, options: type, preset: Preset = lambda _: {}, shown_dim: int = 25, **facts: Any
) -> MethodSpec:
    """Return the entry of the class at ``home``; its defaults are listed for ``shown_dim`` variables."""

    def build(setup: Setup, given: Mapping[str, Any]) -> Method:
        chosen = options(**{**preset(setup.dim), **given})
        if isinstance(chosen, ModelOptions):
            chosen.check_sizes(setup.n_outputs, setup.dim)
        module, _, class_name = home.partition(":")
        method: Method = getattr(import_module(f"lcbo.methods.{module}"), class_name)(setup, chosen)
        return method

    plain = options()
    defaults = {f.name: getattr(plain, f.name) for f in fields(options)} | dict(preset(shown_dim))
    return MethodSpec(name, SUMMARIES[name], build, defaults, options, **facts)


_ENTRIES = (
    _entry("lcbo", "lcbo.method:Lcbo", LcboOptions, confirm=0.05),
    _entry("lcbo-paper", "lcbo.method:Lcbo", LcboOptions, paper_preset),
    _entry("lcbo-authors", "lcbo.method:Lcbo", LcboOptions, authors_preset),
    _entry("lcbo-theory", "lcbo.method:Lcbo", LcboOptions, theory_preset, shown_dim=8),
    _entry("scbo", "regions.scbo:Scbo", ScboOptions),
    _entry("scbo-original", "regions.scbo:Scbo", ScboOptions, lambda _: {"transforms": "original"}),
    _entry("furbo", "regions.furbo:Furbo", FurboOptions),
    _entry("hdsafebo", "regions.hdsafebo:HdSafeBo", HdsafeboOptions, supports_equality=False),
    _entry("bayesqp", "sqp.bayesqp:BayeSqp", BayesqpOptions),
    _entry("cei", "search.cei:Cei", CeiOptions),
    _entry("cei-plain", "search.cei:Cei", CeiOptions, lambda _: {"log": False}),
    _entry("logcei", "search.logcei:LogCei", LogceiOptions),
    _entry("epbo", "search.epbo:Epbo", EpboOptions),
    _entry("cobyqa", "classical.scipy_solvers:Cobyqa", CobyqaOptions, sequential=True),
    _entry("cobyla", "classical.scipy_solvers:Cobyla", CobylaOptions, sequential=True),
    _entry("slsqp", "classical.slsqp:Slsqp", SlsqpOptions),
    _entry("cmaes", "classical.cmaes:Cmaes", CmaesOptions),
    _entry("sobol", "classical.sobol:Sobol", SobolOptions, supports_equality=False),
)
_SPECS = {entry.name: entry for entry in _ENTRIES}


def register(spec: MethodSpec) -> None:
    """Add a method, so that `lcbo.minimize` and the command line know its name."""
    check_spec(spec)
    if spec.name in _SPECS:
        raise ArgumentError("spec", "a name that no method has yet", repr(spec.name))
    _SPECS[spec.name] = spec


def check_spec(spec: Any) -> MethodSpec:
    """Return a method's entry, or raise where its name or its parts cannot be those of a method."""
    if not isinstance(spec, MethodSpec):
        raise ArgumentError("method", "the name of a method, or a MethodSpec", shown(spec))
    if not isinstance(spec.name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", spec.name):
        raise ArgumentError("method, name", "letters, digits, '_', '-' and '.'", shown(spec.name))
    if not callable(spec.build):
        raise ArgumentError("method, build", "a function of setup and options", shown(spec.build))
    mapping("method, options", spec.options)
    return spec


def meanings(entry: MethodSpec) -> dict[str, str]:
    """Return what each option means, out of the docstrings of its class and the bases of that."""
    found: dict[str, str] = {}
    for kind in reversed(getattr(entry.options_class, "__mro__", ())):
        _, _, listed = (getdoc(kind) or "").partition("Attributes:\n")
        for line in listed.splitlines():
            name, colon, text = line.strip().partition(": ")
            if colon and line.startswith("    ") and not line.startswith("     ") and name.isidentifier():
                latest, found[name] = name, text
            elif line.strip():
                found[latest] += f" {line.strip()}"
    return {name: text.replace("``", "") for name, text in found.items()}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_SPECS)


def spec(name: str) -> MethodSpec:
    """Return one method's entry."""
    if not isinstance(name, str) or name not in _SPECS:
        raise ArgumentError("method", f"one of {', '.join(_SPECS)}", repr(name))
    return _SPECS[name]


def has_model(entry: MethodSpec) -> bool:
    """Return whether a method models the outcomes, and can do so on any device."""
    return entry.options_class is None or issubclass(entry.options_class, ModelOptions)


def make(name: str | MethodSpec, setup: Setup, options: Mapping[str, Any] | None = None) -> Method:
    """Build a method by name or from its entry; refuse unknown options and equalities it cannot treat."""
    entry = name if isinstance(name, MethodSpec) else spec(name)
    given = {} if options is None else mapping("options", options)
    unknown = sorted(set(given) - set(entry.options))
    if unknown:
        listed = ", ".join(entry.options) or "it has none"
        raise ArgumentError("options", f"options of {entry.name}: {listed}", unknown)
    if not entry.supports_equality and setup.terms.equality.any():
        able = ", ".join(other.name for other in _SPECS.values() if other.supports_equality)
        raise ArgumentError("method", f"one that treats equality constraints: {able}", repr(entry.name))
    if setup.device != "cpu" and not has_model(entry):
        raise ArgumentError("device", f"'cpu' with {entry.name}, which has no model", repr(setup.device))
    return entry.build(setup, given)
