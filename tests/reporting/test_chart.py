import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcbo.reporting.chart import Chart, Scale, bend_of, labels, limits, thin, wants_log

values = st.lists(st.floats(), min_size=1, max_size=30)


@given(values, st.booleans(), st.booleans())
def test_axis_has_readable_ticks_whatever_the_values(given_values, log, robust):
    low, high = limits(given_values, log=log, robust=robust)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low < high
    ticks = Scale(low, high, 0.0, 100.0, log).ticks()
    assert 1 <= len(ticks) <= 30
    assert all(a < b for a, b in pairwise(ticks))
    assert all(low - 1e-6 * abs(low) <= tick <= high + 1e-6 * abs(high) for tick in ticks)
    assert len(set(labels(ticks))) == len(ticks)


def test_ticks_are_round_numbers():
    assert Scale(0.0, 1000.0, 0.0, 1.0).ticks() == [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
    assert Scale(-0.013, 0.031, 0.0, 1.0).ticks() == [-0.01, 0.0, 0.01, 0.02, 0.03]
    assert Scale(0.5, 2e4, 0.0, 1.0, log=True).ticks() == [1.0, 10.0, 100.0, 1000.0, 10000.0]
    assert labels([0.001, 1.0, 1e6, -2e-7]) == ["0.001", "1", "1e6", "\N{MINUS SIGN}2e\N{MINUS SIGN}7"]


def test_scale_maps_the_range_onto_pixels_and_keeps_the_rest_at_the_edge():
    assert Scale(1.0, 3.0, 10.0, 110.0)([0.0, 1.0, 2.0, 9.0]).tolist() == [10.0, 10.0, 60.0, 110.0]
    assert Scale(1.0, 100.0, 0.0, 10.0, log=True)([0.0, 10.0]).tolist() == [0.0, 5.0]


@given(values)
def test_a_bent_axis_has_readable_ticks_whatever_the_values(given_values):
    low, high = limits(np.append(np.nan_to_num(given_values, posinf=1.0, neginf=-1.0), 0.0))
    bend = bend_of(given_values)
    ticks = Scale(low, high, 0.0, 100.0, bend=bend).ticks()
    assert 1 <= len(ticks) <= 12
    assert 0.0 in ticks
    assert all(a < b for a, b in pairwise(ticks))
    pixels = Scale(low, high, 0.0, 100.0, bend=bend)(ticks)
    assert (np.diff(pixels) > 0).all()


def test_an_axis_bends_where_sizes_differ():
    slacks = [-60.0, -3.0, 0.1, *[0.01] * 10]
    assert bend_of(slacks) == 0.01
    assert bend_of([3.0, -2.0, 1.0]) == 0.0
    assert Scale(-60.0, 1.0, 0.0, 1.0, bend=0.01).ticks() == [-1.0, -0.01, 0.0, 0.01, 1.0]


def test_a_wild_value_does_not_flatten_the_axis():
    v = [*np.linspace(0.0, 1.0, 500), 1e9]
    assert limits(v, robust=True)[1] < 2.0
    assert limits(v)[1] > 1e9


def test_a_long_series_is_thinned_to_its_extremes():
    x = np.arange(50_000.0)
    y = np.sin(x / 500.0)
    y[31_415], y[27_182] = 7.0, -7.0
    kept_x, kept_y = thin(x, y)
    assert len(kept_x) <= 1200
    assert (np.diff(kept_x) > 0).all()
    assert (kept_x[kept_y.argmax()], kept_x[kept_y.argmin()]) == (31_415, 27_182)


def test_values_that_are_no_numbers_are_left_out():
    x, y = thin(np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, np.inf]))
    assert x.tolist() == [1.0]
    assert y.tolist() == [1.0]


@pytest.mark.parametrize(
    ("given_values", "expected"),
    [([1, 2, 40], True), ([1, 2, 20], False), ([-1, 1, 100], False), ([5], False)],
)
def test_log_scale_where_it_helps(given_values, expected):
    assert wants_log(given_values) == expected


def test_labels_of_a_chart_are_escaped():
    chart = Chart("<title>", 1, (0, 1))
    chart.points([0.5], [0.5], "yes", "<b>")
    svg = chart.svg()
    for text in ("<title>", "<b>"):
        assert text not in svg
