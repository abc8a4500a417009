"""SciPy's SLSQP behind ask/tell: gradients are finite differences, and every difference is an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from lcbo.methods.base.archive import TOLD
from lcbo.methods.classical.callback import CallbackSolver, Evaluate, Solve, Value
from lcbo.methods.classical.options import SlsqpOptions
from lcbo.methods.protocol import Array, Setup
from lcbo.scaling import Scaling
from lcbo.terms import Terms

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain

_LENGTHS = (1e-6, 0.2)  # of a difference: the least, also the one without noise, and the largest
_REPEATS, _REPEATS_SHARE = 4, 25  # repeats of the first point: at most so many, and this part of the budget
_NARROWER = 0.01  # factor of the margin from run to run
_VAIN = 20  # runs in a row that ask for nothing new
_MOST_STEPS = 1000  # of a run; SciPy's 100 would throw the curvature away in long runs


class Slsqp(CallbackSolver):
    """SciPy's SLSQP, a sequential quadratic program with a line search, with restarts.

    One evaluation gives the objective and all terms, so a gradient of all of them costs ``d`` evaluations
    beside its base point; they come as one batch. What has been evaluated is never evaluated again, the
    repeats of the first point aside, which tell how noisy outputs of unknown noise are.
    """

    def __init__(self, setup: Setup, options: SlsqpOptions) -> None:
        super().__init__(setup)
        self.options, self.scaled = options, options.scale
        self._length = options.difference
        self._margin = options.margin  # of the inequalities in the current run
        self._wanted: Array | None = None  # what the solver waits for, one point or several
        self._ids: dict[bytes, int] = {}  # of evaluated points
        self._indexed = 0  # how many evaluations are among them
        self._repeats: list[int] = []  # ids of the evaluations of the first point
        self._repeating = False  # whether the batch repeats it

    def next_batch(self) -> list[Array]:
        """Return the point the solver wants next, or those of a gradient that are not known yet."""
        self._index()
        if self._length is None and (batch := self._next_repeats()):
            self.role = "explore"
            return batch
        u = None if self._solver is None else self._resume(self._answer(self._wanted))
        begun = self.restarts
        while u is None:
            if self.restarts - begun > _VAIN:  # integers whose places have all been evaluated
                self.role = "explore"
                return list(self._uniform(1))
            u = self._begin()
        self._wanted, self.role = u, "iterate" if u.ndim == 1 else "explore"
        return self._unknown(u)

    def _solve(self, start: Array) -> Solve:
        if self._length is None:
            self._length = self._length_for_the_noise()
        setup = self.setup
        return partial(_run, start, setup.terms, self._margin, self.options, self._length, setup.domain)

    def _start(self) -> tuple[Array, int | None]:
        """As of all solvers, but a run with a wide margin is followed by a narrower one from the best."""
        tol = self.options.tol
        if self.restarts > 0 and self._margin > tol:
            self._margin = max(tol, _NARROWER * self._margin)
            return self.archive.u[best := self.best()].copy(), best
        start, known = super()._start()
        narrow = known is not None and self.restarts > 0
        self._margin = tol if narrow else max(tol, self.options.margin)
        return start, known

    def _resume(self, value: Value | None) -> Array | None:
        u = super()._resume(value)
        while u is not None and not self._unknown(u):
            u = super()._resume(self._answer(u))
        return u

    def _index(self) -> None:
        """Enter what has been evaluated since; of several evaluations of a point the last told one counts.

        The first point is the best of the design, often by luck of the noise, which would tilt all its
        differences. Its repeats have had no such luck.
        """
        for id in range(self._indexed, self.archive.size):
            if self.archive.status[id] == TOLD:
                self._ids[self._key(self.archive.u[id])] = id
            else:
                self._ids.setdefault(self._key(self.archive.u[id]), id)
        self._indexed = self.archive.size

    def _key(self, u: Array) -> bytes:
        return (self.setup.snapped(u) + 0.0).tobytes()  # -0.0 is 0.0

    def _unknown(self, u: Array) -> list[Array]:
        return [point for point in np.atleast_2d(u) if self._key(point) not in self._ids]

    def _answer(self, u: Array | None) -> Value:
        """Values of a point, the worst so far where missing; of several points, NaN where missing."""
        assert u is not None
        if u.ndim == 1:
            return self.values(self._ids[self._key(u)])
        return self._scaled(self.archive.y[[self._ids[self._key(point)] for point in u]])

    def _next_repeats(self) -> list[Array]:
        """Evaluations of the first point still to come: one, and the rest unless it is as the first was."""
        unknown = [row for row, var in enumerate(self.setup.noise_var) if var is None]
        budget = self.setup.budget
        count = _REPEATS if budget is None else min(_REPEATS, budget // _REPEATS_SHARE)
        if not unknown:
            return []
        if self._repeating:
            self._repeats += self.batch
        if not self._repeats:
            self._repeats, count = [self.best()], min(count, 1)
        elif len(self._repeats) == 2 and not np.array_equal(*self.archive.y[np.ix_(self._repeats, unknown)]):
            count -= 1
        else:
            count = 0
        self._repeating = count > 0
        return [self.archive.u[self._repeats[0]].copy() for _ in range(count)]

    def _length_for_the_noise(self) -> float:
        """Length at which the errors of a difference by noise and by curvature balance.

        For noise of standard deviation ``s`` and curvature ``c`` it is ``8^(1/4) sqrt(s / c)`` (More and Wild
        2012). In the unit cube an output's curvature is about its standard deviation over the initial design.
        One length has to do for all outputs, that of the noisiest: too long a difference errs a little, too
        short a one sees nothing but noise.
        """
        spread = Scaling.of(self.archive.y[self.archive.recent(None)]).std
        return float(np.clip(8.0**0.25 * np.sqrt((self._noise() / spread).max()), *_LENGTHS))

    def _noise(self) -> Array:
        """Standard deviation of each output's noise: as declared, else over the repeats, else 0."""
        noise = np.zeros(self.setup.n_outputs)
        for row, var in enumerate(self.setup.noise_var):
            repeats = self.archive.y[self._repeats, row]
            known = repeats[~np.isnan(repeats)]
            if var is not None:
                noise[row] = np.sqrt(var)
            elif len(known) > 1:
                # The range of n normal numbers is about sqrt(n) standard deviations; no square can overflow.
                noise[row] = np.ptp(known) / np.sqrt(len(known))
        return noise


