"""Log CEI against quadrature, BoTorch's analytic functions and finite differences, far out as well."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogExpectedImprovement
from botorch.models import ModelListGP, SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.means import ZeroMean
from scipy.integrate import quad
from scipy.stats import norm
from torch import Tensor

from lcbo.acquisition.improvement import (
    UNBOUNDED,
    ConstrainedImprovement,
    LogConstrainedImprovement,
    feasible_intervals,
    log_improvement,
    log_probability,
)
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.moments import Predictor, inverse_covariance
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def array(*values: float) -> np.ndarray:
    return np.array(values)


def log_integral(integrand: object, t: float) -> float:
    """``log int_0^inf`` of a function that decays like ``exp(-|t| u)``, by quadrature in ``v = |t| u``."""
    rate = max(abs(t), 1.0)
    value, _ = quad(lambda v: integrand(v / rate) / rate, 0.0, 60.0, epsabs=0.0, epsrel=1e-12, limit=200)
    return float(np.log(value))


@pytest.mark.parametrize("t", [-1e5, -300.0, -50.001, -49.999, -12.0, -1.0, -1e-9, 0.0, 0.7, 5.0, 40.0])
def test_log_improvement_equals_quadrature(t: float) -> None:
    """``E max(0, best - f) = std int_0^inf u phi(u - t) du``, with ``phi(t)`` taken out of the integral."""
    mean, std = -0.3, 2.0
    value, _, _ = log_improvement(array(mean), array(std), mean + std * t)
    if t <= 0.0:
        expected = log_integral(lambda u: u * np.exp(t * u - 0.5 * u * u), t) - 0.5 * t * t - LOG_SQRT_2PI
    else:
        area, _ = quad(lambda u: u * np.exp(-0.5 * (u - t) ** 2 - LOG_SQRT_2PI), 0.0, t + 40.0, points=[t])
        expected = np.log(area)
    assert value.item() == pytest.approx(np.log(std) + expected, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("a", [-1e5, -200.0, -8.0, -0.5, 0.0, 0.1, 3.0, 150.0, 1e5])
@pytest.mark.parametrize("width", [1e-6, 1e-2, 1.0, 30.0, np.inf])
def test_log_probability_equals_quadrature(a: float, width: float) -> None:
    """``int_a^b phi``; away from 0 with the density of the nearer end taken out of the integral."""
    b = a + width
    low, high = array(a), array(b if np.isfinite(b) else UNBOUNDED)
    value, _, _ = log_probability(array(0.0), array(1.0), low, high)
    near, far = (a, b) if a >= 0.0 else (-b, -a)
    if near >= 0.0:
        reach = min(far - near, 60.0 / max(near, 1.0))
        area, _ = quad(lambda u: np.exp(-near * u - 0.5 * u * u), 0.0, reach, epsabs=0.0, epsrel=1e-12)
        expected = np.log(area) - 0.5 * near * near - LOG_SQRT_2PI
    else:
        area, _ = quad(
            lambda u: np.exp(-0.5 * u * u - LOG_SQRT_2PI), max(a, -40.0), min(b, 40.0), points=[0.0]
        )
        expected = np.log(area)
    assert value.item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_interval_so_narrow_that_it_cancels_is_density_times_width() -> None:
    value, by_mean, _ = log_probability(array(0.0), array(1.0), array(1e6), array(1e6 + 1e-8))
    width = (1e6 + 1e-8) - 1e6
    assert value.item() == pytest.approx(-0.5e12 - LOG_SQRT_2PI + np.log(width), rel=1e-12)
    assert by_mean.item() == pytest.approx(1e6, rel=0.01)


def slopes(function: object, mean: float, std: float) -> tuple[float, float]:
    step = 2e-5 * std

    def value(m: float, s: float) -> float:
        return function(array(m), array(s))[0].item()

    return (
        (value(mean + step, std) - value(mean - step, std)) / (2.0 * step),
        (value(mean, std + step) - value(mean, std - step)) / (2.0 * step),
    )


@pytest.mark.parametrize("mean", [-40.0, -3.0, -0.2, 0.05, 0.4, 2.0, 60.0])
@pytest.mark.parametrize("std", [0.03, 1.0, 3.0])
@pytest.mark.parametrize("bounds", [None, (-UNBOUNDED, 0.1), (-0.2, UNBOUNDED), (-0.01, 0.3), (0.1, 0.1002)])
def test_slopes_equal_finite_differences(mean: float, std: float, bounds: tuple[float, float] | None) -> None:
    def function(m: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
        if bounds is None:
            return log_improvement(m, s, 0.1)
        return log_probability(m, s, array(bounds[0]), array(bounds[1]))

    _, by_mean, by_std = function(array(mean), array(std))
    expected = slopes(function, mean, std)
    scale = 1.0 / std  # finite differences of a value near 0 are rough
    assert by_mean.item() == pytest.approx(expected[0], rel=1e-5, abs=1e-6 * scale)
    assert by_std.item() == pytest.approx(expected[1], rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
def test_slopes_far_out_follow_the_dominating_square(distance: float) -> None:
    """Both logarithms are ``-t^2 / 2`` to leading order, so the slopes are ``-+t`` and ``t^2`` over std."""
    _, by_mean, by_std = log_improvement(array(distance), array(1.0), 0.0)
    assert (by_mean.item(), by_std.item()) == pytest.approx((-distance, distance**2), rel=1e-5)
    _, by_mean, by_std = log_probability(array(distance), array(1.0), array(-UNBOUNDED), array(0.0))
    assert (by_mean.item(), by_std.item()) == pytest.approx((-distance, distance**2), rel=1e-5)
    _, by_mean, by_std = log_probability(array(-distance), array(1.0), array(0.0), array(UNBOUNDED))
    assert (by_mean.item(), by_std.item()) == pytest.approx((distance, distance**2), rel=1e-5)


def pair(noise: float, dim: int = 4) -> tuple[BatchedGP, ModelListGP]:
    """Our model and BoTorch's of the same data and hyperparameters, three outputs."""
    rng = np.random.default_rng(3)
    x, y = rng.random((20, dim)), rng.standard_normal((20, 3))
    hyper = Hyperparameters(
        tensor(0.4, 0.7, 1.1)[:, None],
        tensor(1.5, 0.8, 2.0),
        torch.full_like(tensor(0, 0, 0), noise),
        tensor(0, 0, 0),
    )
    theirs = []
    for i in range(3):
        kernel = ScaleKernel(RBFKernel()).double()
        kernel.outputscale, kernel.base_kernel.lengthscale = hyper.outputscale[i], hyper.lengthscale[i]
        target = torch.from_numpy(y[:, i : i + 1])
        theirs.append(
            SingleTaskGP(
                torch.from_numpy(x),
                target,
                torch.full_like(target, noise),
                covar_module=kernel,
                mean_module=ZeroMean(),
                outcome_transform=None,
            ).eval()
        )
    return BatchedGP(merge(x, y), hyper), ModelListGP(*theirs)


