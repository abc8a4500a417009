"""Units must not matter: rescaled inputs or outcomes leave the run unchanged in the unit cube."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import lcbo

DIM = 5
LOW, HIGH = np.array([0.0, -1.0, 2.0, -3.0, 0.5]), np.array([1.0, 3.0, 2.5, 5.0, 4.5])
Noise = Callable[[], np.ndarray]


def simulate(x: np.ndarray) -> np.ndarray:
    """Objective, one inequality (<= 0.1) and one equality (= 0.02) of a point in the unscaled box."""
    u = (x - LOW) / (HIGH - LOW)
    return np.array([np.sum((u - 0.3) ** 2), np.sin(3 * u[0]) + u[1] * u[2] - 0.9, np.mean(u[2:] ** 2) - 0.2])


def trajectory(
    budget: int,
    inputs: np.ndarray | float = 1.0,
    outputs: np.ndarray | float = 1.0,
    noise: float = 0.0,
    deterministic: bool = False,
) -> np.ndarray:
    """Unit-cube points of a run of `lcbo` whose inputs and outcomes are multiplied by factors."""
    inputs = np.broadcast_to(inputs, DIM)
    factor = np.broadcast_to(outputs, 3)
    rng = np.random.default_rng(0)

    def scaled(x: np.ndarray) -> dict[str, float]:
        y = (simulate(x / inputs) + noise * rng.standard_normal(3)) * factor
        return dict(zip(("f", "c", "h"), y, strict=True))

    result = lcbo.minimize(
        scaled,
        list(zip(LOW * inputs, HIGH * inputs, strict=True)),
        [
            lcbo.Constraint("c", ub=0.1 * float(factor[1])),
            lcbo.Constraint("h", eq=0.02 * float(factor[2]), tol=0.01 * float(factor[2])),
        ],
        "f",
        budget=budget,
        deterministic=deterministic,
        rng=3,
    )
    return lcbo.Problem(list(zip(LOW * inputs, HIGH * inputs, strict=True))).space.to_unit(result.history.X)


@cache
def plain(budget: int, noise: float = 0.0, deterministic: bool = False) -> np.ndarray:
    """The run that all others of its kind are compared with."""
    return trajectory(budget, noise=noise, deterministic=deterministic)


POWERS = {
    "inputs": {"inputs": 2.0 ** np.array([-30, 20, 3, 0, 50])},
    "outputs": {"outputs": 2.0 ** np.array([40, -35, 60])},
}


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("factors", POWERS.values(), ids=POWERS)
def test_power_of_two_changes_nothing(factors: dict[str, np.ndarray], noise: float) -> None:
    np.testing.assert_array_equal(trajectory(40, noise=noise, **factors), plain(40, noise))


@pytest.mark.parametrize("factors", POWERS.values(), ids=POWERS)
def test_power_of_two_changes_nothing_without_noise(factors: dict[str, np.ndarray]) -> None:
    scaled = trajectory(40, deterministic=True, **factors)
    np.testing.assert_array_equal(scaled, plain(40, deterministic=True))


DECIMALS = {
    "inputs": {"inputs": np.array([1.0, 1e6, 1e-6, 1.0, 1.0])},
    "outputs": {"outputs": np.array([1e6, 1e-6, 1e6])},
}


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("factors", DECIMALS.values(), ids=DECIMALS)
def test_millions_change_next_to_nothing(factors: dict[str, np.ndarray], noise: float) -> None:
    """Until a run has converged: then the rounding of the outputs is all it has to go by."""
    np.testing.assert_allclose(trajectory(50, noise=noise, **factors), plain(50, noise), atol=1e-4, rtol=0.0)
