"""The linearized step against a general SQP solver, the projection against its definition."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from lcbo.steps.linearized import linearized_step, project
from lcbo.steps.step import LocalPosterior

CLOSE = 1e-3  # of the radius, as the module promises


@dataclass(frozen=True)
class Case:
    x: np.ndarray
    objective: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    equality: np.ndarray
    radius: float

    def step(self) -> np.ndarray:
        none = np.zeros(len(self.values))
        local = LocalPosterior(self.x, self.objective, self.values, self.slopes, none, self.equality)
        return linearized_step(local, none, self.radius)

    def descent(self, s: np.ndarray) -> float:
        """Objective of a step in units of its slope and the radius."""
        return float(self.objective @ s / (np.linalg.norm(self.objective) * self.radius))

    def violation(self, s: np.ndarray) -> float:
        """Worst violation of a step in units of each term's slope and the radius."""
        reached = (self.values + self.slopes @ s) / (np.linalg.norm(self.slopes, axis=1) * self.radius)
        return float(np.where(self.equality, np.abs(reached), np.maximum(reached, 0.0)).max())


def feasible_case(seed: int) -> Case:
    """A random problem with a feasible step well inside the ball; some variables near or at bounds."""
    rng = np.random.default_rng(seed)
    dim, terms = int(rng.integers(10, 26)), 1 + seed % 3
    radius = float(np.exp(rng.uniform(np.log(0.01), np.log(0.5))))
    x = rng.random(dim)
    place = rng.random(dim)
    x = np.where(place < 0.15, 0.0, np.where(place < 0.3, 1.0, x))
    x = np.where((place >= 0.3) & (place < 0.4), 0.1 * radius, x)
    equality = rng.random(terms) < 0.4
    slopes = rng.standard_normal((terms, dim)) * np.exp(rng.normal(0.0, 3.0, (terms, 1)))
    inner = rng.standard_normal(dim)
    inner = np.clip(x + 0.4 * radius * inner / np.linalg.norm(inner), 0.0, 1.0) - x
    slack = np.where(equality, 0.0, rng.uniform(0.0, 0.3, terms) * radius * np.linalg.norm(slopes, axis=1))
    return Case(x, rng.standard_normal(dim), -slopes @ inner - slack, slopes, equality, radius)


def sqp(case: Case) -> np.ndarray:
    """The same problem solved by SLSQP in scale-free variables."""
    norms = np.linalg.norm(case.slopes, axis=1) * case.radius
    goal = case.objective / np.linalg.norm(case.objective)
    rows, offset = case.slopes * case.radius / norms[:, None], case.values / norms
    constraints = [{"type": "ineq", "fun": lambda s: 1.0 - s @ s, "jac": lambda s: -2.0 * s}]
    constraints += [
        {
            "type": "eq" if two_sided else "ineq",
            "fun": lambda s, i=i: -(offset[i] + rows[i] @ s),
            "jac": lambda _, i=i: -rows[i],
        }
        for i, two_sided in enumerate(case.equality)
    ]
    bounds = list(zip(-case.x / case.radius, (1.0 - case.x) / case.radius, strict=True))
    found = minimize(
        lambda s: goal @ s,
        np.zeros(len(goal)),
        jac=lambda _: goal,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-9},
    )
    assert found.success, found.message
    return case.radius * found.x


@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_an_sqp_solver(seed: int) -> None:
    case = feasible_case(seed)
    step, expected = case.step(), sqp(case)
    assert case.violation(expected) < 1e-6
    assert case.violation(step) < CLOSE
    assert abs(case.descent(step) - case.descent(expected)) < CLOSE


