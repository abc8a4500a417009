"""Every bad option is refused by name when the method is built, before the first evaluation."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import lcbo
from lcbo.errors import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Method, Setup
from lcbo.terms import Term, Terms

LCBO = ("lcbo", "lcbo-paper", "lcbo-authors", "lcbo-theory")
NAN, INF = float("nan"), float("inf")


def make(name: str, **options: Any) -> Method:
    terms = Terms((Term(row=1, sign=1.0, threshold=0.0),))
    return registry.make(name, Setup(3, 2, terms, (None, None), 20, 3, np.zeros((0, 3)), 0), options)


MODEL = [
    ("kernel", "x"),
    ("kernel", None),
    ("fit", "x"),
    ("fit_every", 0),
    ("fit_every", 2.5),
    ("fit_every", True),
    ("standardize", 1),
    ("ard", "yes"),
    ("learn_noise", None),
    ("hyperparameters", [1.0]),
    ("hyperparameters", {"length": 1.0}),
    ("hyperparameters", {"lengthscale": 0.0}),
    ("hyperparameters", {"lengthscale": [1.0, 1.0, 1.0]}),
    ("hyperparameters", {"noise_var": -0.1}),
    ("hyperparameters", {"mean": "high"}),
]
FAMILY = [
    ("average_repeats", 0),
    ("repeats", -1),
    ("repeats", "two"),
    ("repeats", lambda _: NAN),
    ("noise_probes", -1),
    ("noise_probes", 1.5),
    ("explore", "many"),
    ("explore", NAN),
    ("explore", True),
    ("explore", np.array([1, 2])),
    ("explore", lambda k: -k),
    ("explore", lambda _: "x"),
    ("window", 0.0),
    ("window", INF),
    ("window", "all"),
    ("window", [3.0]),
    ("window_limit", 1),
    ("window_limit", 30.0),
    ("delta", "wide"),
    ("delta", 0.0),
    ("delta", [0.1]),
    ("delta", np.array([0.1, 0.2])),
    ("explorer", "x"),
    ("explorer", None),
    ("explorer_options", [3]),
    ("explorer_options", {"stepz": 3}),
    ("condition_on_repeats", "no"),
    ("step", "x"),
    ("step", 1),
    ("radius", 0.1),
    ("radius", (0.1, 0.02)),
    ("radius", (0.1, 0.0, 0.5)),
    ("radius", (0.01, 0.02, 0.5)),
    ("radius", (0.1, 0.02, INF)),
    ("radius", ("a", "b", "c")),
    ("landing", 0.0),
    ("landing", 1.0),
    ("landing", NAN),
    ("landing", "likely"),
    ("adapt_frame", 1),
    ("inward", "yes"),
    ("rho", -1.0),
    ("rho", lambda _: None),
    ("eta", INF),
    ("eta", "long"),
    ("normalize", 0.5),
    ("wait_for_all", "yes"),
]
CLASSICAL = [
    ("epbo", "rho", lambda _: "x"),
    ("epbo", "rho", lambda: 1.0),
    ("cei", "hyperparameters", {"lengthscale": "3"}),
    ("scbo", "hyperparameters", {"lengthscale": True}),
    ("cobyqa", "radius", -1.0),
    ("cobyqa", "final_radius", 0.2),
    ("cobyqa", "scale", 2),
    ("cobyla", "radius", 0.6),
    ("cobyla", "final_radius", 0.0),
    ("cobyla", "scale", None),
    ("slsqp", "difference", 0.6),
    ("slsqp", "radius", 0.0),
    ("slsqp", "margin", -1.0),
    ("slsqp", "tol", "fine"),
    ("slsqp", "scale", 1),
    ("cmaes", "sigma", 0.0),
    ("cmaes", "sigma", "wide"),
    ("cmaes", "popsize", 1),
    ("cmaes", "popsize", 4.5),
    ("cmaes", "feasible_tail", 1.5),
]


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [*((name, *case) for name in LCBO for case in MODEL + FAMILY), *CLASSICAL],
    ids=lambda value: value if isinstance(value, str) else repr(value).partition(" at 0x")[0],
)
def test_bad_option_is_refused_by_name(name: str, option: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^options, {option}\b.*: expected .+; got .+"):
        make(name, **{option: value})


@pytest.mark.parametrize(
    ("explorer", "setting", "value"),
    [
        ("fast", "polish", -1),
        ("fast", "polish", 1.5),
        ("fast", "reaches", []),
        ("fast", "reaches", [0.1, -1.0]),
        ("fast", "starts", 3),
        ("paper", "starts", 0),
        ("paper", "steps", "many"),
        ("paper", "rate", 0.0),
        ("sequential", "temperature", NAN),
        ("axes", "reaches", 1.0),
    ],
)
def test_bad_setting_of_an_explorer_is_refused(explorer: str, setting: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^options, explorer_options.*{setting}"):
        make("lcbo", explorer=explorer, explorer_options={setting: value})


@pytest.mark.parametrize("explorer", ["fast", "axes"])
def test_lists_of_a_run_file_are_settings(explorer: str) -> None:
    make("lcbo", explorer=explorer, explorer_options={"reaches": [0.5, 1.0]}, radius=[0.2, 0.1, 0.4])


def test_an_iteration_without_evaluations_is_refused() -> None:
    with pytest.raises(ArgumentError, match="options, repeats: expected at least one evaluation"):
        make("lcbo", repeats=0, explore=0)


@pytest.mark.parametrize("option", ["repeats", "explore"])
def test_nonsense_of_a_schedule_is_refused_where_it_comes(option: str) -> None:
    method = make("lcbo", **{option: lambda k: 1 if k < 2 else NAN})
    for _ in range(2):
        for proposal in method.ask():
            method.tell(proposal.id, np.array([proposal.u.sum(), 0.0]))
    with pytest.raises(ArgumentError, match=rf"options, {option} at k = 2: .* at least 0.*; got nan"):
        method.ask()


def test_hyperparameters_may_be_one_number_or_one_per_output() -> None:
    for value in (0.5, [0.5], [0.5, 0.6], [[0.5, 0.6, 0.7]]):
        make("lcbo", hyperparameters={"lengthscale": value})


@pytest.mark.parametrize("option", ["explore", "repeats"])
@pytest.mark.parametrize("method", ["lcbo", "lcbo-paper"])
def test_batch_far_beyond_the_budget_answers_at_once(method: str, option: str) -> None:
    began = time.perf_counter()
    result = lcbo.minimize(
        lambda x: {"f": float(x @ x), "c": float(x[0])},
        [(0.0, 1.0)] * 3,
        ["c <= 0.5"],
        "f",
        budget=12,
        method=method,
        options={option: 2000},
        rng=0,
        progress=False,
    )
    assert result.nfev == 12
    assert time.perf_counter() - began < 10.0


def test_batch_up_to_the_budget_is_chosen_in_full() -> None:
    """Its rest waits for a larger budget, so it must be what it would have been without a limit."""
    queued = []
    for budget in (20, 1000):
        setup = Setup(3, 1, Terms(), (0.0,), budget, 3, np.zeros((0, 3)), 0)
        method = registry.make("lcbo", setup, {"explore": 19})
        for proposal in method.ask():
            method.tell(proposal.id, np.array([proposal.u.sum()]))
        queued.append(method.ask(None, 17) + method.ask())
    assert len(queued[0]) == 19  # the iterate is the best of the design, and known without noise
    for short, long in zip(*queued, strict=True):
        np.testing.assert_array_equal(short.u, long.u)


@pytest.mark.parametrize("name", registry.names())
def test_every_option_is_documented_in_its_class(name: str) -> None:
    spec = registry.spec(name)
    assert spec.options_class is not None
    said = "\n".join(base.__doc__ or "" for base in spec.options_class.__mro__)
    for option in spec.options:
        assert f"\n        {option}: " in said, option
