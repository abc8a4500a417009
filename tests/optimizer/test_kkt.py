import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from lcbo.methods.protocol import Belief
from lcbo.optimizer.kkt import kkt
from lcbo.terms import Term, Terms


def exact(u, terms, value, gradient, scale=None):
    scale = np.ones(len(value)) if scale is None else scale
    belief = Belief(u, value, np.zeros(len(value)), gradient, np.zeros_like(gradient), scale)
    return kkt(belief, terms, scale)


def eq_qp(d):
    """The problem of the same name: f = sum q (x - t)^2, A x = b over [-1, 2]^d, in the unit cube."""
    i = np.arange(1, d + 1)
    q, t = i / d, 0.5 + 0.4 * np.cos(i)
    a = np.vstack([np.ones(d), (-1.0) ** i]) / np.sqrt(d)
    b = a @ np.full(d, 0.5) + [0.3, -0.2]
    kkt_matrix = np.block([[np.diag(2 * q), a.T], [a, np.zeros((2, 2))]])
    solution = np.linalg.solve(kkt_matrix, np.concatenate([2 * q * t, b]))
    x, lam = solution[:d], solution[d:]
    value = np.concatenate([[q @ (x - t) ** 2], a @ x - b])
    gradient = 3.0 * np.vstack([2 * q * (x - t), a])
    return (x + 1.0) / 3.0, value, gradient, lam


@pytest.mark.parametrize("d", [10, 30])
def test_equality_multipliers_of_a_quadratic_program(d):
    u, value, gradient, lam = eq_qp(d)
    assert np.all((u > 0) & (u < 1))
    terms = Terms(
        (
            Term(1, 1.0, 0.0, equality=True, tol=1e-3),
            Term(2, 1.0, 0.0, equality=True, tol=1e-3),
        )
    )
    at = exact(u, terms, value, gradient)
    np.testing.assert_allclose(at.multipliers, lam, rtol=1e-9)
    assert at.r_s < 1e-20
    assert at.r_f < 1e-20
    assert at.spread_s == at.spread_f == 0.0


def test_scale_turns_multipliers_into_standardized_ones():
    u, value, gradient, lam = eq_qp(10)
    scale = np.array([4.0, 0.5, 2.0])
    terms = Terms(
        (
            Term(1, 1.0, 0.0, equality=True),
            Term(2, 1.0, 0.0, equality=True),
        )
    )
    at = exact(u, terms, value, gradient, scale)
    np.testing.assert_allclose(at.multipliers * scale[0] / scale[1:], lam, rtol=1e-9)


def test_bounds_and_inequalities_of_a_quadratic_program():
    rng = np.random.default_rng(0)
    d = 8
    root = rng.standard_normal((d, d))
    hessian, slope = root @ root.T + np.eye(d), rng.standard_normal(d) * 5
    a = rng.standard_normal((3, d))
    limit = a @ np.full(d, 0.5) - np.array([0.5, 0.5, -50.0])  # the third never binds
    solved = minimize(
        lambda x: 0.5 * x @ hessian @ x + slope @ x,
        np.full(d, 0.5),
        jac=lambda x: hessian @ x + slope,
        bounds=[(0, 1)] * d,
        constraints={"type": "ineq", "fun": lambda x: limit - a @ x, "jac": lambda _: -a},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    u = np.clip(solved.x, 0, 1)
    u[u < 1e-9], u[u > 1 - 1e-9] = 0.0, 1.0
    assert 0 < np.sum((u == 0) | (u == 1)) < d
    gradient = np.vstack([hessian @ u + slope, a])
    at = exact(
        u,
        Terms(tuple(Term(j + 1, 1.0, limit[j]) for j in range(3))),
        np.concatenate([[solved.fun], a @ u]),
        gradient,
    )
    assert at.r_s < 1e-8
    assert at.r_f < 1e-12
    assert np.all(at.multipliers >= 0)
    assert at.multipliers[2] == 0.0
    assert at.multipliers[:2].max() > 0.1


def test_residual_counts_only_the_blocked_side_at_bounds():
    gradient = np.array([[2.0, -3.0, 5.0, -7.0, 0.5]])
    u = np.array([0.0, 0.0, 1.0, 1.0, 0.5])
    at = exact(u, Terms(), np.zeros(1), gradient)
    assert at.r_s == pytest.approx(3.0**2 + 5.0**2 + 0.5**2)
    assert at.multipliers.shape == (0,)


def test_lower_bound_on_an_outcome_has_a_positive_multiplier_too():
    # minimize u subject to u >= 0.4: 1 - lambda = 0
    at = exact(np.array([0.4]), Terms((Term(1, -1.0, 0.4),)), np.array([0.4, 0.4]), np.array([[1.0], [1.0]]))
    assert at.multipliers == pytest.approx([1.0])
    assert at.r_s == pytest.approx(0.0, abs=1e-20)


def test_slack_constraints_have_no_multiplier_and_violation_counts():
    terms = Terms(
        (
            Term(1, 1.0, 0.0),
            Term(2, 1.0, 0.0),
        )
    )
    value, gradient = np.array([0.0, -1.0, 0.5]), np.array([[1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]])
    at = exact(np.full(2, 0.5), terms, value, gradient)
    assert at.multipliers == pytest.approx([0.0, 1.0])
    assert at.r_f == pytest.approx(0.25)


def test_spread_is_what_variance_adds_to_the_expected_residuals():
    rng = np.random.default_rng(1)
    u = np.array([0.3, 0.6])
    terms = Terms(
        (
            Term(1, 1.0, 0.2),
            Term(2, 1.0, 0.0, equality=True),
        )
    )
    value, std = np.array([0.0, 0.1, 0.3]), np.array([0.1, 0.2, 0.4])
    gradient, gradient_std = np.array([[1.0, 2.0], [-1.0, 0.3], [0.2, -1.0]]), np.full((3, 2), 0.5)
    at = kkt(Belief(u, value, std, gradient, gradient_std, np.ones(3)), terms, np.ones(3))
    draws = 400_000
    c = norm.rvs(0.1 - 0.2, 0.2, draws, random_state=rng)
    h = norm.rvs(0.3, 0.4, draws, random_state=rng)
    assert at.r_f + at.spread_f == pytest.approx(np.mean(np.maximum(c, 0) ** 2 + h**2), rel=0.01)
    g = rng.normal(gradient, gradient_std, (draws, 3, 2))
    lagrangian = g[:, 0] + at.multipliers[0] * g[:, 1] + at.multipliers[1] * g[:, 2]
    assert at.r_s + at.spread_s == pytest.approx(np.mean(np.sum(lagrangian**2, axis=1)), rel=0.01)


def test_a_known_condition_that_binds_holds_the_point():
    rng = np.random.default_rng(1)
    slope, wall = rng.standard_normal(5), rng.standard_normal(5)
    wall /= np.linalg.norm(wall)
    gradient = np.vstack([-0.7 * slope - 2.0 * wall, slope])
    belief = Belief(np.full(5, 0.5), np.zeros(2), np.zeros(2), gradient, np.zeros_like(gradient), np.ones(2))
    terms = Terms((Term(1, 1.0, 0.0),))
    held = kkt(belief, terms, np.ones(2), wall[None, :])
    np.testing.assert_allclose(held.multipliers, [0.7])
    assert held.r_s < 1e-20
    assert kkt(belief, terms, np.ones(2), -wall[None, :]).r_s > 0.1
    assert kkt(belief, terms, np.ones(2)).r_s > 0.1
