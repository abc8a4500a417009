"""The exact penalty against a plain computation point by point, and its gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo.acquisition.exact_penalty import ExactPenalty
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.moments import Predictor, inverse_covariance
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

DIM = 3
TERMS = Terms((Term(1, 1.0, 0.2), Term(1, -1.0, -0.1), Term(2, 1.0, 0.3, equality=True, tol=0.01)))


def model() -> BatchedGP:
    rng = np.random.default_rng(2)
    hyper = Hyperparameters.start(3, "rbf", {"lengthscale": [0.5, 0.8, 1.0], "noise_var": 1e-3})
    return BatchedGP(merge(rng.random((15, DIM)), rng.standard_normal((15, 3))), hyper)


def acquisition(gp: BatchedGP, rho: float = 7.0, beta: float = 2.0) -> ExactPenalty:
    return ExactPenalty(Predictor(gp, inverse_covariance(gp)), TERMS.scaled(Scaling.identity(3)), rho, beta)


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_value_equals_a_plain_computation(beta: float) -> None:
    gp = model()
    z = np.random.default_rng(3).random((40, DIM))
    value, _ = acquisition(gp, beta=beta)(z)
    active = 0
    for i, point in enumerate(z):
        post = gp.posterior(torch.from_numpy(point))
        mean, std = post.mean.numpy(), np.sqrt(post.var.numpy())
        low, high = mean - beta * std, mean + beta * std
        upper, lower = low[1] - 0.2, -0.1 - high[1]
        equality = max(0.0, low[2] - 0.3, -(high[2] - 0.3))
        penalty = max(0.0, upper) + max(0.0, lower) + equality
        active += (upper > 0.0) + 2 * (lower > 0.0) + 4 * (equality > 0.0)
        assert value[i].item() == pytest.approx(-(low[0] + 7.0 * penalty), abs=1e-9)
    if beta < 2.0:
        assert active > 40  # the penalty is not idle in this test


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_gradient_equals_finite_differences(beta: float) -> None:
    function, step = acquisition(model(), beta=beta), 1e-6
    z = np.random.default_rng(4).random((40, DIM))
    _, gradient = function(z)
    for i in range(DIM):
        shift = step * np.eye(DIM)[i]
        difference = (function(z + shift)[0] - function(z - shift)[0]) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, i], difference, rtol=1e-5, atol=1e-5)
