"""Whole runs of the default: resumed with a bent frame, and on inputs no one would wish for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lcbo import Optimizer, Problem
from lcbo.methods import registry
from lcbo.methods.lcbo.method import Lcbo
from lcbo.methods.protocol import Call, Outcome, Setup
from lcbo.models.grown import GrownGP
from lcbo.steps.linearized import LinearizedStep
from lcbo.terms import Term, Terms

Truth = Callable[[np.ndarray], np.ndarray]
TERMS = Terms((Term(row=1, sign=1.0, threshold=40.0),))


def pole(u: np.ndarray) -> np.ndarray:
    """Least material under a stress like one over the area; the optimum is ``u = 0.065``, f = 0.195."""
    return np.array([np.sum(u), np.sum(1.0 / (u + 0.01))])


def make(dim: int = 3, terms: Terms = TERMS, n_outputs: int = 2, **changes: Any) -> Lcbo:
    options = changes.pop("options", None)
    facts: dict[str, Any] = {"noise_var": (None,) * n_outputs, "budget": 90, "n_init": 6, "seed": 3}
    facts |= {"starts": np.zeros((0, dim)), **changes}
    method = registry.make("lcbo", Setup(dim=dim, n_outputs=n_outputs, terms=terms, **facts), options)
    assert isinstance(method, Lcbo)
    return method


def drive(method: Lcbo, truth: Truth, budget: int) -> np.ndarray:
    """Ask and tell until the budget is spent; return the points."""
    while method.archive.size < budget:
        for proposal in method.ask(None, budget - method.archive.size):
            method.tell(proposal.id, truth(proposal.u))
    return method.archive.u[:budget].copy()


def power(method: Lcbo) -> float:
    """The log power all variables have now; above 0 the lower ends are stretched."""
    first, *others = method.model.frame.warp.log_power.tolist()
    assert all(other == first for other in others)
    return float(first)


def test_a_run_with_poles_bends_its_variables_and_goes_on_bit_for_bit() -> None:
    """After every batch a method restored from state and calls asks for the same points."""
    method, calls, powers, grown = make(seed=7), list[Call](), [0.0], 0
    while method.archive.size < 70:
        again = make(seed=7)
        again.restore(json.loads(json.dumps(method.state())), calls)
        batch, same = method.ask(), again.ask()
        assert [p.id for p in batch] == [p.id for p in same]
        for ours, theirs in zip(batch, same, strict=True):
            np.testing.assert_array_equal(ours.u, theirs.u)
        assert method.state() == again.state()
        powers.append(power(method))
        grown += method.model.now is not None and isinstance(method.model.now.gp, GrownGP)
        for proposal in batch:
            y = None if proposal.id % 11 == 7 else pole(proposal.u)
            if y is not None and proposal.id % 13 == 9:
                y[1] = np.nan
            calls += [proposal, Outcome(proposal.id, y)]
            method.tell(proposal.id, y)
        chosen, theirs = method.recommend(), None
        again = make(seed=7)
        again.restore(json.loads(json.dumps(method.state())), calls)
        theirs = again.recommend()
        assert (chosen is None) == (theirs is None)
        if chosen is not None and theirs is not None:
            np.testing.assert_array_equal(chosen, theirs)
            assert any(np.array_equal(chosen, u) for u in method.archive.u[: method.archive.size])
    assert max(powers) > 0.0
    assert len(set(powers)) > 1, "the warp has changed on the way"
    assert grown > 3, "factors were kept between fits"


def largest(u: np.ndarray) -> np.ndarray:
    """A sum to be minimized while the largest of twenty planes stays below 0: kinks everywhere near it."""
    planes = np.random.default_rng(5).standard_normal((20, len(u)))
    return np.array([u.sum(), (planes @ (u - 0.6)).max() - 0.5])


def test_a_run_along_kinks_widens_its_model_and_goes_on_bit_for_bit() -> None:
    """Without noise; before every fifth batch a method restored from state and calls takes over.

    When a run meets kinks hangs on the last digits, so that after a third of this one its landings are told
    to be as wrong as those along kinks.
    """
    terms = Terms((Term(row=1, sign=1.0, threshold=0.0),))
    facts: dict[str, Any] = {"noise_var": (0.0, 0.0), "budget": 160, "n_init": 8}
    method, calls, rough = make(8, terms, **facts), list[Call](), list[bool]()
    while method.archive.size < 160:
        before = method
        if len(rough) % 5 == 0:
            method = make(8, terms, **facts)
            method.restore(json.loads(json.dumps(before.state())), calls)
        batch = method.ask()
        if before is not method:
            np.testing.assert_array_equal([p.u for p in batch], [p.u for p in before.ask()])
        for proposal in batch:
            y = largest(proposal.u)
            calls += [proposal, Outcome(proposal.id, y)]
            method.tell(proposal.id, y)
        rough.append(method.regime.rough)
        assert method.window.size == 8 * (8 if rough[-1] else 3)
        if method.archive.size >= 60 and not any(rough):
            assert isinstance(method.step, LinearizedStep)
            for radius in np.geomspace(0.1, 0.001, 20):
                method.step.roughness.observe(0.9, radius)
            assert method.step.rough
    assert any(rough)
    assert method.regime.level == 0.0
    assert (method.archive.y[:160, 1] <= 0.0).mean() > 0.05


def test_a_run_in_a_file_closed_and_opened_again_asks_for_the_same_points(quick_folder: Path) -> None:
    problem = Problem([(0.0, 1.0)] * 3, ["stress <= 40"], "mass")

    def told(x: np.ndarray) -> dict[str, float]:
        return dict(zip(("mass", "stress"), pole(x).tolist(), strict=True))

    def go(optimizer: Optimizer, until: int) -> list[list[float]]:
        points = []
        while optimizer.n_asked < until and (batch := optimizer.pending or optimizer.ask()):
            for candidate in batch:
                points.append(candidate.x.tolist())
                optimizer.tell(candidate.id, told(candidate.x))
        return points

    whole = go(Optimizer(problem, budget=60, rng=3), 60)
    path = quick_folder / "run.db"
    with Optimizer(problem, budget=60, rng=3, store=path) as optimizer:
        parts = go(optimizer, 8)
    for until in (20, 35, 60):
        with Optimizer.open(path, problem) as optimizer:
            parts += go(optimizer, until)
    assert parts == whole
    assert len(whole) == 60


def test_bent_variables_find_the_optimum_of_a_pole() -> None:
    """By hand: ``3 / (u + 0.01) = 40`` gives ``u = 0.065``."""
    best = []
    for seed in range(3):
        method = make(seed=seed)
        drive(method, pole, 90)
        y = method.archive.y[:90]
        best.append(y[y[:, 1] <= 40.0, 0].min())
    assert np.median(best) == pytest.approx(0.195, rel=0.02)


def test_belief_of_a_bent_run_has_the_gradient_of_its_mean() -> None:
    method = make()
    while power(method) == 0.0:
        drive(method, pole, method.archive.size + 1)
    assert method.iterate is not None
    u = np.clip(method.iterate.u, 0.02, 0.98)
    here = method.belief(u)
    assert here is not None
    for i in range(3):
        shift = 1e-7 * np.eye(3)[i]
        ahead, behind = method.belief(u + shift), method.belief(u - shift)
        assert ahead is not None
        assert behind is not None
        numeric = (ahead.mean - behind.mean) / 2e-7
        np.testing.assert_allclose(here.gradient[:, i], numeric, rtol=1e-3, atol=1e-4 * here.scale.max())


def test_a_chosen_frame_is_left_alone() -> None:
    method = make(options={"adapt_frame": False})
    drive(method, pole, 40)
    assert power(method) == 0.0
    np.testing.assert_array_equal(method.model.frame.center, np.zeros(3))
    assert method.model.frame.width == 1.0


def test_powers_of_two_in_the_outputs_change_nothing() -> None:
    plain = drive(make(), pole, 40)
    scale = 2.0**40
    scaled_terms = Terms((Term(row=1, sign=1.0, threshold=40.0 * scale),))
    scaled = drive(make(terms=scaled_terms), lambda u: scale * pole(u), 40)
    np.testing.assert_allclose(scaled, plain, rtol=0.0, atol=1e-9)


HARD: dict[str, Truth] = {
    "huge": lambda u: 1e100 * (pole(u) - [0.0, 40.0]),
    "tiny": lambda u: 1e-100 * (pole(u) - [0.0, 40.0]),
    "far from zero": lambda u: 1e12 + pole(u),
    "constant": lambda _: np.array([5.0, -1e9]),
    "zero": lambda _: np.zeros(2),
    "a step": lambda u: np.array([float(u[0] > 0.5), float(u[-1] > 0.3) - 0.5]),
    "one spike": lambda u: np.array([1e30 if u[0] > 0.8 else np.sum(u), u[-1] - 0.5]),
    "objective only missing": lambda u: np.array([np.nan, u[0] - 0.5]),
    "constraint missing": lambda u: np.array([np.sum(u**2), np.nan]),
}


@pytest.mark.filterwarnings("ignore::lcbo.errors.NumericalRescueWarning")
@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", HARD)
def test_a_hard_run_goes_on(name: str, dim: int) -> None:
    method = make(dim, Terms((Term(row=1, sign=1.0, threshold=0.0),)), budget=28, n_init=4)
    u = drive(method, HARD[name], 28)
    assert np.all((u >= 0.0) & (u <= 1.0)), "and so finite"
    chosen = method.recommend()
    assert chosen is not None
    assert any(np.array_equal(chosen, point) for point in u)
    assert all(np.isfinite(number) for number in method.info().values())
    json.dumps(method.state(), allow_nan=False)


@pytest.mark.filterwarnings("ignore::lcbo.errors.NumericalRescueWarning")
def test_a_run_told_of_one_point_over_and_over_goes_on() -> None:
    method = make(2, budget=40, n_init=3)
    for _ in range(30):
        method.include(np.array([0.25, 0.75]), pole(np.array([0.25, 0.75])))
    drive(method, pole, 60)
    assert method.recommend() is not None


def test_in_one_variable_the_bound_of_a_constraint_is_found() -> None:
    method = make(1, Terms((Term(row=1, sign=-1.0, threshold=0.3),)), budget=30, n_init=3)
    drive(method, lambda u: np.array([u[0] ** 2, u[0]]), 30)  # u >= 0.3
    chosen = method.recommend()
    assert chosen is not None
    assert chosen[0] == pytest.approx(0.3, abs=5e-3)


def test_a_budget_of_one_is_one_evaluation() -> None:
    with Optimizer(Problem([(0.0, 1.0)] * 2, ["c <= 1"], "f"), budget=1, rng=0) as optimizer:
        (only,) = optimizer.ask()
        optimizer.tell(only.id, {"f": 1.0, "c": 0.0})
        assert optimizer.ask() == []
        np.testing.assert_array_equal(optimizer.result().x, only.x)


@pytest.mark.parametrize("shares", [2, 3])
def test_failures_at_the_iterate_do_not_stop_a_run(shares: int) -> None:
    """Every second or third iterate fails as a whole; what is learned stays finite and in the cube."""
    method = make(2, budget=50, n_init=4)
    while method.archive.size < 50:
        for proposal in method.ask(None, 50 - method.archive.size):
            failed = proposal.role == "iterate" and proposal.iteration % shares == 0
            method.tell(proposal.id, None if failed else pole(proposal.u))
    assert method.iterate is not None
    assert np.all((method.iterate.u >= 0.0) & (method.iterate.u <= 1.0))
    json.dumps(method.state(), allow_nan=False)
    assert method.recommend() is not None


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_nothing_is_evaluated_twice_where_there_is_no_noise(dim: int) -> None:
    """Neither the best point of the design nor a corner of the box that is chosen again."""

    def fun(u: np.ndarray) -> np.ndarray:
        return np.array([np.sum((u - 0.3) ** 2), 50.0 - 20.0 * u[0]])

    u = drive(make(dim, budget=30, noise_var=(0.0, 0.0)), fun, 30)
    assert len(np.unique(u, axis=0)) == 30
    noisy = drive(make(dim, budget=14, noise_var=(None, 0.0)), fun, 14)
    assert len(np.unique(noisy, axis=0)) < 14  # repeats tell how much noise there is
