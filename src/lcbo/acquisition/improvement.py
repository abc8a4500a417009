"""Constrained expected improvement in logarithms, stable arbitrarily far out in the tails.

    log CEI(u) = log E[max(0, best - f(u))] + sum_i log P(low_i <= c_i(u) <= high_i)

Every function returns a value and its derivatives in the mean and in the standard deviation. In the tails
everything is expressed by ``m(t) = Phi(t) / phi(t)``, which is ``sqrt(pi/2) erfcx(-t / sqrt 2)``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf, erfcx, ndtr

from lcbo.models.moments import Predictor
from lcbo.terms import Terms
from lcbo.types import Array

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
SQRT_HALF = math.sqrt(0.5)
SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
LEAST_WIDTH = 1e-9  # of an interval in standardized units; a narrower one is lost to rounding
UNBOUNDED = 1e30  # stands for an infinite bound: all that is squared or exponentiated stays well defined


def _mills(t: Array) -> Array:
    """``Phi(t) / phi(t)`` for ``t <= 0``."""
    ratio: Array = SQRT_HALF_PI * erfcx(-SQRT_HALF * t)
    return ratio


def log_improvement(mean: Array, std: Array, best: float | Array) -> tuple[Array, Array, Array]:
    """Logarithm of the expected improvement on ``best`` and its slopes in mean and std.

    With ``t = (best - mean) / std`` and ``h(t) = phi(t) + t Phi(t)``:
        log EI = log std + log h,   d/dmean = -Phi / (h std),   d/dstd = phi / (h std)
    For ``t < 0``, ``h = phi(t) g(t)`` with ``g = 1 + t m(t)``, which is ``1/t^2 - 3/t^4 + 15/t^6 - ...`` far
    out, where the sum cancels.

    Args:
        mean: any shape.
        std: same shape, or one that broadcasts to it, above 0.
        best: value to improve on; smaller is better.
    """
    t = (best - mean) / std
    low, high = np.minimum(t, 0.0), np.maximum(t, 0.0)
    mills = _mills(low)
    s = 1.0 / np.square(np.minimum(low, -50.0))
    series = s * (1.0 - s * (3.0 - s * (15.0 - s * (105.0 - s * (945.0 - s * 10395.0)))))
    g = np.where(low < -50.0, series, 1.0 + low * mills)
    density = np.exp(-0.5 * high * high - LOG_SQRT_2PI)
    mass = ndtr(high)
    h = density + high * mass
    below = t < 0.0
    value = np.log(std) + np.where(below, -0.5 * low * low - LOG_SQRT_2PI + np.log(g), np.log(h))
    by_mean = np.where(below, -mills / g, -mass / h) / std
    by_std = np.where(below, 1.0 / g, density / h) / std
    return value, by_mean, by_std


def log_probability(mean: Array, std: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Logarithm of ``P(low <= y <= high)`` and its slopes in mean and std.

    With ``a = (low - mean) / std``, ``b = (high - mean) / std`` and ``P = Phi(b) - Phi(a)``:
        d/dmean = -(phi(b) - phi(a)) / (P std),   d/dstd = -(b phi(b) - a phi(a)) / (P std)
    The interval is mirrored so that its middle is at or below 0. One that contains 0 is a sum of two error
    functions of one sign. One beyond it is ``P = phi(b) G`` with ``G = m(b) - e m(a)`` and
    ``e = phi(a) / phi(b) = exp((b - a)(a + b) / 2)``.

    Args:
        mean: ``... x q``.
        std: same shape, above 0.
        low: ``... x 1``; ``-UNBOUNDED`` where there is no lower bound.
        high: ``... x 1``, above ``low``; ``UNBOUNDED`` where there is no upper bound.
    """
    first, last = (low - mean) / std, (high - mean) / std
    mirrored = first + last > 0.0
    a, b = np.where(mirrored, -last, first), np.where(mirrored, -first, last)
    width = (high - low) / std
    exponent = 0.5 * width * (a + b)
    e = np.exp(exponent)
    outside = b < 0.0
    away = np.minimum(b, 0.0)
    # G is the integral of exp(b t - t^2 / 2) over [0, b - a]: at least its last value times the width
    beyond = np.maximum(_mills(away) - e * _mills(away - width), e * width)
    around = 0.5 * (erf(SQRT_HALF * np.maximum(b, 0.0)) - erf(SQRT_HALF * a))
    log_density = -0.5 * b * b - LOG_SQRT_2PI
    value = np.where(outside, log_density + np.log(beyond), np.log(around))
    # phi(b) / P, beyond and around 0; with it phi(a) / P = e phi(b) / P
    ratio = np.where(outside, 1.0 / beyond, np.exp(log_density) / around) / std
    by_mean = np.where(mirrored, -ratio, ratio) * np.expm1(exponent)
    by_std = -ratio * (b - a * e)
    return value, by_mean, by_std


def feasible_intervals(terms: Terms, n_outputs: int) -> tuple[Array, Array]:
    """Lower and upper bounds of outputs 1..B-1, each ``(B - 1) x 1``: all conditions on one output at once.

    Bounds that contradict each other give the interval between them, where both are violated least.
    """
    low, high = (np.clip(end[1:, None], -UNBOUNDED, UNBOUNDED) for end in terms.intervals(n_outputs))
    low, high = np.minimum(low, high), np.maximum(low, high)
    return low, np.maximum(high, low + LEAST_WIDTH)


class LogConstrainedImprovement:
    """The acquisition function: log CEI, or the log probability of feasibility without ``best``.

    Args:
        predictor: of all outputs, row 0 the objective.
        terms: the conditions in the model's units.
        best: best feasible value so far in the model's units; ``None`` when nothing feasible is known.
    """

    def __init__(self, predictor: Predictor, terms: Terms, best: float | None) -> None:
        self.predictor, self.best = predictor, best
        self.low, self.high = feasible_intervals(terms, len(predictor.gp.hyper.outputscale))

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Values ``q`` and gradients ``q x d`` at ``q x d`` points."""
        moments = self.predictor(z)
        mean, std = moments.mean, np.sqrt(moments.var)
        by_mean, by_std = np.zeros_like(mean), np.zeros_like(std)
        value, by_mean[1:], by_std[1:] = log_probability(mean[1:], std[1:], self.low, self.high)
        total: Array = value.sum(0)
        if self.best is not None:
            value, by_mean[0], by_std[0] = log_improvement(mean[0], std[0], self.best)
            total = total + value
        return total, moments.gradient(by_mean, 0.5 * by_std / std)


class ConstrainedImprovement(LogConstrainedImprovement):
    """The acquisition function without its logarithm: CEI, or the probability of feasibility."""

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Values ``q`` and gradients ``q x d`` at ``q x d`` points; both are 0 where they underflow."""
        logarithm, slope = super().__call__(z)
        value: Array = np.exp(logarithm)
        return value, value[:, None] * slope
