import json
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize

from lcbo.problems import make

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gp_sample.json").read_text())


def instance(key):
    scale, d, seed = key.split("_")
    return make("gp_sample", d=int(d[1:]), seed=int(seed[1:]), scale=scale)


@pytest.mark.parametrize("key", GOLDEN)
def test_golden_values(key):
    problem, golden = instance(key), GOLDEN[key]
    d = problem.dim
    outcomes = problem.evaluate_batch(np.stack([np.full(d, 0.5), np.zeros(d), np.linspace(0.0, 1.0, d)]))
    np.testing.assert_allclose(outcomes["f"], golden["f"], rtol=1e-9)
    np.testing.assert_allclose(np.stack([outcomes["c1"], outcomes["c2"]], axis=1), golden["c"], rtol=1e-9)
    assert problem.best_known.value == pytest.approx(golden["best"], abs=1e-8)
    np.testing.assert_allclose(problem.hyperparameters.lengthscale[:, 0], golden["ell"], rtol=1e-12)


def test_agrees_with_the_plain_sum_at_other_points():
    d, seed = 6, 11
    problem = make("gp_sample", d=d, seed=seed)
    X = np.random.default_rng(5).random((700, d))
    outcomes = problem.evaluate_batch(X)
    for k, name in enumerate(("f", "c1", "c2")):
        rng = np.random.default_rng([d, seed, k])
        n = np.array([d, 2])
        delta = np.sqrt(n / 6) * np.sqrt((1 + 2 * np.sqrt(1 - 3 / (5 * n))) / 3)
        lengthscale = rng.uniform(0.7, 1.3, d) * 0.2 * delta[0] / delta[1]
        omega = rng.standard_normal((2000, d)) / lengthscale
        b = rng.uniform(0, 2 * np.pi, 2000)
        w = rng.standard_normal(2000)
        for i in (0, 511, 512, 699):
            plain = sum(w[j] * np.cos(omega[j] @ X[i] + b[j]) for j in range(2000)) / np.sqrt(1000)
            assert outcomes[name][i] == pytest.approx(plain + 0.5 * (k > 0), rel=1e-9)


@pytest.mark.parametrize(
    "variant", [{"d": 5}, {"d": 4, "scale": "authors", "m": 3}, {"d": 3, "kind": "equality"}]
)
def test_gradients_against_differences(variant):
    problem = make("gp_sample", **variant)
    x = np.random.default_rng(2).uniform(0.1, 0.9, problem.dim)
    gradient = problem.gradient(x)
    assert list(gradient) == list(problem.outcomes)
    for i, unit in enumerate(np.eye(problem.dim)):
        up, down = problem.evaluate(x + 1e-6 * unit), problem.evaluate(x - 1e-6 * unit)
        for name in problem.outcomes:
            assert gradient[name][i] == pytest.approx((up[name] - down[name]) / 2e-6, abs=1e-6)


def test_hyperparameters_describe_the_draws():
    problem = make("gp_sample", d=8, seed=4, m=1)
    truth = problem.hyperparameters
    assert truth.lengthscale.shape == (2, 8)
    assert truth.outputscale.tolist() == [1.0, 1.0]
    assert truth.mean.tolist() == [0.0, 0.5]
    assert truth.noise_var == pytest.approx(0.01)
    assert problem.noise_sd() == {"f": 0.1, "c1": 0.1}


def test_draws_have_the_covariance_of_their_kernel():
    values = np.array(
        [
            list(make("gp_sample", d=2, seed=seed, m=0).evaluate_batch([[0.4, 0.5], [0.5, 0.5]])["f"])
            for seed in range(400)
        ]
    )
    lengthscale = 0.2 * np.mean([0.7, 1.3])
    covariance = np.cov(values.T)
    assert covariance[0, 0] == pytest.approx(1.0, abs=0.25)
    assert covariance[0, 1] == pytest.approx(np.exp(-0.5 * (0.1 / lengthscale) ** 2), abs=0.25)


def test_equality_kind_has_no_offset():
    equality, inequality = make("gp_sample", d=4, kind="equality"), make("gp_sample", d=4, m=1)
    x = np.full(4, 0.3)
    assert [c.name for c in equality.constraints] == ["h1"]
    assert equality.constraints[0].eq == 0.0
    assert equality.constraints[0].tol == 1e-3
    assert equality.evaluate(x)["h1"] == pytest.approx(inequality.evaluate(x)["c1"] - 0.5)
    assert equality.hyperparameters.mean.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("d", [25, 50, 100])
def test_ten_seeds_have_best_known_points(d):
    for seed in range(10):
        best = make("gp_sample", d=d, seed=seed).best_known
        assert best.value < -8.0
        assert "SLSQP" in best.how


MARGIN = 1e-9  # kept inside every inequality, so that the stored point is feasible to the last bit


def least_minimum(problem, starts, restarts, seed=0):
    """Return the value of the best of many SLSQP runs, which is how the stored answers were found.

    Half of the ``starts`` are uniform, half the most promising of 4000 uniform points; the ``restarts`` are
    the incumbent plus normal steps of 0.05 to 0.3, clipped to the cube.
    """
    rng = np.random.default_rng([problem.dim, problem.seed, seed])
    pool = rng.random((4000, problem.dim))
    values = problem.sample.values(pool) + problem.hyperparameters.mean
    distance = np.abs(values[:, 1:]) if problem.kind == "equality" else np.maximum(values[:, 1:], 0.0)
    order = np.argsort(values[:, 0] + 10.0 * distance.sum(axis=1))
    ends = [descend(problem, x) for x in [*pool[order[: starts // 2]], *pool[starts // 2 : starts]]]
    for i in range(restarts):
        best = min((end for end in ends if end is not None), key=lambda end: end[0])
        step = rng.choice([0.05, 0.1, 0.2, 0.3]) if i else 0.0
        ends.append(descend(problem, np.clip(best[1] + step * rng.standard_normal(problem.dim), 0.0, 1.0)))
    return min(end[0] for end in ends if end is not None)


def descend(problem, x0):
    """End of one SLSQP run with exact gradients if it is feasible: its value and point."""
    offset = problem.hyperparameters.mean
    equality = problem.kind == "equality"
    sign = 1.0 if equality else -1.0

    def constraint(x):
        c = (problem.sample.values(x[None, :])[0] + offset)[1:]
        return c if equality else -c - MARGIN

    limits = {
        "type": "eq" if equality else "ineq",
        "fun": constraint,
        "jac": lambda x: sign * problem.sample.gradients(x)[1:],
    }
    end = scipy.optimize.minimize(
        lambda x: problem.sample.values(x[None, :])[0, 0],
        x0,
        jac=lambda x: problem.sample.gradients(x)[0],
        bounds=[(0.0, 1.0)] * problem.dim,
        constraints=limits,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    x = np.clip(end.x, 0.0, 1.0)
    slack = constraint(x)
    error = np.abs(slack).max() if equality else -slack.min()
    return (float(end.fun), x) if error <= (1e-9 if equality else 0.5 * MARGIN) else None


def test_multistart_reaches_a_stored_value():
    problem = make("gp_sample", d=2, seed=3, kind="equality")
    assert least_minimum(problem, 8, 2) == pytest.approx(problem.best_known.value, abs=1e-6)


@pytest.mark.slow
def test_no_easy_improvement_on_the_best_known_points():
    for seed in (0, 5):
        problem = make("gp_sample", d=25, seed=seed)
        assert least_minimum(problem, 20, 0, seed=9) > problem.best_known.value - 1e-6
