"""Which point is the answer: how probably each candidate is feasible, and the best that is surely so.

A model is surer than it should be: its hyperparameters are estimates, no function is a draw of its prior, and
the point it likes best is the one it was most lucky with. So its standard deviations are multiplied by an
inflation that is itself uncertain, per output one of a few values. Their weights begin with a prior and learn
from what the model missed: its own observations near the limit, each predicted from all others, and later
those of the confirmation. A probability is the mean over the inflations, which has the heavy tails of
Student's t where little is known and becomes normal where much is.

Outputs are modeled independently, so the joint probability is the product over outputs. Errors that are
correlated could make it less, but never below ``1 - sum (1 - p_i)``: a product of 0.9 is at least 0.89.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from lcbo.methods.protocol import Belief, Forecast, Method
from lcbo.models.repeats import Repeats
from lcbo.problem import Problem
from lcbo.types import Array

INFLATION = np.array([1.0, 1.5, 2.25, 3.4])  # of a standard deviation
PRIOR = np.array([0.25, 0.30, 0.27, 0.18])  # their weights before anything is known
# Errors of neighbors are alike, and none is at the point that was chosen: all weigh as so many.
INDEPENDENT = 5.0
NEAR = 1.0  # standard deviations of the model's data: observations this close to a limit teach about it
ENOUGH = 5  # of those; otherwise all of them do
JITTER = 1e-10  # of the largest variance, on the diagonal of a covariance
NEGLIGIBLE = 1e-2  # of an output's scale: error and standard deviation of a model without noise


@dataclass(frozen=True)
class Prospects:
    """What is believed of the points that could be the answer, under each of ``H`` inflations.

    Attributes:
        u: ``k x d``, in the unit cube.
        mean: ``H x k x B``, in the user's scale.
        std: ``H x k x B``.
        weight: ``H x B``, probabilities of the inflations.
        rule: how these points were judged, in words.
    """

    u: Array
    mean: Array
    std: Array
    weight: Array
    rule: str

    @property
    def expected(self) -> Array:
        """Means over the inflations, ``k x B``."""
        expected: Array = np.einsum("hb,hkb->kb", self.weight, self.mean)
        return expected

    @property
    def deviation(self) -> Array:
        """Standard deviations over the inflations, ``k x B``."""
        apart = np.abs(self.mean - self.expected)
        unit = np.maximum(np.maximum(self.std, apart).max(0), 1e-300)  # squares of user units may overflow
        second = np.square(self.std / unit) + np.square(apart / unit)
        deviation: Array = unit * np.sqrt(np.einsum("hb,hkb->kb", self.weight, second))
        return deviation

    def some(self, chosen: NDArray[np.intp]) -> Prospects:
        """Return some of the points alone."""
        return Prospects(self.u[chosen], self.mean[:, chosen], self.std[:, chosen], self.weight, self.rule)


@dataclass(frozen=True)
class Demand:
    """What an answer must meet: the limits of every output, and how surely.

    Attributes:
        low: ``B``, least feasible values; ``high`` likewise.
        confidence: of all outputs together that have no level of their own.
        own: ``B``, levels that outputs must meet each, NaN where there is none.
        tol: by how much of its scale an outcome may be beyond its limit.
    """

    low: Array
    high: Array
    confidence: float
    own: Array
    tol: float

    @staticmethod
    def of(problem: Problem, confidence: float, tol: float) -> Demand:
        """Return the demand of a problem."""
        low, high = problem.terms.intervals(len(problem.outcomes))
        own = np.full(len(problem.outcomes), np.nan)
        for c in problem.constraints:
            if c.confidence is not None:
                own[problem.outcomes.index(c.name)] = np.fmax(
                    own[problem.outcomes.index(c.name)], c.confidence
                )
        return Demand(low, high, confidence, own, tol)

    def slack(self, mean: Array) -> Array:
        """How far ``... x B`` values are inside their limits, negative beyond, infinite without a limit."""
        inside: Array = np.minimum(self.high - mean, mean - self.low)
        return inside

    def probabilities(self, prospects: Prospects, scale: Array) -> Array:
        """How probably each output of each point is within its limits and the tolerance, ``k x B``."""
        room = self.tol * scale
        mean, std = prospects.mean, prospects.std
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = ndtr((self.high + room - mean) / std) - ndtr((self.low - room - mean) / std)
        certain = (self.low - room <= mean) & (mean <= self.high + room)
        inside = np.where(std > 0.0, normal, certain)
        probabilities: Array = np.einsum("hb,hkb->kb", prospects.weight, inside)
        return np.clip(probabilities, 0.0, 1.0)

    def met(self, probabilities: Array) -> NDArray[np.bool_]:
        """Whether points with these probabilities, ``k x B``, meet the demand, ``k``."""
        alone = ~np.isnan(self.own)
        jointly = probabilities[:, ~alone].prod(-1) >= self.confidence
        return np.asarray(jointly & (probabilities[:, alone] >= self.own[alone]).all(-1))

    def choose(self, prospects: Prospects, scale: Array) -> tuple[int, float, bool]:
        """Return which point is the answer, its joint probability of feasibility and whether that is enough.

        It is the one with the least expected objective of those that meet the demand; where there is none,
        the most probably feasible one.
        """
        probabilities = self.probabilities(prospects, scale)
        met, joint = self.met(probabilities), probabilities.prod(-1)
        objective = prospects.expected[:, 0]
        best = int(np.where(met, objective, np.inf).argmin() if met.any() else joint.argmax())
        return best, float(joint[best]), bool(met[best])


def prospects_of(method: Method, demand: Demand) -> Prospects | None:
    """Return what a method's model believes of its candidates, ``None`` where there is no model."""
    u = method.candidates()
    if u is None:
        u = method.recommend()  # all that a method of another kind may have
        belief = None if u is None else method.belief(u)
        if belief is None:
            return None
        return prospects_of_moments(belief.u[None], belief.mean[None], belief.std[None])
    forecast = method.forecast(u)
    return None if forecast is None else prospects_of_forecast(u, forecast, demand)


