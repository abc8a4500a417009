"""The run's evaluations by id."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.methods.base.archive import FAILED, PENDING, TOLD, Archive


def filled(n: int, told: set[int], failed: set[int]) -> Archive:
    history = Archive(2, 1)
    for id in range(n):
        assert history.add(np.array([id, -id], dtype=np.float64)) == id
    for id in sorted(told, reverse=True):
        history.settle(id, np.array([10.0 * id]))
    for id in failed:
        history.settle(id, None)
    return history


@pytest.mark.parametrize("n", [1, 64, 65, 200])
def test_arrays_grow_without_losing_anything(n: int) -> None:
    history = filled(n, set(range(n)), set())
    np.testing.assert_array_equal(history.u, np.stack([np.arange(n), -np.arange(n)], 1))
    np.testing.assert_array_equal(history.y[:, 0], 10.0 * np.arange(n))
    assert history.size == n


def test_status_and_missing_values() -> None:
    history = filled(4, {1}, {2})
    np.testing.assert_array_equal(history.status, [PENDING, TOLD, FAILED, PENDING])
    np.testing.assert_array_equal(np.isnan(history.y[:, 0]), [True, False, True, True])
    np.testing.assert_array_equal(history.pending(0), [0, 3])
    np.testing.assert_array_equal(history.pending(1), [3])


def test_recent_points_are_told_ones_oldest_first() -> None:
    history = filled(10, {0, 2, 3, 7, 8}, {9})
    np.testing.assert_array_equal(history.recent(3), [3, 7, 8])
    np.testing.assert_array_equal(history.recent(50), [0, 2, 3, 7, 8])
    np.testing.assert_array_equal(history.recent(None), [0, 2, 3, 7, 8])


@pytest.mark.parametrize("count", [1, 5, 40])
def test_recent_looks_as_far_back_as_it_must(count: int) -> None:
    """Behind a long tail of failures the told points of the beginning are still found."""
    told = set(range(0, 100, 3))
    history = filled(500, told, set(range(100, 500)))
    np.testing.assert_array_equal(history.recent(count), sorted(told)[-count:])


def test_nothing_told_is_nothing_recent() -> None:
    assert len(Archive(2, 1).recent(5)) == 0
    assert len(filled(3, set(), {1}).recent(None)) == 0
