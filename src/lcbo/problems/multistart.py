"""How the stored best known points of random problems were found: SLSQP from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lcbo.problems.gp_sample.gp_sample import GPSample
from lcbo.types import Array

_MARGIN = 1e-9  # kept inside every inequality, so that the stored point is feasible to the last bit


@dataclass(frozen=True)
class Minima:
    """Local minima of one problem: ``values`` of all feasible ends, the best point ``x`` among them."""

    values: Array
    x: Array


def local_minima(problem: GPSample, starts: int, restarts: int, seed: int = 0) -> Minima:
    """Feasible local minima from random starts, then from around the best of them.

    Half of the ``starts`` are uniform, half the most promising of 4000 uniform points; the ``restarts`` are
    the incumbent plus normal steps of 0.05 to 0.3, clipped to the cube.
    """
    rng = np.random.default_rng([problem.dim, problem.seed, seed])
    pool = rng.random((4000, problem.dim))
    values = problem.sample.values(pool) + problem.hyperparameters.mean
    distance = np.abs(values[:, 1:]) if problem.kind == "equality" else np.maximum(values[:, 1:], 0.0)
    order = np.argsort(values[:, 0] + 10.0 * distance.sum(axis=1))
    ends = [_descend(problem, x) for x in [*pool[order[: starts // 2]], *pool[starts // 2 : starts]]]
    for i in range(restarts):
        best = min((end for end in ends if end is not None), key=lambda end: end[0])
        step = rng.choice([0.05, 0.1, 0.2, 0.3]) if i else 0.0
        ends.append(_descend(problem, np.clip(best[1] + step * rng.standard_normal(problem.dim), 0.0, 1.0)))
    found = [end for end in ends if end is not None]
    value_x = min(found, key=lambda end: end[0])
    return Minima(np.sort([value for value, _ in found]), value_x[1])


def _descend(problem: GPSample, x0: Array) -> tuple[float, Array] | None:
    """End of one SLSQP run with exact gradients if it is feasible: its value and point."""
    from scipy import optimize

    minimize: Any = optimize.minimize  # its overloads know no generic callables
    offset = problem.hyperparameters.mean
    equality = problem.kind == "equality"
    sign = 1.0 if equality else -1.0

    def constraint(x: Array) -> Array:
        c: Array = (problem.sample.values(x[None, :])[0] + offset)[1:]
        return c if equality else -c - _MARGIN

    limits = {
        "type": "eq" if equality else "ineq",
        "fun": constraint,
        "jac": lambda x: sign * problem.sample.gradients(x)[1:],
    }
    end = minimize(
        lambda x: problem.sample.values(x[None, :])[0, 0],
        x0,
        jac=lambda x: problem.sample.gradients(x)[0],
        bounds=[(0.0, 1.0)] * problem.dim,
        constraints=limits,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    x = np.clip(end.x, 0.0, 1.0)
    slack = constraint(x)
    error = np.abs(slack).max() if equality else -slack.min()
    return (float(end.fun), x) if error <= (1e-9 if equality else 0.5 * _MARGIN) else None
