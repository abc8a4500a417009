"""The value and gradient posterior against GPyTorch's derivative kernels, autograd and rebuilt models."""

from __future__ import annotations

import gpytorch
import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.models import factored
from lcbo.models.data import Data, merge
from lcbo.models.gp import BatchedGP
from lcbo.models.grown import GrownGP
from lcbo.models.hyperparameters import Hyperparameters

DIM = 3
KERNELS = {"rbf": gpytorch.kernels.RBFKernelGrad, "matern52": gpytorch.kernels.Matern52KernelGrad}


def hyperparameters(
    kernel: str, ard: bool, outputs: int = 3, dim: int = DIM, plane: float = 0.0
) -> Hyperparameters:
    rng = np.random.default_rng(7)
    return Hyperparameters(
        torch.from_numpy(rng.uniform(0.3, 1.5, (outputs, dim if ard else 1))),
        torch.from_numpy(rng.uniform(0.5, 3.0, outputs)),
        torch.from_numpy(rng.uniform(1e-3, 1e-1, outputs)),
        torch.from_numpy(rng.standard_normal(outputs)),
        kernel,
        plane,
    )


def observations(replicates: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    x = rng.random((8, DIM))
    if replicates:
        x = np.concatenate([x, x[:3], x[:1]])
    return x, rng.standard_normal((len(x), 3))


def gpytorch_posterior(
    x: np.ndarray, y: np.ndarray, at: Tensor, hyper: Hyperparameters, output: int
) -> tuple[Tensor, Tensor]:
    """Mean and covariance of (value, gradient) from the unmerged data and GPyTorch's joint kernel.

    A plane adds the covariance of ``(1, x)`` and its derivatives times independent coefficients.
    """
    kernel = KERNELS[hyper.kernel](ard_num_dims=DIM if hyper.lengthscale.shape[-1] == DIM else None)
    kernel = kernel.double()
    kernel.lengthscale = hyper.lengthscale[output]
    points = torch.cat([torch.from_numpy(x), at[None]])
    n = len(x)
    with torch.no_grad():
        full = kernel(points).to_dense() * hyper.outputscale[output]
    value = torch.cat([torch.ones(n + 1, 1, dtype=torch.float64), points], -1)[:, None]
    slopes = torch.eye(DIM + 1, dtype=torch.float64)[1:].expand(n + 1, -1, -1)
    features = torch.cat([value, slopes], 1).flatten(0, 1)
    full = full + hyper.plane**2 * features @ features.T
    # GPyTorch interleaves (f, df/dx_1, ...) per point; observed are the values of the data.
    data = torch.arange(n) * (DIM + 1)
    target = torch.arange(n * (DIM + 1), (n + 1) * (DIM + 1))
    noisy = full[data][:, data] + hyper.noise_var[output] * torch.eye(n, dtype=torch.float64)
    cross = full[data][:, target]
    residual = torch.from_numpy(y[:, output]) - hyper.mean[output]
    mean = cross.T @ torch.linalg.solve(noisy, residual)
    mean[0] += hyper.mean[output]
    return mean, full[target][:, target] - cross.T @ torch.linalg.solve(noisy, cross)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("replicates", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_posterior_equals_gpytorch_derivative_gp(
    kernel: str, ard: bool, replicates: bool, plane: float
) -> None:
    x, y = observations(replicates)
    hyper = hyperparameters(kernel, ard, plane=plane)
    at = torch.from_numpy(np.random.default_rng(0).random(DIM))
    gp = BatchedGP(merge(x, y), hyper)
    post, (gradient, trace) = gp.posterior(at), gp.gradient(at)
    for output in range(3):
        mean, cov = gpytorch_posterior(x, y, at, hyper, output)
        torch.testing.assert_close(post.mean[output], mean[0], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.var[output], cov[0, 0], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.gradient[output], mean[1:], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.gradient_cov[output], cov[1:, 1:], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.value_gradient_cov[output], cov[0, 1:], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(gradient[output], mean[1:], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(trace[output], cov[1:, 1:].trace(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_portions_of_outputs_give_the_same_model(
    missing: bool, plane: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit: splitting many outputs is about memory alone."""
    x, y = observations(replicates=True)
    at = torch.from_numpy(np.random.default_rng(0).random(DIM))
    if missing:
        y[2, 1] = np.nan
    whole = BatchedGP(merge(x, y), hyperparameters("matern52", ard=False, plane=plane))
    monkeypatch.setattr(factored, "PORTION", 2 * len(whole.u) ** 2)
    split = BatchedGP(merge(x, y), whole.hyper)
    assert torch.equal(split.factor, whole.factor)
    assert torch.equal(split.alpha, whole.alpha)
    monkeypatch.setattr(factored, "PORTION", 1)
    for name in ("gradient", "tangent"):
        for few, all_ in zip(getattr(split, name)(at), getattr(whole, name)(at), strict=True):
            torch.testing.assert_close(few, all_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_gradient_mean_equals_autograd_of_the_mean(kernel: str, ard: bool, plane: float) -> None:
    x, y = observations(replicates=True)
    gp = BatchedGP(merge(x, y), hyperparameters(kernel, ard, plane=plane))
    at = torch.from_numpy(np.random.default_rng(1).random(DIM)).requires_grad_(True)
    mean, _ = gp.predict(at[None])
    for output in range(3):
        (expected,) = torch.autograd.grad(mean[output, 0], at, retain_graph=True)
        torch.testing.assert_close(
            gp.posterior(at.detach()).gradient[output], expected, rtol=1e-8, atol=1e-11
        )


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_tangent_is_the_posterior_and_the_slope_of_its_mean(kernel: str, missing: bool, plane: float) -> None:
    x, y = observations(replicates=True)
    if missing:
        y[1, 0] = y[4, 1] = np.nan
    gp = BatchedGP(merge(x, y), hyperparameters(kernel, False, plane=plane))
    for at in (torch.from_numpy(np.random.default_rng(3).random(DIM)), torch.from_numpy(x[0])):
        mean, var, gradient = gp.tangent(at)
        post = gp.posterior(at)
        torch.testing.assert_close(mean, post.mean, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(var, post.var, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(gradient, post.gradient, rtol=1e-10, atol=1e-13)
        for i in range(DIM):
            shift = 1e-6 * torch.eye(DIM, dtype=torch.float64)[i]
            numeric = (gp.mean((at + shift)[None]) - gp.mean((at - shift)[None]))[:, 0] / 2e-6
            torch.testing.assert_close(gradient[:, i], numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("plane", [0.0, 0.8])
def test_predictions_at_many_points_agree_with_the_posterior_at_each(plane: float) -> None:
    x, y = observations(replicates=False)
    gp = BatchedGP(merge(x, y), hyperparameters("rbf", True, plane=plane))
    at = torch.from_numpy(np.random.default_rng(2).random((4, DIM)))
    mean, var = gp.predict(at)
    together, cov = gp.joint(at[None])
    torch.testing.assert_close(together[0], mean)
    torch.testing.assert_close(cov[0], gp.covariance(at), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(cov[0].diagonal(dim1=-2, dim2=-1), var, rtol=1e-9, atol=1e-12)
    for i in range(4):
        post = gp.posterior(at[i])
        torch.testing.assert_close(post.mean, mean[:, i])
        torch.testing.assert_close(post.var, var[:, i], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("dim", [2, 30])
def test_gradient_covariance_is_positive_semidefinite(kernel: str, dim: int) -> None:
    rng = np.random.default_rng(4)
    x = rng.random((2 * dim, dim))
    x[1] = x[0] + 1e-12  # a near-duplicate
    gp = BatchedGP(merge(x, rng.standard_normal((2 * dim, 3))), hyperparameters(kernel, False, dim=dim))
    cov = gp.posterior(torch.from_numpy(x[0])).gradient_cov
    torch.testing.assert_close(cov, cov.mT)
    assert float(torch.linalg.eigvalsh(cov).min()) >= -1e-10 * float(cov.abs().max())


def test_missing_outcomes_leave_each_output_its_own_data() -> None:
    x, y = observations(replicates=True)
    y[1, 0] = y[2, 0] = y[4, 1] = y[9, 1] = np.nan
    hyper = hyperparameters("rbf", False, plane=0.8)
    at = torch.from_numpy(np.random.default_rng(3).random(DIM))
    post = BatchedGP(merge(x, y), hyper).posterior(at)
    for output in range(3):
        known = ~np.isnan(y[:, output])
        mean, cov = gpytorch_posterior(x[known], y[known], at, hyper, output)
        torch.testing.assert_close(post.mean[output], mean[0], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.gradient[output], mean[1:], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(post.gradient_cov[output], cov[1:, 1:], rtol=1e-8, atol=1e-10)


def test_pending_points_condition_the_covariance_exactly_and_keep_the_mean() -> None:
    x, y = observations(replicates=False)
    hyper = hyperparameters("matern52", True, plane=0.8)
    gp = BatchedGP(merge(x, y), hyper)
    pending = torch.from_numpy(np.random.default_rng(5).random((4, DIM)))
    at = torch.from_numpy(np.random.default_rng(6).random(DIM))
    fantasy, _ = gp.predict(pending)
    rebuilt = BatchedGP(
        merge(np.concatenate([x, pending.numpy()]), np.concatenate([y, fantasy.T.numpy()])), hyper
    )
    got, expected, before = gp.conditioned(pending).posterior(at), rebuilt.posterior(at), gp.posterior(at)
    torch.testing.assert_close(got.gradient_cov, expected.gradient_cov, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(got.var, expected.var, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(got.gradient, before.gradient)
    torch.testing.assert_close(got.mean, before.mean)


def test_an_observation_never_raises_gradient_variance() -> None:
    x, y = observations(replicates=False)
    gp = BatchedGP(merge(x, y), hyperparameters("rbf", False))
    at = torch.from_numpy(np.random.default_rng(8).random(DIM))
    before = gp.posterior(at).gradient_cov
    for seed in range(20):
        z = torch.from_numpy(np.random.default_rng(seed).random((1, DIM)))
        change = before - gp.conditioned(z).posterior(at).gradient_cov
        assert float(torch.linalg.eigvalsh(change).min()) >= -1e-10


def test_order_of_the_data_does_not_matter() -> None:
    x, y = observations(replicates=True)
    hyper = hyperparameters("rbf", False)
    order = np.random.default_rng(9).permutation(len(x))
    at = torch.from_numpy(np.random.default_rng(10).random(DIM))
    one, other = (BatchedGP(d, hyper).posterior(at) for d in (merge(x, y), merge(x[order], y[order])))
    torch.testing.assert_close(one.gradient, other.gradient, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(one.gradient_cov, other.gradient_cov, rtol=1e-9, atol=1e-11)


def test_merge_counts_means_and_scatter() -> None:
    x = np.array([[0.1, 0.2], [0.3, 0.4], [0.1, 0.2], [0.1, 0.2]])
    y = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, np.nan], [5.0, 7.0]])
    data: Data = merge(x, y)
    assert data.u.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert data.y.tolist() == [[3.0, 2.0], [6.0, 6.0]]
    assert data.count.tolist() == [[3.0, 1.0], [2.0, 1.0]]
    assert data.scatter.tolist() == [8.0, 2.0]
    assert data.dof.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("missing", [False, True])
def test_leaving_one_out_equals_a_model_without_it(missing: bool) -> None:
    hyper = hyperparameters("matern52", ard=True)
    x, y = observations(replicates=False)
    if missing:
        y[2, 1] = np.nan
    left_out = BatchedGP(merge(x, y), hyper).leave_one_out()
    for i in range(len(x)):
        others = BatchedGP(merge(np.delete(x, i, 0), np.delete(y, i, 0)), hyper)
        mean, var = others.predict(torch.from_numpy(x[i : i + 1]))
        expected = torch.from_numpy(y[i]) - mean[:, 0]
        torch.testing.assert_close(left_out.error[:, i], expected, equal_nan=True)
        known = ~torch.isnan(expected)
        torch.testing.assert_close(left_out.var[known, i], var[known, 0])
        torch.testing.assert_close(left_out.observed[known, i], torch.from_numpy(y[i])[known])


@pytest.mark.parametrize("missing", [False, True])
def test_diagonal_of_the_inverse_is_that_of_the_dense_one(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lcbo.models.factored.COLUMNS", 3)
    x, y = observations(replicates=False)
    if missing:
        y[2, 1] = np.nan
    gp = BatchedGP(merge(x, y), hyperparameters("matern52", ard=False))
    grown = GrownGP(gp).conditioned(0.5 * gp.u[:2] + 0.1)
    for model in (gp, grown):
        expected = torch.linalg.inv(model.factor @ model.factor.mT).diagonal(dim1=-2, dim2=-1)
        torch.testing.assert_close(model.inverse_diagonal(), expected)
        torch.testing.assert_close(model.inverse_diagonal(4), expected[:, :4])
