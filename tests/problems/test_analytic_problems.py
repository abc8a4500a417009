import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from lcbo.problems import make

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "analytic.json").read_text())


def problem_of(key):
    return make(GOLDEN[key]["name"], **GOLDEN[key]["variant"])


def row(problem, x):
    outcomes = problem.evaluate(np.clip(x, problem.lb, problem.ub))
    return np.array([outcomes[name] for name in problem.outcomes])


def jacobian(problem, x, step=1e-6):
    rows = []
    for i in range(problem.dim):
        width = step * (problem.ub[i] - problem.lb[i])
        up, down = x.copy(), x.copy()
        up[i], down[i] = min(x[i] + width, problem.ub[i]), max(x[i] - width, problem.lb[i])
        rows.append((row(problem, up) - row(problem, down)) / (up[i] - down[i]))
    return np.array(rows).T


@pytest.mark.parametrize("key", GOLDEN)
def test_golden_values(key):
    problem, golden = problem_of(key), GOLDEN[key]
    np.testing.assert_allclose(
        row(problem, (problem.lb + problem.ub) / 2), golden["mid"], rtol=1e-9, atol=1e-12
    )
    assert row(problem, np.array(golden["x"]))[0] == pytest.approx(golden["f"], rel=1e-9, abs=1e-12)
    assert problem.best_known.value == pytest.approx(golden["optimum"], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("key", GOLDEN)
def test_best_known_point_satisfies_the_kkt_conditions(key):
    """Gradient of f + multipliers times active gradients = 0, in variables scaled to the box."""
    problem = problem_of(key)
    x = problem.best_known.x
    span = problem.ub - problem.lb
    values, slopes = row(problem, x), jacobian(problem, x) * span
    columns, low = [], []
    for name, value, slope in zip(problem.outcomes[1:], values[1:], slopes[1:], strict=True):
        size = np.linalg.norm(slope)
        if name.startswith("h") or value > -1e-6 * size:
            columns.append(slope / max(size, 1e-12))
            low.append(-np.inf if name.startswith("h") else 0.0)
    for i, unit in enumerate(np.eye(problem.dim)):
        if x[i] - problem.lb[i] < 1e-7 * span[i]:
            columns.append(-unit)
            low.append(0.0)
        if problem.ub[i] - x[i] < 1e-7 * span[i]:
            columns.append(unit)
            low.append(0.0)
    gradient = slopes[0]
    residual = gradient
    if columns:
        fit = lsq_linear(np.array(columns).T, -gradient, bounds=(low, np.inf))
        residual = gradient + np.array(columns).T @ fit.x
    assert np.linalg.norm(residual) <= 1e-4 * max(1.0, np.linalg.norm(gradient))


def test_ackley_answer_is_exact():
    problem = make("ackley10")
    assert problem.evaluate(np.zeros(10))["f"] == 0.0
    assert problem.evaluate(np.full(10, -1.0))["f"] == pytest.approx(20.0 * (1.0 - np.exp(-0.2)))
    assert problem.evaluate(np.full(10, 2.0))["g2"] == pytest.approx(np.sqrt(40.0) - 5.0)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_keane_and_spring_agree_with_botorch_at_random_points():
    import torch
    from botorch.test_functions import synthetic

    oracles = {
        "keane": synthetic.KeaneBumpFunction(dim=20),
        "tension_spring": synthetic.TensionCompressionString(),
    }
    for name, oracle in oracles.items():
        problem = make(name)
        low = np.maximum(problem.lb, oracle.bounds[0].numpy())
        high = np.minimum(problem.ub, oracle.bounds[1].numpy())
        X = np.random.default_rng(0).uniform(low, high, (50, problem.dim))
        outcomes, points = problem.evaluate_batch(X), torch.tensor(X)
        np.testing.assert_allclose(outcomes["f"], oracle.evaluate_true(points).numpy(), rtol=1e-9)
        for i, slack in enumerate(oracle.evaluate_slack_true(points).numpy().T):
            whole = np.abs(slack) != 100.0  # BoTorch cuts the slacks of the spring
            got = outcomes[f"g{i + 1}"]
            np.testing.assert_allclose(got[whole], -slack[whole], rtol=1e-9, atol=1e-9)


def test_hock_schittkowski_by_hand():
    at = {
        "hs6": ([2.0, -1.0], [1.0, -50.0]),
        "hs7": ([1.0, 2.0], [np.log(2.0) - 2.0, 4.0]),
        "hs28": ([1.0, 2.0, 3.0], [34.0, 13.0]),
        "hs39": ([2.0, 1.0, 3.0, -1.0], [-2.0, -16.0, 2.0]),
        "hs40": ([1.0, 2.0, -1.0, 0.5], [1.0, 4.0, 1.5, -1.75]),
        "hs48": ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 10.0, -12.0]),
        "hs71": ([1.0, 5.0, 5.0, 1.0], [16.0, 0.0, 12.0]),
        "hs79": ([1.0, 2.0, 1.0, 0.0, 2.0], [19.0, 4.0 - 3 * np.sqrt(2), 3.0 - 2 * np.sqrt(2), 0.0]),
    }
    for name, (x, expected) in at.items():
        np.testing.assert_allclose(row(make(name), np.array(x)), expected, rtol=1e-12, atol=1e-12)


