"""The surrogate on hard windows, its rescues, and what it carries from window to window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.models import builder as module
from lcbo.models.builder import Model, WindowBuilder
from lcbo.models.data import Data, merge
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.map import MapFit
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats

DIM = 4


def start(n_outputs: int = 1, noise_var: float = 0.01, kernel: str = "rbf") -> Hyperparameters:
    ones = torch.ones(n_outputs, dtype=torch.float64)
    return Hyperparameters(ones[:, None], 0.69 * ones, noise_var * ones, 0.0 * ones, kernel)


def window_builder(
    fit: MapFit | LatticeFit | None = None, n_outputs: int = 1, **settings: Any
) -> WindowBuilder:
    settings = {"standardize": True, "average_repeats": False, "noise_var": (None,) * n_outputs} | settings
    return WindowBuilder(settings.pop("start", start(n_outputs)), fit, **settings)


def build(built: WindowBuilder, u: np.ndarray, y: np.ndarray, refit: bool = True) -> Model:
    repeats = Repeats(built.noise_var)
    for point, outputs in zip(u, y, strict=True):
        repeats.add(point, outputs)
    return built.build(u, y, repeats, refit)


def smooth(u: np.ndarray) -> np.ndarray:
    return np.sin(3.0 * u[:, :1]) + u[:, 1:2] ** 2


def windows() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    u = np.random.default_rng(0).random((12, DIM))
    doubled = np.concatenate([u, u[:5], u[:5]])
    near = np.concatenate([u, u + 1e-12])
    return {
        "duplicates": (doubled, smooth(doubled)),
        "near-duplicates": (near, smooth(near)),
        "constant": (u, np.full((12, 1), 3.0)),
        "one point": (u[:1], smooth(u[:1])),
        "one point repeated": (u[[0, 0, 0]], smooth(u[[0, 0, 0]])),
        "fewer points than variables": (u[:3], smooth(u[:3])),
        "outlier": (u, np.where(np.arange(12)[:, None] == 3, 1e9, smooth(u))),
        "never seen": (u, np.full((12, 1), np.nan)),
        "tiny": (u, 1e-150 * smooth(u)),
        "huge": (u, 1e150 * smooth(u)),
    }


FITS = {"lattice": LatticeFit(), "map": MapFit(), "fixed": None}


@pytest.mark.filterwarnings("default::lcbo.errors.NumericalRescueWarning")
@pytest.mark.parametrize("window", windows())
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_hard_windows_give_finite_models(window: str, fit: str, kernel: str) -> None:
    u, y = windows()[window]
    built = window_builder(FITS[fit], start=start(kernel=kernel))
    for refit in (True, False, True):
        model = build(built, u, y, refit)
    post = model.gp.posterior(torch.from_numpy(u[0]))
    for part in (post.mean, post.var, post.gradient, post.gradient_cov):
        assert bool(torch.isfinite(part).all())
    assert float(post.var) >= 0.0
    assert np.isfinite(post.mean.numpy() * model.scaling.std + model.scaling.mean).all()


def test_a_plane_stands_beside_what_the_fit_finds_without_it() -> None:
    """The slopes of a steep plane with noise are those of a regression, and the noise is found."""
    rng = np.random.default_rng(5)
    slopes = np.array([[5.0], [-3.0], [0.0], [1.0]])
    u = rng.random((40, DIM))
    y = u @ slopes + 0.3 * rng.standard_normal((40, 1))
    built = window_builder(LatticeFit())
    built.plane = 50.0
    model = build(built, u, y)
    assert (model.gp.hyper.plane, built.hyper.plane) == (50.0, 50.0)
    regression = np.linalg.lstsq(np.column_stack([np.ones(40), u]), y, rcond=None)[0][1:, 0]
    found = model.gp.posterior(torch.from_numpy(u.mean(0))).gradient[0].numpy() * model.scaling.std
    np.testing.assert_allclose(found, regression, atol=0.2)
    # The process that is left has nothing to explain: slopes of the size of these would be seen.
    assert float(model.gp.hyper.noise_var[0]) * model.scaling.std[0] ** 2 == pytest.approx(0.09, rel=0.5)
    few = window_builder(LatticeFit())
    few.plane = 50.0
    assert build(few, u[: 2 * DIM + 1], y[: 2 * DIM + 1]).gp.hyper.plane == 0.0
    assert build(few, u[: 2 * DIM + 2], y[: 2 * DIM + 2]).gp.hyper.plane == 50.0


def test_a_long_window_is_fitted_to_some_of_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are spread over all of it; the model has all."""
    monkeypatch.setattr(module, "FITTED", 10)
    u = np.random.default_rng(0).random((28, DIM))
    model = build(window_builder(LatticeFit()), u, smooth(u))
    assert len(model.gp.u) == 28
    y = (smooth(u) - smooth(u).mean()) / smooth(u).std()
    expected = LatticeFit().posterior(merge(u[::3], y[::3]), "rbf", [0.0], None).hyper
    for name in ("lengthscale", "outputscale", "noise_var"):
        torch.testing.assert_close(getattr(model.gp.hyper, name), getattr(expected, name))