def conditions(*terms: Term) -> Terms:
    return Terms(terms)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("noise", [1e-2, 1e-4])
@pytest.mark.parametrize(
    ("best", "low", "high"), [(-1.0, -0.5, 0.3), (-6.0, 3.0, -4.0), (-60.0, 30.0, -40.0)]
)
def test_values_and_gradients_equal_botorch(noise: float, best: float, low: float, high: float) -> None:
    """From likely improvement and feasibility to hundreds of standard deviations away."""
    ours, theirs = pair(noise)
    z = np.random.default_rng(4).random((7, 4))
    terms = Terms((Term(1, 1.0, low + 0.7), Term(1, -1.0, low), Term(2, 1.0, high)))
    value, gradient = LogConstrainedImprovement(
        Predictor(ours, inverse_covariance(ours)), conditions(*terms), best
    )(z)
    reference = LogConstrainedExpectedImprovement(
        theirs,
        best_f=best,
        objective_index=0,
        constraints={1: (low, low + 0.7), 2: (None, high)},
        maximize=False,
    )
    leaf = torch.from_numpy(z).requires_grad_(True)
    expected = reference(leaf[:, None, :])
    (slope,) = torch.autograd.grad(expected.sum(), leaf)
    np.testing.assert_allclose(value, expected.detach().numpy(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient, slope.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_without_constraints_it_is_botorch_s_log_expected_improvement() -> None:
    ours, theirs = pair(1e-2)
    z = np.random.default_rng(5).random((7, 4))
    value, _ = LogConstrainedImprovement(Predictor(ours, inverse_covariance(ours)), conditions(), -2.0)(z)
    expected = LogExpectedImprovement(theirs.models[0], best_f=-2.0, maximize=False)(
        torch.from_numpy(z)[:, None, :]
    )
    np.testing.assert_allclose(value, expected.detach().numpy(), rtol=1e-6, atol=1e-6)


def test_plain_improvement_is_the_product_and_its_slope() -> None:
    """Against SciPy's normal distribution and finite differences; far out both are 0."""
    ours, _ = pair(1e-2)
    predictor = Predictor(ours, inverse_covariance(ours))
    z = np.random.default_rng(6).random((3, 4))
    acquisition = ConstrainedImprovement(predictor, conditions(Term(1, 1.0, 0.4)), -0.5)
    value, gradient = acquisition(z)
    mean, var = (t.numpy() for t in ours.predict(torch.from_numpy(z)))
    std = np.sqrt(var)
    t = (-0.5 - mean[0]) / std[0]
    improvement = std[0] * (norm.pdf(t) + t * norm.cdf(t))
    np.testing.assert_allclose(value, improvement * norm.cdf((0.4 - mean[1]) / std[1]), rtol=1e-10)
    for i, shift in enumerate(1e-6 * np.eye(4)):
        difference = (acquisition(z + shift)[0] - acquisition(z - shift)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, i], difference, rtol=1e-5, atol=1e-9)
    lost = ConstrainedImprovement(predictor, conditions(Term(1, 1.0, -90.0)), -90.0)(z)
    assert not lost[0].any()
    assert not lost[1].any()


def test_without_a_feasible_point_it_is_the_log_probability_of_feasibility() -> None:
    """An interval on one output and an equality with tolerance on the other, against Monte Carlo."""
    ours, _ = pair(1e-2)
    z = np.random.default_rng(6).random((3, 4))
    terms = Terms((Term(1, 1.0, 0.4), Term(1, -1.0, -0.3), Term(2, -1.0, 0.2, equality=True, tol=0.5)))
    acquisition = LogConstrainedImprovement(
        Predictor(ours, inverse_covariance(ours)), conditions(*terms), None
    )
    value, gradient = acquisition(z)
    mean, var = ours.predict(torch.from_numpy(z))
    draws = np.random.default_rng(7).standard_normal((400_000, 2, 1))
    sample = mean[1:].numpy() + var[1:].sqrt().numpy() * draws
    inside = (sample[:, 0] >= -0.3) & (sample[:, 0] <= 0.4) & (np.abs(sample[:, 1] - 0.2) <= 0.5)
    np.testing.assert_allclose(np.exp(value), inside.mean(0), atol=4 * 0.5 / np.sqrt(400_000))
    step = 1e-6
    for i in range(4):
        shift = step * np.eye(4)[i]
        difference = (acquisition(z + shift)[0] - acquisition(z - shift)[0]) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, i], difference, rtol=1e-5, atol=1e-6)


def test_intervals_join_the_conditions_on_one_output() -> None:
    scaling = Scaling(np.array([0.0, 1.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.5, 1.0]))
    terms = Terms(
        (
            Term(1, 1.0, 3.0),
            Term(1, -1.0, -5.0),
            Term(2, 1.0, 2.5, equality=True, tol=0.1),
            Term(3, -1.0, 4.0),
        )
    )
    low, high = feasible_intervals(terms.scaled(scaling), 4)
    np.testing.assert_allclose(low.ravel(), [-3.0, 0.8, 4.0])
    np.testing.assert_allclose(high.ravel(), [1.0, 1.2, UNBOUNDED])


def test_contradicting_bounds_give_the_interval_between_them() -> None:
    terms = Terms((Term(1, 1.0, 1.0), Term(1, -1.0, 3.0), Term(2, 1.0, 2.0), Term(2, -1.0, 2.0)))
    low, high = feasible_intervals(conditions(*terms), 3)
    np.testing.assert_allclose(low.ravel(), [1.0, 2.0])
    np.testing.assert_allclose(high.ravel(), [3.0, 2.0 + 1e-9])
