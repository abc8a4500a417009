"""Metrics against answers computed by hand, by numpy and by scipy."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from reproduction.claims.metrics import (
    after_design,
    at,
    band,
    curves,
    late_gain,
    least_p,
    paired,
    pooled,
    ranks,
    signed_rank_p,
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


def test_paired_comparison_uses_common_seeds_and_knows_infinity():
    first = pd.Series({0: 1.0, 1: 2.0, 2: INF, 3: INF, 4: 5.0})
    second = pd.Series({1: 3.0, 2: INF, 3: 7.0, 4: 5.0, 9: 0.0})
    found = paired(first, second)
    assert (found.n, found.better, found.worse) == (4, 1, 1)
    assert found.p == 1.0  # ranks 1 and 2 with opposite signs
    assert paired(first, pd.Series({7: 1.0})).n == 0
    assert math.isnan(paired(first, first).p)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-1000, 1000).filter(bool), min_size=1, max_size=12, unique_by=abs))
def test_signed_rank_p_is_scipys_without_ties(values):
    expected = stats.wilcoxon(values, method="exact").pvalue
    assert signed_rank_p(np.array(values, dtype=float)) == pytest.approx(expected)


def test_signed_rank_p_with_ties_counts_all_signs():
    difference = np.array([2.0, 2.0, -1.0, INF])
    size_ranks = [2.5, 2.5, 1.0, 4.0]
    sums = [sum(r for r, bit in zip(size_ranks, f"{i:04b}", strict=True) if bit == "1") for i in range(16)]
    seen, total = 9.0, 10.0
    extreme = sum(s <= min(seen, total - seen) for s in sums)
    assert signed_rank_p(difference) == 2 * extreme / 16


def test_three_pairs_cannot_be_significant():
    assert signed_rank_p(np.array([-1.0, -2.0, -3.0])) == least_p(3) == 0.25
    assert least_p(5) > 0.05 > least_p(6)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=6))
def test_rank_is_the_mean_of_ranks_when_all_have_the_same_seeds(rows):
    finals = pd.DataFrame(rows, columns=list("abcd"), dtype=float).replace(4.0, INF)
    found = ranks(finals, list("abcd"))
    mean = np.mean([stats.rankdata(row) for row in finals.to_numpy()], axis=0)
    assert [found.rank[label] for label in "abcd"] == pytest.approx(mean.tolist())
    assert set(found.n.values()) == {len(rows)}


def test_rank_compares_every_pair_on_its_common_seeds():
    nan = math.nan
    finals = pd.DataFrame({"a": [1.0, 5.0, 1.0], "b": [2.0, 2.0, nan], "c": [nan, 3.0, nan]})
    found = ranks(finals, ["a", "b", "c", "absent"])
    assert found.rank == {"a": 1 + 0.5 + 1.0, "b": 1 + 0.5 + 0.0, "c": 1 + 0.0 + 1.0}
    assert found.n == {"a": 1, "b": 1, "c": 1}
