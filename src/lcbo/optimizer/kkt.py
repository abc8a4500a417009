"""How stationary and how feasible a point is: multipliers and KKT residuals.

With standardized gradients g_f, J (rows sign_j * grad y_j) and condition values v_j = sign_j (y_j - t_j) at a
point u of the cube, the Lagrangian's gradient is g = g_f + J^T lambda and

    r_s = sum_i g_i^2 in the interior, min(0, g_i)^2 at the lower bound, max(0, g_i)^2 at the upper
    r_f = sum_j max(0, v_j)^2 over inequalities + sum_j v_j^2 over equalities

lambda minimizes r_s, with lambda_j >= 0 on active inequalities, 0 on inactive ones, free on equalities.

A known condition that binds at u is a wall: the gradients count along the walls that hold the point.

These are squares without a unit; what a user can act on is in `balance`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.special import ndtr

from lcbo.methods.protocol import Belief
from lcbo.terms import Terms
from lcbo.types import Array

Mask = NDArray[np.bool_]
_AT_BOUND = 1e-6  # unit-cube distance below which a bound counts as reached
ACTIVE = 1e-2  # slack, in standard deviations of the outcome, below which a constraint counts as active


@dataclass(frozen=True)
class Kkt:
    """Multipliers and residuals, all in standardized unit-cube units."""

    multipliers: Array  # lambda, one per term
    r_s: float  # stationarity and feasibility at the posterior mean
    r_f: float
    spread_s: float  # what posterior variance adds to their expectations, lambda held
    spread_f: float


def active(values: Array, deviations: Array, equality: Mask, room: Array | float = ACTIVE) -> Mask:
    """Return which terms bind within their resolution and some room.

    Values, their deviations and the room are standardized.
    """
    reached: Mask = equality | (values >= -(room + 2.0 * deviations))
    return reached


def kkt(belief: Belief, terms: Terms, scale: Array, walls: Array | None = None) -> Kkt:
    """Return multipliers and residuals at the point of a belief.

    Args:
        belief: at the point.
        terms: the conditions.
        scale: the unit of each output row.
        walls: ``k x d``, outward normals of known conditions that bind.
    """
    rows, signs, equality = terms.rows, terms.sign, terms.equality
    slope, slope_var = belief.gradient / scale[:, None], (belief.gradient_std / scale[:, None]) ** 2
    v = terms.values(belief.mean) / scale[rows]
    s = belief.std[rows] / scale[rows]
    lower, upper = belief.u <= _AT_BOUND, belief.u >= 1.0 - _AT_BOUND

    jacobian = signs[:, None] * slope[rows]
    binding = active(v, s, equality)
    if walls is not None and len(walls):
        along = along_walls(slope[0], jacobian[binding], equality[binding], lower, upper, walls)
        slope, jacobian, slope_var = slope @ along, jacobian @ along, slope_var @ along**2
    multipliers = np.zeros(len(terms))
    multipliers[binding] = multipliers_of(slope[0], jacobian[binding], equality[binding], lower, upper)

    g = slope[0] + jacobian.T @ multipliers
    blocked = (lower & (g > 0.0)) | (upper & (g < 0.0))
    weight = np.zeros(len(belief.mean))
    weight[0] = 1.0
    np.add.at(weight, rows, signs * multipliers)
    g_var = weight**2 @ slope_var
    r_f = np.where(equality, v, np.maximum(v, 0.0)) ** 2
    return Kkt(
        multipliers=multipliers,
        r_s=float(np.sum(g[~blocked] ** 2)),
        r_f=float(np.sum(r_f)),
        spread_s=float(np.sum(g_var[~blocked])),
        spread_f=float(np.sum(np.where(equality, s**2, _expected_square(v, s) - r_f))),
    )


def multipliers_of(slope: Array, jacobian: Array, equality: Mask, lower: Mask, upper: Mask) -> Array:
    """Return the lambda that minimizes r_s.

    A reached bound is one more inequality with its own multiplier nu_i >= 0: since min over nu >= 0 of
    (g_i - nu)^2 is min(0, g_i)^2, r_s is the least squares residual over lambda and nu together.
    """
    if not len(jacobian):
        return np.zeros(0)
    eye = np.eye(slope.size)
    columns = np.vstack([jacobian, -eye[lower], eye[upper]]).T
    least = np.zeros(columns.shape[1])
    least[: len(equality)][equality] = -np.inf
    solution: Array = lsq_linear(columns, -slope, bounds=(least, np.inf), method="bvls").x
    return solution[: len(equality)]


def along_walls(
    slope: Array, jacobian: Array, equality: Mask, lower: Mask, upper: Mask, walls: Array
) -> Array:
    """Return the projector, ``d x d``, onto the walls that the Lagrangian's gradient presses against."""
    free = np.append(equality, np.zeros(len(walls), dtype=bool))
    pressure = multipliers_of(slope, np.concatenate([jacobian, walls]), free, lower, upper)[len(jacobian) :]
    basis = np.linalg.qr(walls[pressure > 0.0].T)[0]
    along: Array = np.eye(len(slope)) - basis @ basis.T
    return along


def _expected_square(v: Array, s: Array) -> Array:
    """E[max(0, v + s z)^2] for standard normal z: (v^2 + s^2) Phi(v/s) + v s phi(v/s)."""
    safe = np.where(s > 0.0, s, 1.0)
    z = v / safe
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return np.where(s > 0.0, (v**2 + s**2) * ndtr(z) + v * s * density, np.maximum(v, 0.0) ** 2)
