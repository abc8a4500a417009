"""Multipliers with error bars, and what is left of the objective's slope.

With slopes known to within covariances S, at a point that is off the optimum by d, the Lagrangian's gradient
over the variables no bound stops is

    r = g_f + J^T lambda ~ N(0, S_f + sum_j lambda_j^2 S_j + R),   r = -H d

H being the Lagrangian's second derivatives. An optimizer stops where it sees no slope along the limits that
hold it: with Z an orthonormal basis of their tangents, Z^T r is as likely in any direction, N(0, tau^2 I). It
went astray along these tangents, d = Z z, so that this slope says where the optimum is, and with that what r
is across the limits, where the multipliers are read:

    Z^T r = -K z - e,   K = Z^T H Z,   var z = (1 / box^2 + K^2 / tau^2)^-1,   var e = tau^2 - K (var z) K
    R = H Z (var z) Z^T H + Z (var e) Z^T

The box limits z where K is flat. Where slopes are exact this is the multiplier of Newton's step; where there
is no curvature, that of least squares. All of it is in units of D: the mean square of g_f plus each
variable's own squares of g_f and lambda_j J_j, as a few steep variables must not decide alone. tau is found
by its restricted likelihood: the mean of its square, as what is not known of it must not narrow the bars.

A flat prior on lambda_j >= 0 makes lambda a normal distribution around the generalized least squares
estimate, cut off at 0. Its means are the multipliers and its standard deviations their error bars: a limit
that may bind has a positive multiplier, and one that does not has one that is small beside its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear
from scipy.special import log_ndtr, ndtri_exp

from lcbo.methods.lcbo.frame import UNIFORM_SPREAD
from lcbo.optimizer.kkt import ACTIVE, Mask, active, along_walls, multipliers_of
from lcbo.random import generator
from lcbo.terms import Terms
from lcbo.types import Array

_NEAR_BOUND = 1e-2  # unit-cube distance below which a bound may stop a variable of the optimum
_CLEAR = 6.0  # standard errors from 0 at which the cut changes nothing
_CHAINS, _SWEEPS = 500, 40
_ROUNDS = 3  # multipliers and weights depend on each other
_TAU2 = np.concatenate([[0.0], np.geomspace(1e-10, 1.0, 25)])
_CHANGE = 0.1  # by how much slopes may well change on the way to the optimum, where the residual cannot tell


@dataclass(frozen=True)
class Balance:
    """How objective and limits hold each other at a point, standardized as in `Kkt`.

    Attributes:
        multipliers: lambda, one per term; 0 where a term is inactive.
        errors: their standard errors.
        slope: norm of the Lagrangian's gradient over the variables that no bound stops.
        noise: expected norm of what its uncertainty adds.
        significant: whether the slope is more than that uncertainty explains.
        offset: ``d``, from the point to where the optimum is expected.
    """

    multipliers: Array
    errors: Array
    slope: float
    noise: float
    significant: bool
    offset: Array


def may_bind(values: Array, deviations: Array, slopes: Array, equality: Mask) -> Mask:
    """Return which terms may stop the optimum, as a bound may that is as near, given their slopes, ``T x d``.

    An answer with noise keeps a margin to its limits, however little that margin is in the cube.
    """
    reach = np.maximum(ACTIVE, _NEAR_BOUND * np.linalg.norm(slopes, axis=1))
    return active(values, deviations, equality, reach)


def balance(
    u: Array,
    slopes: Array,
    cov: Array,
    bends: Array,
    terms: Terms,
    binding: Mask,
    walls: Array | None = None,
) -> Balance:
    """Return multipliers with error bars and what is left of the objective's slope.

    Args:
        u: ``d``, the point of the unit cube.
        slopes: ``B x d``, standardized.
        cov: ``B x d x d``, their covariances.
        bends: ``B x d x d``, second derivatives, likewise.
        terms: the conditions.
        binding: which of them may bind, ``T``.
        walls: ``k x d``, outward normals of known conditions that bind.
    """
    binding, equality = _without_twins(terms, binding)
    rows = terms.rows[binding]
    lower, upper = u <= _NEAR_BOUND, u >= 1.0 - _NEAR_BOUND
    if walls is not None and len(walls):
        along = along_walls(
            slopes[0], terms.sign[binding, None] * slopes[rows], equality, lower, upper, walls
        )
        slopes, cov, bends = slopes @ along, along @ cov @ along, along @ bends @ along
    jacobian, spread = terms.sign[binding, None] * slopes[rows], cov[rows]
    curved = terms.sign[binding, None, None] * bends[rows]
    plain = estimate = multipliers_of(slopes[0], jacobian, equality, lower, upper)
    for _ in range(_ROUNDS):
        g = slopes[0] + jacobian.T @ estimate
        free = ~((lower & (g > 0.0)) | (upper & (g < 0.0)))
        total = cov[0] + np.tensordot(estimate**2, spread, 1)
        own = np.square(slopes[0]) + np.square(estimate[:, None] * jacobian).sum(0)
        unit = np.sqrt(np.mean(slopes[0][free] ** 2) + own[free]) if own[free].any() else np.ones(free.sum())
        inside = np.ix_(free, free)
        found = _Regression(
            slopes[0][free] / unit,
            jacobian[:, free] / unit,
            total[inside] / unit / unit[:, None],
            (bends[0] + np.tensordot(estimate, curved, 1))[inside] / unit / unit[:, None],
            equality,
            pressed=equality | (estimate > 0.0),
            reach=UNIFORM_SPREAD * float(np.sqrt(np.mean(unit**2))) if len(unit) else 0.0,
        )
        estimate = found.estimate
    mean, std = np.zeros(len(terms)), np.zeros(len(terms))
    mean[binding], std[binding] = found.posterior()
    offset = np.zeros(len(u))
    offset[free] = found.offset() / unit
    r = (slopes[0] + jacobian.T @ plain)[free]
    noise = cov[0] + np.tensordot(plain**2, spread, 1)
    noise = noise[np.ix_(free, free)]
    return Balance(
        multipliers=mean,
        errors=std,
        slope=float(np.linalg.norm(r)),
        noise=float(np.sqrt(max(np.trace(noise), 0.0))),
        significant=_significant(r, noise, int(np.sum(equality | (plain > 0.0)))),
        offset=offset,
    )


def _without_twins(terms: Terms, binding: Mask) -> tuple[Mask, Mask]:
    """Return the binding terms, one per outcome, and which of these have multipliers of either sign.

    Two limits of one outcome that both bind hold it as an equality does: only the difference of their
    multipliers matters, and both could grow without end.
    """
    places = np.flatnonzero(binding)
    rows, first, count = np.unique(terms.rows[places], return_index=True, return_counts=True)
    kept = np.zeros_like(binding)
    kept[places[first]] = True
    free = terms.equality[kept] | np.isin(terms.rows[kept], rows[count > 1])
    return kept, free


class _Regression:
    """The multipliers as the coefficients of a regression, in units of D; see the module docstring.

    Args:
        slope: ``n``, g_f.
        jacobian: ``m x n``, J.
        cov: ``n x n``, of the slopes.
        hessian: ``n x n``, H.
        equality: ``m``.
        pressed: ``m``, the terms that hold the point.
        reach: the box, in these units.
    """

    def __init__(
        self,
        slope: Array,
        jacobian: Array,
        cov: Array,
        hessian: Array,
        equality: Mask,
        *,
        pressed: Mask,
        reach: float,
    ) -> None:
        self._least = np.where(equality, -np.inf, 0.0)
        _, size, basis = np.linalg.svd(jacobian[pressed], full_matrices=True)
        held = int(np.sum(size > 1e-10 * size.max(initial=0.0)))
        normal, tangent = basis[:held].T, basis[held:].T
        self._curvature, turn = np.linalg.eigh(tangent.T @ hessian @ tangent)
        self._tangent = tangent @ turn
        known = np.column_stack([jacobian.T, -slope])
        self._along, self._across = self._tangent.T @ known, normal.T @ known
        self._changed = normal.T @ hessian @ self._tangent
        variances, self._turn = np.linalg.eigh(self._tangent.T @ cov @ self._tangent)
        self._variances = np.maximum(variances, 0.0) + 1e-16 + 1e-12 * cov.diagonal().max(initial=0.0)
        self._normal_cov, self._cross_cov = normal.T @ cov @ normal, normal.T @ cov @ self._tangent
        self._reach2 = reach**2
        likelihood = np.array([self._fitted(tau2)[0] for tau2 in _TAU2])
        posterior = likelihood - np.log1p(_TAU2 / _CHANGE**2)  # a prior of Cauchy's
        self.tau2 = float(np.average(_TAU2, weights=np.exp(posterior - posterior.max())))
        _, self.estimate, self._columns, self._target = self._fitted(self.tau2)

    def posterior(self) -> tuple[Array, Array]:
        """Return means and standard deviations."""
        columns = self._columns
        return _cut_normal(columns.T @ columns, columns.T @ self._target, self._least)

    def offset(self) -> Array:
        """Return where the optimum is expected, ``n``, from the point."""
        changed, _ = self._whitened(self.tau2, np.diag(self._curvature), self._changed)
        r = self._columns @ self.estimate - self._target
        offset: Array = -self._tangent @ (self._astray(self.tau2) * (changed.T @ r))
        return offset

    def _astray(self, tau2: float) -> Array:
        """Variances of z along the principal curvatures."""
        variances: Array = self._reach2 * tau2 / np.maximum(tau2 + self._reach2 * self._curvature**2, 1e-300)
        return variances

    def _whitened(self, tau2: float, along: Array, across: Array) -> tuple[Array, float]:
        """Return columns in coordinates where r is standard normal, and half the log volume of its variance.

        Along the tangents that variance is the slopes' plus ``tau^2 I``: one decomposition serves all tau.

        Args:
            tau2: the square of tau.
            along: the columns by tangents.
            across: the columns by normals, of which there are few.
        """
        root, astray = np.sqrt(self._variances + tau2), self._astray(tau2)
        inside = (self._turn.T @ along) / root[:, None]
        cross = self._cross_cov + self._changed * (astray * self._curvature)
        seen = (self._turn.T @ cross.T) / root[:, None]
        variance = self._normal_cov + (self._changed * astray) @ self._changed.T
        rest = variance - seen.T @ seen
        rest[np.diag_indices_from(rest)] += 1e-16 + 1e-12 * variance.diagonal()
        values, basis = np.linalg.eigh(rest)
        least = np.sqrt(np.maximum(values, 1e-16))
        outside = (basis.T @ (across - seen.T @ inside)) / least[:, None]
        return np.concatenate([inside, outside]), float(np.log(root).sum() + np.log(least).sum())

    def _fitted(self, tau2: float) -> tuple[float, Array, Array, Array]:
        """Return the restricted log likelihood of tau, its multipliers, and the regression they are of."""
        white, volume = self._whitened(tau2, self._along, self._across)
        columns, target = white[:, :-1], white[:, -1]
        estimate = np.asarray(np.linalg.lstsq(columns, target)[0], dtype=float)
        if (estimate < self._least).any():
            estimate = lsq_linear(columns, target, bounds=(self._least, np.inf), method="bvls").x
        used = columns[:, (estimate > 0.0) | np.isinf(self._least)]
        taken = np.log(np.maximum(np.linalg.svd(used, compute_uv=False), 1e-300)).sum()
        misfit = np.square(target - columns @ estimate).sum()
        return -float(volume + taken + 0.5 * misfit), estimate, columns, target


def _cut_normal(precision: Array, pull: Array, least: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of ``N(A^-1 b, A^-1)`` above ``least``, 0 or minus infinity.

    Where the cut is far away they are known in closed form, else by Gibbs sampling.
    """
    own = precision.diagonal()
    felt = own > 0.0  # a limit without a slope cannot be moved
    mean, std = np.zeros(len(own)), np.zeros(len(own))
    if not felt.any():
        return mean, std
    a, b, low = precision[np.ix_(felt, felt)], pull[felt], least[felt]
    size = np.sqrt(a.diagonal())
    inverse = np.linalg.pinv(a / size / size[:, None], rcond=1e-12, hermitian=True) / size / size[:, None]
    center, spread = inverse @ b, np.sqrt(np.maximum(inverse.diagonal(), 0.0))
    if (np.isinf(low) | (center >= _CLEAR * spread)).all():
        mean[felt], std[felt] = center, spread
        return mean, std
    rng = generator(0, "multipliers")
    draws = np.tile(np.where(np.isinf(low), center, np.maximum(center, 0.0)), (_CHAINS, 1))
    first = second = np.zeros(len(b))
    for sweep in range(_SWEEPS):
        for j, sd in enumerate(1.0 / size):
            middle = draws[:, j] + (b[j] - draws @ a[:, j]) * sd**2
            log_chance = log_ndtr(middle / sd) if low[j] == 0.0 else np.zeros(_CHAINS)
            draws[:, j] = middle - sd * ndtri_exp(np.log(rng.uniform(size=_CHAINS)) + log_chance)
            if low[j] == 0.0:
                draws[:, j] = np.maximum(draws[:, j], 0.0)
        if sweep >= _SWEEPS // 2:
            first, second = first + draws.mean(0), second + np.square(draws).mean(0)
    first, second = (total / (_SWEEPS - _SWEEPS // 2) for total in (first, second))
    mean[felt], std[felt] = first, np.sqrt(np.maximum(second - first**2, 0.0))
    return mean, std


def _significant(r: Array, cov: Array, fitted: int) -> bool:
    """Return whether a gradient is more than its uncertainty explains, by two deviations of chi^2."""
    variances, basis = np.linalg.eigh(cov)
    resolved = variances > 1e-12 * max(float(variances.max(initial=0.0)), 1e-300)
    rotated = basis.T @ r
    freedom = max(len(r) - fitted, 1)
    chi2 = float(np.sum(rotated[resolved] ** 2 / variances[resolved]))
    unexplained = bool(np.sum(rotated[~resolved] ** 2) > 1e-24 * max(float(r @ r), 1e-300))
    return unexplained or chi2 > freedom + 2.0 * np.sqrt(2.0 * freedom)
