"""Output transforms of the original SCBO: a Gaussian copula for the objective, bilog for constraints.

Without them a few huge violations set the scale of a constraint, and all that is near its threshold lies
within the noise of the model. Both are increasing, so they keep order and, with the thresholds transformed
along, feasibility.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from lcbo.terms import Terms
from lcbo.types import Array


def copula(values: Array) -> Array:
    """Normal quantiles of the ranks, ``Phi^-1((rank - 1/2) / n)``; ties share a rank, NaN stays."""
    known = ~np.isnan(values)
    quantiles = np.full_like(values, np.nan)
    if known.any():
        quantiles[known] = ndtri((rankdata(values[known]) - 0.5) / known.sum())
    return quantiles


def bilog(values: Array) -> Array:
    """``sign(v) ln(1 + |v|)``: magnifies what is near 0 and damps large values."""
    compressed: Array = np.sign(values) * np.log1p(np.abs(values))
    return compressed


def bilogged(y: Array, terms: Terms, scaled: bool = False) -> tuple[Array, Terms]:
    """Outputs and conditions after the bilog of every constrained outcome.

    It is taken about the outcome's threshold; about the middle of two.

    Args:
        y: ``n x B``, NaN where missing.
        terms: the conditions.
        scaled: in units of each outcome's median distance from there, so that the user's do not matter.
    """
    center, unit, changed = np.zeros(y.shape[1]), np.ones(y.shape[1]), y.copy()
    for row in set(terms.rows.tolist()):
        own = [t for t in terms if t.row == row]
        center[row] = np.mean([t.threshold for t in own if t.equality] or [t.threshold for t in own])
        distance = np.abs(y[:, row] - center[row])
        if scaled and (distance > 0.0).any():
            unit[row] = np.median(distance[distance > 0.0])
        changed[:, row] = bilog((y[:, row] - center[row]) / unit[row])
    units = unit[terms.rows]
    thresholds, tols = bilog((terms.threshold - center[terms.rows]) / units), bilog(terms.tol / units)
    moved = (
        replace(term, threshold=float(threshold), tol=float(tol))
        for term, threshold, tol in zip(terms, thresholds, tols, strict=True)
    )
    return changed, Terms(tuple(moved))


def original(y: Array, terms: Terms) -> tuple[Array, Terms]:
    """Outputs and conditions as the original SCBO models them: `bilogged`, and the objective's copula."""
    changed, moved = bilogged(y, terms)
    changed[:, 0] = copula(y[:, 0])
    return changed, moved


Transform = Callable[[Array, Terms], tuple[Array, Terms]]
TRANSFORMS: dict[str, Transform] = {
    "zscore": lambda y, terms: (y, terms),
    "bilog": bilogged,
    "original": original,
    "scaled-bilog": partial(bilogged, scaled=True),
}
"""What the models of a method see, by the name of the option; every one is z-scored afterwards."""
