"""What the nearest evaluations say, where noise hides a plane and where there is little to say."""

import numpy as np
import pytest

from lcbo.methods.lcbo.frame import Warp
from lcbo.methods.nearby import Nearby

DIM = 6
SLOPES = np.array([1.0, -2.0, 0.5, 0.0, 1.5, -1.0])


def plane(x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ SLOPES)


def around(x: np.ndarray, y: np.ndarray, center: np.ndarray) -> Nearby:
    return Nearby(center, x, y, (None,) * y.shape[1], Warp(np.zeros(x.shape[1])))


def test_a_plane_that_noise_hides_is_found_with_honest_errors() -> None:
    """The plane has half the deviation of the noise over the window; z-scores are as large as they claim."""
    scores, slopes = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        center = np.full(DIM, 0.5)
        x = center + 0.1 * rng.standard_normal((110, DIM))
        y = plane(x)[:, None] + 0.6 * rng.standard_normal((110, 1))
        model = around(x, y, center)
        at = center + 0.15 * rng.standard_normal((4, DIM))
        found = model.forecast(at)
        std = found.scaling.std * np.sqrt(found.var)
        scores.append(((found.scaling.undo(found.mean) - plane(at)[:, None]) / std).ravel())
        slopes.append(model.belief(center).gradient[0])
        assert model.noise[0] == pytest.approx(0.6, rel=0.3)
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5
    np.testing.assert_allclose(np.mean(slopes, 0), SLOPES, atol=0.75)  # not pulled to zero


def test_a_belief_is_a_forecast_with_its_slopes() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((60, DIM))
    y = 1e6 * (np.column_stack([np.sin(3.0 * plane(x)), plane(x) ** 2]) + 0.1 * rng.standard_normal((60, 2)))
    model, u = around(x, y, x[0]), np.full(DIM, 0.45)
    belief, step = model.belief(u), 1e-4 * np.eye(DIM)
    means = [model.forecast(u + sign * step) for sign in (1.0, -1.0)]
    up, down = (found.scaling.undo(found.mean) for found in means)
    np.testing.assert_allclose(belief.gradient, (up - down).T / 2e-4, rtol=1e-4, atol=100.0)
    each, found = model.forecast_each(u[None]), model.forecast(u[None])
    np.testing.assert_allclose(each.mean, found.mean)
    np.testing.assert_allclose(each.var, found.var)
    np.testing.assert_allclose(belief.mean, found.scaling.undo(found.mean)[0])
    np.testing.assert_allclose(belief.std, found.scaling.std * np.sqrt(found.var[0]))


@pytest.mark.parametrize("n", [2, 5, 40])
def test_duplicates_constants_and_missing_outcomes_are_ordinary(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.repeat(rng.random((n, DIM)), 2, axis=0)
    x[:, 3] = 0.0  # never varied
    y = np.column_stack([plane(x) + 0.1 * rng.standard_normal(2 * n), np.full(2 * n, 7.0), plane(x)])
    y[0, 2] = np.nan
    found = around(x, y, x[0]).forecast(x[:3])
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.cov).all()
    assert (found.var >= 0.0).all()
    np.testing.assert_allclose(found.scaling.undo(found.mean)[:, 1], 7.0, atol=1e-6)
