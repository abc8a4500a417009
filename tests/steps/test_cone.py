"""The cone program against a general SQP solver, its optimality conditions and problems solved by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from lcbo.steps.cone import ConeSolution, UncertainRows, uncertain_step


@dataclass(frozen=True)
class Case:
    goal: np.ndarray
    curvature: np.ndarray
    goal_margin: float
    goal_factor: np.ndarray
    rows: UncertainRows
    low: np.ndarray
    high: np.ndarray
    weight: float = 100.0

    def solve(self) -> ConeSolution:
        return uncertain_step(**vars(self))

    def smooth(self, p: np.ndarray) -> float:
        spread = float(np.linalg.norm(self.goal_factor @ np.append(1.0, p)))
        return float(self.goal @ p + 0.5 * p @ self.curvature @ p) + self.goal_margin * spread

    def merit(self, p: np.ndarray) -> float:
        return self.smooth(p) + self.weight * float(np.maximum(self.rows.values(p), 0.0).sum())


def drawn(d: int, count: int, seed: int, spread: float = 0.1, weight: float = 100.0) -> Case:
    """Rows of which some are linear, some hopeless; an iterate that may lie at bounds."""
    rng = np.random.default_rng([d, count, seed])
    root = rng.standard_normal((d, d // 2 + 1))
    u = rng.choice([0.0, 0.2, 0.5, 1.0], d)
    rows = UncertainRows(
        rng.standard_normal((count, d)),
        rng.standard_normal(count),
        np.where(rng.random(count) < 0.3, 0.0, 0.842),
        spread * rng.standard_normal((count, d + 1, d + 1)),
    )
    factor = spread * rng.standard_normal((d + 1, d + 1))
    return Case(
        rng.standard_normal(d), root @ root.T, (0.0, 0.842)[seed % 2], factor, rows, -u, 1.0 - u, weight
    )


SIZES = [(1, 0), (1, 1), (2, 3), (4, 2), (6, 9), (12, 4)]


@pytest.mark.parametrize(("d", "count"), SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_general_solver_finds_nothing_better(d: int, count: int, seed: int) -> None:
    """SLSQP on the problem with its slacks, from the solution and from another point."""
    case = drawn(d, count, seed)
    solution = case.solve()
    assert np.all((case.low <= solution.step) & (solution.step <= case.high))
    others = []
    for p in (solution.step, 0.5 * (case.low + case.high)):
        start = np.append(p, np.maximum(case.rows.values(p), 0.0))
        found = minimize(
            lambda x: case.smooth(x[:d]) + case.weight * x[d:].sum(),
            start,
            method="SLSQP",
            bounds=[*zip(case.low, case.high, strict=True), *[(0.0, None)] * count],
            constraints={"type": "ineq", "fun": lambda x: x[d:] - case.rows.values(x[:d])} if count else (),
            options={"ftol": 1e-12, "maxiter": 300},
        )
        others.append(case.merit(np.clip(found.x[:d], case.low, case.high)))
    ours = case.merit(solution.step)
    assert ours <= min(others) + 1e-6 * (1.0 + abs(ours))
    assert ours >= min(others) - 1e-4 * (1.0 + abs(ours))  # it is no better either: the same problem


@pytest.mark.parametrize(("d", "count"), [*SIZES, (25, 2), (40, 30)])
@pytest.mark.parametrize("spread", [0.0, 1e-4, 0.3])
@pytest.mark.parametrize("weight", [1.0, 1e4])
def test_optimality_conditions_hold(d: int, count: int, spread: float, weight: float) -> None:
    """The Lagrangian's slope pushes against bounds alone; multipliers are those of rows without slack."""
    case = drawn(d, count, 1, spread, weight)
    solution = case.solve()
    p, y, rows = solution.step, solution.multipliers, case.rows

    def spread_slope(factor: np.ndarray) -> np.ndarray:
        reached = factor @ np.append(1.0, p)
        return factor[:, 1:].T @ reached / max(float(np.linalg.norm(reached)), 1e-300)

    slope = case.goal + case.curvature @ p + case.goal_margin * spread_slope(case.goal_factor)
    for i in range(count):
        slope = slope + y[i] * (rows.slopes[i] + rows.margin[i] * spread_slope(rows.factors[i]))
    scale = float(np.linalg.norm(case.goal) + np.linalg.norm(case.curvature) + np.abs(y).sum())
    at_low, at_high = p - case.low < 1e-5, case.high - p < 1e-5
    close = 1e-5 * scale
    assert np.all(slope[~at_high] > -close)
    assert np.all(slope[~at_low] < close)
    assert np.all((y >= -1e-6 * weight) & (y <= weight * (1.0 + 1e-6)))
    values = rows.values(p)
    np.testing.assert_allclose(solution.violation, np.maximum(values, 0.0))
    assert np.all(y[values < -1e-4] < close)
    assert np.all(y[values > 1e-4] > weight - close)


