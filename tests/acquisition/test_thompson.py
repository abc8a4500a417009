"""Candidates, posterior draws against exact algebra, and picks against BoTorch, in distribution."""

from __future__ import annotations

import gpytorch
import numpy as np
import pytest
import torch
from botorch.generation.sampling import ConstrainedMaxPosteriorSampling, MaxPosteriorSampling
from botorch.models import ModelListGP, SingleTaskGP
from scipy.stats import chi2_contingency, ks_2samp
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.thompson import masked, picks, sobol
from lcbo.models.data import merge
from lcbo.models.draws import SAMPLERS
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

HYPER = {"lengthscale": [0.4, 0.5, 0.35], "outputscale": [1.0, 1.5, 0.8], "noise_var": [0.01, 0.02, 0.05]}
each_sampler = pytest.mark.parametrize("sampler", list(SAMPLERS))


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    u = np.random.default_rng(seed).random((9, 2))
    return u, np.stack([np.sin(4.0 * u[:, 0]), u[:, 1] - 0.4, np.cos(3.0 * u[:, 0] * u[:, 1]) - 0.7], 1)


def candidates(count: int = 12) -> Tensor:
    return torch.from_numpy(np.random.default_rng(5).random((count, 2)))


def drawn(gp: BatchedGP, z: Tensor, sampler: str, calls: int = 20, count: int = 200) -> Tensor:
    """Draws of many calls, so that no one set of random features decides."""
    rng = np.random.default_rng(7)
    return torch.cat([SAMPLERS[sampler](gp, z, count, rng) for _ in range(calls)])


def test_sobol_points_fill_the_box() -> None:
    center = torch.tensor([0.02, 0.5, 0.9], dtype=torch.float64)
    box = Box.around(center, 0.2)
    z = sobol(box, 4096, np.random.default_rng(0))
    assert z.shape == (4096, 3)
    assert ((z >= box.low) & (z <= box.high)).all()
    counts = torch.histogramdd((z - box.low) / (box.high - box.low), [2, 2, 2], range=[0.0, 1.0] * 3).hist
    assert torch.equal(counts, torch.full((2, 2, 2), 512.0, dtype=torch.float64))
    again = sobol(box, 4096, np.random.default_rng(1))
    assert not torch.equal(z, again)


@pytest.mark.parametrize("dim", [1, 3, 50])
def test_mask_moves_every_coordinate_sometimes_and_one_always(dim: int) -> None:
    probability = 0.4 if dim == 50 else 0.02
    center = torch.full((dim,), 0.5, dtype=torch.float64)
    points = torch.from_numpy(np.random.default_rng(0).random((20000, dim)))
    moved = masked(points, center, probability, np.random.default_rng(1)) != center
    assert moved.any(1).all()
    assert moved.any(0).all()
    # a coordinate moves with the probability, and with 1/d of the chance that none would have
    expected = probability + (1.0 - probability) ** dim / dim
    np.testing.assert_allclose(moved.double().mean(0).numpy(), expected, atol=5.0 * 0.5 / np.sqrt(20000))
    assert torch.equal(masked(points, center, 1.0, np.random.default_rng(1)), points)


@each_sampler
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_draws_have_the_moments_of_the_posterior(sampler: str, kernel: str) -> None:
    u, y = data()
    u, y = np.concatenate([u, u[:2]]), np.concatenate([y, y[:2] + 0.1])  # repeats: less noise
    y[3, 0] = y[6, 1] = np.nan
    gp = BatchedGP(merge(u, y), Hyperparameters.start(3, kernel, HYPER | {"mean": [0.5, 0.0, -0.5]}))
    z = candidates(6)
    draws = drawn(gp, z, sampler)
    mean, var = gp.predict(z)
    spread = (var / len(draws)).sqrt()
    assert ((draws.mean(0) - mean).abs() < 5.0 * spread + 1e-3).all()
    torch.testing.assert_close(draws.var(0), var, rtol=0.12, atol=0.0)
    extended = gp.conditioned(z)
    for b in range(3):  # the covariance from the block the candidates add to the factor
        block = extended.factor[b, -6:, -6:]
        cov = block @ block.T - gp.hyper.noise_var[b] * torch.eye(6, dtype=torch.float64)
        scale = var[b].sqrt()
        error = (torch.cov(draws[:, b].T) - cov) / (scale[:, None] * scale)
        assert float(error.abs().max()) < 0.12


