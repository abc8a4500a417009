"""Methods by name, their presets and their options."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from lcbo.errors import ArgumentError
from lcbo.methods import registry
from lcbo.methods.lcbo.method import Lcbo
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.protocol import Setup
from lcbo.steps.schedules import at
from lcbo.terms import Terms


def make(name: str, dim: int = 3, options: dict[str, Any] | None = None) -> Lcbo:
    setup = Setup(dim, 1, Terms(), (None,), 100, dim, np.zeros((0, dim)), 0)
    method = registry.make(name, setup, options)
    assert isinstance(method, Lcbo)
    return method


def test_names_are_those_of_the_design() -> None:
    assert {"lcbo", "lcbo-paper", "lcbo-theory"} <= set(registry.names())
    for name in registry.names():
        assert registry.spec(name).name == name
        assert registry.spec(name).summary


def test_listing_the_methods_loads_none_of_them() -> None:
    code = "import sys, lcbo.methods.registry as r; r.names(); sys.stdout.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "scipy", "botorch", "cma", "lcbo.methods.lcbo.method"} & set(done.stdout.split())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="method: expected one of lcbo, lcbo-paper.*got 'lcb0'"):
        registry.spec("lcb0")


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"options: .*explorer.*got \['steps'\]"):
        make("lcbo", options={"steps": 3})


@pytest.mark.parametrize("name", ["lcbo", "lcbo-paper", "lcbo-authors", "lcbo-theory"])
def test_every_option_is_listed_and_reaches_the_method(name: str) -> None:
    assert set(registry.spec(name).options) == {f.name for f in fields(LcboOptions)}
    assert make(name, options={"delta": 0.05, "explore": 2}).options.delta == 0.05


def test_the_default_has_the_defaults() -> None:
    assert make("lcbo").options == LcboOptions()


@pytest.mark.parametrize(("dim", "eta"), [(2, 0.25), (25, 0.25), (26, 0.5), (100, 0.5)])
def test_paper_preset_is_table_1(dim: int, eta: float) -> None:
    options = make("lcbo-paper", dim).options
    assert (options.repeats, options.explore, options.eta) == (2, 5, eta)
    assert [at(options.rho, k) for k in (1, 16)] == pytest.approx([10.0, 20.0])
    assert (options.window, options.delta, options.fit_every) == (2.0, 0.1, 5)
    assert (options.step, options.explorer, options.fit, options.kernel) == ("penalty", "paper", "map", "rbf")
    assert options.wait_for_all
    assert not options.learn_noise


def test_presets_differ_from_their_method_as_they_say() -> None:
    paper, authors = (registry.spec(name).options for name in ("lcbo-paper", "lcbo-authors"))
    changed = {name: value for name, value in authors.items() if value != paper[name]}
    assert changed == {
        "fit": "adam",
        "explorer": "sequential",
        "average_repeats": True,
        "reset_between_fits": True,
    }
    for base, preset, own in (
        ("cei", "cei-plain", {"log": False}),
        ("scbo", "scbo-original", {"transforms": "original"}),
    ):
        assert registry.spec(preset).options == {**registry.spec(base).options, **own}


def test_theory_preset_has_the_theorem_s_schedules() -> None:
    options = make("lcbo-theory", 4).options
    assert [at(options.repeats, k) for k in (1, 3)] == [1.0, 3.0]
    assert [at(options.explore or 0.0, k) for k in (1, 3)] == [4.0, 36.0]
    assert [at(options.rho, k) for k in (1, 16)] == pytest.approx([1.0, 2.0])
    assert [at(options.eta, k) for k in (1, 4)] == pytest.approx([0.5, 0.25])
    assert options.window is None
    assert options.delta is None
    assert not options.normalize
    assert not options.standardize
    assert options.fit == "fixed"
