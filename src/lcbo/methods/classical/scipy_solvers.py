"""SciPy's COBYQA and COBYLA behind ask/tell, one evaluation at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from lcbo.methods.classical.callback import CachedEvaluation, CallbackSolver, Evaluate, Solve, Value
from lcbo.methods.classical.options import CobyqaOptions
from lcbo.methods.protocol import Array, Setup
from lcbo.terms import Terms

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain


class Cobyqa(CallbackSolver):
    """SciPy's COBYQA, a derivative-free trust-region SQP, with restarts.

    SciPy gets the unit cube as bounds, the objective and one constraint vector: the terms of the setup,
    equalities with both bounds at 0. Nothing else stands between SciPy and the problem, so the points are
    those of SciPy's own run, bit for bit. Known conditions are constraints too; where a point breaks one,
    SciPy sees the values of the nearest point that does not.
    """

    def __init__(self, setup: Setup, options: CobyqaOptions) -> None:
        super().__init__(setup)
        self.options, self.scaled = options, options.scale

    def _solve(self, start: Array) -> Solve:
        return partial(_run_cobyqa, start, self.setup.terms, self.options, self.setup.domain)


class Cobyla(Cobyqa):
    """SciPy's COBYLA, a trust region on linear models, with restarts.

    COBYLA knows inequalities only: an equality is the pair ``-tol <= h <= tol``. It treats the bounds as
    constraints too and may look beyond them; it then sees the nearest point of the cube.
    """

    def _solve(self, start: Array) -> Solve:
        conditions = self.setup.terms
        tol, equality = conditions.tol / self.scale[conditions.rows], conditions.equality
        upper = np.where(equality, tol, 0.0)
        lower = np.where(equality, -tol, -np.inf)
        return partial(_run_cobyla, start, lower, upper, self.options, self.setup.domain)


def known_constraints(domain: Domain | None) -> list[Any]:
    """Return known conditions on points of the cube as SciPy's constraints, linear ones as such."""
    if domain is None or not len(domain.values(domain.inside)):
        return []
    if domain.linear:
        matrix, limits = domain.rows
        return [LinearConstraint(matrix, -np.inf, limits)]
    return [NonlinearConstraint(lambda u: domain.values(np.clip(u, 0.0, 1.0)), -np.inf, 0.0)]


def _run_cobyqa(
    start: Array, terms: Terms, options: CobyqaOptions, domain: Domain | None, evaluate: Evaluate
) -> None:
    def unlocked(u: Array) -> Value:
        with _lock_released():
            return evaluate(u)

    both = CachedEvaluation(len(start), unlocked)

    def terms_at(u: Array) -> Array:
        return both.terms(np.clip(u, 0.0, 1.0))  # SciPy clips before it evaluates and forgets to afterwards

    lower = np.where(terms.equality, 0.0, -np.inf)
    own = [NonlinearConstraint(terms_at, lower, np.zeros(len(terms)))] if terms else []
    minimize(
        both.objective,
        start,
        method="COBYQA",
        bounds=Bounds(np.zeros(len(start)), np.ones(len(start))),
        constraints=own + known_constraints(domain),
        options={"initial_tr_radius": options.radius, "final_tr_radius": options.final_radius},
    )


def _run_cobyla(
    start: Array,
    lower: Array,
    upper: Array,
    options: CobyqaOptions,
    domain: Domain | None,
    evaluate: Evaluate,
) -> None:
    """Solve for the steps ``v`` of ``u = start + inward * v``.

    The first simplex goes one radius along every axis, so the axes point to the farther face of the cube.
    """
    inward = np.where(start <= 0.5, 1.0, -1.0)
    faces = np.sort([-start * inward, (1.0 - start) * inward], axis=0)

    def at(v: Array) -> Value:
        return evaluate(cube(v))

    def cube(v: Array) -> Array:
        return np.clip(start + inward * v, 0.0, 1.0)

    def known(v: Array) -> Array:
        assert domain is not None
        return domain.values(cube(v))

    both = CachedEvaluation(len(start), at)
    own = [NonlinearConstraint(both.terms, lower, upper)] if len(upper) else []
    own += [NonlinearConstraint(known, -np.inf, 0.0)] if known_constraints(domain) else []
    minimize(
        both.objective,
        np.zeros(len(start)),
        method="COBYLA",
        bounds=Bounds(faces[0], faces[1]),
        constraints=own,
        options={"rhobeg": options.radius, "tol": options.final_radius, "maxiter": 500 * len(start)},
    )


@contextmanager
def _lock_released() -> Iterator[None]:
    """Let other runs compute while this one waits for an evaluation.

    SciPy up to 1.17 runs COBYQA under one lock of the process. A run that waits with the lock held would stop
    every other one for ever. The lock keeps two runs from computing at once, which it still does.
    """
    lock: threading.Lock | None = getattr(import_module("scipy.optimize._cobyqa_py"), "COBYQA_LOCK", None)
    if lock is None:
        yield
        return
    lock.release()
    try:
        yield
    finally:
        lock.acquire()
