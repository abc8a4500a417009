"""Pooled repeats against within-group sums of squares."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.models.repeats import KNOWN_NOISE_DOF, MOST_DOF, Repeats


def within_groups(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares around the group means and their degrees of freedom, output by output."""
    scatter, dof = np.zeros(y.shape[1]), np.zeros(y.shape[1])
    for point in np.unique(x, axis=0):
        rows = y[(x == point).all(1)]
        for j in range(y.shape[1]):
            known = rows[:, j][~np.isnan(rows[:, j])]
            if len(known):
                scatter[j] += np.sum((known - known.mean()) ** 2)
                dof[j] += len(known) - 1
    return scatter, dof


def pooled(x: np.ndarray, y: np.ndarray) -> Repeats:
    repeats = Repeats((None,) * y.shape[1])
    for point, outputs in zip(x, y, strict=True):
        repeats.add(point, outputs)
    return repeats


def observations(missing: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    x = rng.random((5, 3))[rng.integers(0, 5, 30)]
    y = rng.normal([0.0, 100.0, -3.0], 1.0, (30, 3))
    y[rng.random(y.shape) < missing] = np.nan
    return x, y


@pytest.mark.parametrize("missing", [0.0, 0.4, 0.9])
def test_scatter_equals_the_within_group_sums(missing: float) -> None:
    x, y = observations(missing)
    scatter, dof = within_groups(x, y)
    repeats = pooled(x, y)
    np.testing.assert_array_equal(repeats.dof, dof)
    np.testing.assert_allclose(repeats.root_scatter**2, scatter, rtol=1e-10, atol=1e-12)


def test_order_does_not_matter() -> None:
    x, y = observations(0.3)
    order = np.random.default_rng(0).permutation(len(x))
    one, other = pooled(x, y), pooled(x[order], y[order])
    np.testing.assert_array_equal(one.dof, other.dof)
    np.testing.assert_allclose(one.root_scatter, other.root_scatter, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
def test_any_unit_gives_the_same_scatter_in_it(scale: float) -> None:
    x, y = observations(0.3)
    np.testing.assert_allclose(
        pooled(x, scale * y).root_scatter, scale * pooled(x, y).root_scatter, rtol=1e-9
    )


def test_power_of_two_units_change_no_bit() -> None:
    x, y = observations(0.3)
    np.testing.assert_array_equal(
        pooled(x, 2.0**-300 * y).root_scatter, 2.0**-300 * pooled(x, y).root_scatter
    )


def test_known_noise_counts_as_pseudo_repeats() -> None:
    repeats = Repeats((0.04, None, 0.0))
    np.testing.assert_array_equal(repeats.dof, [KNOWN_NOISE_DOF, 0.0, KNOWN_NOISE_DOF])
    variance = repeats.root_scatter**2 / np.maximum(repeats.dof, 1.0)
    np.testing.assert_allclose(variance, [0.04, 0.0, 0.0])
    for value in (1.0, 3.0):
        repeats.add(np.zeros(2), np.full(3, value))
    np.testing.assert_array_equal(repeats.dof, [KNOWN_NOISE_DOF + 1.0, 1.0, KNOWN_NOISE_DOF + 1.0])
    np.testing.assert_allclose(repeats.root_scatter**2, [KNOWN_NOISE_DOF * 0.04 + 2.0, 2.0, 2.0])


def test_equal_repeats_have_no_scatter_and_near_points_are_not_repeats() -> None:
    repeats = Repeats((None,))
    for u in (0.3, 0.3, 0.3, 0.3 + 1e-15, 0.7):
        repeats.add(np.array([u]), np.array([0.1 + u]))
    np.testing.assert_array_equal(repeats.dof, [2.0])
    np.testing.assert_array_equal(repeats.root_scatter, [0.0])


def test_many_repeats_weigh_no_more_than_a_few() -> None:
    """Tempering keeps the variance and caps the degrees of freedom; few repeats stay as they are."""
    few, many = Repeats((None,)), Repeats((None,))
    values = np.random.default_rng(0).standard_normal(40)
    for i, value in enumerate(values):
        many.add(np.zeros(1), np.array([value]))
        if i < 3:
            few.add(np.zeros(1), np.array([value]))
    scatter, dof = few.scatter(np.array([2.0]))
    assert dof[0] == 2.0
    assert scatter[0] == pytest.approx(values[:3].var(ddof=1) * 2.0 / 4.0)
    scatter, dof = many.scatter(np.array([2.0]))
    assert dof[0] == MOST_DOF
    assert scatter[0] / dof[0] == pytest.approx(values.var(ddof=1) / 4.0)


def test_no_repeats_have_no_scatter() -> None:
    scatter, dof = Repeats((None, None)).scatter(np.ones(2))
    np.testing.assert_array_equal(scatter, [0.0, 0.0])
    np.testing.assert_array_equal(dof, [0.0, 0.0])
