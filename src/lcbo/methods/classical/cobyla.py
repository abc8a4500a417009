"""COBYLA behind ask/tell: SciPy's linear-model trust region, one evaluation at a time.

COBYLA knows inequalities only: an equality is the pair ``-tol <= h <= tol``. It treats the bounds as
constraints too and may look beyond them; it then sees the nearest point of the cube.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from lcbo.methods.classical.callback import CachedEvaluation, CallbackSolver, Evaluate, Solve, Value
from lcbo.methods.classical.options import CobylaOptions
from lcbo.methods.protocol import Array, Setup


class Cobyla(CallbackSolver):
    """SciPy's COBYLA with restarts."""

    def __init__(self, setup: Setup, options: CobylaOptions) -> None:
        super().__init__(setup)
        self.options, self.scaled = options, options.scale

    def _solve(self, start: Array) -> Solve:
        conditions = self.setup.terms
        tol, equality = conditions.tol / self.scale[conditions.rows], conditions.equality
        upper = np.where(equality, tol, 0.0)
        lower = np.where(equality, -tol, -np.inf)
        return partial(_run, start, lower, upper, self.options)


def _run(start: Array, lower: Array, upper: Array, options: CobylaOptions, evaluate: Evaluate) -> None:
    """Solve for the steps ``v`` of ``u = start + inward * v``.

    The first simplex goes one radius along every axis, so the axes point to the farther face of the cube.
    """
    inward = np.where(start <= 0.5, 1.0, -1.0)
    faces = np.sort([-start * inward, (1.0 - start) * inward], axis=0)

    def at(v: Array) -> Value:
        return evaluate(np.clip(start + inward * v, 0.0, 1.0))

    both = CachedEvaluation(len(start), at)
    minimize(
        both.objective,
        np.zeros(len(start)),
        method="COBYLA",
        bounds=Bounds(faces[0], faces[1]),
        constraints=[NonlinearConstraint(both.terms, lower, upper)] if len(upper) else [],
        options={"rhobeg": options.radius, "tol": options.final_radius, "maxiter": 500 * len(start)},
    )
