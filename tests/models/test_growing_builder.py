"""The growing model against models built from scratch on the same data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.models.builder import GrowingBuilder
from lcbo.models.data import merge
from lcbo.models.fits.map import MapFit
from lcbo.models.fits.newton import WARM_FIT
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.scaling import Scaling

DIM, OUTPUTS = 4, 3


def dataset(n: int, *, repeats: bool = False, missing: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    u = rng.random((n, DIM))
    if repeats:
        u[n // 4] = u[0]  # within the base
        u[-1] = u[1]  # of a point of the base
        u[-2] = u[-3]  # within the points told later
    y = np.stack([u.sum(1), np.sin(4 * u[:, 0]) + 5.0, 1e3 * u[:, 1] * u[:, 2]], 1)
    y += 0.05 * y.std(0) * rng.standard_normal(y.shape)
    if missing:
        y[2, 0] = y[5, 1] = y[n - 2, 1] = y[n - 4, 2] = np.nan
    return u, y


def start(kernel: str = "rbf") -> Hyperparameters:
    return Hyperparameters.start(OUTPUTS, kernel, {"lengthscale": [0.7, 1.1, 1.6], "outputscale": 2.0})


def fresh(u: np.ndarray, y: np.ndarray, hyper: Hyperparameters) -> BatchedGP:
    scaling = Scaling.of(y)
    return BatchedGP(merge(u, (y - scaling.mean) / scaling.std), hyper)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_extended_model_equals_a_fresh_one(kernel: str, repeats: bool, missing: bool) -> None:
    u, y = dataset(40, repeats=repeats, missing=missing)
    growing = GrowingBuilder(start(kernel), None)
    for n in (20, 21, 33, 40):
        model = growing.build(np.arange(n), u[:n], y[:n], refit=False)
    expected = fresh(u, y, start(kernel))
    at = torch.from_numpy(np.random.default_rng(0).random((7, DIM)))
    for mine, other in zip(model.gp.predict(at), expected.predict(at), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)
    mine, other = model.gp.posterior(at[0]), expected.posterior(at[0])
    torch.testing.assert_close(mine.gradient, other.gradient, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(mine.gradient_cov, other.gradient_cov, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(model.scaling.std, Scaling.of(y).std)
    if not repeats:
        torch.testing.assert_close(model.gp.factor, expected.factor, rtol=1e-8, atol=1e-8)


def test_key_told_late_joins_the_points_after_the_base() -> None:
    u, y = dataset(30)
    early = np.delete(np.arange(20), 7)
    growing = GrowingBuilder(start(), None)
    growing.build(early, u[early], y[early], refit=True)
    model = growing.build(np.arange(30), u, y, refit=False)
    at = torch.from_numpy(np.random.default_rng(0).random((7, DIM)))
    for mine, other in zip(model.gp.predict(at), fresh(u, y, start()).predict(at), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


def test_hyperparameters_change_only_in_a_refit() -> None:
    u, y = dataset(40)
    growing = GrowingBuilder(start())
    growing.build(np.arange(20), u[:20], y[:20], refit=False)
    first = growing.hyper
    assert not torch.equal(first.lengthscale, start().lengthscale)  # the first update fits
    growing.build(np.arange(30), u[:30], y[:30], refit=False)
    assert growing.hyper is first
    growing.build(np.arange(40), u, y, refit=True)
    assert not torch.equal(growing.hyper.lengthscale, first.lengthscale)


def test_warm_fit_stops_near_the_optimum_of_a_long_fit() -> None:
    u, y = dataset(60)
    growing = GrowingBuilder(start())
    for n in (20, 40, 60):
        growing.build(np.arange(n), u[:n], y[:n], refit=True)
    scaling = Scaling.of(y)
    optimum = MapFit(tolerance=1e-14, max_iterations=200)(merge(u, (y - scaling.mean) / scaling.std), start())
    torch.testing.assert_close(growing.hyper.lengthscale, optimum.lengthscale, rtol=0.02, atol=0.0)
    torch.testing.assert_close(growing.hyper.outputscale, optimum.outputscale, rtol=0.05, atol=0.0)
    assert WARM_FIT.noise_prior is None  # the paper holds the noise


@pytest.mark.parametrize("size", [12, 25])
def test_restored_model_is_the_same_to_the_last_bit(size: int) -> None:
    u, y = dataset(40, missing=True)
    ids = np.delete(np.arange(size), [3, 8])
    growing, restored = GrowingBuilder(start()), GrowingBuilder(start())
    growing.build(ids, u[ids], y[ids], refit=True)
    growing.build(np.arange(30), u[:30], y[:30], refit=False)
    restored.restore(json.loads(json.dumps(growing.state())))
    mine, other = (m.build(np.arange(40), u, y, refit=False) for m in (restored, growing))
    assert torch.equal(mine.gp.factor, other.gp.factor)
    assert torch.equal(mine.gp.alpha, other.gp.alpha)
    mine, other = (m.build(np.arange(40), u, y, refit=True) for m in (restored, growing))
    assert torch.equal(mine.gp.alpha, other.gp.alpha)


def test_state_before_the_first_update_is_none() -> None:
    growing = GrowingBuilder(start())
    assert growing.state() is None
    growing.restore(None)
    assert growing.hyper.kernel == "rbf"


def test_pending_points_a_hair_from_known_ones_are_rescued() -> None:
    u, y = dataset(10)
    builder = GrowingBuilder(replace(start(), noise_var=torch.zeros(OUTPUTS, dtype=torch.float64)), None)
    gp = builder.build(np.arange(10), u, y, refit=False).gp
    near = torch.from_numpy(u[:3] + 1e-13)
    with pytest.raises(ModelError):
        gp.conditioned(near)
    with pytest.warns(NumericalRescueWarning):
        extended = builder.conditioned(gp, near)
    assert builder.rescues > 0
    at = torch.from_numpy(u[3:])
    torch.testing.assert_close(extended.mean(at), gp.mean(at))


def test_a_rescue_changes_neither_base_nor_hyperparameters_to_come() -> None:
    u, y = dataset(10)
    hyper = replace(start(), noise_var=torch.zeros(OUTPUTS, dtype=torch.float64))
    builder, plain = GrowingBuilder(hyper, None), GrowingBuilder(hyper, None)
    for one in (builder, plain):
        one.build(np.arange(10), u, y, refit=False)
    near, far = np.concatenate([u, u[:3] + 1e-13]), np.concatenate([u, 1.0 - u[:1]])
    with pytest.warns(NumericalRescueWarning):
        builder.build(np.arange(13), near, np.concatenate([y, y[:3]]), refit=False)
    mine, other = (
        m.build(np.arange(11), far, np.concatenate([y, y[:1]]), refit=False) for m in (builder, plain)
    )
    assert torch.equal(mine.gp.alpha, other.gp.alpha)
    assert builder.hyper is hyper