class _EndError(Exception):
    """Ends a run that has nothing to go on from."""


class _Functions:
    """Objective and terms with their slopes; the last of each are kept."""

    def __init__(self, length: float, evaluate: Evaluate, domain: Domain | None = None) -> None:
        self._length, self._evaluate, self._domain = length, evaluate, domain
        self._at = self._slopes_at = np.empty(0)
        self._value: Value = (np.nan, self._at)
        self._slopes: tuple[Array, Array] = (self._at, self._at)

    def value(self, u: Array) -> Value:
        """Return objective and terms at a point; SLSQP may miss the cube by rounding."""
        u = np.clip(u, 0.0, 1.0)
        if not np.array_equal(u, self._at):
            self._value, self._at = self._evaluate(u), u
        return self._value

    def slopes(self, u: Array) -> tuple[Array, Array]:
        """Return the gradients of objective and terms, ``d`` and ``T x d``."""
        u = np.clip(u, 0.0, 1.0)
        if not np.array_equal(u, self._slopes_at):
            self._slopes, self._slopes_at = self._differences(u), u
        return self._slopes

    def _differences(self, u: Array) -> tuple[Array, Array]:
        """Forward differences, backward ones at the upper bound and where an outcome does not come.

        A slope that stays unknown is taken to be 0. A base point without any outcome ends the run.
        """
        if all(np.isnan(outcomes).all() for outcomes in self._evaluate(u[None, :])):
            raise _EndError
        if self._domain is not None:
            return self._allowed_differences(u, self._domain)
        dim, away = len(u), np.where(u + self._length > 1.0, -1.0, 1.0)
        slopes = self._toward(u, away, np.arange(dim))
        again = np.flatnonzero(np.isnan(slopes).any(0) & (u - self._length >= 0.0) & (away > 0.0))
        if len(again):
            other = self._toward(u, -away, again)
            slopes[:, again] = np.where(np.isnan(slopes[:, again]), other, slopes[:, again])
        slopes = np.nan_to_num(slopes, nan=0.0)
        return slopes[0], slopes[1:]

    def _allowed_differences(self, u: Array, domain: Domain) -> tuple[Array, Array]:
        """Differences to points that known conditions allow; of directions they forbid the slope is 0."""
        u = domain.nearest(u)
        steps = self._length * np.eye(len(u))
        forward = domain.contains(np.clip(u + steps, 0.0, 1.0)) & (u + self._length <= 1.0)
        backward = domain.contains(np.clip(u - steps, 0.0, 1.0)) & (u - self._length >= 0.0)
        away = np.where(forward | ~backward, 1.0, -1.0)
        points = np.concatenate([u[None, :], domain.nearest(np.clip(u + away[:, None] * steps, 0.0, 1.0))])
        objective, terms = self._evaluate(points)
        rows = np.column_stack([objective, terms])
        moves, changes = points[1:] - u, rows[1:] - rows[0]
        slopes = np.zeros((changes.shape[1], len(u)))
        for row, change in enumerate(changes.T):
            known = ~np.isnan(change)
            if known.any():
                slopes[row] = np.linalg.lstsq(moves[known], change[known], rcond=1e-6)[0]
        return slopes[0], slopes[1:]

    def _toward(self, u: Array, away: Array, axes: NDArray[np.intp]) -> Array:
        """Slopes along some axes, ``(1 + T) x n``."""
        points = np.repeat(u[None, :], 1 + len(axes), 0)
        points[1 + np.arange(len(axes)), axes] += self._length * away[axes]
        objective, terms = self._evaluate(points)
        rows = np.column_stack([objective, terms])
        steps = points[1 + np.arange(len(axes)), axes] - u[axes]
        slopes: Array = ((rows[1:] - rows[0]) / steps[:, None]).T
        return slopes


