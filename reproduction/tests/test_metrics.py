"""Metrics against answers computed by hand."""

import math

import pandas as pd
import pytest

from reproduction.claims.metrics import (
    after_design,
    at,
    band,
    curves,
    late_gain,
    pooled,
)

INF = math.inf


def test_curves_keep_their_value_after_an_early_end(lab):
    lab.run("main", "beam", "cobyla", 0, [None, 5.0, 4.0])
    lab.run("main", "beam", "cobyla", 1, [9.0, 8.0])
    results = lab.read()
    wide = curves(results, "main", "beam", "cobyla")
    assert wide[0].tolist() == [INF, 5.0, 4.0]
    assert wide[1].tolist() == [9.0, 8.0, 8.0]
    assert at(wide, 29).tolist() == [5.0, 8.0]
    assert at(wide, 5).tolist() == [INF, INF]
    line = band(wide)
    assert line["median"].tolist() == [INF, 6.5, 6.0]
    assert line["low"].tolist() == [INF, 5.75, 5.0]
    assert curves(results, "main", "beam", "nobody").empty


def test_curves_along_iterations_are_interpolated_and_end_with_the_shortest_run(lab):
    lab.run("batch", "beam", "mini", 0, [None, 8.0, 6.0, 2.0], iteration=[0, 2, 4, 8])
    lab.run("batch", "beam", "mini", 1, [9.0, 7.0, 7.0, 5.0], iteration=[0, 1, 1, 5])
    wide = curves(lab.read(), "batch", "beam", "mini", along="iteration")
    assert wide.index.tolist() == [0, 1, 2, 3, 4, 5]
    assert wide[0].tolist() == [INF, INF, 8.0, 7.0, 6.0, 5.0]
    assert wide[1].tolist() == [9.0, 7.0, 6.5, 6.0, 5.5, 5.0]


def test_pooling_puts_earlier_rows_beside_each_row():
    wide = pd.DataFrame({0: [1.0, 2.0, 3.0]})
    assert band(pooled(wide, 2))["median"].tolist() == [1.0, 1.5, 2.5]
    assert band(pooled(wide, 0))["median"].tolist() == [1.0, 2.0, 3.0]


def test_late_gain_is_the_share_of_descent_in_the_second_half(lab):
    design = [0, 1, 2, 3]
    lab.run("main", "beam", "a", 0, [10.0, 4.0, 3.0, 2.0], iteration=design)  # (4 - 2) / (10 - 2)
    lab.run("main", "beam", "a", 1, [None, 6.0, 6.0, 6.0], iteration=design)  # no descent at all
    lab.run("main", "beam", "a", 2, [None, None, 8.0, 6.0], iteration=design)  # found late
    lab.run("main", "beam", "a", 3, [None, None, None, None], iteration=design)
    results = lab.read()
    assert late_gain(results, "main", "beam", "a").tolist() == pytest.approx(
        [0.25, math.nan, 1.0, math.nan], nan_ok=True
    )
    assert after_design(results, "main", "beam", "a").tolist() == [10.0, INF, INF, INF]
    assert late_gain(results, "main", "beam", "nobody").empty
