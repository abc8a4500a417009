"""The maximizers against functions whose maximum over the cube is known, and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from lcbo.acquisition.maximize import AcquisitionFunction, Adam, Lbfgs, adam, cloud
from lcbo.lbfgs import Functions, lbfgs

DIM = 6
CENTER = np.array([0.2, 0.9, 1.7, -0.4, 0.5, 1.0])
WEIGHT = np.array([1.0, 30.0, 2.0, 5.0, 100.0, 0.3])


def bowl(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A separable concave function: the maximum over the cube is the clipped center."""
    assert ((z >= 0.0) & (z <= 1.0)).all()
    away = z - CENTER
    return -(WEIGHT * np.square(away)).sum(-1), -2.0 * WEIGHT * away


def valley(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minus Rosenbrock's function with its optimum moved to where two bounds are active."""
    assert ((z >= 0.0) & (z <= 1.0)).all()
    a, b = z[:, :-1], z[:, 1:]
    bend, pull = b - np.square(a), 1.3 - a
    gradient = np.zeros_like(z)
    gradient[:, :-1] += 400.0 * a * bend + 2.0 * pull
    gradient[:, 1:] -= 200.0 * bend
    return -(100.0 * np.square(bend) + np.square(pull)).sum(-1), gradient


def many_hills(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine hills on a bowl; the highest is at 0.6 in every coordinate."""
    away = z - 0.6
    value = (0.1 * np.cos(20.0 * away) - np.square(away)).sum(-1)
    return value, -2.0 * np.sin(20.0 * away) - 2.0 * away


def alike(function: AcquisitionFunction) -> Functions:
    return lambda _, z: function(z)


def starts(count: int = 10, dim: int = DIM) -> np.ndarray:
    return np.random.default_rng(0).random((count, dim))


def test_adam_reaches_the_clipped_center_from_every_start() -> None:
    best, value = adam(bowl, starts(), 300, 0.02)
    np.testing.assert_allclose(best, np.broadcast_to(CENTER.clip(0.0, 1.0), best.shape), rtol=0.0, atol=0.02)
    np.testing.assert_allclose(value, bowl(best)[0])


def test_adam_takes_exactly_its_steps_as_torch_does() -> None:
    """While no bound is active, the path is that of torch's own Adam."""
    mine = np.full((1, DIM), 0.5)
    theirs = torch.from_numpy(mine.copy()).requires_grad_(True)
    optimizer = torch.optim.Adam([theirs], lr=0.01, maximize=True)
    seen: list[np.ndarray] = []

    def recorded(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(z.copy())
        return bowl(z)

    adam(recorded, mine, 20, 0.01)
    assert len(seen) == 21
    for point in seen:
        np.testing.assert_allclose(point, theirs.detach().numpy(), rtol=0.0, atol=1e-10)
        theirs.grad = torch.from_numpy(bowl(theirs.detach().numpy())[1])
        optimizer.step()


def test_adam_keeps_the_best_point_of_a_path() -> None:
    """Steps of 0.5 jump over the hill; the start next to its top is the best point."""
    start = np.full((1, DIM), 0.61)
    best, value = adam(many_hills, start, 3, 0.5)
    np.testing.assert_allclose(best, start)
    np.testing.assert_allclose(value, many_hills(start)[0])


def test_lbfgs_solves_the_bowl_exactly() -> None:
    best, _ = lbfgs(alike(bowl), starts(), 100)
    np.testing.assert_allclose(best, np.broadcast_to(CENTER.clip(0.0, 1.0), best.shape), rtol=0.0, atol=1e-7)


def test_lbfgs_equals_scipy_s_on_a_curved_valley() -> None:
    best, value = lbfgs(alike(valley), starts(), 200)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        v, g = valley(x[None])
        return -v.item(), -g[0]

    answer = minimize(
        negative, starts()[0], jac=True, bounds=[(0, 1)] * DIM, options={"ftol": 1e-15, "gtol": 1e-9}
    )
    np.testing.assert_allclose(value, np.full_like(value, -answer.fun), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(best, np.broadcast_to(answer.x, best.shape), rtol=0.0, atol=1e-4)


def test_lbfgs_never_goes_down_and_leaves_a_maximum_alone() -> None:
    z = starts()
    _, value = lbfgs(alike(many_hills), z, 30)
    assert (value >= many_hills(z)[0]).all()
    top = np.full((2, DIM), 0.6)
    np.testing.assert_allclose(lbfgs(alike(many_hills), top, 30)[0], top, rtol=0.0, atol=1e-12)


def test_lbfgs_stays_where_the_value_is_not_finite() -> None:
    def cliff(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = bowl(z)
        return np.where(z[:, 0] > 0.5, np.nan, value), gradient

    z = starts()
    best, value = lbfgs(alike(cliff), z, 50)
    lost = z[:, 0] > 0.5
    assert 0 < int(lost.sum()) < len(z)
    np.testing.assert_allclose(best[lost], z[lost])
    assert np.isfinite(value[~lost]).all()


@pytest.mark.parametrize("maximizer", [Adam(steps=400), Lbfgs(starts=10, raw=128)])
def test_many_starts_find_the_highest_hill(maximizer: Adam | Lbfgs) -> None:
    near = np.full((1, 2), 0.2)
    found = maximizer(many_hills, near, np.random.default_rng(1))
    np.testing.assert_allclose(found, np.full((2,), 0.6), rtol=0.0, atol=1e-2)


def test_cloud_covers_short_and_long_distances_in_few_coordinates() -> None:
    near = np.full((1, 80), 0.5)
    moved = np.abs(cloud(near, 400, np.random.default_rng(2)) - near)
    count = (moved > 0.0).sum(-1)
    assert 18.0 < count.mean().item() < 22.0
    reach = moved.max(-1)
    assert reach.min().item() < 0.01
    assert reach.max().item() > 0.3
