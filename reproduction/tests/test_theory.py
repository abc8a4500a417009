"""Residuals against a projection, constants against a grid, and a small run against exact gradients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from lcbo.problems.gp_sample import GPSample
from reproduction.theory.residuals import (
    RHO,
    Study,
    averaged,
    descend,
    first_iteration,
    follow,
    marks,
    residuals,
    run_study,
    steepness,
)
from reproduction.theory.smoothness import smoothness


@pytest.fixture
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the constants need not be good."""
    monkeypatch.setattr("reproduction.theory.smoothness.POINTS", 100)


def cone_distance(g: np.ndarray, x: np.ndarray) -> float:
    """``dist^2(g, -N(x))`` as a bounded least-squares problem over the cone's elements."""
    low = np.where(x >= 1.0, -np.inf, 0.0)
    high = np.where(x <= 0.0, np.inf, 0.0)
    free = low < high
    if not free.any():
        return float(g @ g)
    fit = lsq_linear(np.eye(len(g))[:, free], g, bounds=(low[free], high[free]))
    return float(2.0 * fit.cost)


@pytest.mark.parametrize("seed", range(5))
def test_stationarity_is_the_distance_to_the_negative_normal_cone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.array([0.0, 0.0, 1.0, 1.0, 0.3, 0.7])
    value, gradient = rng.standard_normal(3), rng.standard_normal((3, 6))
    rho = 1.7
    r_s, r_f = residuals(x, value, gradient, rho)
    g = gradient[0] + rho * (value[1] * gradient[1] + value[2] * gradient[2])
    assert r_s == pytest.approx(cone_distance(g, x), rel=1e-6)
    assert r_f == pytest.approx(value[1] ** 2 + value[2] ** 2)


def test_averages_are_those_of_the_first_values() -> None:
    values = np.random.default_rng(0).random(9)
    np.testing.assert_allclose(averaged(values), [values[: k + 1].mean() for k in range(9)])


def test_hessians_are_the_derivatives_of_the_gradients() -> None:
    sample = GPSample(3, 1, kind="equality").sample
    x, h = np.array([0.2, 0.5, 0.9]), 1e-5
    numeric = np.stack(
        [(sample.gradients(x + h * e) - sample.gradients(x - h * e)) / (2 * h) for e in np.eye(3)], axis=-1
    )
    np.testing.assert_allclose(sample.hessians(x), numeric, rtol=1e-6, atol=1e-4)


def test_constants_reach_what_a_grid_finds_and_bound_the_penalized_gradient() -> None:
    problem = GPSample(2, 3, kind="equality")
    found = smoothness(problem)
    sample = problem.sample
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 21)] * 2), -1).reshape(-1, 2)
    values = sample.values(grid)
    gradients = np.array([sample.gradients(x) for x in grid])
    bends = np.abs(np.linalg.eigvalsh(np.array([sample.hessians(x) for x in grid]))).max(-1)
    assert found.bound_c >= 0.999 * np.abs(values[:, 1]).max()
    assert found.bound_grad_c >= 0.999 * np.linalg.norm(gradients[:, 1], axis=1).max()
    assert found.lipschitz_grad_f >= 0.999 * bends[:, 0].max()
    assert found.lipschitz_grad_c >= 0.999 * bends[:, 1].max()
    for rho in (1.0, 2.0):
        slope = gradients[:, 0] + rho * values[:, 1:] * gradients[:, 1]
        near = slice(0, -1), slice(1, None)
        change = np.linalg.norm(slope[near[0]] - slope[near[1]], axis=1)
        step = np.linalg.norm(grid[near[0]] - grid[near[1]], axis=1)
        assert np.all(change <= rho * found.total * step * 1.001)


def test_the_exact_recursion_follows_the_formula() -> None:
    """Three steps written out, the last one stopped by a bound."""
    problem, x, bend = GPSample(2, 0, kind="equality"), np.array([0.02, 0.6]), 3.0
    found = descend(problem, x, bend, 3)
    for k in (1, 2, 3):
        value, gradient = problem.evaluate(x), problem.gradient(x)
        slope = gradient["f"] + k**0.25 * value["h1"] * gradient["h1"]
        x = np.clip(x - slope / (2 * bend * np.sqrt(k)), 0.0, 1.0)
        at, there = problem.evaluate(x), problem.gradient(x)
        g = there["f"] + k**0.25 * at["h1"] * there["h1"]
        assert found[k - 1, 0] == pytest.approx(cone_distance(g, x), rel=1e-6)
        assert found[k - 1, 1] == pytest.approx(at["h1"] ** 2)
    assert x.min() == 0.0 or x.max() == 1.0


def test_a_run_has_the_theorem_s_batches_and_stays_near_the_exact_recursion() -> None:
    problem, bend, iterations = GPSample(2, 0, kind="equality"), 50.0, 5
    problem.noise_level = 1e-3  # the only difference left is what few points cannot tell
    path, counts = follow(problem, bend, iterations)
    assert np.diff(counts).tolist() == [2 * k * k + k for k in range(1, iterations + 1)]
    x = path[0]
    for k in range(1, iterations + 1):
        value, gradient = problem.sample.values(x[None])[0], problem.sample.gradients(x)
        slope = gradient[0] + RHO(k) * value[1] * gradient[1]
        x = np.clip(x - k**-0.5 / (2 * bend) * slope, 0.0, 1.0)
    moved = np.linalg.norm(x - path[0])
    assert moved > 0.05
    assert np.linalg.norm(path[-1] - x) < 0.2 * moved


def test_the_regularity_constant_is_the_least_slope_inside_the_cube() -> None:
    problem = GPSample(3, 0, kind="equality")
    path = np.random.default_rng(0).uniform(0.1, 0.9, (6, 3))
    slopes = [np.linalg.norm(problem.gradient(x)["h1"]) for x in path]
    assert steepness(problem, path) == pytest.approx(min(slopes))
    assert first_iteration(1000.0, 10.0) == pytest.approx(70.0 * 10.0 ** (4.0 - 8.0 / 3.0))


@pytest.mark.usefixtures("few_points")
def test_a_study_is_kept_and_not_made_again(tmp_path: Path) -> None:
    study = Study({2: 1}, iterations=2, exact_iterations=30, boosts=(1,))
    (first,) = run_study(tmp_path, study)
    series = first["series"]["1"]
    assert len(series["r_s"]) == len(series["r_f"]) == len(series["evaluations"]) == 2
    assert series["exact_K"] == marks(30).tolist()
    assert series["exact_r_s"][0] > 0.0
    path = tmp_path / "within-d2-s0.json"
    path.write_text(json.dumps({**first, "seed": 77}))
    assert run_study(tmp_path, study)[0]["seed"] == 77
