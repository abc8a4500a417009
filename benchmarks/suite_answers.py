"""Answers of the suite's problems that have none of their own, by SLSQP from many starts.

Writes suite_answers.json, which stands beside this file. The constraints are tightened by 1e-10 of each
outcome's spread, so that what SLSQP leaves of a violation by rounding is inside. The beams are convex
programs in the logarithms of their sides and have one minimum; trusses and GP samples may have several.

Run: python benchmarks/suite_answers.py [--starts 40] [--problems beam-5-each ...]
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from scipy.optimize import minimize
from suite_problems import ANSWERS, ENTRIES, Posed, posed

from lcbo.types import Array

_STEP = 1e-6  # of central differences, in the unit cube
_MARGIN = 1e-10


class _Scaled:
    """Objective and inequalities (at least 0) of unit-cube points in units of their spread, with slopes.

    SLSQP writes into the arrays it is given, so it gets copies of what is remembered.
    """

    def __init__(self, problem: Posed) -> None:
        self._problem, truth = problem, problem.truth
        # Sizes of structures enter by their logarithms, in which stresses are nearly linear.
        self._logs = bool((truth.lb > 0.0).all() and (truth.ub >= 5.0 * truth.lb).all())
        self._at: Array | None = None

    def point(self, U: Array) -> Array:
        """The problem's variables at points of the unit cube."""
        low, high = self._problem.truth.lb, self._problem.truth.ub
        return np.exp(np.log(low) + U * np.log(high / low)) if self._logs else low + U * (high - low)

    def values(self, U: Array) -> Array:
        """Objective, then the room to every limit, of ``n x d`` points."""
        truth, scale = self._problem.truth, self._problem.scale
        outcomes = truth.outcomes_at(self.point(U))
        columns = [outcomes[truth.objective.name] / scale[truth.objective.name]]
        for c in truth.constraints:
            for limit, sign in zip(c.interval, (1.0, -1.0), strict=True):
                if np.isfinite(limit):
                    columns.append(sign * (outcomes[c.name] - limit) / scale[c.name] - _MARGIN)
        return np.column_stack(columns)

    def _look(self, u: Array) -> None:
        if self._at is None or not np.array_equal(u, self._at):
            ends = [np.clip(u + step * np.eye(len(u)), 0.0, 1.0) for step in (_STEP, -_STEP)]
            up, down = (self.values(end) for end in ends)
            self._slopes = ((up - down) / np.diag(ends[0] - ends[1])[:, None]).T
            self._values, self._at = self.values(u[None])[0], u.copy()

    def objective(self, u: Array) -> tuple[float, Array]:
        """Objective and its gradient."""
        self._look(u)
        return float(self._values[0]), self._slopes[0].copy()

    def room(self, u: Array) -> Array:
        """All rooms."""
        self._look(u)
        return self._values[1:].copy()

    def room_slopes(self, u: Array) -> Array:
        """Their gradients as rows."""
        self._look(u)
        return self._slopes[1:].copy()


def solve(name: str, starts: int) -> dict[str, object] | None:
    """Return the best feasible end of SLSQP from uniform starts; None without one."""
    problem = posed(name)
    scaled = _Scaled(problem)
    rng = np.random.default_rng(0)
    found: list[tuple[float, Array]] = []
    for _ in range(starts):
        end = minimize(
            scaled.objective,
            rng.random(problem.dim),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * problem.dim,
            constraints={"type": "ineq", "fun": scaled.room, "jac": scaled.room_slopes},
            options={"maxiter": 1000, "ftol": 1e-13},
        )
        x = np.clip(scaled.point(np.clip(end.x, 0.0, 1.0)), problem.truth.lb, problem.truth.ub)
        value, violation = problem.judge(x[None])
        if violation[0] == 0.0:
            found.append((float(value[0]), x))
    if not found:
        return None
    value, x = min(found, key=lambda each: each[0])
    near = sum(each - value <= 1e-6 * abs(value) for each, _ in found)
    return {"value": value, "how": f"SLSQP, {near} of {starts} starts", "x": x.tolist()}


def main() -> None:
    """Solve and store what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--problems", nargs="+", help="default: those without an answer")
    given = parser.parse_args()
    stored = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    lacking = [e.name for e in ENTRIES if e.name in stored or posed(e.name).truth.best_known is None]
    for name in given.problems or lacking:
        answer = solve(name, given.starts)
        print(name, "no answer" if answer is None else f"{answer['value']} ({answer['how']})", flush=True)
        if answer is not None:
            stored[name] = answer
            ANSWERS.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
