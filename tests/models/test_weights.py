"""Observations that state their standard error."""

import numpy as np
import pytest
import torch

import lcbo
from lcbo import Measured, OutcomeError, Problem
from lcbo.methods.confirmation import Confirmed
from lcbo.methods.lcbo.method import Lcbo
from lcbo.models.builder import WindowBuilder
from lcbo.models.data import merge, weights
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats

BOX = [(0.0, 1.0)] * 2


def test_mean_of_repeats_is_weighted_by_inverse_variance():
    """Closed form: the best linear unbiased estimate and its variance."""
    y, sem = np.array([[1.0], [2.0], [5.0]]), np.array([[0.1], [0.2], [1.0]])
    weight, (unit,) = weights(sem, (None,))
    data = merge(np.zeros((3, 2)), y, weight=weight)
    precision = 1.0 / sem**2
    assert unit == pytest.approx(0.04)
    assert data.y.item() == pytest.approx(float((precision * y).sum() / precision.sum()))
    assert unit / data.count.item() == pytest.approx(1.0 / precision.sum())


def test_what_has_no_error_stated_weighs_one_and_none_at_all_is_very_heavy():
    sem = np.array([[np.nan, 0.5], [0.2, np.nan], [0.0, 1.0]])
    weight, unit = weights(sem, (0.04, None))
    np.testing.assert_allclose(weight, [[1.0, 2.5], [1.0, 1.0], [1e6, 0.625]])
    assert unit == (0.04, pytest.approx(0.625))
    weight, unit = weights(np.zeros((3, 1)), (None,))
    assert (weight.tolist(), unit) == ([[1.0]] * 3, (0.0,))


def test_posterior_is_that_of_a_dense_gaussian_process_with_these_errors():
    rng = np.random.default_rng(0)
    u, y, sem = rng.random((12, 2)), rng.standard_normal((12, 1)), rng.uniform(0.05, 0.8, (12, 1))
    unit = float(np.median(sem**2))
    fixed = [torch.tensor(v, dtype=torch.float64) for v in ([[0.5]], [1.3], [unit], [0.0])]
    hyper = Hyperparameters(*fixed, "rbf")
    builder = WindowBuilder(hyper, None, standardize=False, average_repeats=False, noise_var=(None,))
    model = builder.build(u, y, Repeats((None,)), refit=False, sem=sem)

    def kernel(a, b):
        return 1.3 * np.exp(-0.5 * np.square((a[:, None] - b[None]) / 0.5).sum(-1))

    z = rng.random((5, 2))
    k = kernel(u, u) + np.diag(sem[:, 0] ** 2)
    mean = kernel(z, u) @ np.linalg.solve(k, y[:, 0])
    var = 1.3 - np.einsum("ij,ji->i", kernel(z, u), np.linalg.solve(k, kernel(u, z)))
    for point, m, v in zip(z, mean, var, strict=True):
        got_mean, got_var, _ = model.gp.tangent(torch.from_numpy(point))
        assert got_mean.item() == pytest.approx(m, abs=1e-9)
        assert got_var.item() == pytest.approx(v, abs=1e-9)


def noisy(path=None, **arguments):
    rng = np.random.default_rng(1)

    def fun(x):
        sem = float(rng.uniform(0.01, 0.3))
        f = float(np.sum((x - 0.3) ** 2) + sem * rng.standard_normal())
        return Measured({"f": f, "c": float(0.4 - x[0])}, {"f": sem, "c": 0.0})

    return lcbo.minimize(fun, BOX, ["c <= 0"], "f", budget=24, store=path, **arguments)


def test_errors_reach_the_model_and_are_kept(tmp_path):
    path = tmp_path / "run.db"
    result = noisy(path)
    assert result.nfail == 0
    optimizer = lcbo.Optimizer.inspect(path)
    assert isinstance(optimizer._method, Confirmed)
    method = optimizer._method.method
    assert isinstance(method, Lcbo)
    sem = method.archive.sem(range(24))
    told = [dict(e.sem) for e in lcbo.open_run(path).log.evaluations]
    assert [t["f"] for t in told] == pytest.approx(sem[:, 0].tolist())
    assert set(sem[:, 1]) == {0.0}
    assert optimizer.result().fun == result.fun  # the model of the resumed run is the same
    assert not np.allclose(noisy(method="sobol").history.X, result.history.X)  # others take the values


def test_told_errors_come_in_parts(tmp_path):
    problem = Problem(BOX, ["c <= 0"], "f")
    with lcbo.Optimizer(problem, budget=8, store=tmp_path / "run.db") as optimizer:
        first = optimizer.ask()[0]
        optimizer.tell(first.id, {"f": 1.0}, sem={"f": 0.5})
        optimizer.tell(first.id, {"c": 2.0}, sem={"c": 0.25})
    (ended,) = lcbo.open_run(tmp_path / "run.db").log.evaluations
    assert dict(ended.sem) == {"f": 0.5, "c": 0.25}
    assert dict(ended.outcomes) == {"f": 1.0, "c": 2.0}


def test_batches_state_a_column_of_errors():
    problem = Problem(BOX, [], "f", fun=lambda X: Measured({"f": X[:, 0]}, {"f": X[:, 1]}), vectorized=True)
    result = lcbo.minimize(problem, budget=6, method="sobol")
    assert result.nfail == 0


@pytest.mark.parametrize(
    ("sem", "message"),
    [
        ({"g": 1.0}, r"sem: expected names out of \['f'\]; got \['g'\]"),
        ({"f": -1.0}, "sem of 'f': expected a number of at least 0; got -1.0"),
        ({"f": np.nan}, "sem of 'f': expected a number of at least 0"),
        ({"f": "small"}, "outcome 'f': expected a real number; got str"),
        (0.1, "sem: expected a mapping"),
    ],
)
def test_wrong_errors_are_named(sem, message):
    with pytest.raises(OutcomeError, match=message):
        lcbo.minimize(lambda x: Measured(float(x @ x), sem), BOX, [], "f", budget=6, method="sobol")
