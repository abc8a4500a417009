"""Trace reductions against brute-force joint Gaussians, their gradients against autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.information import GradientInformation

DIM = 4


def model(kernel: str, ard: bool, missing: bool = False, plane: float = 0.0) -> tuple[BatchedGP, Tensor]:
    rng = np.random.default_rng(3)
    y = rng.standard_normal((9, 3))
    if missing:
        y[2, 0] = y[5, 2] = np.nan
    hyper = Hyperparameters(
        torch.from_numpy(rng.uniform(0.4, 1.5, (3, DIM if ard else 1))),
        torch.tensor([1.3, 0.7, 2.0], dtype=torch.float64),
        torch.tensor([1e-3, 1e-2, 0.1], dtype=torch.float64),
        torch.zeros(3, dtype=torch.float64),
        kernel,
        plane,
    )
    return BatchedGP(merge(rng.random((9, DIM)), y), hyper), torch.from_numpy(rng.random(DIM))


def brute_force_trace(gp: BatchedGP, x: Tensor, z: Tensor) -> Tensor:
    """Trace of the gradient covariance of the model rebuilt with the extra points."""
    return gp.conditioned(z).posterior(x).gradient_cov.diagonal(dim1=-2, dim2=-1).sum(-1)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_joint_reduction_equals_the_rebuilt_model(
    kernel: str, ard: bool, missing: bool, plane: float
) -> None:
    gp, x = model(kernel, ard, missing, plane)
    information = GradientInformation(gp, x)
    z = torch.from_numpy(np.random.default_rng(1).random((2, 3, DIM)))
    reduction = information.joint(z)
    for s in range(2):
        torch.testing.assert_close(
            information.trace - reduction[s], brute_force_trace(gp, x, z[s]), rtol=1e-9, atol=1e-11
        )


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_single_and_extended_agree_with_joint(kernel: str, ard: bool, plane: float) -> None:
    gp, x = model(kernel, ard, plane=plane)
    information = GradientInformation(gp, x)
    z = torch.from_numpy(np.random.default_rng(2).random((2, DIM)))
    v, var, white = information.single(z)
    torch.testing.assert_close(
        (v.square().sum(-2) / var).T, information.joint(z[:, None]), rtol=1e-9, atol=1e-12
    )
    grown = information.extended(z[0], v[:, :, 0], var[:, 0], white[:, :, 0])
    both = information.trace - information.joint(z[None])[0]
    v, var, _ = grown.single(z[1:])
    torch.testing.assert_close(grown.trace - (v.square().sum(-2) / var)[:, 0], both, rtol=1e-9, atol=1e-12)


WEIGHTS = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


def weighted_reduction(gp: BatchedGP, x: Tensor, z: Tensor) -> Tensor:
    """Weighted reduction of all batches, up to a constant, through the rebuilt model."""
    return torch.stack([-(WEIGHTS * brute_force_trace(gp, x, batch)).sum() for batch in z]).sum()


@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_gradient_matches_autograd(ard: bool, missing: bool, plane: float) -> None:
    # Matern-5/2 has a square root at distance 0 that autograd cannot pass; finite differences below.
    gp, x = model("rbf", ard, missing, plane)
    z = torch.from_numpy(np.random.default_rng(5).random((2, 3, DIM)))
    _, gradient = GradientInformation(gp, x).joint_gradient(z, lambda r: WEIGHTS.expand_as(r))
    leaf = z.clone().requires_grad_(True)
    (expected,) = torch.autograd.grad(weighted_reduction(gp, x, leaf), leaf)
    torch.testing.assert_close(gradient, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_gradient_matches_finite_differences(kernel: str, ard: bool, missing: bool, plane: float) -> None:
    gp, x = model(kernel, ard, missing, plane)
    z = torch.from_numpy(np.random.default_rng(5).random((2, 3, DIM)))
    _, gradient = GradientInformation(gp, x).joint_gradient(z, lambda r: WEIGHTS.expand_as(r))
    expected = torch.empty_like(z)
    for index in np.ndindex(*z.shape):
        ahead, behind = z.clone(), z.clone()
        ahead[index] += 1e-5
        behind[index] -= 1e-5
        expected[index] = (weighted_reduction(gp, x, ahead) - weighted_reduction(gp, x, behind)) / 2e-5
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-7)
