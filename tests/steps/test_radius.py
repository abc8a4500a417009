"""The radius follows the angle between steps, between a floor and a cap that tighten with the budget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lcbo.steps.radius import RATE, Radius

BOUNDS = (0.02, 0.5)
EAST, NORTH = np.array([0.1, 0.0]), np.array([0.0, 0.3])


def adapted_radius(
    now: float, step: np.ndarray, last_step: np.ndarray, bounds: tuple[float, float], spent: float | None
) -> float:
    radius = Radius(now, *bounds)
    radius.adapt(step, last_step, spent)
    return radius.now


@pytest.mark.parametrize(
    ("step", "factor"),
    [
        (2.0 * EAST, math.exp(RATE)),
        (-EAST, math.exp(-RATE)),
        (NORTH, 1.0),
        (EAST + EAST[::-1], math.exp(RATE * math.sqrt(0.5))),
    ],
)
def test_aligned_steps_grow_and_reversed_ones_shrink(step: np.ndarray, factor: float) -> None:
    assert adapted_radius(0.1, step, EAST, BOUNDS, 0.0) == pytest.approx(0.1 * factor)


@pytest.mark.parametrize("spent", [None, 0.0])
def test_no_last_step_leaves_the_radius_alone(spent: float | None) -> None:
    assert adapted_radius(0.1, EAST, np.zeros(2), BOUNDS, spent) == 0.1
    assert adapted_radius(0.1, np.zeros(2), EAST, BOUNDS, spent) == 0.1


@pytest.mark.parametrize(
    ("spent", "floor"), [(0.0, 0.02), (0.5, 0.01), (0.9, 0.002), (1.0, 0.002), (None, 0.005)]
)
def test_the_floor_falls_to_a_tenth(spent: float | None, floor: float) -> None:
    assert adapted_radius(1e-6, -EAST, EAST, BOUNDS, spent) == pytest.approx(floor)


@pytest.mark.parametrize(("spent", "cap"), [(0.0, 0.5), (0.75, 0.25), (0.99, 0.05), (1.0, 0.02), (None, 0.5)])
def test_the_cap_falls_with_the_root_of_what_is_left(spent: float | None, cap: float) -> None:
    assert adapted_radius(10.0, EAST, EAST, BOUNDS, spent) == pytest.approx(cap)


def test_spending_past_the_budget_is_as_at_its_end() -> None:
    assert adapted_radius(0.1, EAST, EAST, BOUNDS, 1.2) == adapted_radius(0.1, EAST, EAST, BOUNDS, 1.0)


def test_a_run_of_aligned_steps_reaches_the_cap_and_of_reversals_the_floor() -> None:
    wide = narrow = 0.1
    for _ in range(30):
        wide = adapted_radius(wide, EAST, EAST, BOUNDS, None)
        narrow = adapted_radius(narrow, EAST, -EAST, BOUNDS, None)
    assert (wide, narrow) == pytest.approx((0.5, 0.005))
