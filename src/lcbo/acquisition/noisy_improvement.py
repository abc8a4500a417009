"""Constrained expected improvement where not even the best value so far is known (Letham et al., 2019).

    log NEI(u) = log mean_s ( E[max(0, best_s - f(u)) | draw s] prod_i P(low_i <= c_i(u) <= high_i | draw s) )

A draw fixes the outputs at the points that may be the incumbent; ``best_s`` is the least objective among
those it makes feasible. Given the draw, everything is closed form. Under noise a lucky observation does not
raise the bar, and a point that is evaluated again gains nothing once its value is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from lcbo.acquisition.improvement import feasible_intervals, log_improvement, log_probability
from lcbo.models.moments import DrawnPredictor
from lcbo.terms import Terms
from lcbo.types import Array

SURE = 2.0  # deviations of the noise that a point is inside, to be feasible in all draws
# Of each drawn value, in observations: the rest of its noise keeps the model of the draws definite.
DRAWN_COUNT = 100.0


@dataclass(frozen=True)
class Incumbents:
    """The points of which one may be the best.

    Attributes:
        ids: rows of the means, most promising first; none where no point is plausibly feasible. The first is
            the incumbent of the posterior mean.
        fallback: value to improve on in a draw that makes none of them feasible.
    """

    ids: list[int]
    fallback: float


def incumbents(mean: Array, noise: Array, terms: Terms, most: int) -> Incumbents:
    """Return the points of least mean objective that may be feasible.

    A point is plausible where its means violate nothing by more than a deviation of the noise; those that are
    feasible by their means come first. The fallback is the best mean among the points that are surely
    feasible, else the largest mean of all.

    Args:
        mean: ``n x B`` posterior means at the evaluated points, in the model's units.
        noise: ``B`` deviations of the noise; at an evaluated point the model is not less sure than that.
        terms: the conditions in the model's units.
        most: number of points at most.
    """
    feasible, plausible = terms.feasible(mean), terms.feasible(mean, noise)
    order = np.lexsort((mean[:, 0], ~feasible))
    sure = (terms.slack(terms.values(mean)) >= SURE * noise[terms.rows]).all(-1)
    fallback = mean[sure, 0].min() if sure.any() else mean[:, 0].max()
    return Incumbents(order[plausible[order]][:most].tolist(), float(fallback))


def normal_numbers(n_outputs: int, points: int, draws: int, rng: np.random.Generator) -> Array:
    """Standard normal numbers ``B x k x S`` that fill the space more evenly than random ones."""
    with np.errstate(divide="ignore"):
        flat = ndtri(qmc.Sobol(n_outputs * points, rng=rng).random(draws))
    return np.clip(flat, -8.0, 8.0).T.reshape(n_outputs, points, draws).copy()


class LogNoisyImprovement:
    """The acquisition function: log NEI.

    Args:
        predictor: of all outputs given the draws at the incumbents; row 0 is the objective.
        terms: the conditions in the model's units.
        fallback: value to improve on in a draw that makes no incumbent feasible.

    Attributes:
        best: ``S``, the value to improve on in every draw.
    """

    def __init__(self, predictor: DrawnPredictor, terms: Terms, fallback: float) -> None:
        self.predictor = predictor
        ends = feasible_intervals(terms, len(predictor.draws))
        self.low, self.high = (end[:, None] for end in ends)
        draws = predictor.draws.transpose(1, 2, 0)  # k x S x B
        least = np.where(terms.feasible(draws), draws[..., 0], np.inf).min(0)
        self.best: Array = np.where(np.isinf(least), fallback, least)

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Values ``q`` and gradients ``q x d`` at ``q x d`` points."""
        moments = self.predictor(z)
        mean, std = moments.mean, np.sqrt(moments.var)[:, None]
        by_mean, by_std = np.zeros_like(mean), np.zeros_like(mean)
        value, by_mean[1:], by_std[1:] = log_probability(mean[1:], std[1:], self.low, self.high)
        gain, by_mean[0], by_std[0] = log_improvement(mean[0], std[0], self.best[:, None])
        each = gain + value.sum(0)
        most = each.max(0)
        share = np.exp(each - most)
        total = share.sum(0)
        share /= total
        log_mean: Array = most + np.log(total / len(each))
        by_var = 0.5 * (by_std * share).sum(1) / std[:, 0]
        return log_mean, moments.gradient(by_mean * share, by_var)
