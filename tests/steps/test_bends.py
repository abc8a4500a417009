"""Steps that follow how the terms bend: exact second derivatives, useless ones, and the model's own."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from lcbo.methods.lcbo.curvature import ModeledBends
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.steps.landing import Landing
from lcbo.steps.linearized import LinearizedStep, Radius, linearized_step
from lcbo.steps.step import Bends, Iterate, LocalPosterior
from lcbo.terms import Term, Terms


@dataclass(frozen=True)
class Quadratic(Bends):
    """Second derivatives of one term."""

    hessian: np.ndarray

    def along(self, step: np.ndarray) -> np.ndarray:
        return np.array([step @ self.hessian @ step])

    def weighed(self, weights: np.ndarray) -> np.ndarray:
        return weights[0] * self.hessian


@dataclass(frozen=True)
class Ellipsoid:
    """Minimize a linear objective in an ellipsoid with axes from 1 to 100: it bends much, in one plane."""

    axes: np.ndarray
    goal: np.ndarray
    claimed: float = 1.0  # times the true second derivatives

    def at(self, u: np.ndarray) -> LocalPosterior:
        away = u - 0.5
        return LocalPosterior(
            u=u,
            value=float(self.goal @ u),
            objective=self.goal,
            deviation=0.0,
            values=np.array([self.axes @ np.square(away) - 0.09]),
            slopes=2.0 * self.axes[None] * away,
            deviations=np.zeros(1),
            equality=np.zeros(1, bool),
            scale=np.array([1.0, 7.0]),
            hessian=np.zeros((len(u), len(u))),
            bends=None if self.claimed == 0.0 else Quadratic(2.0 * self.claimed * np.diag(self.axes)),
        )

    def run(self, iterations: int) -> tuple[float, LinearizedStep]:
        """How far above the best value a run ends, and its step."""
        step = LinearizedStep(Radius(0.1, 1e-6, 0.5), Landing(0.5))
        here = Iterate.start(np.full(len(self.axes), 0.5))
        for k in range(1, iterations + 1):
            here = step(self.at(here.u), here.step, k, None)
        best = self.goal @ np.full(len(self.axes), 0.5)
        best -= np.sqrt(0.09 * (np.square(self.goal) / self.axes).sum())
        return float(self.goal @ here.u - best), step


def ellipsoid(claimed: float) -> Ellipsoid:
    return Ellipsoid(np.geomspace(1.0, 100.0, 6), np.array([1.0, -2.0, 1.5, 1.0, -1.0, 2.0]), claimed)


def test_bends_that_are_true_are_believed_and_bring_a_run_closer() -> None:
    blind, (seeing, step) = ellipsoid(0.0).run(30)[0], ellipsoid(1.0).run(30)
    assert step.landing.believed()[0] > 0.9
    assert abs(seeing) < 0.1 * abs(blind)


def test_bends_of_the_wrong_sign_are_not_believed_and_do_no_harm() -> None:
    blind, (misled, step) = ellipsoid(0.0).run(40)[0], ellipsoid(-1.0).run(40)
    assert step.landing.believed()[0] == 0.0
    assert misled == pytest.approx(blind, rel=1e-12)


def test_a_step_that_follows_the_lagrangian_is_the_quadratic_program_s() -> None:
    problem = ellipsoid(1.0)
    local = problem.at(np.array([0.55, 0.6, 0.42, 0.45, 0.53, 0.47]))
    none, radius = np.zeros(1), 0.3
    first = linearized_step(local, none, radius)
    second = linearized_step(local, none, radius, np.ones(1))
    assert np.linalg.norm(first - second) > 1e-3
    # The multiplier of the linear program with a ball, from its own optimality conditions.
    ball = {"type": "ineq", "fun": lambda s: radius**2 - s @ s, "jac": lambda s: -2.0 * s}
    row = {
        "type": "ineq",
        "fun": lambda s: -local.values[0] - local.slopes[0] @ s,
        "jac": lambda _: -local.slopes[0],
    }
    solver = {"method": "SLSQP", "constraints": [ball, row], "options": {"ftol": 1e-14, "maxiter": 500}}
    goal = local.objective
    linear = minimize(lambda s: goal @ s, 0.1 * first, jac=lambda _: goal, **solver).x
    np.testing.assert_allclose(first, linear, atol=1e-5)
    basis = np.stack([2.0 * linear, local.slopes[0]], 1)
    multiplier = np.linalg.lstsq(basis, -local.objective, rcond=None)[0][1]
    hessian = multiplier * 2.0 * np.diag(problem.axes)
    bent = minimize(
        lambda s: goal @ s + 0.5 * s @ hessian @ s, 0.1 * first, jac=lambda s: goal + hessian @ s, **solver
    )
    np.testing.assert_allclose(second, bent.x, atol=1e-5)


def test_what_landings_say_of_bends_is_restored_from_json() -> None:
    _, step = ellipsoid(1.0).run(7)
    again = Landing(0.5)
    again.restore(json.loads(json.dumps(step.landing.state())))
    np.testing.assert_array_equal(again.agreement, step.landing.agreement)
    assert again.bent is not None
    assert step.landing.bent is not None
    np.testing.assert_array_equal(again.bent, step.landing.bent)


def test_landings_of_before_know_no_bends() -> None:
    _, step = ellipsoid(1.0).run(7)
    before = {k: v for k, v in step.landing.state().items() if k not in ("bent", "agreement")}
    again = Landing(0.5)
    again.restore(before)
    np.testing.assert_array_equal(again.believed(), np.zeros(1))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_modeled_bends_are_second_differences_of_the_mean(kernel: str) -> None:
    rng = np.random.default_rng(3)
    data = merge(rng.random((30, 4)), rng.standard_normal((30, 3)))
    one = torch.ones(3, dtype=torch.float64)
    length = torch.tensor([[0.8, 1.1, 0.6, 0.9]] * 3, dtype=torch.float64)
    gp = BatchedGP(data, Hyperparameters(length, 1.3 * one, 0.05 * one, 0.0 * one, kernel))
    x, width, trust = rng.random(4), 0.4, 0.7
    terms = Terms((Term(1, 1.0, 0.0), Term(2, -1.0, 0.0), Term(2, 1.0, 0.0)))
    bends = ModeledBends(gp, torch.tensor(x), width, terms, trust, straight=1)

    def values(step: np.ndarray) -> np.ndarray:
        mean = gp.mean(torch.tensor((x + step / width)[None]))[:, 0].numpy()
        return np.append(terms.sign * mean[terms.rows], 0.0)

    step, h = rng.standard_normal(4), 1e-4
    expected = (values(h * step) - 2.0 * values(0.0 * step) + values(-h * step)) / h**2
    np.testing.assert_allclose(bends.along(step), trust * expected, rtol=1e-4, atol=1e-5)
    weights = np.array([0.5, 0.0, 2.0, 9.0])
    hessian = bends.weighed(weights)
    assert step @ hessian @ step == pytest.approx(weights @ bends.along(step), rel=1e-9)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-12)