def prospects_of_forecast(u: Array, forecast: Forecast, demand: Demand) -> Prospects:
    """Return what a forecast says of its points, ``k x d``."""
    weight, scaling = normalized(learned(forecast, demand)), forecast.scaling
    return prospects_of_moments(u, scaling.undo(forecast.mean), scaling.std * np.sqrt(forecast.var), weight)


def prospects_of_values(u: Array, y: Array, noise: Array) -> Prospects:
    """Return what observed values alone say, repeats of a point together.

    Args:
        u: ``n x d``.
        y: ``n x B``, complete.
        noise: ``B``, standard deviations of one observation.
    """
    points, place = np.unique(u, axis=0, return_inverse=True)
    count = np.bincount(place.ravel())[:, None]
    mean = np.zeros((len(points), y.shape[1]))
    np.add.at(mean, place.ravel(), y / count[place.ravel()])
    found = prospects_of_moments(points, mean, noise / np.sqrt(count))
    return replace(found, rule="values")


def prospects_of_moments(u: Array, mean: Array, std: Array, weight: Array | None = None) -> Prospects:
    """Return normal beliefs at points, ``k x d``; the inflations have their prior unless weighted."""
    weight = np.tile(PRIOR[:, None], (1, mean.shape[-1])) if weight is None else weight
    means = np.broadcast_to(mean, (len(INFLATION), *mean.shape))
    return Prospects(u, means, INFLATION[:, None, None] * std, weight, "model")


def learned(forecast: Forecast, demand: Demand) -> Array:
    """Logarithms of the inflations' weights after what the model missed near the limits, ``H x B``.

    An error e that the model gave the variance v, seen with noise of variance s, is N(0, i^2 v + s) under
    the inflation i.
    """
    log_weight = np.tile(np.log(PRIOR)[:, None], (1, len(forecast.missed)))
    low, high = (forecast.scaling.apply(limit) for limit in (demand.low, demand.high))
    for row, (error, var, noise, seen) in enumerate(
        zip(forecast.missed, forecast.missed_var, forecast.missed_noise_var, forecast.observed, strict=True)
    ):
        known = ~np.isnan(error)
        spread = float(np.std(seen[known])) if known.any() else 0.0
        near = known & (np.minimum(abs(high[row] - seen), abs(seen - low[row])) <= NEAR * spread)
        used = near if near.sum() >= ENOUGH else known
        total = np.square(INFLATION)[:, None] * var[used] + noise[used]
        total = np.maximum(total, 1e-300)
        likelihood = -0.5 * (np.log(total) + np.square(error[used]) / total).sum(-1)
        log_weight[:, row] += min(1.0, INDEPENDENT / max(int(used.sum()), 1)) * likelihood
    return log_weight