def test_cec2006_by_hand():
    ones = np.ones(10)
    at = {
        "g01": (np.ones(13), [-9.0, -4.0, -4.0, -4.0, -7.0, -7.0, -7.0, -2.0, -2.0, -2.0]),
        "g03": (ones, [-1e5, 9.0]),
        "g07": (
            ones,
            [
                3 - 30 + 45 + 81 + 64 + 4 + 0 + 5 + 700 + 162 + 36,
                -90.0, -13.0, -15.0, 3 + 16 + 2 - 127.0, 5 + 8 + 25 - 42.0, 1 + 2 - 2 + 14 - 6.0,
                24.5 + 18 + 3 - 31.0, 3 + 588 - 7.0,
            ],
        ),
        "g10": (
            [1000.0, 2000.0, 3000.0, 100.0, 200.0, 300.0, 400.0, 500.0],
            [6000.0, 0.0, 0.25, 2.0, -200000.081, -475e3, -15e4],
        ),
        "g13": ([1.0, -1.0, 2.0, 0.5, -1.0], [np.e, -2.75, 0.5, 1.0]),
        "g14": (
            ones,
            [-6.089 - 17.164 - 34.054 - 5.914 - 24.721 - 14.986 - 24.1 - 10.708 - 26.662 - 22.179
             + 10 * np.log(0.1), 5.0, 4.0, 5.0],
        ),
        "g18": (
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            [-0.5 * (4 - 6 + 27 - 45 + 40 - 42), 24, 80, 60, 49, 31, 71, 7, 31, 49, 2, -27, 45, 2],
        ),
    }  # fmt: skip
    for name, (x, expected) in at.items():
        np.testing.assert_allclose(row(make(name), np.array(x)), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("d", [3, 7, 200, 1000])
def test_closed_forms_hold_in_any_dimension(d):
    for name in ("eq_sphere", "eq_qp"):
        problem = make(name, d=d)
        outcomes = problem.evaluate(problem.best_known.x)
        assert problem.violation(problem.best_known.x) == 0.0
        assert outcomes["f"] == pytest.approx(problem.best_known.value, rel=1e-12)
        X = np.random.default_rng(0).normal(problem.best_known.x, 1e-2, (5, d))
        for x in np.clip(X, problem.lb, problem.ub):
            if problem.violation(x) == 0.0:
                assert problem.evaluate(x)["f"] >= problem.best_known.value - 1e-2


@pytest.mark.parametrize("name", ["eq_sphere", "hs71", "g13"])
def test_tolerance_is_a_variant(name):
    problem = make(name, tol=1e-5)
    assert [c.tol for c in problem.constraints if c.eq is not None] == [1e-5] * (3 if name == "g13" else 1)