def _run(
    start: Array,
    terms: Terms,
    margin: float,
    options: SlsqpOptions,
    length: float,
    domain: Domain | None,
    evaluate: Evaluate,
) -> None:
    """Solve with inequalities tightened by the margin, the objective scaled for a first step of ``radius``.

    SLSQP begins with the unit matrix for the curvature, so its first step is the gradient. It takes a sum of
    violations below its precision for none, hence a precision below a wide margin.
    """
    at, equal = _Functions(length, evaluate, domain), terms.equality

    def conditions(
        of: Callable[[Array], tuple[Any, Array]], which: NDArray[np.bool_], sign: float, shift: float
    ) -> Callable[[Array], Array]:
        return lambda u: sign * of(u)[1][which] - shift

    constraints: list[Any] = [
        {
            "type": kind,
            "fun": conditions(at.value, which, sign, shift),
            "jac": conditions(at.slopes, which, sign, 0.0),
        }
        for kind, which, sign, shift in (("eq", equal, 1.0, 0.0), ("ineq", ~equal, -1.0, margin))
        if which.any()
    ]

    if domain is not None and len(domain.values(domain.inside)):
        constraints.append(_known(domain))

    def objective(u: Array) -> float:
        return factor * float(at.value(u)[0])

    def gradient(u: Array) -> Array:
        return factor * at.slopes(u)[0]

    try:
        at.value(start)
        steepest = float(np.abs(at.slopes(start)[0]).max())
        factor = options.radius / max(options.radius, steepest)
        minimize(
            objective,
            start,
            method="SLSQP",
            jac=gradient,
            bounds=Bounds(np.zeros(len(start)), np.ones(len(start))),
            constraints=constraints,
            options={"ftol": factor * max(options.tol, 0.1 * margin), "maxiter": _MOST_STEPS},
        )
    except _EndError:
        return


def _known(domain: Domain) -> dict[str, Any]:
    """Return known conditions as a constraint of SLSQP, which differentiates those that are not linear."""
    if not domain.linear:
        return {"type": "ineq", "fun": lambda u: -domain.values(np.clip(u, 0.0, 1.0))}
    rows, limits = domain.rows
    return {"type": "ineq", "fun": lambda u: limits - rows @ u, "jac": lambda _: -rows}
