"""The Newton fit against SciPy's L-BFGS on the same density: the same tops, from near and far."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo.errors import ModelError
from lcbo.models.data import Data, merge
from lcbo.models.fits import map as fit_module
from lcbo.models.fits import newton
from lcbo.models.fits.map import LogNormal, MapFit, log_posterior
from lcbo.models.fits.newton import NewtonFit
from lcbo.models.hyperparameters import Hyperparameters

TIGHT = MapFit(tolerance=1e-14, max_iterations=500)


def outputs(n: int, dim: int = 4, missing: bool = False) -> Data:
    """A smooth, a rough and a white output."""
    rng = np.random.default_rng(n)
    x = rng.random((n, dim))
    y = np.stack([np.sin(x.sum(-1)), np.sin(9.0 * x[:, 0]) * x[:, 1], rng.standard_normal(n)], -1)
    y = (y - y.mean(0)) / y.std(0)
    if missing:
        y[rng.random(y.shape) < 0.2] = np.nan
    return merge(x, y)


@pytest.mark.parametrize("n", [2, 12, 80])
@pytest.mark.parametrize("lengthscale", [0.05, 1.0, 40.0])
@pytest.mark.parametrize("missing", [False, True])
def test_tops_are_those_of_lbfgs(n: int, lengthscale: float, missing: bool) -> None:
    """At least as high: from 0.05, where the data say nothing, the two may climb to different tops."""
    data, start = outputs(n, missing=missing), Hyperparameters.start(3, given={"lengthscale": lengthscale})
    fit = NewtonFit(tolerance=1e-9)
    found, expected = (log_posterior(data, each(data, start), fit)[0] for each in (fit, TIGHT))
    assert bool((found > expected - 1e-4).all())


@pytest.mark.parametrize("given", [{"outputscale": 1e-4}, {"outputscale": 300.0, "lengthscale": 0.02}])
@pytest.mark.parametrize("seed", range(12))
def test_climbs_out_of_corners(given: dict[str, float], seed: int) -> None:
    """A constant output drives its scale to a bound; when it varies at last, the fit starts from there."""
    rng = np.random.default_rng(seed)
    x = rng.random((40, 3))
    y = np.sin(rng.uniform(0.5, 6.0) * x.sum(-1)) + 0.1 * rng.standard_normal(40)
    data, start = merge(x, (y - y.mean())[:, None] / y.std()), Hyperparameters.start(1, given=given)
    fit = NewtonFit(tolerance=1e-6)
    found, expected = (float(log_posterior(data, each(data, start), fit)[0][0]) for each in (fit, TIGHT))
    assert found > expected - 0.01


def test_a_model_without_noise_is_fitted() -> None:
    data, start = outputs(12).outputs(np.array([0])), Hyperparameters.start(1, given={"noise_var": 0.0})
    found = NewtonFit(tolerance=1e-9)(data, start)
    assert float(log_posterior(data, found, NewtonFit())[1].abs().max()) < 1e-2
    assert float(found.noise_var[0]) == 0.0


def test_a_warm_fit_costs_few_densities(monkeypatch: pytest.MonkeyPatch) -> None:
    data = outputs(85)
    warm = TIGHT(outputs(80), Hyperparameters.start(3))
    solved: dict[type[MapFit], int] = {NewtonFit: 0, MapFit: 0}

    def counted(data: Data, hyper: Hyperparameters, fit: MapFit) -> tuple[torch.Tensor, torch.Tensor]:
        solved[type(fit)] += len(data.y)
        return log_posterior(data, hyper, fit)

    monkeypatch.setattr(newton, "log_posterior", counted)
    monkeypatch.setattr(fit_module, "log_posterior", counted)
    for kind in solved:
        kind(tolerance=1e-6)(data, warm)
    assert 3 * 3 <= solved[NewtonFit] < 0.6 * solved[MapFit]


def test_learned_noise_and_a_bound_that_holds() -> None:
    """Noise-free data: the noise goes to its lower bound and stays there while the others climb on."""
    data = outputs(60).outputs(np.array([0]))
    options = {"noise_prior": LogNormal(-4.0, 10.0), "bounds": ((1e-2, 1e3), (1e-4, 1e3), (1e-3, 1e1))}
    fit, tight = NewtonFit(tolerance=1e-9, **options), MapFit(tolerance=1e-14, **options)
    found, expected = (each(data, Hyperparameters.start(1)) for each in (fit, tight))
    assert float(found.noise_var[0]) == pytest.approx(1e-3, rel=1e-9)
    torch.testing.assert_close(found.lengthscale, expected.lengthscale, rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("longest", [0.2, 0.6])
def test_what_cannot_be_factorized_is_kept_away_from(monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    """Beyond ``longest`` the covariance is said to be indefinite; the top lies beyond it."""
    data, start = outputs(60).outputs(np.array([0])), Hyperparameters.start(1, given={"lengthscale": 0.3})
    assert float(TIGHT(data, start).lengthscale[0, 0]) > 0.7

    def fragile(data: Data, hyper: Hyperparameters, fit: MapFit) -> tuple[torch.Tensor, torch.Tensor]:
        if float(hyper.lengthscale[0, 0]) > longest:
            raise ModelError("Cholesky failed")
        return log_posterior(data, hyper, fit)

    monkeypatch.setattr(newton, "log_posterior", fragile)
    found = float(NewtonFit()(data, start).lengthscale[0, 0])
    assert found == 0.3 if longest < 0.3 else 0.55 < found <= 0.6