def test_margin_that_grows_with_the_step_shortens_it_by_hand() -> None:
    """Minimize -p with p + sqrt(0.01 + p^2) <= 1: squared, 0.01 + p^2 = (1 - p)^2, so p = 0.495."""
    factor = np.array([[[0.1, 0.0], [0.0, 1.0]]])
    rows = UncertainRows(np.array([[1.0]]), np.array([-1.0]), np.ones(1), factor)
    case = Case(np.array([-1.0]), np.zeros((1, 1)), 0.0, np.zeros((2, 2)), rows, -np.ones(1), np.ones(1))
    solution = case.solve()
    np.testing.assert_allclose(solution.step, [0.495], atol=1e-7)
    growth = 1.0 + 0.495 / np.sqrt(0.01 + 0.495**2)
    np.testing.assert_allclose(solution.multipliers, [1.0 / growth], rtol=1e-5)


def test_uncertain_objective_is_approached_less_far_by_hand() -> None:
    """Minimize -p + q |p / 2|: the slope at p > 0 is -1 + q / 2, negative for q = 1, positive for q = 3."""
    none = UncertainRows(np.zeros((0, 1)), np.zeros(0), np.zeros(0), np.zeros((0, 1, 2)))
    factor = np.array([[0.0, 0.5]])
    case = Case(np.array([-1.0]), np.zeros((1, 1)), 1.0, factor, none, -np.ones(1), np.ones(1))
    np.testing.assert_allclose(case.solve().step, [1.0], atol=1e-6)
    np.testing.assert_allclose(replace(case, goal_margin=3.0).solve().step, [0.0], atol=1e-6)


def test_rows_that_cannot_be_met_are_missed_by_as_little_as_possible() -> None:
    """p <= -2 and p <= -3 with p >= -1: both are missed at the bound, whatever the goal wants."""
    rows = UncertainRows(np.ones((2, 1)), np.array([2.0, 3.0]), np.zeros(2), np.zeros((2, 2, 2)))
    case = Case(np.array([-1.0]), np.eye(1), 0.0, np.zeros((2, 2)), rows, -np.ones(1), np.ones(1))
    solution = case.solve()
    np.testing.assert_allclose(solution.step, [-1.0], atol=1e-7)
    np.testing.assert_allclose(solution.violation, [1.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(solution.multipliers, [100.0, 100.0], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_objective_do_not_matter(scale: float) -> None:
    case = drawn(4, 3, 1)
    scaled = replace(
        case,
        goal=scale * case.goal,
        curvature=scale * case.curvature,
        goal_margin=scale * case.goal_margin,
        weight=scale * case.weight,
    )
    ours, theirs = case.solve(), scaled.solve()
    np.testing.assert_allclose(theirs.step, ours.step, atol=1e-6)
    np.testing.assert_allclose(theirs.multipliers, scale * ours.multipliers, rtol=1e-3, atol=1e-6 * scale)


def test_nothing_to_gain_is_no_step_at_all() -> None:
    none = UncertainRows(np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros((0, 4, 4)))
    case = Case(np.zeros(3), np.eye(3), 0.0, np.zeros((4, 4)), none, -np.full(3, 0.3), np.full(3, 0.7))
    np.testing.assert_allclose(case.solve().step, np.zeros(3), atol=1e-8)
    flat = replace(case, curvature=np.zeros((3, 3)))
    assert np.isfinite(flat.solve().step).all()
