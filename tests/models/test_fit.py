"""Fits: gradients against finite differences, likelihoods against dense algebra, recovery of truth."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal, norm

from lcbo.models.data import Data, merge
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.map import AdamFit, Gamma, LogNormal, MapFit, Normal, RestartedFit, log_posterior
from lcbo.models.hyperparameters import Hyperparameters

DIM = 3


def dataset(missing: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((10, DIM))
    x = np.concatenate([x, x[:4], x[:2]])
    y = rng.standard_normal((len(x), 2))
    if missing:
        y[3, 0] = y[12, 1] = np.nan
    return x, y


def unpack(flat: np.ndarray, width: int, kernel: str) -> Hyperparameters:
    table = torch.from_numpy(flat.reshape(2, width + 2)).exp()
    return Hyperparameters(
        table[:, :width], table[:, width], table[:, width + 1], torch.zeros(2, dtype=torch.float64), kernel
    )


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_slopes_match_finite_differences(kernel: str, ard: bool, missing: bool) -> None:
    data = merge(*dataset(missing))
    fit = MapFit(Gamma(3.0, 3.0), Normal(2.0, 1.0), LogNormal(-4.0, 3.0))
    width = DIM if ard else 1
    flat = np.random.default_rng(1).uniform(-1.0, 0.5, 2 * (width + 2))

    def total(at: np.ndarray) -> float:
        return float(log_posterior(data, unpack(at, width, kernel), fit)[0].sum())

    _, slopes = log_posterior(data, unpack(flat, width, kernel), fit)
    expected = approx_fprime(flat, total, 1e-6)
    np.testing.assert_allclose(slopes.numpy().ravel(), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("missing", [False, True])
def test_merged_likelihood_equals_the_unmerged_density(missing: bool) -> None:
    """Differences of the merged log likelihood equal those of the dense Gaussian over every row."""
    x, y = dataset(missing)
    data = merge(x, y)
    flat_prior = MapFit(LogNormal(0.0, 1e9), LogNormal(0.0, 1e9), LogNormal(0.0, 1e9))

    def merged(hyper: Hyperparameters) -> np.ndarray:
        return log_posterior(data, hyper, flat_prior)[0].numpy()

    def dense(hyper: Hyperparameters) -> np.ndarray:
        values = []
        for j in range(2):
            known = ~np.isnan(y[:, j])
            r2 = np.square((x[known][:, None] - x[known][None]) / hyper.lengthscale[j].numpy()).sum(-1)
            cov = hyper.outputscale[j].item() * np.exp(-0.5 * r2)
            cov += hyper.noise_var[j].item() * np.eye(known.sum())
            values.append(multivariate_normal(np.zeros(known.sum()), cov).logpdf(y[known, j]))
        return np.array(values)

    one = unpack(np.log([0.5, 1.2, 0.1, 0.8, 0.7, 0.3]), 1, "rbf")
    other = unpack(np.log([0.9, 0.6, 0.4, 0.4, 1.5, 0.05]), 1, "rbf")
    np.testing.assert_allclose(merged(one) - merged(other), dense(one) - dense(other), rtol=1e-8)


LATTICE = LatticeFit(length_span=(-3, 1), scale_span=(-2, 3), noise_span=(-10, 0), least_ratio=-11)


def lattice_by_brute_force(
    x: np.ndarray, y: np.ndarray, kernel: str, least: float, lengths: range, trend: float = 0.0
) -> tuple[np.ndarray, float]:
    """Means of ln l, ln s, ln v and the evidence of one output: a dense density over every row per cell."""
    known = ~np.isnan(y)
    r = np.sqrt(np.square(x[known][:, None] - x[known][None]).sum(-1))
    priors = []
    for span, prior in (
        (LATTICE.length_span, LATTICE.length_prior),
        (LATTICE.scale_span, LATTICE.scale_prior),
        (LATTICE.noise_span, LATTICE.noise_prior),
    ):
        indices = range(span[0], span[1] + 1)
        weights = norm(*prior).pdf([0.4 * i for i in indices])
        priors.append(dict(zip(indices, np.log(weights / weights.sum()), strict=True)))
    cells, values = [], []
    for i, j, k in itertools.product(lengths, priors[1], priors[2]):
        length, scale = math.sqrt(DIM) * math.exp(0.4 * i), math.exp(0.4 * j)
        noise = max(math.exp(0.4 * k), least)
        if noise / scale < math.exp(-0.4 * 11.5):
            continue
        t = math.sqrt(5.0) * r / length
        phi = np.exp(-0.5 * (r / length) ** 2) if kernel == "rbf" else (1.0 + t + t**2 / 3.0) * np.exp(-t)
        cov = scale * phi + noise * np.eye(len(r)) + trend * (1.0 + x[known] @ x[known].T)
        values.append(
            multivariate_normal(np.zeros(len(r)), cov).logpdf(y[known])
            + priors[0][i] + priors[1][j] + priors[2][k]
        )  # fmt: skip
        cells.append([math.log(length), math.log(scale), math.log(noise)])
    return softmax(values) @ np.array(cells), float(logsumexp(values))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("least", [[0.0, 0.0], [0.0, 0.1], [0.03, 5.0]])
@pytest.mark.parametrize("local", [False, True])
def test_lattice_equals_brute_force(kernel: str, missing: bool, least: list[float], local: bool) -> None:
    """With repeats, missing outcomes and known noise; the density of every row, unmerged, is the oracle."""
    x, y = dataset(missing)
    last = Hyperparameters.start(2, given={"lengthscale": [0.9 * math.sqrt(DIM), 1e-3]}) if local else None
    found = LATTICE.posterior(merge(x, y), kernel, least, last)
    hyper = found.hyper
    ours = torch.stack([hyper.lengthscale[:, 0], hyper.outputscale, hyper.noise_var], -1).log()
    for j in range(2):
        searched = [range(-1, 2), range(-3, -1)][j] if local else range(-3, 2)
        means, evidence = lattice_by_brute_force(x, y[:, j], kernel, least[j], searched)
        np.testing.assert_allclose(ours[j].numpy(), means, rtol=1e-8, atol=1e-8)
        left_out = 0.5 * math.log(2.0 * math.pi) * np.isfinite(y[:, j]).sum()
        np.testing.assert_allclose(float(found.evidence[j]) - left_out, evidence, rtol=1e-9)


@pytest.mark.parametrize("missing", [False, True])
def test_lattice_beside_a_plane_is_that_of_any_plane(missing: bool) -> None:
    """The oracle gives constant and slopes so wide a prior that it does not matter."""
    x, y = dataset(missing)
    data = merge(x, y)
    plane = torch.cat([data.u.new_ones(len(data.u), 1), data.u], -1)
    found = LATTICE.posterior(data, "matern52", [0.0, 0.0], None, plane).hyper
    ours = torch.stack([found.lengthscale[:, 0], found.outputscale, found.noise_var], -1).log()
    for j in range(2):
        means, _ = lattice_by_brute_force(x, y[:, j], "matern52", 0.0, range(-3, 2), 1e4)
        np.testing.assert_allclose(ours[j].numpy(), means, atol=2e-3)


def test_evidence_prefers_the_inputs_that_made_the_outcomes() -> None:
    data = gp_draw(0.8, 1e-4)
    warped = replace(data, u=data.u**4)
    plain, other = (LatticeFit().posterior(d, "rbf", [0.0], None).evidence for d in (data, warped))
    assert float(plain) > float(other) + 3.0


def gp_draw(length: float, noise: float, n: int = 120, dim: int = 4) -> Data:
    rng = np.random.default_rng(5)
    x = rng.random((n, dim))
    r2 = np.square(x[:, None] - x[None]).sum(-1) / length**2
    cov = np.exp(-0.5 * r2) + 1e-10 * np.eye(n)
    f = np.linalg.cholesky(cov) @ rng.standard_normal(n)
    return merge(x, (f + math.sqrt(noise) * rng.standard_normal(n))[:, None])


@pytest.mark.parametrize("many", [40, 256])
def test_restarted_fit_keeps_the_better_climb_of_every_output(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against SciPy's climbs of each output alone; the warm start takes the first output for noise."""
    monkeypatch.setattr("lcbo.models.fits.map.MANY", many)
    data = gp_draw(0.5, 1e-4)
    noise = torch.from_numpy(np.random.default_rng(6).standard_normal((1, len(data.u))))
    data = Data(data.u, torch.cat([data.y, noise]), data.count.repeat(2, 1), *torch.zeros(2, 2).double())
    start, fresh = (
        Hyperparameters.start(2, given={"lengthscale": 900.0, "noise_var": 1.0}),
        Hyperparameters.start(2),
    )
    plain = MapFit(noise_prior=LogNormal(-4.0, 3.0))
    found = RestartedFit(noise_prior=LogNormal(-4.0, 3.0), tolerance=1e-8, fresh=fresh)(data, start)
    value = log_posterior(data, found, plain)[0]
    for i in range(2):
        rows = np.array([i])
        one = data.outputs(rows)
        climbs = [plain(one, begun.outputs(rows)) for begun in (start, fresh)]
        best = max(float(log_posterior(one, hyper, plain)[0]) for hyper in climbs)
        assert float(value[i]) > best - 1e-3