def test_pathwise_draws_are_exact_draws_in_distribution() -> None:
    """The least value over the candidates depends on their joint distribution."""
    gp = BatchedGP(merge(*data()), Hyperparameters.start(3, "rbf", HYPER))
    z = torch.from_numpy(0.5 + 0.3 * np.random.default_rng(2).random((40, 2)))
    fast, exact = drawn(gp, z, "pathwise"), drawn(gp, z, "exact")
    rng = np.random.default_rng(3)
    marginal = rng.permuted(exact.numpy(), axis=0)  # the same marginals, not jointly drawn
    for b in range(3):
        assert ks_2samp(fast[:, b].amin(-1), exact[:, b].amin(-1)).pvalue > 1e-3
        assert ks_2samp(marginal[:, b].min(-1), exact[:, b].amin(-1)).pvalue < 1e-6


def botorch_models() -> list[SingleTaskGP]:
    u, y = data()
    models = []
    for b in range(3):
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()).double()
        kernel.base_kernel.lengthscale = HYPER["lengthscale"][b]
        kernel.outputscale = HYPER["outputscale"][b]
        target = torch.from_numpy(-y[:, :1] if b == 0 else y[:, b : b + 1])
        models.append(
            SingleTaskGP(
                torch.from_numpy(u),
                target,
                torch.full_like(target, HYPER["noise_var"][b]),
                covar_module=kernel,
                mean_module=gpytorch.means.ZeroMean(),
                outcome_transform=None,
            )
        )
    return models


def botorch_counts(z: Tensor, shift: float) -> np.ndarray:
    """How often BoTorch picks each candidate when the constraints are ``c + shift <= 0``."""
    objective, *constraints = botorch_models()
    for model in constraints:
        model.mean_module = gpytorch.means.ConstantMean().double()
        model.mean_module.constant.data.fill_(shift)
        model.set_train_data(targets=model.train_targets + shift, strict=False)
    strategy = ConstrainedMaxPosteriorSampling(objective, ModelListGP(*constraints))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(11)
        chosen = strategy(z, num_samples=2000)
    return (chosen[:, None] == z).all(-1).double().sum(0).numpy()


def p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Of the hypothesis that two sets of picks have one distribution; rare candidates are pooled."""
    table = np.stack([first, second])
    rare = table.sum(0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    return float(chi2_contingency(table[:, table.sum(0) > 0]).pvalue)


@each_sampler
@pytest.mark.parametrize(("shift", "feasible_draws"), [(-0.6, (0.9, 1.0)), (1.2, (0.0, 0.1))])
def test_picks_are_botorchs_in_distribution(
    sampler: str, shift: float, feasible_draws: tuple[float, float]
) -> None:
    """Most draws have feasible candidates, or most have none and pick the least violation."""
    z = candidates()
    gp = BatchedGP(merge(*data()), Hyperparameters.start(3, "rbf", HYPER))
    conditions = Terms((Term(1, 1.0, -shift), Term(2, 1.0, -shift))).scaled(Scaling.identity(3))
    draws = drawn(gp, z, sampler, count=100)
    violation = conditions.violation(draws, axis=-2).sum(-2)
    share = float((violation == 0.0).any(-1).double().mean())
    assert feasible_draws[0] <= share <= feasible_draws[1]

    def counts(violation: Tensor | None) -> np.ndarray:
        chosen = [
            picks(draws[i : i + 1, 0], None if violation is None else violation[i : i + 1])[0]
            for i in range(len(draws))
        ]
        return np.bincount(chosen, minlength=len(z)).astype(float)

    expected = botorch_counts(z, shift)
    assert p_value(counts(violation), expected) > 1e-3
    assert p_value(counts(None), expected) < 1e-12  # without feasibility


def test_picks_without_constraints_are_botorchs_in_distribution() -> None:
    z = candidates()
    gp = BatchedGP(merge(*data()), Hyperparameters.start(3, "rbf", HYPER)).outputs(slice(0, 1))
    draws = drawn(gp, z, "pathwise", count=100)
    mine = np.bincount([picks(d)[0] for d in draws], minlength=len(z)).astype(float)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(12)
        chosen = MaxPosteriorSampling(botorch_models()[0])(z, num_samples=2000)
    expected = (chosen[:, None] == z).all(-1).double().sum(0).numpy()
    assert p_value(mine, expected) > 1e-3


def test_no_candidate_is_picked_twice() -> None:
    rng = np.random.default_rng(0)
    objective = torch.from_numpy(rng.random((6, 8)))
    violation = torch.from_numpy(np.where(rng.random((6, 8)) < 0.3, 0.0, rng.random((6, 8))))
    left, expected = set(range(8)), []
    for f, v in zip(objective.tolist(), violation.tolist(), strict=True):
        feasible = [i for i in left if v[i] == 0.0]
        expected.append(min(feasible, key=f.__getitem__) if feasible else min(left, key=v.__getitem__))
        left.remove(expected[-1])
    assert picks(objective, violation) == expected
    assert len(set(expected)) == 6
    same = torch.arange(8.0).expand(8, 8)
    assert picks(same) == list(range(8))