@pytest.mark.parametrize("seed", range(30))
def test_stays_in_cube_and_ball(seed: int) -> None:
    case = feasible_case(seed)
    step = case.step()
    assert np.linalg.norm(step) <= case.radius * (1.0 + 1e-9)
    assert np.all(case.x + step >= 0.0)
    assert np.all(case.x + step <= 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_power_of_two_units_change_no_bit(seed: int) -> None:
    case = feasible_case(seed)
    factor = 2.0 ** np.random.default_rng(seed).integers(-30, 31, len(case.values))
    scaled = replace(
        case,
        objective=2.0**20 * case.objective,
        values=factor * case.values,
        slopes=factor[:, None] * case.slopes,
    )
    np.testing.assert_array_equal(scaled.step(), case.step())


@pytest.mark.parametrize("seed", range(10))
def test_other_units_change_rounding_only(seed: int) -> None:
    case = feasible_case(seed)
    scaled = replace(
        case, objective=1e6 * case.objective, values=1e-6 * case.values, slopes=1e-6 * case.slopes
    )
    np.testing.assert_allclose(scaled.step(), case.step(), rtol=0.0, atol=1e-6 * case.radius)


@pytest.mark.parametrize("equality", [False, True])
def test_a_term_out_of_reach_is_approached_as_fast_as_the_ball_allows(equality: bool) -> None:
    rng = np.random.default_rng(0)
    x, slope = np.full(12, 0.5), rng.standard_normal(12)
    norm = np.linalg.norm(slope)
    case = Case(x, rng.standard_normal(12), np.array([5.0 * norm]), slope[None], np.array([equality]), 0.05)
    gain = -slope @ case.step() / (norm * case.radius)
    assert gain > 0.999


@pytest.mark.parametrize("seed", range(10))
def test_an_infeasible_linearization_reduces_the_violation(seed: int) -> None:
    case = feasible_case(seed)
    norms = np.linalg.norm(case.slopes, axis=1)
    case = replace(case, x=np.clip(case.x, 0.1, 0.9), radius=0.05, values=1.8 * norms * 0.05)
    before = float(np.square(case.values / norms).sum())
    after = (case.values + case.slopes @ case.step()) / norms
    assert float(np.square(after).sum()) < 0.75 * before


def test_contradicting_equalities_end_between_them() -> None:
    slopes = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    case = Case(
        np.full(3, 0.5),
        np.array([0.0, 1.0, 0.0]),
        np.array([0.05, -0.05]),
        slopes,
        np.array([True, True]),
        0.1,
    )
    step = case.step()
    assert abs(step[0]) < CLOSE * case.radius
    assert np.all(np.isfinite(step))


def test_without_terms_the_step_is_steepest_descent() -> None:
    objective = np.array([3.0, 0.0, -4.0])
    case = Case(np.full(3, 0.5), objective, np.zeros(0), np.zeros((0, 3)), np.zeros(0, bool), 0.1)
    np.testing.assert_allclose(case.step(), [-0.06, 0.0, 0.08], atol=1e-15)


def test_a_blocked_coordinate_leaves_its_length_to_the_others() -> None:
    case = Case(
        np.array([0.0, 0.5]), np.array([1.0, 1e-3]), np.zeros(0), np.zeros((0, 2)), np.zeros(0, bool), 0.1
    )
    step = case.step()
    assert step[0] == 0.0
    assert step[1] < 0.0


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_a_term_without_slope_is_ignored(value: float) -> None:
    objective = np.array([3.0, 0.0, -4.0])
    case = Case(np.full(3, 0.5), objective, np.array([value]), np.zeros((1, 3)), np.array([False]), 0.1)
    np.testing.assert_allclose(case.step(), [-0.06, 0.0, 0.08], atol=1e-15)


def test_a_flat_objective_moves_only_to_become_feasible() -> None:
    slopes = np.array([[0.0, 2.0, 0.0]])
    still = Case(np.full(3, 0.5), np.zeros(3), np.array([-1.0]), slopes, np.array([False]), 0.1)
    np.testing.assert_array_equal(still.step(), np.zeros(3))
    moving = replace(still, values=np.array([0.1]))
    np.testing.assert_allclose(moving.step(), [0.0, -0.05, 0.0], atol=CLOSE * 0.1)


def box(rng: np.random.Generator, dim: int) -> tuple[np.ndarray, np.ndarray]:
    low = -rng.uniform(0.0, 0.6, dim) * (rng.random(dim) > 0.2)
    high = rng.uniform(0.0, 0.6, dim) * (rng.random(dim) > 0.2)
    return low, high


@pytest.mark.parametrize("seed", range(20))
def test_projection_is_the_nearest_point(seed: int) -> None:
    """``p`` is the projection exactly when ``(s - p).(q - p) <= 0`` for every feasible q."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 15))
    low, high = box(rng, dim)
    s = rng.standard_normal(dim) * rng.choice([0.2, 1.0, 10.0])
    p = project(s, low, high)
    assert np.all((p >= low) & (p <= high))
    assert p @ p <= 1.0 + 1e-12
    q = np.clip(rng.standard_normal((2000, dim)), low, high)
    q /= np.maximum(np.linalg.norm(q, axis=1), 1.0)[:, None]
    assert np.max((q - p) @ (s - p)) <= 1e-10 * (1.0 + np.abs(s).max())


@pytest.mark.parametrize("seed", range(8))
def test_projection_agrees_with_an_sqp_solver(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    low, high = box(rng, 6)
    s = 3.0 * rng.standard_normal(6)
    found = minimize(
        lambda p: np.sum((p - s) ** 2),
        np.zeros(6),
        jac=lambda p: 2.0 * (p - s),
        bounds=list(zip(low, high, strict=True)),
        constraints=[{"type": "ineq", "fun": lambda p: 1.0 - p @ p, "jac": lambda p: -2.0 * p}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(project(s, low, high), found.x, atol=1e-5)


def test_projection_keeps_what_is_inside() -> None:
    s = np.array([0.1, -0.2, 0.0])
    np.testing.assert_array_equal(project(s, np.full(3, -0.5), np.full(3, 0.5)), s)
