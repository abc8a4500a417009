"""The linearized step against a general SQP solver and what holds for every problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from lcbo.steps import linearized
from lcbo.steps.linearized import WEIGHTS, linearized_step
from lcbo.steps.step import LocalPosterior

CLOSE = 1e-6  # of the radius


@dataclass(frozen=True)
class Case:
    x: np.ndarray
    objective: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    equality: np.ndarray
    radius: float

    def step(self, margin: np.ndarray | None = None) -> np.ndarray:
        none, units = np.zeros(len(self.values)), np.ones(1 + len(self.values))
        local = LocalPosterior(
            self.x, 0.0, self.objective, 0.0, self.values, self.slopes, none, self.equality, units
        )
        return linearized_step(local, none if margin is None else margin, self.radius)

    def descent(self, s: np.ndarray) -> float:
        """Objective of a step in units of its slope and the radius."""
        return float(self.objective @ s / (np.linalg.norm(self.objective) * self.radius))

    def violations(self, s: np.ndarray) -> np.ndarray:
        """Violations of a step in units of each term's slope and the radius."""
        reached = (self.values + self.slopes @ s) / (np.linalg.norm(self.slopes, axis=1) * self.radius)
        return np.where(self.equality, np.abs(reached), np.maximum(reached, 0.0))


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
    assert case.violations(expected).max() < 1e-6
    assert case.violations(step).max() < CLOSE
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
def test_an_infeasible_linearization_reduces_the_violation_most(seed: int) -> None:
    """All terms stay violated, no bound is near: their sum falls at most by the length of all rows' sum."""
    case = feasible_case(seed)
    norms = np.linalg.norm(case.slopes, axis=1)
    case = replace(case, x=np.clip(case.x, 0.1, 0.9), radius=0.05, values=1.8 * norms * 0.05)
    rows = case.slopes / norms[:, None]
    fallen = case.violations(np.zeros(len(case.x))) - case.violations(case.step())
    assert fallen.sum() == pytest.approx(np.linalg.norm(rows.sum(0)), abs=1e-3)


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
    assert abs(step[0]) <= 0.05 + CLOSE * case.radius
    assert step[1] < 0.0


def test_without_terms_the_step_is_steepest_descent() -> None:
    objective = np.array([3.0, 0.0, -4.0])
    case = Case(np.full(3, 0.5), objective, np.zeros(0), np.zeros((0, 3)), np.zeros(0, bool), 0.1)
    np.testing.assert_allclose(case.step(), [-0.06, 0.0, 0.08], atol=CLOSE * 0.1)


def test_a_blocked_coordinate_leaves_its_length_to_the_others() -> None:
    case = Case(
        np.array([0.0, 0.5]), np.array([1.0, 1e-3]), np.zeros(0), np.zeros((0, 2)), np.zeros(0, bool), 0.1
    )
    np.testing.assert_allclose(case.step(), [0.0, -0.1], atol=1e-4 * case.radius)  # little pulls at it


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_a_term_without_slope_is_ignored(value: float) -> None:
    objective = np.array([3.0, 0.0, -4.0])
    case = Case(np.full(3, 0.5), objective, np.array([value]), np.zeros((1, 3)), np.array([False]), 0.1)
    np.testing.assert_allclose(case.step(), [-0.06, 0.0, 0.08], atol=CLOSE * 0.1)


def test_a_flat_objective_moves_only_to_become_feasible() -> None:
    slopes = np.array([[0.0, 2.0, 0.0]])
    still = Case(np.full(3, 0.5), np.zeros(3), np.array([-1.0]), slopes, np.array([False]), 0.1)
    np.testing.assert_array_equal(still.step(), np.zeros(3))
    moving = replace(still, values=np.array([0.1]))
    np.testing.assert_allclose(moving.step(), [0.0, -0.05, 0.0], atol=CLOSE * 0.1)


