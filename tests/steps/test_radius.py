"""The radius: judged by landings, led by angles, held by resolution and budget."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lcbo.steps.linearized import LATE, RATE, RESOLVED, Radius, resolved_length
from lcbo.steps.step import LocalPosterior

BOUNDS = (1e-3, 0.5)
EAST, NORTH = np.array([0.1, 0.0]), np.array([0.0, 0.3])


def adapted_radius(
    now: float,
    step: np.ndarray,
    last_step: np.ndarray,
    spent: float | None = None,
    error: float = 0.0,
    resolution: float = 0.0,
) -> float:
    radius = Radius(now, *BOUNDS)
    radius.adapt(step, last_step, error, resolution, spent)
    return radius.now


def judged_radius(now: float, error: float, resolution: float = 0.0, spent: float | None = None) -> float:
    radius = Radius(now, *BOUNDS)
    radius.judge(error, resolution, spent)
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
    assert adapted_radius(0.1, step, EAST, 0.0) == pytest.approx(0.1 * factor)


def test_the_first_step_leaves_the_radius_alone() -> None:
    assert adapted_radius(0.1, EAST, np.zeros(2)) == 0.1


@pytest.mark.parametrize(
    ("error", "factor"), [(0.0, 1.0), (0.5, 1.0), (0.51, 0.75), (1.0, 0.75), (1.01, 0.5), (1e9, 0.5)]
)
def test_a_landing_that_is_off_shortens(error: float, factor: float) -> None:
    assert judged_radius(0.1, error) == pytest.approx(0.1 * factor)


@pytest.mark.parametrize(("last", "factor"), [(EAST, 1.0), (-EAST, math.exp(-RATE))])
def test_after_a_landing_that_was_off_no_angle_lengthens(last: np.ndarray, factor: float) -> None:
    assert adapted_radius(0.1, EAST, last, error=0.6) == pytest.approx(0.1 * factor)


@pytest.mark.parametrize(
    ("length", "after"), [(0.1, 0.1), (0.05, 0.1), (0.04, 0.08), (0.025, 0.05), (0.001, 0.05), (0.0, 0.05)]
)
def test_a_step_that_ends_well_inside_shrinks_to_twice_its_length_or_by_half(
    length: float, after: float
) -> None:
    assert adapted_radius(0.1, np.array([length, 0.0]), np.zeros(2)) == pytest.approx(after)


@pytest.mark.parametrize(
    ("resolution", "floor"), [(0.0, BOUNDS[0]), (1e-4, BOUNDS[0]), (0.03, 0.03), (0.3, RESOLVED)]
)
def test_no_radius_is_below_what_the_values_resolve(resolution: float, floor: float) -> None:
    tiny = np.array([1e-9, 0.0])
    assert judged_radius(1e-6, 2.0, resolution) == floor
    assert adapted_radius(1e-6, tiny, -tiny, resolution=resolution) == floor
    assert adapted_radius(0.9 * floor, tiny, -tiny, resolution=resolution) == floor


@pytest.mark.parametrize(
    ("spent", "cap"), [(0.0, 0.5), (0.75, 0.25), (0.99, 0.05), (1.0, LATE), (1.2, LATE), (None, 0.5)]
)
def test_the_cap_falls_with_the_root_of_what_is_left(spent: float | None, cap: float) -> None:
    assert adapted_radius(10.0, 10.0 * EAST, EAST, spent) == pytest.approx(cap)
    assert judged_radius(10.0, 0.0, spent=spent) == pytest.approx(cap)


def test_the_budget_weighs_more_than_the_resolution() -> None:
    assert judged_radius(0.3, 0.0, resolution=1.0, spent=1.0) == LATE


def test_a_cap_below_the_last_one_is_kept_to_the_end() -> None:
    radius = Radius(0.01, 1e-3, 0.01)
    radius.judge(0.0, 0.0, 1.0)
    assert radius.now == 0.01


def test_a_run_of_aligned_steps_reaches_the_cap_and_of_reversals_the_floor() -> None:
    wide = narrow = 0.1
    for _ in range(30):
        wide = adapted_radius(wide, 10.0 * EAST, EAST)
        narrow = adapted_radius(narrow, EAST, -EAST)
    assert (wide, narrow) == pytest.approx((0.5, BOUNDS[0]))


def uncertain(deviations: list[float], slopes: list[float], values: list[float]) -> LocalPosterior:
    """The objective first, then terms; every gradient points its own way."""
    n = len(values)
    gradients = np.diag(slopes)
    return LocalPosterior(
        u=np.full(1 + n, 0.5),
        value=0.0,
        objective=gradients[0],
        deviation=deviations[0],
        values=np.array(values),
        slopes=gradients[1:],
        deviations=np.array(deviations[1:]),
        equality=np.zeros(n, bool),
        scale=np.ones(1 + n),
    )


def test_resolved_length_is_the_median_over_objective_and_near_terms() -> None:
    lengths = [0.02, 0.05, 0.01]
    slopes = [1.0, 100.0, 1e-3]
    deviations = [a * b for a, b in zip(lengths, slopes, strict=True)]
    assert resolved_length(uncertain(deviations, slopes, [0.0, 0.0]), 0.1) == pytest.approx(0.02)
    # The second term is 3 radii inside, the first, violated, is as near as can be.
    far = uncertain(deviations, slopes, [1e9, -0.3 * slopes[2]])
    assert resolved_length(far, 0.1) == pytest.approx(0.035)
    assert resolved_length(far, 0.2) == pytest.approx(0.02)


def test_resolved_length_leaves_out_what_has_no_slope() -> None:
    assert resolved_length(uncertain([0.1, 0.3], [0.0, 1.0], [0.0]), 0.1) == pytest.approx(0.3)
    assert resolved_length(uncertain([0.1, 0.3], [1.0, 0.0], [0.0]), 0.1) == pytest.approx(0.1)
    assert resolved_length(uncertain([0.1, 0.3], [0.0, 0.0], [0.0]), 0.1) == 0.0
    assert resolved_length(uncertain([0.1], [2.0], []), 0.1) == pytest.approx(0.05)


def test_an_equality_is_resolved_from_either_side() -> None:
    above = uncertain([0.01, 0.3], [1.0, 1.0], [5.0])
    below = uncertain([0.01, 0.3], [1.0, 1.0], [-5.0])
    assert resolved_length(below, 0.1) == pytest.approx(0.01)
    both = [resolved_length(replace(local, equality=np.array([True])), 0.1) for local in (above, below)]
    assert both == pytest.approx([0.155, 0.155])
