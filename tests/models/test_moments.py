"""Batched moments and their pulled-back gradients against BatchedGP and autograd through it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.moments import Predictor, inverse_covariance

DIM, OUTPUTS = 3, 3


def model(kernel: str, ard: bool, noise: float, missing: bool = False) -> BatchedGP:
    rng = np.random.default_rng(7)
    hyper = Hyperparameters(
        torch.from_numpy(rng.uniform(0.3, 1.5, (OUTPUTS, DIM if ard else 1))),
        torch.from_numpy(rng.uniform(0.5, 3.0, OUTPUTS)),
        torch.full((OUTPUTS,), noise, dtype=torch.float64),
        torch.from_numpy(rng.standard_normal(OUTPUTS)),
        kernel,
    )
    x, y = rng.random((12, DIM)), rng.standard_normal((12, OUTPUTS))
    if missing:
        y[2:5, 0] = y[4:9, 2] = np.nan
    return BatchedGP(merge(x, y), hyper)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize(("noise", "missing"), [(1e-2, False), (1e-2, True), (1e-7, False)])
def test_moments_and_gradients_equal_autograd_through_the_model(
    kernel: str, ard: bool, noise: float, missing: bool
) -> None:
    gp = model(kernel, ard, noise, missing)
    rng = np.random.default_rng(1)
    z = rng.random((5, DIM))
    by_mean, by_var = rng.standard_normal((2, OUTPUTS, 5))
    moments = Predictor(gp, inverse_covariance(gp))(z)
    leaf = torch.from_numpy(z).requires_grad_(True)
    mean, var = gp.predict(leaf)
    np.testing.assert_allclose(moments.mean, mean.detach().numpy(), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(moments.var, var.detach().numpy(), rtol=1e-7, atol=1e-9)
    (expected,) = torch.autograd.grad(
        (torch.from_numpy(by_mean) * mean + torch.from_numpy(by_var) * var).sum(), leaf
    )
    np.testing.assert_allclose(moments.gradient(by_mean, by_var), expected.numpy(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("noise", [1e-4, 1e-8])
def test_variance_at_a_data_point_stays_positive_and_right(noise: float) -> None:
    """``var = outputscale - k^T K^-1 k`` cancels almost completely there."""
    gp = model("rbf", False, noise)
    var = Predictor(gp, inverse_covariance(gp))(gp.u.numpy()).var
    assert (var > 0.0).all()
    np.testing.assert_allclose(var, gp.predict(gp.u)[1].numpy(), rtol=1e-4, atol=1e-13)


@pytest.mark.parametrize("missing", [False, True])
def test_points_after_the_inverted_ones_count_as_well(missing: bool) -> None:
    base = model("rbf", False, 1e-2, missing)
    rng = np.random.default_rng(5)
    gp = base.conditioned(torch.from_numpy(rng.random((3, DIM))))
    z = rng.random((4, DIM))
    moments = Predictor(gp, inverse_covariance(base))(z)
    whole = Predictor(gp, inverse_covariance(gp))(z)
    np.testing.assert_allclose(moments.mean, whole.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.var, whole.var, rtol=1e-10, atol=1e-13)
    weights = rng.standard_normal((2, OUTPUTS, 4))
    np.testing.assert_allclose(moments.gradient(*weights), whole.gradient(*weights), rtol=1e-9, atol=1e-11)
    assert np.all(moments.var < Predictor(base, inverse_covariance(base))(z).var)
