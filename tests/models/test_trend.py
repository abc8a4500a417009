"""The posterior beside a trend against the summed kernel, whose algebra is another."""

import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.models.data import merge
from lcbo.models.fits.trend import SPREADS, PlanedGP, Trend, beside_trend
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters

DIM, FLAT, LARGEST = 3, 1e6, 1.5
AT = torch.tensor([0.4, 0.5, 0.3], dtype=torch.float64)


def process(y: np.ndarray, x: np.ndarray, **hyper: float) -> BatchedGP:
    start = {"lengthscale": 0.8, "outputscale": 0.6, "noise_var": 0.02, **hyper}
    return BatchedGP(merge(x, y[:, None]), Hyperparameters.start(1, "matern52", start))


def observations(n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.random((n, DIM))
    return x, np.sin(3.0 * x[:, 0]) + x[:, 1] ** 2 - x[:, 2] + 0.1 * rng.standard_normal(n)


def summed(gp: BatchedGP, a: Tensor, b: Tensor, alike: np.ndarray, bends: float | None) -> Tensor:
    """Prior covariance between points: flat constant, slopes around a mean in common, bends, process."""
    length, scale = gp.hyper.lengthscale[0], gp.hyper.outputscale[0]
    r = (((a[:, None] - b[None]) / length).square().sum(-1) + 1e-24).sqrt() * 5.0**0.5
    total = FLAT + scale * (1.0 + r + r.square() / 3.0) * torch.exp(-r)
    same = torch.from_numpy(alike.astype(float))
    slopes = torch.diag(torch.where(same > 0.0, 1.0 / DIM, 1.0)) + torch.outer(same, same)
    total = total + LARGEST**2 * (a - AT) @ slopes.double() @ (b - AT).T
    if bends is not None:
        every = bends**2 * torch.eye(DIM).double() + 1.0
        total = total + LARGEST**4 * (a - AT).square() @ every @ (b - AT).square().T
    return total


def difference(gp: BatchedGP, alike: np.ndarray, bends: float | None, x: np.ndarray, y: np.ndarray) -> Tensor:
    """Gradient of the posterior mean at the point by differences of the summed kernel."""
    points = torch.from_numpy(x)
    noisy = summed(gp, points, points, alike, bends) + gp.hyper.noise_var[0] * torch.eye(len(x)).double()
    weights = torch.linalg.solve(noisy, torch.from_numpy(y))
    moves = 1e-4 * torch.eye(DIM).double()
    up, down = (summed(gp, AT + s * moves, points, alike, bends) @ weights for s in (1.0, -1.0))
    return (up - down) / 2e-4


@pytest.mark.parametrize("alike", [[True, True, True], [True, False, True], [False, False, False]])
def test_a_plane_beside_a_process_is_the_summed_kernel(alike: list[bool]) -> None:
    (x, y), same = observations(), np.array(alike)
    gp = process(y, x)
    found = beside_trend(gp, AT, 1, same, LARGEST)
    expected = difference(gp, same, None, x, y)
    torch.testing.assert_close(found.gradient, expected, rtol=1e-4, atol=1e-4)
    points = torch.from_numpy(x)
    noisy = summed(gp, points, points, same, None) + gp.hyper.noise_var[0] * torch.eye(len(x)).double()
    flat = torch.distributions.MultivariateNormal(torch.zeros(len(x)).double(), noisy)
    constants = 0.5 * np.log(FLAT) + 0.5 * len(x) * np.log(2.0 * np.pi)
    assert found.evidence == pytest.approx(float(flat.log_prob(torch.from_numpy(y))) + constants, abs=1e-3)


def averaged(gp: BatchedGP, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Evidence of bends and the spread they are expected to have, from the summed kernel."""
    points, same = torch.from_numpy(x), np.ones(DIM, bool)
    logs = []
    for spread in SPREADS:
        noisy = (
            summed(gp, points, points, same, float(spread))
            + gp.hyper.noise_var[0] * torch.eye(len(x)).double()
        )
        flat = torch.distributions.MultivariateNormal(torch.zeros(len(x)).double(), noisy)
        logs.append(float(flat.log_prob(torch.from_numpy(y))))
    weight = np.exp(np.array(logs) - max(logs))
    spread = float(np.exp(weight @ np.log(SPREADS) / weight.sum()))
    constants = 0.5 * np.log(FLAT) + 0.5 * len(x) * np.log(2.0 * np.pi)
    return float(np.log(weight.mean()) + max(logs) + constants), spread


def test_bends_beside_a_process_are_the_summed_kernel() -> None:
    x, y = observations(30)
    gp = process(y, x)
    found = beside_trend(gp, AT, 2, np.ones(DIM, bool), LARGEST)
    evidence, spread = averaged(gp, x, y)
    assert found.evidence == pytest.approx(evidence, abs=1e-3)
    expected = difference(gp, np.ones(DIM, bool), spread, x, y)
    torch.testing.assert_close(found.gradient, expected, rtol=1e-4, atol=1e-4)


def quadratic(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.random((n, DIM))
    z = x - AT.numpy()
    return x, z @ [1.0, -2.0, 0.5] + z**2 @ [3.0, 0.2, -1.0] + noise * rng.standard_normal(n)


def test_a_quadratic_is_found_and_its_slopes_scatter_as_said() -> None:
    exact = np.array([1.0, -2.0, 0.5])
    exactly = beside_trend(
        process(quadratic(40, 0.0, 0)[1], quadratic(40, 0.0, 0)[0], outputscale=1e-6, noise_var=1e-8),
        AT,
        2,
        np.ones(DIM, bool),
        30.0,
    )
    np.testing.assert_allclose(exactly.gradient, exact, atol=1e-2)
    np.testing.assert_allclose(exactly.hessian.diagonal(), [6.0, 0.4, -2.0], atol=0.05)
    scores = []
    for seed in range(60):
        x, y = quadratic(40, 0.1, seed)
        found = beside_trend(process(y, x, outputscale=1e-6, noise_var=0.01), AT, 2, np.ones(DIM, bool), 30.0)
        scores.append((found.gradient.numpy() - exact) / found.gradient_cov.diagonal().sqrt().numpy())
    assert 0.85 < np.square(scores).mean() < 1.2


def test_missing_outcomes_are_left_out() -> None:
    x, y = observations()
    y[::3] = np.nan
    known = ~np.isnan(y)
    missing: Trend = beside_trend(process(y, x), AT, 1, np.ones(DIM, bool), LARGEST)
    without: Trend = beside_trend(process(y[known], x[known]), AT, 1, np.ones(DIM, bool), LARGEST)
    torch.testing.assert_close(missing.gradient, without.gradient)
    torch.testing.assert_close(missing.gradient_cov, without.gradient_cov)


def dense(x: np.ndarray, y: np.ndarray, at: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance at points by the summed kernel alone."""
    gp, points, free = process(y, x), torch.from_numpy(x), np.zeros(DIM, dtype=bool)
    noisy = summed(gp, points, points, free, None) + gp.hyper.noise_var[0] * torch.eye(len(x)).double()
    cross = summed(gp, points, at, free, None)
    solved = torch.linalg.solve(noisy, cross)
    return solved.T @ torch.from_numpy(y), summed(gp, at, at, free, None) - cross.T @ solved


def test_planes_of_all_outputs_are_the_summed_kernel() -> None:
    x, y = observations()
    at = torch.tensor([[0.4, 0.5, 0.3], [0.9, 0.1, 1.4]], dtype=torch.float64)
    planed = PlanedGP(process(y, x), LARGEST)
    mean, cov = planed.joint(at)
    expected_mean, expected_cov = dense(x, y, at)
    torch.testing.assert_close(mean[0], expected_mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(cov[0], expected_cov, rtol=1e-4, atol=1e-4)
    mean, var = planed.predict(at)
    torch.testing.assert_close(mean[0], expected_mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(var[0], expected_cov.diagonal(), rtol=1e-4, atol=1e-4)
    gradient, gradient_cov = planed.gradient(AT)
    trend = beside_trend(process(y, x), AT, 1, np.zeros(DIM, dtype=bool), LARGEST)
    torch.testing.assert_close(gradient[0], trend.gradient)
    torch.testing.assert_close(gradient_cov[0], trend.gradient_cov)


@pytest.mark.parametrize("order", [1, 2])
def test_observations_left_out_have_no_part_in_the_trend(order: int) -> None:
    (x, y), same = observations(30), np.ones(DIM, bool)
    gp = process(y, x)
    found = beside_trend(gp, AT, order, same, LARGEST, judges=4).left_out
    noise, points = gp.hyper.noise_var[0], torch.from_numpy(x)
    bends = averaged(gp, x, y)[1] if order == 2 else None
    for j in range(4):
        others = torch.arange(len(x)) != j
        noisy = summed(gp, points, points, same, bends) + noise * torch.eye(len(x)).double()
        weights = torch.linalg.solve(noisy[others][:, others], noisy[others, j])
        error = y[j] - float(weights @ torch.from_numpy(y)[others])
        var = float(noisy[j, j] - weights @ noisy[others, j] - noise)
        assert float(found.error[0, j]) == pytest.approx(error, rel=1e-3, abs=1e-4)
        assert float(found.var[0, j]) == pytest.approx(var, rel=1e-3, abs=1e-4)
    assert found.error.shape == (1, 4)


def test_observations_left_out_have_no_part_in_the_plane() -> None:
    x, y = observations()
    gp = BatchedGP(
        merge(x, np.column_stack([y, np.where(np.arange(len(y)) == 2, np.nan, y)])),
        Hyperparameters.start(2, "matern52", {"lengthscale": 0.8, "outputscale": 0.6, "noise_var": 0.02}),
    )
    left_out = PlanedGP(gp, LARGEST).leave_one_out()
    for j in range(len(y)):
        others = np.arange(len(y)) != j
        mean, cov = dense(x[others], y[others], torch.from_numpy(x[[j]]))
        assert float(left_out.error[0, j]) == pytest.approx(y[j] - float(mean[0]), rel=1e-3, abs=1e-4)
        assert float(left_out.var[0, j]) == pytest.approx(float(cov[0, 0]), rel=1e-3, abs=1e-4)
    assert torch.isnan(left_out.error[1]).tolist() == [j == 2 for j in range(len(y))]
    np.testing.assert_allclose(left_out.observed[0], y)


def test_portions_of_the_outputs_predict_as_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), at = observations(), torch.rand(5, DIM, dtype=torch.float64)
    hyper = Hyperparameters.start(3, "matern52", {"lengthscale": [0.8, 0.5, 1.1], "noise_var": 0.02})
    planed = PlanedGP(BatchedGP(merge(x, np.column_stack([y, y**2, x[:, 0]])), hyper), LARGEST)
    whole = planed.predict(at)
    monkeypatch.setattr("lcbo.models.factored.portions.__defaults__", (1,))
    for found, expected in zip(planed.predict(at), whole, strict=True):
        torch.testing.assert_close(found, expected)
