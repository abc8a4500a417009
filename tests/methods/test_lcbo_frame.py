"""Warp and frame against finite differences, and models in a frame against models in the cube."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.evidence import POWERS
from lcbo.methods.lcbo.frame import LEAST_WIDTH, SHIFT, UNIFORM_SPREAD, Frame, Warp
from lcbo.methods.lcbo.local_model import LocalModel
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import NoiseRegime
from lcbo.methods.lcbo.window import Window
from lcbo.models.builder import WindowBuilder
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats
from lcbo.terms import Term, Terms

each_power = pytest.mark.parametrize("power", [*POWERS, 10.0, 0.1])
MIXED = Warp(np.log([3.0, 1.0, 0.5]))


def warp(power: float, dim: int = 1) -> Warp:
    return Warp(np.full(dim, np.log(power)))


def column(count: int = 1001) -> np.ndarray:
    return np.concatenate([[0.0, 1e-15, 1e-9], np.linspace(0.0, 1.0, count), [1.0 - 1e-12]])[:, None]


@each_power
def test_bent_and_straight_are_inverse(power: float) -> None:
    u, curve = column(), warp(power)
    np.testing.assert_allclose(curve.straight(curve.bent(u)), u, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(curve.bent(curve.straight(u)), u, rtol=0.0, atol=1e-12)


@each_power
def test_warp_keeps_the_ends_and_the_order(power: float) -> None:
    ends, curve = np.array([[0.0], [1.0]]), warp(power)
    np.testing.assert_array_equal(curve.bent(ends), ends)
    np.testing.assert_array_equal(curve.straight(ends), ends)
    grid = np.linspace(0.0, 1.0, 500)[:, None]
    for way in (curve.bent, curve.straight):
        assert np.all(np.diff(way(grid)[:, 0]) > 0.0)
        assert np.all((way(grid) >= 0.0) & (way(grid) <= 1.0))


@each_power
def test_slope_matches_finite_differences(power: float) -> None:
    u, curve, h = np.linspace(0.01, 0.99, 80)[:, None], warp(power), 1e-6
    numeric = (curve.bent(u + h) - curve.bent(u - h)) / (2.0 * h)
    np.testing.assert_allclose(curve.slope(u), numeric, rtol=1e-7)
    for end in (np.zeros((1, 1)), np.ones((1, 1))):
        assert np.isfinite(curve.slope(end)).all(), "the shift keeps it finite at the bounds"
    numeric = (curve.slope(u + h) - curve.slope(u - h)) / (2.0 * h)
    np.testing.assert_allclose(curve.bend(u), numeric, rtol=1e-5, atol=1e-8)


def test_a_power_stretches_its_own_end() -> None:
    """Up to the shift ``z = u^(1/3)``: the lowest hundredth becomes a fifth of the cube."""
    low, high = np.array([[0.01]]), np.array([[0.99]])
    assert warp(3.0).bent(low)[0, 0] == pytest.approx(
        (np.cbrt(0.01 + SHIFT) - np.cbrt(SHIFT)) / (np.cbrt(1.0 + SHIFT) - np.cbrt(SHIFT)), abs=1e-14
    )
    np.testing.assert_allclose(warp(1.0 / 3.0).bent(high), 1.0 - warp(3.0).bent(low), atol=1e-14)


def test_variables_are_bent_one_by_one() -> None:
    u = np.random.default_rng(0).random((4, 5, 3))
    z = MIXED.bent(u)
    for i, log_power in enumerate(MIXED.log_power):
        alone = Warp(np.array([log_power]))
        np.testing.assert_allclose(z[..., i : i + 1], alone.bent(u[..., i : i + 1]), rtol=1e-14)
        np.testing.assert_allclose(MIXED.slope(u)[..., i], alone.slope(u[..., i : i + 1])[..., 0], rtol=1e-14)
    np.testing.assert_array_equal(z[..., 1], u[..., 1])


@pytest.mark.parametrize("width", [1.0, 1e-3, LEAST_WIDTH])
def test_frame_goes_there_and_back(width: float) -> None:
    center = np.array([0.3, 0.0, 1.0])
    frame = Frame(MIXED, center, width)
    z = np.clip(center + width * np.random.default_rng(1).standard_normal((20, 3)), 0.0, 1.0)
    np.testing.assert_allclose(frame.working(frame.placed(z)), z, rtol=0.0, atol=1e-15)
    u = MIXED.straight(z)
    np.testing.assert_allclose(MIXED.straight(frame.working(frame.local(u))), u, rtol=0.0, atol=1e-12)


def test_the_whole_frame_changes_nothing() -> None:
    u = np.random.default_rng(2).random((5, 3))
    whole = Frame.whole(3)
    for way in (whole.local, whole.placed, whole.working, whole.warp.bent, whole.warp.straight):
        np.testing.assert_array_equal(way(u), u)
    np.testing.assert_array_equal(whole.warp.slope(u), np.ones((5, 3)))


def test_frame_of_a_window_has_unit_spread() -> None:
    rng = np.random.default_rng(3)
    for size in (1e-1, 1e-4, 1e-7):
        u = 0.4 + size * (rng.random((200, 3)) - 0.5)
        local = Frame.around(MIXED, u).local(u)
        np.testing.assert_allclose(local.mean(0), 0.0, atol=1e-6)
        assert np.sqrt(np.square(local).mean()) == pytest.approx(UNIFORM_SPREAD, rel=1e-6)
    wide = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert Frame.around(MIXED, wide).width == 1.0, "it is never larger than the cube"
    assert Frame.around(MIXED, wide[[0, 0]]).width == LEAST_WIDTH


def test_state_goes_through_json_exactly() -> None:
    u = np.random.default_rng(4).random((7, 3))
    frame = Frame.around(MIXED, u)
    again = Frame.restored(json.loads(json.dumps(frame.state())))
    np.testing.assert_array_equal(again.local(u), frame.local(u))
    assert again.width == frame.width
    np.testing.assert_array_equal(again.warp.slope(u), frame.warp.slope(u))


def outputs(u: np.ndarray) -> np.ndarray:
    return np.array([1.0 / (u[0] + 0.05) + 30.0 * u[1] ** 2, np.sin(3.0 * u @ [1.0, 2.0, -1.0])])


def model_in(frame: Frame, lengthscale: float, kernel: str = "matern52", spread: float = 1.0) -> LocalModel:
    """A model with given hyperparameters of twelve points in a given frame."""
    archive, options, regime = Archive(3, 2), LcboOptions(fit="fixed", window=None), NoiseRegime()
    ones = torch.ones(2, dtype=torch.float64)
    hyper = Hyperparameters(lengthscale * ones[:, None], 2.0 * ones, 1e-4 * ones, 0.0 * ones, kernel)
    builder = WindowBuilder(hyper, None, standardize=True, average_repeats=False, noise_var=(None, None))
    terms = Terms((Term(row=1, sign=1.0, threshold=0.2),))
    window = Window(3, 2, options, regime, SimpleNamespace(starts=[0]))
    model = LocalModel(archive, window, builder, Repeats((None, None)), terms, options)
    for u in 0.5 + spread * (np.random.default_rng(5).random((12, 3)) - 0.5):
        id = archive.add(u)
        archive.settle(id, outputs(u))
        model.tell(u, outputs(u))
    model.frame = frame
    model.build(archive.recent(None), 0, 0.1)
    return model


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("curve", [Warp(np.zeros(3)), MIXED], ids=["plain", "bent"])
@pytest.mark.parametrize("width", [1.0, 0.01])
def test_belief_in_a_frame_has_the_gradient_of_its_mean(kernel: str, curve: Warp, width: float) -> None:
    frame = Frame(curve, curve.bent(np.full(3, 0.5)), width)
    model = model_in(frame, 1.0, kernel, spread=width)
    u, h = np.full(3, 0.5) + 0.1 * width * np.array([1.0, -1.0, 0.5]), 1e-5 * width
    belief = model.belief(u)
    assert belief is not None
    for i in range(3):
        shift = h * np.eye(3)[i]
        ahead, behind = model.belief(u + shift), model.belief(u - shift)
        assert ahead is not None
        assert behind is not None
        numeric = (ahead.mean - behind.mean) / (2.0 * h)
        np.testing.assert_allclose(belief.gradient[:, i], numeric, rtol=1e-5, atol=1e-6 / width)


def test_belief_does_not_depend_on_the_zoom() -> None:
    """Moved and scaled inputs with lengthscales that follow are the same Gaussian process."""
    plain = model_in(Frame.whole(3), 0.7).belief(np.full(3, 0.4))
    assert plain is not None
    for width in (0.5, 0.01, 1e-4):
        frame = Frame(Warp(np.zeros(3)), np.array([0.2, 0.5, 0.9]), width)
        zoomed = model_in(frame, 0.7 / width).belief(np.full(3, 0.4))
        assert zoomed is not None
        for name in ("mean", "std", "gradient", "gradient_std"):
            np.testing.assert_allclose(getattr(zoomed, name), getattr(plain, name), rtol=1e-7)


def test_local_posterior_is_that_of_the_working_cube() -> None:
    """Slopes by finite differences of the values; terms are over the scale of their output."""
    model = model_in(Frame(MIXED, np.full(3, 0.4), 0.2), 2.0)
    z, h = np.array([0.45, 0.4, 0.35]), 1e-6
    here = model.at(z)
    for i in range(3):
        shift = h * np.eye(3)[i]
        ahead, behind = model.at(z + shift), model.at(z - shift)
        assert here.objective[i] == pytest.approx((ahead.value - behind.value) / (2.0 * h), rel=1e-5)
        assert here.slopes[0, i] == pytest.approx((ahead.values[0] - behind.values[0]) / (2.0 * h), rel=1e-5)
    belief = model.belief(MIXED.straight(z))
    assert belief is not None
    assert here.value * here.scale[0] == pytest.approx(belief.mean[0])
    assert here.values[0] * here.scale[1] == pytest.approx(belief.mean[1] - 0.2)
    assert here.deviation * here.scale[0] == pytest.approx(belief.std[0])
    np.testing.assert_allclose(here.objective * here.scale[0] * MIXED.slope(belief.u), belief.gradient[0])


def test_a_model_in_a_frame_recommends_an_evaluated_point() -> None:
    for width in (1.0, 1e-3):
        model = model_in(Frame(MIXED, np.full(3, 0.4), width), 1.0 / width)
        chosen = model.recommend()
        assert chosen is not None
        assert any(np.array_equal(chosen, u) for u in model._archive.u[model._archive.recent(None)])
