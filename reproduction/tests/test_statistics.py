"""Intervals, tests and verdicts against SciPy, worked examples and cases made by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.claims.statistics import (
    AGREE,
    CONTRADICTED,
    LEAST,
    MARGIN,
    RESAMPLES,
    UNDECIDED,
    Comparison,
    Count,
    below,
    holm,
    interval,
    judged,
    signed_rank_p,
    verdict,
)

INF = math.inf


@pytest.mark.parametrize("n", [5, 10, 11])
def test_interval_equals_scipy_s_bootstrap(n: int) -> None:
    values = np.random.default_rng(n).standard_normal(n)
    same = {"n_resamples": RESAMPLES, "rng": np.random.default_rng(0)}  # the same resamples
    theirs = stats.bootstrap((values,), np.median, method="percentile", **same).confidence_interval
    np.testing.assert_allclose(interval(values), (theirs.low, theirs.high), rtol=1e-12)


def test_interval_knows_infinity_and_nothing() -> None:
    low, high = interval(np.array([0.1, 0.2, 0.3, INF, INF]))
    assert 0.1 <= low <= 0.3
    assert high == INF
    assert interval(np.full(5, INF)) == (INF, INF)
    assert all(math.isnan(end) for end in interval(np.array([])))


@pytest.mark.parametrize("n", [5, 8, 10])
def test_signed_rank_test_equals_scipy_s(n: int) -> None:
    values = np.random.default_rng(n).standard_normal(n) + 0.3
    expected = stats.wilcoxon(values, alternative="greater", method="exact").pvalue
    assert signed_rank_p(values) == pytest.approx(expected)
    assert signed_rank_p(np.array([1.0, INF, INF])) == 0.125
    assert signed_rank_p(np.zeros(3)) == 1.0


def test_holm_by_a_worked_example() -> None:
    """Of four: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04, which must not be below the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_differences_are_shares_of_the_rival_on_common_seeds() -> None:
    ours = pd.Series({0: 90.0, 1: 80.0, 2: INF, 3: 50.0, 4: INF})
    theirs = pd.Series({0: 100.0, 1: 100.0, 2: INF, 4: 100.0, 9: 1.0})
    assert below(ours, theirs).to_dict() == {0: 0.1, 1: 0.2, 2: 0.0, 4: -INF}
    none = pd.Series({0: INF, 1: INF})
    assert below(pd.Series({0: 5.0, 1: 5.0}), none).tolist() == [INF, INF]
    negative = below(pd.Series({0: -12.0}), pd.Series({0: -10.0}))
    assert negative[0] == pytest.approx(0.2), "less is better below zero too"


def pair(values: list[float], threshold: float = MARGIN) -> Comparison:
    return Comparison("a pair", pd.Series(values, dtype=np.float64), threshold)


def test_a_claim_agrees_is_contradicted_or_stays_undecided() -> None:
    clear, opposite, tied, open_ = [0.1] * 10, [-0.1] * 10, [0.01] * 10, [0.1, -0.1] * 5
    words = [check.verdict for check in judged([pair(v) for v in (clear, opposite, tied, open_)])]
    assert words == [AGREE, CONTRADICTED, CONTRADICTED, UNDECIDED], "a tie is no lead"
    assert judged([pair(tied, -MARGIN)])[0].verdict == AGREE, "but it is not worse"
    assert judged([pair([0.1] * (LEAST - 1))])[0].verdict == UNDECIDED
    assert verdict(judged([pair(clear), pair(open_)])) == UNDECIDED
    assert verdict(judged([pair(clear), pair(opposite)])) == CONTRADICTED
    assert verdict(judged([pair(clear)] * 3)) == AGREE
    assert verdict([]) == UNDECIDED


def test_many_comparisons_need_more_seeds() -> None:
    """Five seeds of one sign have p = 1/32: enough for one comparison, not for two."""
    assert judged([pair([0.1] * 5)])[0].verdict == AGREE
    assert {check.verdict for check in judged([pair([0.1] * 5), pair([0.1] * 5)])} == {UNDECIDED}


def test_a_count_is_contradicted_by_one_exception() -> None:
    words = [check.verdict for check in judged([Count("a", 10, 10), Count("b", 3, 3), Count("c", 2, 3)])]
    assert words == [AGREE, UNDECIDED, CONTRADICTED]
