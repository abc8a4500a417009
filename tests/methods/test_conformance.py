"""What every registered method must do: the shipped suite, and the road through a run in user units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import lcbo
import lcbo.testing
from lcbo import ArgumentError, Candidate, Optimizer, Problem
from lcbo.methods import registry
from lcbo.methods.base.queued import initial_design
from lcbo.steps.schedules import Power
from lcbo.testing import Check, Subject
from lcbo.testing.reproducibility import (
    fresh_process,
    resumed_run_goes_on_bit_for_bit,
    same_seed_in_a_fresh_process,
)

# Options that make a method fast enough for a test. Methods without an entry are tested with their defaults.
FEW_STEPS = {"fit_every": 8, "optimizer_options": {"starts": 2, "steps": 5}}
SMALL: Mapping[str, Mapping[str, Any]] = {
    "lcbo-paper": {"explore": 2, "eta": 0.1, "explorer_options": {"starts": 2, "steps": 5}},
    "lcbo-authors": {"explore": 2, "eta": 0.1, "explorer_options": {"starts": 2, "steps": 5}},
    # Its own explorer repeats points by design, and its step wants to be told how smooth the problem is.
    "lcbo-theory": {"repeats": 1, "explore": 2, "explorer": "fast", "eta": Power(0.1, -0.5)},
    "scbo": {"n_candidates": 64, "fit_every": 8},
    "hdsafebo": {"n_candidates": 64, "fit_every": 8},
    "furbo": {"n_candidates": 64, "fit": "fixed", "inspectors_per_dim": 50},
    "bayesqp": {"fit_every": 2, "n_candidates": 16},
    "cei": FEW_STEPS,
    "epbo": FEW_STEPS,
    "logcei": {"fit": "fixed", "optimizer_options": {"starts": 2, "steps": 3, "raw": 8}, "n_draws": 2},
    "cmaes": {"popsize": 5},
}
EXEMPT = {("lcbo-theory", "units_do_not_matter")}  # the theorem's schedules are in the problem's own units
# One option apart from a method that is checked, and resumed with it below.
PRESETS = ("scbo-original", "cei-plain")
METHODS = [name for name in registry.names() if name not in PRESETS]
# Some options apart from lcbo-paper, an acquisition apart from cei: the default suite resumes them below, the
# slow one checks everything.
RARE = ("lcbo-authors", "lcbo-theory", "epbo")
FAMILIES = ("lcbo", "scbo", "cei", "cobyqa")  # one each, for what no method has a say in

ONE_BY_ONE = [check for check in lcbo.testing.checks if check is not same_seed_in_a_fresh_process]
PAIRS = [
    pytest.param(name, check, marks=[pytest.mark.slow] if name in RARE else [])
    for name in METHODS
    for check in ONE_BY_ONE
    if (name, check.__name__) not in EXEMPT
]
each_method = pytest.mark.parametrize("method", METHODS)
one_of_each_family = pytest.mark.parametrize("method", FAMILIES)


@pytest.mark.parametrize(("method", "check"), PAIRS)
def test_method_passes(method: str, check: Check) -> None:
    check(method, SMALL.get(method))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("lcbo-paper", {"fit_every": 2}),
        ("lcbo-authors", {}),
        ("lcbo-theory", {}),
        ("scbo", {"batch": 2, "fit_every": 1, "transforms": "original"}),
        ("hdsafebo", {"batch": 3, "fit_every": 2}),
        ("cei", {"optimizer": "lbfgs", "optimizer_options": {"starts": 2, "steps": 9, "raw": 16},
                 "kernel": "matern52", "ard": True, "learn_noise": True}),
        ("cei", {"transforms": "original", "fit_every": 1}),
        ("cei-plain", FEW_STEPS),
        ("scbo-original", {"n_candidates": 64, "fit_every": 4}),
        ("epbo", {"transforms": "bilog", "fit_every": 2}),
        ("logcei", {"fit": "map", "fit_every": 4, "fit_growth": 0.0}),
        ("furbo", {"batch": 1, "fit": "map", "fit_every": 6, "length": (0.1, 0.09, 0.1),
                   "failure_tolerance": 1}),
    ],
)  # fmt: skip
def test_resumed_run_goes_on_whatever_the_options(method: str, options: Mapping[str, Any]) -> None:
    resumed_run_goes_on_bit_for_bit(method, {**SMALL.get(method, {}), **options})


def test_same_seed_in_a_fresh_process_gives_the_same_points() -> None:
    """One process for all methods: starting one costs more than all the runs."""
    fresh_process(*(Subject.of(name, SMALL.get(name)) for name in METHODS))


def test_settings_of_this_file_name_methods_that_exist() -> None:
    assert set(SMALL) <= set(registry.names())
    assert all(name in registry.names() and any(c.__name__ == k for c in ONE_BY_ONE) for name, k in EXEMPT)


@each_method
def test_initial_design_is_the_one_all_methods_share(method: str) -> None:
    subject = Subject.of(method, SMALL.get(method))
    run = subject.run(n_init=5, seed=7)
    np.testing.assert_array_equal([p.u for p in run.ask()], initial_design(run.method.setup))


def problem(method: str) -> Problem:
    """Four variables, one of them fixed, in units of their own."""
    bounds = {"a": (0.0, 2.0), "fixed": (7.0, 7.0), "b": (-1.0, 1.0), "e": (10.0, 30.0)}
    equality = "h == 0.1 +/- 0.05" if registry.spec(method).supports_equality else "h <= 0.3"
    return Problem(bounds, ["c <= 0.4", equality], "f")


def outcomes(x: np.ndarray) -> dict[str, float]:
    u = (x[[0, 2, 3]] - [0.0, -1.0, 10.0]) / [2.0, 2.0, 20.0]
    return {
        "f": float(np.sum((u - 0.3) ** 2)),
        "c": float(u[0] + np.sin(2 * u[1]) - 0.5),
        "h": float(u[1] * u[2]),
    }


def optimizer(method: str, **arguments: Any) -> Optimizer:
    return Optimizer(problem(method), method, budget=14, options=SMALL.get(method), **arguments)


def tell_all(opt: Optimizer, batch: list[Candidate]) -> None:
    for candidate in batch:
        opt.tell(candidate.id, outcomes(candidate.x))


def drive(opt: Optimizer, teller: Callable[[Optimizer, list[Candidate]], None] = tell_all) -> list[Candidate]:
    asked: list[Candidate] = []
    while batch := opt.ask():
        asked += batch
        teller(opt, batch)
    return asked


@each_method
def test_run_in_user_units_keeps_to_the_bounds_and_answers(method: str) -> None:
    opt = optimizer(method)
    X = np.array([candidate.x for candidate in drive(opt)])
    assert X.shape == (14, 4)
    assert np.all((opt.problem.lb <= X) & (opt.problem.ub >= X))
    assert np.all(X[:, 1] == 7.0)
    result = opt.result()
    assert result.nfev == 14
    assert np.all((result.x >= opt.problem.lb) & (result.x <= opt.problem.ub))
    recommended = opt.recommend()
    assert recommended is None or np.all((recommended >= opt.problem.lb) & (recommended <= opt.problem.ub))


@one_of_each_family
def test_outcomes_told_in_parts_are_the_same_outcomes(method: str) -> None:
    def in_parts(opt: Optimizer, batch: list[Candidate]) -> None:
        for name in ("h", "f", "c"):
            for candidate in batch:
                opt.tell(candidate.id, {name: outcomes(candidate.x)[name]})

    in_full, parts = drive(optimizer(method)), drive(optimizer(method), in_parts)
    np.testing.assert_array_equal([c.x for c in parts], [c.x for c in in_full])


@one_of_each_family
def test_not_finite_value_is_a_failure(method: str) -> None:
    def sometimes_nan(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            broken = {"c": (np.nan, np.inf)[candidate.id % 2]} if candidate.id % 3 == 2 else {}
            opt.tell(candidate.id, outcomes(candidate.x) | broken)

    opt = optimizer(method)
    drive(opt, sometimes_nan)
    assert opt.result().nfail == 4


@one_of_each_family
def test_data_brought_along_is_used_and_costs_no_budget(method: str) -> None:
    points = problem(method).space.from_unit(np.random.default_rng(3).random((6, 3)))
    opt = optimizer(method, data=[(x, outcomes(x)) for x in points])
    assert len(drive(opt)) == 14
    assert len(opt.result().history) == 20


@each_method
def test_run_in_which_everything_fails_ends(method: str) -> None:
    def failing(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            opt.tell(candidate.id, failed="diverged")

    opt = optimizer(method)
    assert len(drive(opt, failing)) == 14
    assert opt.result().x is None


@each_method
def test_unknown_option_is_refused_by_name(method: str) -> None:
    with pytest.raises(ArgumentError, match=f"^options: expected options of {method}.*got.*'no_such'"):
        lcbo.minimize(outcomes, [(0.0, 1.0)], "c <= 0", "f", budget=5, method=method, options={"no_such": 3})


@pytest.mark.parametrize("method", [n for n in registry.names() if not registry.spec(n).supports_equality])
def test_equality_is_refused_with_the_methods_that_treat_it(method: str) -> None:
    with pytest.raises(ArgumentError, match=rf"method: expected one .* equality.*: lcbo, .*cobyqa.*{method}"):
        lcbo.minimize(outcomes, [(0.0, 1.0)], "h == 0.1 +/- 0.01", "f", budget=5, method=method)
