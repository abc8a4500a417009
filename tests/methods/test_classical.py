"""The classical peers: COBYQA against SciPy itself, the others against what they promise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, NonlinearConstraint, minimize
from scipy.stats import qmc

import lcbo
from lcbo.methods import registry
from lcbo.methods.base.model_free import ModelFree
from lcbo.methods.base.queued import initial_design
from lcbo.methods.protocol import Array, Method, Proposal, Setup
from lcbo.optimizer.log import WORTHLESS
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

UPPER, LOWER = Term(1, 1.0, 0.4), Term(1, -1.0, -2.0)
EQUAL = Term(2, -1.0, 0.3, equality=True, tol=1e-3)
ALL_KINDS = [Terms(), Terms((UPPER,)), Terms((UPPER, LOWER, EQUAL))]
Truth = Callable[[Array], Array]


def setup(dim: int, terms: Terms, n_init: int = 0, seed: int = 0, **given: Any) -> Setup:
    fields = {"budget": None, "starts": np.zeros((0, dim))} | given
    return Setup(
        dim=dim, n_outputs=3, terms=terms, noise_var=(None,) * 3, n_init=n_init or dim, seed=seed, **fields
    )


def toy(seed: int, dim: int) -> Truth:
    """Rotated bowl with ripples, a curved inequality and a quadratic for the equality."""
    rng = np.random.default_rng(seed)
    center, weights, shape = rng.random(dim), rng.normal(size=dim), rng.normal(size=(dim, dim))

    def rows(u: Array) -> Array:
        bowl = np.sum((shape @ (u - center)) ** 2) + np.sin(5.0 * u).sum()
        return np.array([1e3 * bowl, np.sin(3.0 * u[0]) + weights @ u**2, 1e-2 * np.mean(u**2) + 0.29])

    return rows


def drive(method: Method, truth: Truth, count: int) -> list[Proposal]:
    asked: list[Proposal] = []
    while len(asked) < count:
        asked += (batch := method.ask(most=count - len(asked)))
        assert batch
        for p in batch:
            method.tell(p.id, truth(p.u))
    return asked


def points(asked: list[Proposal]) -> Array:
    return np.array([p.u for p in asked])


def scipy_s_own(truth: Truth, start: Array, terms: Terms, std: Array, **options: Any) -> Array:
    """Points SciPy's COBYQA evaluates in the unit cube, objective and terms over ``std``."""
    seen: list[Array] = []

    def objective(u: Array) -> float:
        seen.append(u.copy())
        return float(truth(u)[0] / std[0])

    def conditions(u: Array) -> Array:
        # SciPy asks for constraints again at points it has clipped before, without clipping.
        return terms.values(truth(np.clip(u, 0.0, 1.0))) / std[terms.rows]

    lower = [0.0 if t.equality else -np.inf for t in terms]
    minimize(
        objective,
        start,
        method="COBYQA",
        bounds=Bounds(np.zeros(len(start)), np.ones(len(start))),
        constraints=NonlinearConstraint(conditions, lower, np.zeros(len(terms))) if terms else (),
        options={"initial_tr_radius": 0.1, **options},
    )
    return np.array(seen)


ALL = Terms((UPPER, LOWER, EQUAL))


@pytest.mark.parametrize(
    ("dim", "terms", "scale"),
    [(2, Terms(), True), (2, Terms((UPPER,)), False), (2, ALL, False), (5, ALL, True)],
    ids=["free", "upper", "all", "many"],
)
def test_cobyqa_is_scipy_s_own_run_bit_for_bit(dim: int, terms: Terms, scale: bool) -> None:
    truth, given = toy(dim, dim), setup(dim, terms, seed=dim)
    design = initial_design(given)
    y = np.array([truth(u) for u in design])
    start, std = design[terms.best(y)], Scaling.of(y).std if scale else np.ones(3)
    direct = scipy_s_own(truth, start, terms, std, maxfev=45)
    direct = direct[np.array_equal(direct[0], start) :]  # the start is known from the design
    ours = points(drive(registry.make("cobyqa", given, {"scale": scale}), truth, dim + len(direct)))
    np.testing.assert_array_equal(ours[dim:], direct)