@pytest.mark.parametrize("noise", [1e-4, 0.1])
def test_lattice_recovers_lengthscale_and_noise_of_its_own_draws(noise: float) -> None:
    hyper = LatticeFit().posterior(gp_draw(0.8, noise), "rbf", [0.0], None).hyper
    assert 0.5 < float(hyper.lengthscale[0, 0]) < 1.4
    assert noise / 2.0 < float(hyper.noise_var[0]) < 2.0 * noise


def test_local_refit_agrees_with_the_full_lattice() -> None:
    data = gp_draw(0.8, 0.01)
    full = LatticeFit().posterior(data, "rbf", [0.0], None).hyper
    local = LatticeFit().posterior(data, "rbf", [0.0], full).hyper
    assert float((local.lengthscale / full.lengthscale).log().abs()) < 0.1


def test_known_noise_is_a_floor() -> None:
    hyper = LatticeFit().posterior(gp_draw(0.8, 1e-4), "rbf", [0.05], None).hyper
    assert float(hyper.noise_var[0]) >= 0.05 * (1.0 - 1e-9)


def test_repeats_tell_noise_from_roughness() -> None:
    """The same white values: read as noise without repeats, as a rough function when repeats agree."""
    rng = np.random.default_rng(3)
    data = merge(rng.random((40, 4)), rng.standard_normal((40, 1)))
    blind = LatticeFit().posterior(data, "rbf", [0.0], None).hyper
    agreeing = Data(
        data.u, data.y, data.count, torch.zeros(1, dtype=torch.float64), torch.full((1,), 10.0).double()
    )
    told = LatticeFit().posterior(agreeing, "rbf", [0.0], None).hyper
    assert float(told.noise_var[0]) < 0.1 * float(blind.noise_var[0])