@pytest.mark.parametrize("seed", range(10))
def test_a_margin_is_a_constraint_moved_inside(seed: int) -> None:
    case = feasible_case(seed)
    margin = 0.1 * np.linalg.norm(case.slopes, axis=1) * case.radius
    moved = replace(case, values=case.values + margin)
    np.testing.assert_array_equal(case.step(margin), moved.step())


def hard_case(seed: int) -> Case:
    """Rows of a condition up to 1e8, repeated, opposite, dependent or nearly parallel; often infeasible."""
    rng = np.random.default_rng(seed)
    dim, terms = int(rng.integers(2, 30)), int(rng.integers(1, 25))
    left, sizes, right = np.linalg.svd(rng.standard_normal((terms, dim)), full_matrices=False)
    rows = (left * np.geomspace(1.0, 10.0 ** -rng.uniform(0.0, 8.0), len(sizes))) @ right
    if seed % 3 == 1:
        rows[rng.integers(0, terms, 5)] = rng.choice([1.0, -1.0, 1.0 + 1e-9]) * rows[0]
    if seed % 3 == 2:
        rows = rows[:1] + 10.0 ** -rng.uniform(1.0, 10.0) * rng.standard_normal(rows.shape)
        rows *= rng.choice([-1.0, 1.0], (terms, 1))
    rows *= np.exp(rng.normal(0.0, 3.0, (terms, 1)))
    radius = float(10.0 ** -rng.uniform(0.3, 6.0))
    place = rng.random(dim)
    x = np.where(place < 0.2, 0.0, np.where(place < 0.4, 1.0, rng.random(dim)))
    values = rng.choice([0.0, 0.5, 5.0]) * rng.standard_normal(terms) * np.linalg.norm(rows, axis=1) * radius
    equality = rng.random(terms) < rng.choice([0.0, 0.4])
    return Case(x, rng.standard_normal(dim), values, rows, equality, radius)


def raised(case: Case) -> float:
    """By how much the step raises the sum of the violations, in units of slope and radius."""
    return float(case.violations(case.step()).sum() - case.violations(np.zeros(len(case.x))).sum())


@pytest.mark.parametrize("start", range(0, 150, 25))
def test_never_raises_the_violation_of_the_model(start: int) -> None:
    """The objective gains at most 1, so the violation rises at most by one over the last weight."""
    for seed in range(start, start + 25):
        case = hard_case(seed)
        assert raised(case) < 2.0 / WEIGHTS[-1], seed
        assert np.linalg.norm(case.step()) <= case.radius * (1.0 + 1e-9)
        assert np.all((case.x + case.step() >= 0.0) & (case.x + case.step() <= 1.0))


@pytest.mark.parametrize("seed", range(10))
def test_the_first_weight_is_enough_for_ordinary_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = feasible_case(seed)
    step = case.step()
    monkeypatch.setattr(linearized, "WEIGHTS", WEIGHTS[:1])
    np.testing.assert_array_equal(case.step(), step)
    monkeypatch.setattr(linearized, "WEIGHTS", WEIGHTS[-1:])
    assert abs(case.descent(case.step()) - case.descent(step)) < CLOSE


@pytest.mark.parametrize(("angle", "needed"), [(0.1, 1), (2e-3, 2), (2e-5, 3)])
def test_nearly_opposite_rows_take_a_larger_weight(
    angle: float, needed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows that meet in a thin wedge: each has to press ``1 / (2 angle)`` against the objective."""
    slopes = np.array([[1.0, angle], [-1.0, angle]])
    case = Case(np.full(2, 0.5), np.array([0.0, -1.0]), np.zeros(2), slopes, np.zeros(2, bool), 0.1)
    assert 1.0 / (2.0 * angle) < WEIGHTS[needed - 1]
    assert raised(case) < CLOSE
    np.testing.assert_allclose(case.step(), 0.0, atol=1e-3 * case.radius)
    monkeypatch.setattr(linearized, "WEIGHTS", WEIGHTS[: needed - 1])
    if needed > 1:
        assert raised(case) > 0.9 * 2.0 * angle