def test_cobyqa_from_a_given_point_is_scipy_s_run_from_there_and_goes_on_after_its_end() -> None:
    truth, start = toy(5, 2), np.array([0.5, 0.4])
    direct = scipy_s_own(truth, start, Terms((UPPER,)), np.ones(3))
    method = registry.make(
        "cobyqa", setup(2, Terms((UPPER,)), n_init=1, starts=start[None, :]), {"scale": False}
    )
    np.testing.assert_array_equal(points(drive(method, truth, len(direct))), direct)
    assert method.info()["restarts"] == 0
    method.ask()
    assert method.info()["restarts"] == 1


def test_two_runs_of_cobyqa_go_on_side_by_side_and_with_scipy_s_own() -> None:
    """SciPy runs COBYQA under a lock; a run that waits for an outcome must not hold it."""
    truth = toy(0, 2)
    alone = points(drive(registry.make("cobyqa", setup(2, Terms((UPPER,)))), truth, 20))
    pair = [registry.make("cobyqa", setup(2, Terms((UPPER,)))) for _ in range(2)]
    asked: tuple[list[Proposal], list[Proposal]] = ([], [])
    for _ in range(19):
        for method, log in zip(pair, asked, strict=True):
            log += (batch := method.ask())
            for p in batch:
                minimize(lambda x: float(x[0] ** 2), [0.3], method="COBYQA", options={"maxfev": 4})
                method.tell(p.id, truth(p.u))
    for log in asked:
        np.testing.assert_array_equal(points(log), alone)


@pytest.mark.parametrize(
    ("name", "excess"), [("cobyqa", 1e-6), ("cobyla", 1e-3), ("slsqp", 1e-5), ("cmaes", 0.1), ("sobol", 0.3)]
)
def test_known_answer_is_reached_and_the_best_observed_point_is_the_answer(name: str, excess: float) -> None:
    """The point of ``mean(x) >= 1`` nearest to 0 is (1, 1, 1), at distance sqrt(3)."""
    result = lcbo.minimize(
        lambda x: {"f": np.sqrt(np.sum(x**2)), "c": np.mean(x)},
        [(-1.0, 3.0)] * 3,
        ["c >= 1"],
        "f",
        budget=150,
        method=name,
        progress=False,
    )
    assert result.success
    assert result.x_recommended is None
    np.testing.assert_array_equal(result.x, result.x_observed)
    f, c = (result.history.outcomes[name] for name in "fc")
    best, kept = np.nanmin(result.history.best_feasible), f[c >= 1.0].min(initial=np.inf)
    assert result.fun == (kept if kept <= best + WORTHLESS * np.std(f) else best)
    assert np.mean(result.x) >= 1.0 - result.feasibility_tol["c"]
    assert 1.0 - 1e-6 <= result.fun / np.sqrt(3.0) <= 1.0 + excess


@pytest.mark.parametrize("name", ["cobyqa", "cobyla", "slsqp", "cmaes"])
def test_run_goes_on_after_convergence(name: str) -> None:
    truth = toy(1, 2)
    method = registry.make(name, setup(2, Terms((UPPER,))))
    drive(method, truth, 700 if name == "cmaes" else 150)
    assert method.info()["restarts"] >= 1


def test_cobyla_s_first_simplex_goes_inwards_from_a_corner() -> None:
    """Every axis is tried one radius into the cube, also from a start on its boundary."""
    corner = np.array([[0.0, 1.0, 0.97]])
    method = registry.make("cobyla", setup(3, Terms(), n_init=1, starts=corner), {"radius": 0.2})
    steps = points(drive(method, lambda u: np.array([10.0 - u.sum(), 0.0, 0.0]), 4))[1:] - corner
    np.testing.assert_allclose(np.sort(np.abs(steps).max(1)), [0.2, 0.2, 0.2])


