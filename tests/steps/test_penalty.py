"""The penalty gradient against differences of Q; the projected step."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.steps import penalty
from lcbo.steps.penalty import projected_step
from lcbo.steps.step import LocalPosterior

DIM, RHO = 5, 7.0


def penalty_gradient(
    objective: np.ndarray, values: np.ndarray, slopes: np.ndarray, equality: np.ndarray, rho: float
) -> np.ndarray:
    nowhere, certain, units = np.zeros(len(objective)), np.zeros(len(values)), np.ones(1 + len(values))
    local = LocalPosterior(nowhere, 0.0, objective, 0.0, values, slopes, certain, equality, units)
    return penalty.penalty_gradient(local, rho)


class Quadratics:
    """An objective and three terms with known slopes: ``c_i = a_i.x + x.x / 2 - b_i``."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.goal = rng.standard_normal(DIM)
        self.a, self.b = rng.standard_normal((3, DIM)), rng.standard_normal(3)

    def terms(self, x: np.ndarray) -> np.ndarray:
        return self.a @ x + 0.5 * x @ x - self.b

    def q(self, x: np.ndarray, equality: np.ndarray) -> float:
        c = self.terms(x)
        c = np.where(equality, c, np.maximum(c, 0.0))
        return float(self.goal @ x + 0.5 * RHO * np.sum(c**2))


@pytest.mark.parametrize("equality", [(False,) * 3, (True,) * 3, (True, False, False)])
@pytest.mark.parametrize("seed", range(5))
def test_gradient_matches_finite_differences(equality: tuple[bool, ...], seed: int) -> None:
    problem, flags = Quadratics(seed), np.array(equality)
    x = np.random.default_rng(seed + 50).random(DIM)
    gradient = penalty_gradient(problem.goal, problem.terms(x), problem.a + x, flags, RHO)
    steps = 1e-6 * np.eye(DIM)
    expected = [(problem.q(x + s, flags) - problem.q(x - s, flags)) / 2e-6 for s in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def test_inequalities_push_from_one_side_and_equalities_from_both() -> None:
    slopes, none = np.eye(2), np.zeros(2)
    values = np.array([-0.5, 0.5])
    one_sided = penalty_gradient(none, values, slopes, np.array([False, False]), 2.0)
    two_sided = penalty_gradient(none, values, slopes, np.array([True, True]), 2.0)
    np.testing.assert_array_equal(one_sided, [0.0, 1.0])
    np.testing.assert_array_equal(two_sided, [-1.0, 1.0])


def test_without_terms_the_gradient_is_the_objective_s() -> None:
    goal = np.array([1.0, -2.0])
    gradient = penalty_gradient(goal, np.zeros(0), np.zeros((0, 2)), np.zeros(0, bool), 3.0)
    np.testing.assert_array_equal(gradient, goal)


def test_a_normalized_step_has_length_eta_in_the_interior() -> None:
    x, gradient = np.full(4, 0.5), np.array([1e9, -2e9, 0.0, 5e8])
    moved = projected_step(x, gradient, 0.25, normalize=True)
    assert np.linalg.norm(moved - x) == pytest.approx(0.25)
    np.testing.assert_allclose((x - moved) / 0.25, gradient / np.linalg.norm(gradient))


def test_a_plain_step_scales_with_the_gradient() -> None:
    moved = projected_step(np.full(2, 0.5), np.array([0.4, -0.2]), 0.5, normalize=False)
    np.testing.assert_allclose(moved, [0.3, 0.6])


@pytest.mark.parametrize("normalize", [False, True])
def test_a_zero_gradient_stays(normalize: bool) -> None:
    x = np.array([0.0, 0.3, 1.0])
    np.testing.assert_array_equal(projected_step(x, np.zeros(3), 0.25, normalize), x)


def test_the_step_is_projected_onto_the_cube() -> None:
    moved = projected_step(np.array([0.1, 0.9, 0.5]), np.array([1.0, -1.0, 0.1]), 1.0, normalize=False)
    np.testing.assert_allclose(moved, [0.0, 1.0, 0.4])
