"""The quadratic subproblem of BayeSQP at one point, out of the model's posterior there."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from lcbo.models.border import to_array
from lcbo.models.gp import Posterior
from lcbo.steps.cone import ConeSolution, UncertainRows, uncertain_step
from lcbo.terms import Terms
from lcbo.types import Array

LEAST_CURVATURE = 1e-3  # of a Hessian that is not convex, after its repair
LEAST_MULTIPLIER = 1e-8  # smaller ones do not bend the Lagrangian
WEIGHT = 100.0  # of a violation, where the subproblem has no feasible step
FIRM = 1e6  # of a violation, where it has one
MET = 1e-6  # standard deviations by which a row may be missed


def lagrangian_hessian(hessians: Array, terms: Terms, multipliers: Array) -> Array:
    """Second derivatives of ``f + sum_i multiplier_i term_i``, made convex: ``d x d``.

    Where an eigenvalue is negative, all are raised to at least 1e-3.

    Args:
        hessians: ``B x d x d``, of the posterior means.
        terms: the conditions.
        multipliers: ``T``, of either sign for an equality.
    """
    counted = np.where(np.abs(multipliers) > LEAST_MULTIPLIER, multipliers, 0.0)
    whole: Array = hessians[0] + np.einsum("t,tij->ij", counted * terms.sign, hessians[terms.rows])
    values, vectors = np.linalg.eigh(whole)
    if values[0] >= 0.0:
        return whole
    raised: Array = (vectors * np.maximum(values, LEAST_CURVATURE)) @ vectors.T
    return raised


def spread_factors(posterior: Posterior) -> Array:
    """Factors F with ``F'F`` the joint covariance of value and gradient: ``B x (d + 1) x (d + 1)``.

    So the linear prediction ``value + gradient.p`` has the standard deviation ``|F [1; p]|``.
    """
    gradient_cov, beside = to_array(posterior.gradient_cov), to_array(posterior.value_gradient_cov)
    size = beside.shape[1] + 1
    joint = np.empty((len(beside), size, size))
    joint[:, 0, 0], joint[:, 1:, 1:] = to_array(posterior.var), gradient_cov
    joint[:, 0, 1:] = joint[:, 1:, 0] = beside
    values, vectors = np.linalg.eigh(joint)
    factors: Array = np.sqrt(np.maximum(values, 0.0))[..., None] * vectors.transpose(0, 2, 1)
    return factors


def subproblem_step(
    u: Array,
    posterior: Posterior,
    hessians: Array,
    terms: Terms,
    multipliers: Array,
    delta_f: float,
    delta_c: float,
) -> tuple[Array, Array]:
    """Return the step from ``u`` and the multipliers of the terms, both in the model's units.

    An inequality keeps a margin of ``Phi^-1(1 - delta_c)`` standard deviations of its linear prediction. An
    equality has no safe side: it is two rows without margin, its tolerance apart. Where all rows can be met,
    they are.

    Args:
        u: ``d``.
        posterior: at ``u``.
        hessians: ``B x d x d`` of the means there.
        terms: the conditions in the model's units.
        multipliers: ``T``, of the last step.
        delta_f: 0.5 takes the objective at its mean.
        delta_c: the same of the inequalities.
    """
    factors, gradient = spread_factors(posterior), to_array(posterior.gradient)
    values, slopes = terms.values(to_array(posterior.mean)), terms.sign[:, None] * gradient[terms.rows]
    two = np.flatnonzero(terms.equality)
    margin = np.where(terms.equality, 0.0, -ndtri(delta_c))
    rows = UncertainRows(
        np.concatenate([slopes, -slopes[two]]),
        np.concatenate([values - terms.tol, -values[two] - terms.tol[two]]),
        np.concatenate([np.maximum(margin, 0.0), np.zeros(len(two))]),
        factors[np.concatenate([terms.rows, terms.rows[two]])],
    )
    curvature = lagrangian_hessian(hessians, terms, multipliers)

    def solved(weight: float) -> ConeSolution:
        goal_margin = max(float(-ndtri(delta_f)), 0.0)
        return uncertain_step(gradient[0], curvature, goal_margin, factors[0], rows, -u, 1.0 - u, weight)

    solution = solved(WEIGHT)
    if solution.violation.sum() > MET:
        firm = solved(FIRM)
        solution = firm if firm.violation.sum() <= MET else solution
    found = solution.multipliers[: len(terms)].copy()
    found[two] -= solution.multipliers[len(terms) :]
    return solution.step, found