@pytest.mark.parametrize(("name", "size"), [("cmaes", 4 + int(3 * np.log(5))), ("sobol", 1)])
def test_batches_have_the_size_they_should(name: str, size: int) -> None:
    method = registry.make(name, setup(5, Terms((UPPER,))))
    drive(method, toy(0, 5), 5)
    assert len(method.ask()) == size
    assert method.ask() == []


def test_cmaes_samples_around_the_best_of_the_design_with_the_given_step() -> None:
    truth, given = toy(2, 4), setup(4, Terms((UPPER,)), n_init=8)
    method = registry.make("cmaes", given, {"popsize": 400, "sigma": 0.02})
    design = points(drive(method, truth, 8))
    y = np.array([truth(u) for u in design])
    cloud = np.array([p.u for p in method.ask()])
    inner = (np.abs(cloud - 0.5) < 0.4).all(0)
    assert inner.any()
    np.testing.assert_allclose(cloud.mean(0)[inner], design[given.terms.best(y)][inner], atol=0.005)
    np.testing.assert_allclose(cloud.std(0)[inner], 0.02, rtol=0.15)


def test_cmaes_looks_for_a_feasible_point_at_the_end_of_the_budget() -> None:
    """With the objective all but infinite in slope the Lagrangian alone stays on the infeasible side."""

    def truth(u: Array) -> Array:
        return np.array([-100.0 * u.sum(), u.mean(), 0.0])

    found = []
    for tail in (0.0, 0.3):
        given = setup(6, Terms((Term(1, 1.0, 0.3),)), n_init=2, budget=90, starts=np.full((1, 6), 0.9))
        method = registry.make("cmaes", given, {"feasible_tail": tail})
        found.append(points(drive(method, truth, 90))[60:].mean())
    assert found[1] < found[0] - 0.05


def test_cmaes_reads_and_writes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cma_signals.in").write_text("{'timeout': 0}")
    method = registry.make("cmaes", setup(3, Terms((UPPER, EQUAL))))
    drive(method, toy(0, 3), 60)
    assert [p.name for p in tmp_path.iterdir()] == ["cma_signals.in"]
    assert method.info()["restarts"] == 0


def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(ImportError, match=r"method cmaes needs the package cma: pip install 'lcbo\[cma\]'"):
        registry.make("cmaes", setup(2, Terms()))


def test_sobol_points_are_one_scrambled_sequence() -> None:
    method = registry.make("sobol", setup(4, Terms((UPPER,)), n_init=3, seed=7))
    assert isinstance(method, ModelFree)
    drive(method, toy(0, 4), 3)
    asked: list[Proposal] = []
    for n in (5, 1, 40, 210):
        asked += method.ask(n)
    cloud = points(asked)
    assert len(cloud) == 256
    for column in cloud.T:  # a net: every 256th of an axis is hit once
        assert sorted(np.floor(256 * column).astype(int)) == list(range(256))
    assert qmc.discrepancy(cloud) < 0.2 * qmc.discrepancy(np.random.default_rng(0).random((256, 4)))


def test_sobol_can_always_say_more() -> None:
    method = registry.make("sobol", setup(2, Terms(), n_init=4))
    assert [p.role for p in method.ask(6)] == ["init"] * 4 + ["explore"] * 2
    assert len(method.ask(3)) == 3
    assert method.ask() == []
    assert len(method.ask(9, most=2)) == 2


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cobyqa", {"radius": 0.125, "final_radius": 0.03125, "scale": False}),
        ("cobyla", {"radius": 0.125, "final_radius": 0.03125, "scale": False}),
        ("slsqp", {"difference": 0.125, "radius": 0.25, "margin": 0.5, "tol": 0.125, "scale": False}),
        ("cmaes", {"sigma": 0.125, "popsize": 9, "feasible_tail": 0.5}),
    ],
)
def test_every_option_reaches_the_method(name: str, options: dict[str, Any]) -> None:
    assert set(options) == set(registry.spec(name).options)
    method = registry.make(name, setup(2, Terms()), options)
    assert all(getattr(method.options, option) == value for option, value in options.items())