def normalized(log_weight: Array) -> Array:
    """Return probabilities, summing to 1 over the first axis."""
    weight: Array = np.exp(log_weight - logsumexp(log_weight, axis=0))
    return weight


def updated(
    forecast: Forecast, log_weight: Array, count: Array, seen: Array, noise: Array, u: Array
) -> Prospects:
    """Return the posterior at points after new observations there.

    Args:
        forecast: the belief before, with covariances.
        log_weight: ``H x B``, of the inflations before.
        count: ``k x B``, how often each output was observed at each point.
        seen: ``k x B``, the means of these observations in user units; read where there are any.
        noise: ``B``, standard deviations of one observation in user units.
        u: ``k x d``, the points.

    With ``C = i^2 cov`` and ``S = C_oo + diag(noise^2 / count)`` over the observed points o:
        mean + C_:o S^-1 (seen_o - mean_o),   C - C_:o S^-1 C_o:,   evidence N(seen_o; mean_o, S).
    """
    assert forecast.cov is not None
    scaling = forecast.scaling
    missed = scaling.apply(seen) - forecast.mean
    noise_var = np.square(noise / scaling.std)
    # All outputs and inflations at once, ``H x B x k x k``: what was not observed has the row and column of
    # the identity in S, and no covariance.
    square = np.square(INFLATION)[:, None, None, None]
    observed, most = (count > 0.0).T, forecast.cov.diagonal(axis1=1, axis2=2).max(-1, initial=0.0)
    observed &= (most > 0.0)[:, None]
    cross = square * forecast.cov * observed[:, :, None]
    nugget = noise_var[:, None] / np.maximum(count.T, 1.0) + JITTER * square[..., 0] * most[:, None]
    total = cross * observed[:, None, :]
    diagonal = np.einsum("hbkk->hbk", total)
    diagonal += np.where(observed, nugget, 1.0)
    away = np.where(observed, missed.T, 0.0)[:, :, None]
    factor = np.linalg.cholesky(total)
    white = np.linalg.solve(factor, np.concatenate([cross, np.tile(away, (len(square), 1, 1, 1))], -1))
    reduction, error = white[..., :-1], white[..., -1:]
    mean = forecast.mean + (reduction * error).sum(-2).swapaxes(1, 2)
    var = square[..., 0] * forecast.var - np.square(reduction).sum(-2).swapaxes(1, 2)
    determinant = np.log(factor.diagonal(axis1=2, axis2=3)).sum(-1)
    log_weight = log_weight - 0.5 * np.square(error).sum((-2, -1)) - determinant
    std = scaling.std * np.sqrt(np.maximum(var, 0.0))
    return Prospects(u, scaling.undo(mean), std, normalized(log_weight), "confirmed")


def noise_shown(
    noise_var: tuple[float | None, ...], repeats: Repeats, scale: Array, tol: float
) -> bool | None:
    """Return whether there is noise: as stated, else by repeats of a point; ``None`` where nothing tells.

    Repeats that agree within the feasibility tolerance show that there is none.
    """
    if any(v is not None and v > 0.0 for v in noise_var):
        return True
    unknown = np.array([v is None for v in noise_var])
    if not unknown.any():
        return False
    repeated = unknown & (repeats.dof > 0.0)
    if (repeats.deviation[repeated] > (tol * scale)[repeated]).any():
        return True
    return False if (repeated == unknown).all() else None


def reproduces(belief: Belief | None, observed: Array) -> bool:
    """Whether a model reproduces an observation almost exactly: its noise is then negligible."""
    if belief is None:
        return False
    error = np.abs(observed - belief.mean)
    return bool(np.all(np.maximum(error, belief.std) <= NEGLIGIBLE * belief.scale))
