"""The wall behind which evaluations fail."""

from __future__ import annotations

import numpy as np
import pytest

import lcbo
from lcbo.methods.lcbo.failures import wall


@pytest.mark.parametrize("seed", range(5))
def test_a_flat_wall_is_found_between_the_last_success_and_the_first_failure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, normal = np.full(4, 0.5), rng.standard_normal(4)
    normal /= np.linalg.norm(normal)
    points = z + 0.1 * rng.uniform(-1.0, 1.0, (80, 4))
    behind = (points - z) @ normal > 0.05
    found = wall(z, points[~behind], points[behind])
    assert found is not None
    direction, value = found
    assert direction @ normal > 0.95
    sides = value + (points - z) @ direction
    assert (sides[~behind] <= 0.0).mean() >= 0.9
    assert (sides[behind] > 0.0).mean() >= 0.8
    assert abs(-value - 0.05) < 0.03


def test_failures_here_and_there_are_no_wall() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((200, 2))
    failed = rng.random(200) < 0.2
    assert wall(np.full(2, 0.5), points[~failed], points[failed]) is None


@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_and_equal_points_do_no_harm(n: int) -> None:
    z = np.full(3, 0.5)
    assert wall(z, np.tile(z, (n, 1)), np.zeros((0, 3))) is None
    assert wall(z, np.zeros((0, 3)), np.tile(z, (n, 1))) is None
    assert wall(z, np.tile(z, (n, 1)), np.tile(z, (n, 1))) is None


def test_an_optimum_beside_a_wall_is_reached() -> None:
    def fun(x: np.ndarray) -> dict[str, float]:
        if x[0] < 0.05:
            raise RuntimeError("no convergence")
        return {"total": float(x.sum()), "mean": float(x.mean())}

    gaps = []
    for seed in range(4, 8):
        result = lcbo.minimize(
            fun,
            bounds=[(0.0, 1.0)] * 3,
            objective="total",
            constraints=[lcbo.Constraint("mean", ub=0.9)],
            budget=60,
            rng=seed,
            progress=False,
        )
        gaps.append(result.fun - 0.05)
    assert np.median(gaps) < 0.02
