"""Paired differences over seeds: how large, how sure, and what a claim may conclude from them.

A difference speaks for a claim where it is positive and is a share of the rival's value, so that one tie
margin serves everywhere. A run without a feasible point has the value infinity, and so may a difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lcbo.compare.score import Spread, quantile
from lcbo.types import Array

MARGIN = 0.02  # of the rival's value: closer ones are tied; fixed before the runs of this study
LEVEL = 0.05  # of a claim: the probability of a wrong word among all its comparisons
LEAST = 5  # common seeds below which nothing is concluded
RESAMPLES = 9999

AGREE, CONTRADICTED, UNDECIDED = "agree", "contradicted", "undecided"


@dataclass(frozen=True)
class Comparison:
    """What a claim says about one pair: that the median difference is above a threshold.

    Attributes:
        what: the pair in words.
        differences: by seed, positive where it speaks for the claim.
        threshold: `MARGIN` where the claim is "better", ``-MARGIN`` where it is "not worse", 0 for a rule
            that has its own limits.
        first: by seed, what is compared, in the units of the task.
        second: by seed, what it is compared with; empty for a rule on one method.
    """

    what: str
    differences: pd.Series
    threshold: float = MARGIN
    first: pd.Series | None = None
    second: pd.Series | None = None

    @property
    def n(self) -> int:
        """Seeds in common."""
        return int(self.differences.count())

    @property
    def effect(self) -> float:
        """Median difference; NaN without a seed."""
        return Spread.of(self.differences).median

    @property
    def interval(self) -> tuple[float, float]:
        """Bootstrap interval of the effect, 95 %."""
        return interval(self.differences.dropna().to_numpy(dtype=np.float64))

    def p(self, sign: float) -> float:
        """Return the p-value of the claim (1) or of its opposite (-1); 1 where there are too few seeds."""
        values = self.differences.dropna().to_numpy(dtype=np.float64)
        return signed_rank_p(sign * (values - self.threshold)) if len(values) >= LEAST else 1.0


@dataclass(frozen=True)
class Count:
    """A claim about every run: one exception contradicts it, as many runs as the paper made confirm it."""

    what: str
    hits: int
    n: int
    wanted: int = 10  # the paper's n


@dataclass(frozen=True)
class Check:
    """A comparison or count with its verdict."""

    of: Comparison | Count
    verdict: str

    @property
    def n(self) -> int:
        """Runs behind it."""
        return self.of.n


def judged(parts: Sequence[Comparison | Count]) -> list[Check]:
    """Return the parts of one claim with their verdicts.

    A comparison agrees if its claim is significant, is contradicted if the opposite is, each after Holm's
    correction over the comparisons of the claim, and is undecided otherwise.
    """
    pairs = [part for part in parts if isinstance(part, Comparison)]
    claim, opposite = (holm([pair.p(sign) for pair in pairs]) for sign in (1.0, -1.0))
    found = {}
    for pair, yes, no in zip(pairs, claim, opposite, strict=True):
        found[id(pair)] = AGREE if yes <= LEVEL else CONTRADICTED if no <= LEVEL else UNDECIDED
    return [Check(part, _counted(part) if isinstance(part, Count) else found[id(part)]) for part in parts]


def verdict(checks: Sequence[Check]) -> str:
    """Return the verdict on a claim: all of it has to hold, one contradiction is enough against it."""
    words = {check.verdict for check in checks}
    if CONTRADICTED in words:
        return CONTRADICTED
    return AGREE if words == {AGREE} else UNDECIDED


def _counted(count: Count) -> str:
    if count.hits < count.n:
        return CONTRADICTED
    return AGREE if count.n >= count.wanted else UNDECIDED


def below(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Return by common seed how far ours is below theirs, as a share of the size of their median.

    Two runs without a feasible point are tied. Where the rival's median is infinite, the share is of ours.
    """
    ours, theirs = ours.dropna().astype(np.float64), theirs.dropna().astype(np.float64)
    common = ours.index.intersection(theirs.index)
    a, b = ours[common], theirs[common]
    sizes = [abs(Spread.of(values).median) for values in (b, a)]
    size = next((s for s in sizes if math.isfinite(s) and s > 0.0), 1.0)
    with np.errstate(invalid="ignore"):
        gap = (b - a) / size
    return gap.where(a != b, 0.0)


def interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the median; NaN without values.

    The resamples are always the same, so that a page written twice is the same page.
    """
    if not len(values):
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    drawn = np.sort(values[rng.integers(0, len(values), (RESAMPLES, len(values)))], axis=1)
    lower, upper = drawn[:, (len(values) - 1) // 2], drawn[:, len(values) // 2]
    with np.errstate(invalid="ignore"):
        medians = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (lower + upper), upper)
    return quantile(medians, 0.5 - 0.5 * level), quantile(medians, 0.5 + 0.5 * level)


def signed_rank_p(values: Array) -> float:
    """Return the exact one-sided p-value of Wilcoxon's signed-rank test that values lie above 0.

    Every sign is equally likely under the hypothesis, so the sum of the ranks of the positive ones has a
    distribution found by convolution; tied sizes share their mean rank, zeros are left out. The smallest
    value possible is 2^-n.
    """
    values = values[values != 0.0]
    size = np.abs(values)
    if not size.size:
        return 1.0
    # twice the mean ranks are whole numbers
    doubled = np.array([2 * (size < s).sum() + (size == s).sum() + 1 for s in size])
    counts = np.ones(1)
    for rank in doubled:
        counts = np.concatenate([counts, np.zeros(rank)]) + np.concatenate([np.zeros(rank), counts])
    return float(counts[int(doubled[values > 0.0].sum()) :].sum() / 2.0**size.size)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's step-down rule, in the order given.

    The smallest is multiplied by their number, the next by one less, and so on; none is below the one before
    it, none above 1.
    """
    adjusted, largest = [1.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted
