"""Three problems with conditions on the inputs: stated as known, and modeled like any other constraint.

Run: python benchmarks/known.py [--seeds 0-2] [--budget 150] [--method lcbo] [--only mixture]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from quality import seeds_of
from scipy.optimize import LinearConstraint

import lcbo
from lcbo.types import Array

D = 12
WEIGHT, TARGET = np.linspace(1.0, 3.0, D), np.linspace(0.02, 0.25, D)  # the targets sum to 1.62
COST = np.linspace(4.0, 1.0, D)


class Case(NamedTuple):
    """A problem twice: ``known`` are its conditions on the inputs, ``missed`` by how much points do."""

    fun: Callable[[Array], dict[str, float]]
    bounds: Any
    constraints: list[Any]
    objective: str
    known: list[Any]
    modeled: list[Any]
    missed: Callable[[Array], Array]


def speed_reducer() -> Case:
    """The gearbox with its last five limits known; f* = 2994.4711."""
    problem = lcbo.problems.make("speed_reducer")
    limits = list(problem.constraints)
    known = ["x2 * x3 <= 40", "x1 >= 5 * x2", "x1 <= 12 * x2", "x4 >= 1.5 * x6 + 1.9", "x5 >= 1.1 * x7 + 1.9"]

    def missed(X: Array) -> Array:
        x1, x2, x3, x4, x5, x6, x7 = X.T
        rows = (x2 * x3 - 40.0, 5.0 * x2 - x1, x1 - 12.0 * x2, 1.5 * x6 + 1.9 - x4, 1.1 * x7 + 1.9 - x5)
        return np.max(rows, axis=0)

    names = problem.objective.name
    return Case(problem.evaluate, problem.bounds, limits[:-5], names, known, limits[-5:], missed)


def mixture() -> Case:
    """Twelve shares that sum to 1, near a target and below a cost; a convex program, f* = 0.073882152."""

    def blend(x: Array) -> dict[str, float]:
        cost = float(COST @ x**2)
        return {"error": float(WEIGHT @ (x - TARGET) ** 2), "cost": cost, "total": float(x.sum())}

    known = [LinearConstraint(np.ones(D), 1.0, 1.0)]
    modeled = [lcbo.Constraint("total", eq=1.0, tol=1e-4)]
    return Case(
        blend, [(0.0, 1.0)] * D, ["cost <= 0.2"], "error", known, modeled, lambda X: np.abs(X.sum(1) - 1.0)
    )


def truss() -> Case:
    """The 25-bar truss with less material in eight of its legs than it would like to have there."""
    problem = lcbo.problems.make("truss25")
    best = problem.best_known
    assert best is not None
    assert best.x is not None
    row = np.where(np.isin(np.arange(25), np.arange(13, 21)), 1.0, 0.0)
    most = 0.9 * float(row @ best.x)

    def evaluate(x: Array) -> dict[str, float]:
        return {**problem.evaluate(x), "legs": float(row @ x)}

    known, modeled = [LinearConstraint(row, -np.inf, most)], [lcbo.Constraint("legs", ub=most)]
    limits, missed = list(problem.constraints), lambda X: X @ row - most
    return Case(evaluate, problem.bounds, limits, problem.objective.name, known, modeled, missed)


def main() -> None:
    """Print medians of the best feasible value, stated and modeled, and how many points broke a condition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default="0-2", help="such as 0-4")
    parser.add_argument("--budget", type=int, default=150)
    parser.add_argument("--method", default="lcbo")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for make in (speed_reducer, mixture, truss):
        if given.only not in make.__name__:
            continue
        case = make()
        for way in ("known", "modeled"):
            stated: dict[str, Any] = {"known": case.known} if way == "known" else {}
            constraints = case.constraints + ([] if way == "known" else case.modeled)
            values, broken = [], 0
            for seed in given.seeds:
                result = lcbo.minimize(
                    case.fun,
                    case.bounds,
                    constraints,
                    case.objective,
                    budget=given.budget,
                    method=given.method,
                    rng=seed,
                    deterministic=True,
                    progress=False,
                    **stated,
                )
                values.append(result.fun if result.success else np.inf)
                broken += int((case.missed(result.history.X) > 1e-9).sum())
            listed = " ".join(f"{value:.8g}" for value in values)
            print(
                f"{make.__name__:14s} {way:8s} median {statistics.median(values):.8g} ({listed}), "
                f"{broken} of {len(given.seeds) * given.budget} evaluations broke a condition",
                flush=True,
            )


if __name__ == "__main__":
    main()
