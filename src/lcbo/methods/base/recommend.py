"""What a model says about the points it was built on and about one point: the answer's ingredients."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtr

from lcbo.methods.protocol import Array, Belief, Forecast
from lcbo.models.border import to_array, to_tensor
from lcbo.models.builder import Model
from lcbo.models.gp import LeftOut
from lcbo.terms import Terms


def standardized_terms(model: Model, mean: Array, terms: Terms) -> Array:
    """Term values of ``n x B`` standardized means over each output's scale; zero stays the user's zero."""
    scaled: Array = terms.values(model.scaling.undo(mean)) / model.scaling.std[terms.rows]
    return scaled


def recommended(model: Model, terms: Terms) -> int:
    """Return which of the points the model was built on has the best posterior.

    Least mean objective among points whose joint probability of feasibility is at least one half;
    where there is none, the most probably feasible point.
    """
    rows, equality = terms.rows, terms.equality[:, None]
    mean, var = map(to_array, model.gp.predict(model.gp.u))
    values = standardized_terms(model, mean.T, terms).T
    spread = np.sqrt(np.maximum(var[rows], 1e-18))
    tol = (terms.tol / model.scaling.std[rows])[:, None]
    # log P(|h| <= tol) is that of the nearer bound beyond it and of the interval inside; the log keeps
    # hopeless points comparable.
    excess = terms.excess(values.T, model.scaling.std[rows]).T
    inside = ndtr((tol - values) / spread) - ndtr((-tol - values) / spread)
    two_sided = np.where(excess > 0.0, log_ndtr(-excess / spread), np.log(np.maximum(inside, 1e-300)))
    one_sided = log_ndtr(-values / spread)
    feasibility = np.where(equality, two_sided, one_sided).sum(0)
    likely = feasibility >= math.log(0.5)
    return int(np.where(likely, mean[0], np.inf).argmin() if likely.any() else feasibility.argmax())


def believed(model: Model, u: Array, local: Array | None = None, slope: Array | float = 1.0) -> Belief:
    """Return the model's belief at a point, in user units.

    Args:
        model: the model.
        u: ``d``, in the unit cube.
        local: the same point in the model's coordinates, where they are others.
        slope: ``d``, of the model's coordinates in those of the unit cube.
    """
    post, std = model.gp.posterior(to_tensor(u if local is None else local, model.gp.u)), model.scaling.std
    slope_var = post.gradient_cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0)
    return Belief(
        u=u,
        mean=model.scaling.undo(to_array(post.mean)),
        std=to_array(post.var.sqrt()) * std,
        gradient=to_array(post.gradient) * std[:, None] * slope,
        gradient_std=to_array(slope_var.sqrt()) * std[:, None] * slope,
        scale=std,
    )


def forecast(model: Model, points: Array) -> Forecast:
    """Return the model's belief at points of its own coordinates, ``k x d``."""
    mean, var = map(to_array, model.gp.predict(to_tensor(points, model.gp.u)))
    return forecast_of(model, model.gp.leave_one_out(), mean.T, var.T)


def forecast_of(
    model: Model, left_out: LeftOut, mean: Array, var: Array, cov: Array | None = None
) -> Forecast:
    """Return moments of standardized outputs with what the model says of its noise and its misses."""
    return Forecast(
        scaling=model.scaling,
        mean=mean,
        var=var,
        cov=cov,
        noise_var=to_array(model.gp.hyper.noise_var),
        missed=to_array(left_out.error),
        missed_var=to_array(left_out.var),
        missed_noise_var=to_array(left_out.noise),
        observed=to_array(left_out.observed),
    )
