"""The original SCBO transforms: order and feasibility are kept, marginals are as promised."""

from __future__ import annotations

import numpy as np
import torch
from botorch.models.transforms.outcome import Bilog
from scipy.stats import norm

from lcbo.methods.base.transforms import TRANSFORMS, bilog, copula, original
from lcbo.terms import Term, Terms

TERMS = Terms((Term(1, 1.0, 3.0), Term(2, 1.0, 1.0), Term(2, -1.0, -0.5), Term(3, 1.0, 0.2, True, 0.1)))


def outputs() -> np.ndarray:
    rng = np.random.default_rng(0)
    y = rng.standard_normal((200, 4)) * [1e6, 4.0, 1.0, 0.2] + [0.0, 0.0, 0.3, 0.2]
    y[0, 0], y[3, 0] = 1e12, np.nan
    return y


def test_copula_is_normal_whatever_the_outliers() -> None:
    values = copula(outputs()[:, 0])
    known = np.sort(values[~np.isnan(values)])
    np.testing.assert_allclose(known, norm.ppf((np.arange(199) + 0.5) / 199), atol=1e-12)
    assert np.isnan(values[3])
    assert values[0] == known[-1]
    assert copula(np.array([2.0, 1.0, 2.0]))[0] == copula(np.array([2.0, 1.0, 2.0]))[2]


def test_bilog_is_odd_and_logarithmic() -> None:
    np.testing.assert_allclose(bilog(np.array([-np.expm1(2.0), 0.0, np.expm1(3.0)])), [-2.0, 0.0, 3.0])


def test_bilog_equals_botorch_s() -> None:
    """The bilog of constraints; the copula has the formula above as its oracle."""
    values = np.random.default_rng(1).standard_normal(50) * 3.0
    theirs, _ = Bilog()(torch.from_numpy(values)[:, None])
    np.testing.assert_allclose(bilog(values), theirs[:, 0].numpy(), atol=1e-12)


def test_original_transforms_keep_order_and_feasibility() -> None:
    y = outputs()
    changed, terms = original(y, TERMS)
    for row in range(4):
        order = np.argsort(y[:, row])
        assert np.all(np.diff(changed[order, row][: 199 if row == 0 else 200]) > 0.0)
    before, after = TERMS.violation(y) == 0.0, terms.violation(changed) == 0.0
    np.testing.assert_array_equal(before, after)
    assert before.any(0).all()
    assert (~before).any(0).all()
    assert terms.each[0].threshold == 0.0  # one threshold: the level of bilog itself


def test_scaled_bilog_does_not_care_for_units() -> None:
    """A constraint in units a million times as small: the same numbers, with a median distance of ln 2."""
    y, units = outputs(), np.array([1.0, 1e6, 1.0, 1e6])
    scaled = TRANSFORMS["scaled-bilog"]
    terms = Terms(
        tuple(
            Term(t.row, t.sign, t.threshold * units[t.row], t.equality, t.tol * units[t.row]) for t in TERMS
        )
    )
    (ours, kept), (theirs, moved) = scaled(y, TERMS), scaled(y * units, terms)
    np.testing.assert_allclose(theirs, ours, rtol=1e-9)
    np.testing.assert_allclose(moved.threshold, kept.threshold, rtol=1e-9)
    np.testing.assert_array_equal(kept.violation(ours) == 0.0, TERMS.violation(y) == 0.0)
    np.testing.assert_allclose(np.median(np.abs(ours[:, 1])), np.log(2.0), rtol=1e-3)
    constant, _ = scaled(np.full((3, 2), 3.0), Terms((Term(1, 1.0, 3.0),)))
    np.testing.assert_array_equal(constant[:, 1], 0.0)
