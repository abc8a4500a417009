"""Noisy constrained improvement against sampling everything jointly, its limits and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo.acquisition.improvement import LogConstrainedImprovement
from lcbo.acquisition.noisy_improvement import LogNoisyImprovement, incumbents, normal_numbers
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.moments import DrawnPredictor, Predictor, inverse_covariance
from lcbo.terms import Term, Terms

TERMS = Terms((Term(1, 1.0, 0.2), Term(2, 1.0, 0.0, equality=True, tol=0.6)))
FALLBACK = 1.5


def model(noise: float, kernel: str = "matern52") -> BatchedGP:
    rng = np.random.default_rng(3)
    u = rng.random((14, 2))
    y = np.stack([np.sin(5.0 * u[:, 0]), u[:, 1] - 0.4, u[:, 0] * u[:, 1] - 0.3], 1)
    y[2, 1] = np.nan
    given = {
        "lengthscale": [[0.5, 0.7], [0.8, 0.4], [0.6, 0.6]],
        "noise_var": noise,
        "mean": [0.2, 0.0, -0.1],
    }
    return BatchedGP(
        merge(u, y + 0.1 * rng.standard_normal(y.shape)), Hyperparameters.start(3, kernel, given)
    )


def drawn(gp: BatchedGP, baseline: torch.Tensor, draws: int) -> DrawnPredictor:
    given = gp.conditioned(baseline, gp.alpha.new_full((3, len(baseline)), 100.0))
    numbers = normal_numbers(3, len(baseline), draws, np.random.default_rng(1))
    return DrawnPredictor(given, inverse_covariance(gp), numbers)


def test_value_is_what_joint_draws_of_all_points_give() -> None:
    """Draw incumbents and the point together: the mean improvement where the point is feasible."""
    gp, z = model(0.05), np.array([[0.35, 0.3], [0.9, 0.1], [0.7, 0.6]])
    baseline = gp.u[[1, 4, 7]]
    value, _ = LogNoisyImprovement(drawn(gp, baseline, 4096), TERMS, FALLBACK)(z)
    rng = np.random.default_rng(8)
    for log_value, point in zip(value, z, strict=True):
        together = torch.cat([baseline, torch.from_numpy(point)[None]])
        mean, cov = gp.mean(together).numpy(), gp.covariance(together).numpy()
        y = np.stack([rng.multivariate_normal(m, c, 100000) for m, c in zip(mean, cov, strict=True)], -1)
        feasible = (y[..., 1] <= 0.2) & (np.abs(y[..., 2]) <= 0.6)
        best = np.where(feasible[:, :3], y[:, :3, 0], np.inf).min(1)
        best[np.isinf(best)] = FALLBACK
        gain = np.maximum(best - y[:, 3, 0], 0.0) * feasible[:, 3]
        error = gain.std() / np.sqrt(len(gain))
        assert np.exp(log_value) == pytest.approx(gain.mean(), abs=5.0 * error, rel=0.02)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("noise", [1e-6, 0.02])
def test_gradient_is_that_of_finite_differences(kernel: str, noise: float) -> None:
    gp = model(noise, kernel)
    objective = LogNoisyImprovement(drawn(gp, gp.u[:4], 8), TERMS, FALLBACK)
    z, step = np.random.default_rng(5).random((6, 2)), 1e-6
    value, gradient = objective(z)
    assert value.shape == (6,)
    for axis in range(2):
        shift = step * np.eye(2)[axis]
        slope = (objective(z + shift)[0] - objective(z - shift)[0]) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, axis], slope, rtol=1e-4, atol=1e-5)


def test_without_noise_it_is_log_cei_with_the_incumbent() -> None:
    gp = model(1e-7)
    z = np.random.default_rng(6).random((60, 2))
    mean = gp.mean(gp.u).numpy().T
    found = incumbents(mean, np.sqrt(gp.hyper.noise_var.numpy()), TERMS, 4)
    feasible = TERMS.feasible(mean)
    best = float(mean[feasible, 0].min())
    assert mean[found.ids[0], 0] == best
    noisy, _ = LogNoisyImprovement(drawn(gp, gp.u[found.ids], 8), TERMS, found.fallback)(z)
    plain, _ = LogConstrainedImprovement(Predictor(gp, inverse_covariance(gp)), TERMS, best)(z)
    informative = plain > -20.0
    assert informative.sum() > 5
    np.testing.assert_allclose(noisy[informative], plain[informative], atol=0.05)


def test_far_out_values_stay_finite_and_ordered() -> None:
    gp = model(1e-4)
    terms = Terms((Term(1, 1.0, -30.0),))
    value, gradient = LogNoisyImprovement(drawn(gp, gp.u[:2], 4), terms, -40.0)(gp.u.numpy()[:5])
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert (value < -100.0).all()


def test_incumbents_are_the_plausible_ones_in_order() -> None:
    terms = Terms((Term(1, 1.0, 0.0),))
    mean = np.array([[1.0, -1.0], [0.0, 0.05], [-1.0, 0.3], [0.5, -0.1], [-2.0, 2.0], [0.8, -0.05]])
    found = incumbents(mean, np.array([0.1, 0.1]), terms, 10)
    assert found.ids == [3, 5, 0, 1]  # feasible by the mean first, by value; then within the noise
    assert found.fallback == 1.0  # the only one two deviations inside
    assert incumbents(mean, np.array([0.1, 0.1]), terms, 2).ids == [3, 5]
    hopeless = incumbents(mean + np.array([0.0, 9.0]), np.array([0.1, 0.1]), terms, 3)
    assert (hopeless.ids, hopeless.fallback) == ([], 1.0)


def test_normal_numbers_are_normal() -> None:
    numbers = normal_numbers(2, 3, 512, np.random.default_rng(0))
    assert numbers.shape == (2, 3, 512)
    np.testing.assert_allclose(numbers.mean(-1), 0.0, atol=0.02)
    np.testing.assert_allclose(numbers.std(-1), 1.0, atol=0.03)
    np.testing.assert_allclose(np.corrcoef(numbers.reshape(6, -1)), np.eye(6), atol=0.1)