def test_adam_fit_takes_the_steps_of_torch_s_adam_on_softplus_parameters() -> None:
    """Against autograd on the dense Gaussian and the paper's priors, 50 steps of `torch.optim.Adam`."""
    x, y = dataset(missing=False)
    x, y = torch.from_numpy(x[:10]), torch.from_numpy(y[:10])
    zeros = torch.zeros(2, dtype=torch.float64)
    start = Hyperparameters(zeros[:, None] + 1.0, zeros + 0.69, zeros + 0.01, zeros, "rbf")
    found = AdamFit()(merge(x.numpy(), y.numpy()), start)
    gamma, normal = torch.distributions.Gamma(3.0, 3.0), torch.distributions.Normal(2.0, 1.0)
    for j in range(2):
        raw = torch.log(torch.expm1(torch.tensor([1.0, 0.69], dtype=torch.float64))).requires_grad_(True)
        adam = torch.optim.Adam([raw], lr=0.1)
        for _ in range(50):
            length, scale = torch.nn.functional.softplus(raw)
            cov = scale * torch.exp(-0.5 * torch.cdist(x / length, x / length).square())
            cov = cov + 0.01 * torch.eye(10, dtype=torch.float64)
            likelihood = torch.distributions.MultivariateNormal(torch.zeros(10).double(), cov).log_prob(
                y[:, j]
            )
            adam.zero_grad()
            (-(likelihood + gamma.log_prob(length) + normal.log_prob(scale))).backward()
            adam.step()
        expected = torch.nn.functional.softplus(raw).detach()
        torch.testing.assert_close(torch.stack([found.lengthscale[j, 0], found.outputscale[j]]), expected)


def test_map_fit_climbs_and_keeps_the_paper_noise() -> None:
    data = gp_draw(0.8, 0.01)
    start = Hyperparameters(
        torch.ones(1, 1).double(),
        torch.full((1,), 0.69).double(),
        torch.full((1,), 0.01, dtype=torch.float64),
        torch.zeros(1).double(),
    )
    fit = MapFit()
    found = fit(data, start)
    assert float(log_posterior(data, found, fit)[0]) >= float(log_posterior(data, start, fit)[0])
    assert float(log_posterior(data, found, fit)[1].abs().max()) < 1e-2
    assert float(found.noise_var[0]) == 0.01
