"""Standardization and merging of observations."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.models.data import merge
from lcbo.scaling import Scaling


def test_scaling_is_the_z_score_over_known_rows() -> None:
    y = np.random.default_rng(0).normal(5.0, 3.0, (20, 3))
    y[2:9, 1] = np.nan
    scaling = Scaling.of(y)
    np.testing.assert_allclose(scaling.mean, np.nanmean(y, 0))
    np.testing.assert_allclose(scaling.std, np.nanstd(y, 0))


@pytest.mark.parametrize("power", [-600, -30, 1, 40, 600])
def test_a_power_of_two_scales_exactly(power: int) -> None:
    y = np.random.default_rng(1).normal([0.0, 7.0], 1.0, (15, 2))
    y = np.concatenate([y, np.full((15, 1), 0.3)], 1)
    one, other = Scaling.of(y), Scaling.of(2.0**power * y)
    np.testing.assert_array_equal(other.mean, 2.0**power * one.mean)
    np.testing.assert_array_equal(other.std, 2.0**power * one.std)


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12, 1e200])
def test_extreme_scales_neither_over_nor_underflow(scale: float) -> None:
    y = np.random.default_rng(1).standard_normal((15, 2))
    np.testing.assert_allclose(Scaling.of(scale * y).std, scale * y.std(0), rtol=1e-12)


@pytest.mark.parametrize(("level", "std"), [(0.0, 1.0), (7.0, 7.0), (-3e12, 3e12), (1e-150, 1e-150)])
def test_a_constant_output_is_measured_in_its_own_size(level: float, std: float) -> None:
    scaling = Scaling.of(np.full((6, 1), level))
    assert scaling.std[0] == pytest.approx(std, rel=1e-12, abs=0.0)
    assert abs((level - scaling.mean[0]) / scaling.std[0]) < 1e-12


def test_rounding_of_a_constant_counts_as_constant() -> None:
    y = 1e6 * (1.0 + 1e-15 * np.arange(5.0))[:, None]
    assert Scaling.of(y).std[0] == pytest.approx(1e6)


def test_an_output_never_seen_gets_the_identity() -> None:
    y = np.stack([np.arange(4.0), np.full(4, np.nan)], 1)
    scaling = Scaling.of(y)
    assert (scaling.mean[1], scaling.std[1]) == (0.0, 1.0)


def test_one_row_is_constant() -> None:
    scaling = Scaling.of(np.array([[2.0, np.nan, 0.0]]))
    np.testing.assert_array_equal(scaling.mean, [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(scaling.std, [2.0, 1.0, 1.0])


def test_identity_changes_nothing() -> None:
    scaling = Scaling.identity(2)
    y = np.array([[3.0, -1.0]])
    np.testing.assert_array_equal((y - scaling.mean) / scaling.std, y)


def test_merge_keeps_order_of_appearance_means_and_scatter() -> None:
    a, b, c = [0.9, 0.1], [0.2, 0.2], [0.5, 0.5]
    x = np.array([a, b, a, c, a])
    y = np.array([[1.0, 0.0], [5.0, 1.0], [2.0, np.nan], [7.0, np.nan], [3.0, 4.0]])
    data = merge(x, y)
    np.testing.assert_array_equal(data.u, [a, b, c])
    np.testing.assert_array_equal(data.y, [[2.0, 5.0, 7.0], [2.0, 1.0, 0.0]])
    np.testing.assert_array_equal(data.count, [[3.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
    np.testing.assert_array_equal(data.scatter, [2.0, 8.0])
    np.testing.assert_array_equal(data.dof, [2.0, 1.0])


def test_merge_without_repeats_is_a_copy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((6, 2)), rng.standard_normal((6, 2))
    y[3, 0] = np.nan
    data = merge(x, y)
    np.testing.assert_array_equal(data.u, x)
    np.testing.assert_array_equal(data.y, np.nan_to_num(y.T))
    np.testing.assert_array_equal(data.count, (~np.isnan(y)).T)
    assert float(data.dof.sum()) == float(data.scatter.sum()) == 0.0
    data.u[0, 0] = 9.0
    assert x[0, 0] != 9.0