@pytest.mark.parametrize(("fitted", "plane"), [(2 * DIM + 1, 0.0), (2 * DIM + 2, 50.0)])
def test_no_plane_is_told_by_too_few_of_the_points_of_a_long_window(
    fitted: int, plane: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FITTED", fitted)
    u = np.random.default_rng(0).random((28, DIM))
    built = window_builder(LatticeFit())
    built.plane = 50.0
    assert build(built, u, smooth(u)).gp.hyper.plane == plane


def test_near_duplicates_without_noise_are_rescued() -> None:
    u = np.random.default_rng(0).random((10, DIM))
    near = np.concatenate([u, u + 1e-12])
    with pytest.warns(NumericalRescueWarning, match="jitter"):
        model = build(window_builder(start=start(noise_var=0.0)), near, smooth(near))
    post = model.gp.posterior(torch.from_numpy(u[0]))
    mean = post.mean.numpy() * model.scaling.std + model.scaling.mean
    np.testing.assert_allclose(mean, smooth(u[:1])[0], atol=1e-3)


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_the_ladder_is_walked_rung_by_rung(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Hyperparameters] = []

    def fragile(data: Data, hyper: Hyperparameters) -> BatchedGP:
        tried.append(hyper)
        if len(tried) <= failures:
            raise ModelError("not positive definite")
        return BatchedGP(data, hyper)

    monkeypatch.setattr(module, "BatchedGP", fragile)
    built = window_builder(start=start(noise_var=1e-12))
    u, y = windows()["duplicates"]
    if failures == 0:
        build(built, u, y)
    elif failures < 3:
        with pytest.warns(NumericalRescueWarning):
            build(built, u, y)
    else:
        with pytest.raises(ModelError, match="12 points"):
            build(built, u, y)
    assert built.rescues == failures
    noises = [float(hyper.noise_var[0]) for hyper in tried]
    assert noises == sorted(noises)
    assert noises[0] == 1e-12
    if failures == 2:
        assert noises[-1] == 1e-2
    assert float(built.hyper.noise_var[0]) == 1e-12, "a rescue must not change the models that follow"


def test_averaged_repeats_are_one_observation_each() -> None:
    u, y = windows()["duplicates"]
    y = y + 0.1 * np.random.default_rng(1).standard_normal(y.shape)
    averaged = build(window_builder(average_repeats=True, standardize=False), u, y)
    by_hand = np.concatenate([np.stack([y[[i, 12 + i, 17 + i]].mean(0) for i in range(5)]), y[5:12]])
    expected = build(window_builder(standardize=False), u[:12], by_hand)
    weighted = build(window_builder(standardize=False), u, y)
    x = torch.full((DIM,), 0.4, dtype=torch.float64)
    torch.testing.assert_close(averaged.gp.posterior(x).mean, expected.gp.posterior(x).mean)
    torch.testing.assert_close(averaged.gp.posterior(x).gradient_cov, expected.gp.posterior(x).gradient_cov)
    assert float(weighted.gp.posterior(x).var) < float(averaged.gp.posterior(x).var)


def test_fixed_hyperparameters_are_never_touched() -> None:
    built = window_builder()
    given = built.hyper
    for window in ("duplicates", "constant", "fewer points than variables"):
        assert build(built, *windows()[window]).gp.hyper is given
    assert built.rescues == 0


def test_without_standardization_outputs_keep_their_units() -> None:
    u, y = windows()["duplicates"]
    model = build(window_builder(standardize=False), u, 1e3 + y)
    np.testing.assert_array_equal(model.scaling.mean, [0.0])
    np.testing.assert_array_equal(model.scaling.std, [1.0])


def test_hyperparameters_change_only_when_refitted() -> None:
    u, y = windows()["duplicates"]
    built = window_builder(LatticeFit())
    first = build(built, u, y, refit=False).gp.hyper  # the first build always fits
    assert first is not built.start
    assert build(built, u, -(y**2), refit=False).gp.hyper is first
    assert build(built, u, -(y**2), refit=True).gp.hyper is not first


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_a_switched_kernel_holds_from_the_next_fit(kernel: str) -> None:
    other = {"rbf": "matern52", "matern52": "rbf"}[kernel]
    u, y = windows()["duplicates"]
    built = window_builder(LatticeFit(), start=start(kernel=kernel))
    assert build(built, u, y).gp.hyper.kernel == kernel
    built.kernel = other
    assert build(built, u, y, refit=False).gp.hyper.kernel == kernel
    assert build(built, u, y, refit=True).gp.hyper.kernel == other


def test_known_noise_is_the_least_the_lattice_learns() -> None:
    u, y = windows()["duplicates"]
    model = build(window_builder(LatticeFit(), noise_var=(0.04,)), u, y)
    assert float(model.gp.hyper.noise_var[0]) * model.scaling.std[0] ** 2 >= 0.04 * (1.0 - 1e-9)


def test_repeats_of_the_whole_run_inform_a_window_without_any() -> None:
    rng = np.random.default_rng(2)
    u = rng.random((15, DIM))
    y = smooth(u) + 0.3 * rng.standard_normal((15, 1))
    agreeing, scattered = Repeats((None,)), Repeats((None,))
    for _ in range(20):
        agreeing.add(u[0], np.zeros(1))
        scattered.add(u[0], 0.3 * rng.standard_normal(1))
    quiet = window_builder(LatticeFit()).build(u, y, agreeing, True).gp.hyper
    noisy = window_builder(LatticeFit()).build(u, y, scattered, True).gp.hyper
    assert float(quiet.noise_var[0]) < 0.01 * float(noisy.noise_var[0])


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_lengthscales_follow_a_zoom(kernel: str) -> None:
    """Inputs ten times larger with lengthscales ten times longer: the same process, slopes over ten."""
    u, y = windows()["duplicates"]
    built = window_builder(LatticeFit(), start=start(kernel=kernel))
    before = build(built, u, y)
    built.zoom(10.0)
    after = build(built, 10.0 * u, y, refit=False)
    x = torch.full((DIM,), 0.4, dtype=torch.float64)
    here, there = before.gp.posterior(x), after.gp.posterior(10.0 * x)
    torch.testing.assert_close(there.mean, here.mean, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(there.var, here.var, rtol=1e-6, atol=1e-11)
    torch.testing.assert_close(10.0 * there.gradient, here.gradient, rtol=1e-9, atol=1e-11)


def test_a_forgotten_estimate_has_no_say_in_the_next_fit() -> None:
    u, y = windows()["duplicates"]
    fresh, led = window_builder(LatticeFit()), window_builder(LatticeFit())
    led.resume(replace(start(), lengthscale=torch.full((1, 1), 0.05, dtype=torch.float64)), "rbf")
    expected = build(fresh, u, y, refit=False).gp.hyper
    near = build(led, u, y).gp.hyper
    assert float(near.lengthscale) < float(expected.lengthscale), "a refit stays near the last estimate"
    led.forget()
    again = build(led, u, y, refit=False).gp.hyper
    assert torch.equal(again.lengthscale, expected.lengthscale)
    assert torch.equal(again.noise_var, expected.noise_var)
