"""Slopes and multipliers at the answer against derivatives and multipliers that are known."""

import numpy as np
import pytest
from scipy.stats import truncnorm

import lcbo
from lcbo import Constraint, Objective, Problem
from lcbo.methods.protocol import Belief
from lcbo.optimizer.balance import _cut_normal, balance
from lcbo.optimizer.log import Log
from lcbo.optimizer.sensitivity import explain
from lcbo.optimizer.slopes import local_slopes
from lcbo.terms import Term, Terms
from lcbo.types import Evaluation

LIMIT = Terms((Term(1, 1.0, 0.0),))
PAIR = Terms((Term(1, 1.0, 0.0, equality=True), Term(2, 1.0, 0.0, equality=True)))


def evaluated(problem, points, noise=0.0, seed=0):
    """A log of evaluations of a problem at points in user units."""
    rng, log = np.random.default_rng(seed), Log(problem)
    for id, x in enumerate(points):
        outcomes = {name: y + noise * rng.standard_normal() for name, y in problem.evaluate(x).items()}
        log.add(Evaluation(id, x, problem.space.to_unit(x), "init", 0, "done", outcomes))
    return log


def believed(problem, x, std=0.0):
    mean = problem.to_rows(problem.evaluate(x))
    rows, d = len(mean), problem.dim
    none = np.zeros((rows, d))
    return Belief(problem.space.to_unit(x), mean, np.full(rows, std), none, none, np.ones(rows))


def balanced(u, slopes, cov, terms, bends=None):
    """The balance where all terms may bind; outcomes are planes unless they are said to bend."""
    return balance(
        u, slopes, cov, np.zeros_like(cov) if bends is None else bends, terms, np.ones(len(terms), bool)
    )


def plane(x):
    return {"f": 3.0 + 2.0 * x[0] + 0.03 * x[2], "c": 1.0 - 4.0 * x[0] - 0.06 * x[2]}


def test_slopes_of_a_plane_are_in_user_units_and_a_fixed_variable_has_none():
    problem = Problem([(0, 1), (5, 5), (-50, 50)], ["c <= 0"], Objective("f"), fun=plane)
    points = np.random.default_rng(0).uniform(problem.lb, problem.ub, (30, 3))
    x = np.array([0.25, 5.0, 0.0])
    found = explain(evaluated(problem, points), believed(problem, x)).sensitivities
    np.testing.assert_allclose(found.slopes[:, [0, 2]], [[2.0, 0.03], [-4.0, -0.06]], rtol=1e-4)
    assert np.isnan(found.slopes[:, 1]).all()
    assert np.isnan(found.errors[:, 1]).all()
    assert found.multipliers == pytest.approx({"c": 0.5}, rel=1e-3)
    frame = found.to_frame()
    assert frame.loc[("c", "x3"), "slope"] == pytest.approx(-0.06, rel=1e-4)


def test_a_maximized_objective_and_a_lower_limit_keep_their_signs():
    problem = Problem([(0, 1), (0, 1)], ["c >= 1"], Objective("f", maximize=True), fun=None)
    problem.fun = lambda x: {"f": -2.0 * x[0] - 3.0 * x[1], "c": 4.0 * x[0] + 6.0 * x[1]}
    points = np.random.default_rng(0).uniform(0, 1, (30, 2))
    found = explain(evaluated(problem, points), believed(problem, np.array([0.1, 0.1])))
    np.testing.assert_allclose(found.sensitivities.slopes, [[-2.0, -3.0], [4.0, 6.0]], rtol=1e-4)
    assert found.sensitivities.multipliers == pytest.approx({"c": -0.5}, rel=1e-3)
    assert found.sentence.startswith("stationary")


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize(("d", "n", "draws", "widest"), [(6, 90, 8, 4.0), (10, 400, 3, 5.0)])
def test_slopes_of_a_curved_function_lie_within_their_errors(d, n, draws, widest, bent):
    rng = np.random.default_rng(1)
    sd, around = 0.02, np.full(d, 0.3)

    def fun(u):
        return 1.0 / (0.2 + u).sum(-1) if bent else np.sin(u @ np.arange(1, d + 1) / d)

    at = 0.2 + around
    steep = np.arange(1, d + 1) / d
    exact = -np.ones(d) / at.sum() ** 2 if bent else steep * np.cos(around @ steep)
    hits, errors = [], []
    for _ in range(draws):
        points = np.clip(around + 0.15 * rng.standard_normal((n, d)), 0, 1)
        y = fun(points) + sd * rng.standard_normal(n)
        slopes = local_slopes(around, points, y[:, None], [None], np.ones(1))
        errors.append(slopes.std[0])
        hits.append(np.abs(slopes.mean[0] - exact) <= 2.0 * errors[-1])
    assert 0.85 <= np.mean(hits) <= 1.0
    assert np.median(errors) < widest * sd / (0.15 * np.sqrt(n))


def near_and_far(d, rng):
    """Points around the middle, the 20 d nearest of them close by, and from near to far."""
    away = np.repeat([0.02, 0.2], 20 * d)[:, None] * rng.standard_normal((40 * d, d))
    points = np.clip(0.5 + away, 0, 1)
    return points[np.argsort(np.square(points - 0.5).sum(1))]


def test_an_outcome_is_seen_from_as_far_as_its_evaluations_agree(monkeypatch):
    rng, d = np.random.default_rng(3), 10
    points, slope = near_and_far(d, rng), np.linspace(-2.0, 1.0, d)
    wild = np.where(np.arange(len(points)) < 20 * d, 0.0, 0.3 * np.sin(60.0 * points).sum(1))
    y = np.stack([points @ slope, points @ slope + wild], 1) + 0.01 * rng.standard_normal((len(points), 2))

    both = local_slopes(np.full(d, 0.5), points, y, [None, None], np.ones(2))
    monkeypatch.setattr("lcbo.optimizer.slopes._View.foresight", lambda _: 0.0)  # of equals the near one
    near = local_slopes(np.full(d, 0.5), points, y, [None, None], np.ones(2))

    assert (both.std[0] < 0.5 * near.std[0]).all()
    assert np.allclose(both.mean[0], slope, atol=3.0 * both.std[0].max())
    assert np.array_equal(both.mean[1], near.mean[1])
    assert np.array_equal(both.cov[1], near.cov[1])


def test_an_outcome_that_is_missing_nearby_has_slopes_from_where_it_is_not():
    rng, d = np.random.default_rng(4), 10
    points, slope = near_and_far(d, rng), np.linspace(-2.0, 1.0, d)
    y = np.stack([points @ slope, points @ slope], 1) + 1e-3 * rng.standard_normal((len(points), 2))
    y[:150, 1] = np.nan  # all that could judge a window
    slopes = local_slopes(np.full(d, 0.5), points, y, [None, None], np.ones(2))
    assert (np.abs(slopes.mean - slope) <= 4.0 * slopes.std).all()
    assert (slopes.std < 1.0).all()


def test_repeats_of_one_point_say_nothing_of_slopes():
    point = np.array([0.5, 0.4])
    y = np.random.default_rng(5).standard_normal((200, 1))
    slopes = local_slopes(point, np.tile(point, (200, 1)), y, [None], np.ones(1))
    assert np.isfinite(slopes.mean).all()
    assert (slopes.std > 1.0).all()


def test_a_missing_outcome_and_a_single_evaluation_are_ordinary():
    points, y = np.random.default_rng(2).uniform(size=(12, 3)), np.zeros((12, 2))
    y[:, 0], y[::2, 1] = points[:, 0], np.nan
    assert np.isfinite(local_slopes(points[0], points, y, [None, None], np.ones(2)).cov).all()
    alone = local_slopes(points[0], points[:1], y[:1, :1], [None], np.ones(1))
    assert np.isfinite(alone.mean).all()
    assert (alone.cov[0].diagonal() > 0.0).all()


def test_error_of_an_equality_multiplier_is_that_of_least_squares():
    """Many sets of gradients drawn around the truth: the estimates scatter as their error bars say."""
    rng, d, sd = np.random.default_rng(3), 30, 0.1
    exact = np.array([2.0, -1.0])
    jacobian = rng.standard_normal((2, d))
    cov = np.stack([sd**2 * np.eye(d), np.zeros((d, d)), np.zeros((d, d))])
    found = []
    for _ in range(100):
        slope = -exact @ jacobian + sd * rng.standard_normal(d)
        found.append(balanced(np.full(d, 0.5), np.vstack([slope, jacobian]), cov, PAIR))
    means, errors = (np.array([getattr(b, name) for b in found]) for name in ("multipliers", "errors"))
    closed = sd * np.sqrt(np.diag(np.linalg.inv(jacobian @ jacobian.T)))
    np.testing.assert_allclose(means.std(0), closed, rtol=0.2)
    np.testing.assert_allclose(np.median(errors, 0), closed, rtol=0.15)
    assert 0.92 <= np.mean(np.abs(means - exact) <= 2.0 * errors) <= 0.99
    assert np.mean([b.significant for b in found]) < 0.1


def test_uncertainty_of_a_limits_slope_widens_its_error():
    rng, d, lam, sd = np.random.default_rng(4), 20, 3.0, 0.1
    cov = np.stack([np.zeros((d, d)), sd**2 * np.eye(d)])
    hits = []
    for _ in range(100):
        seen = rng.standard_normal(d)  # the posterior mean; the truth scatters around it
        slope = -lam * (seen + sd * rng.standard_normal(d))
        b = balanced(np.full(d, 0.5), np.vstack([slope, seen]), cov, LIMIT)
        hits.append(abs(b.multipliers[0] - lam) <= 2.0 * b.errors[0])
    assert 0.91 <= np.mean(hits) <= 0.99


def program(rng, d=20):
    """A quadratic program with two equalities in a cube: Hessian, Jacobian, multipliers."""
    root = rng.standard_normal((d, d)) * rng.uniform(0.1, 1.5, d)
    return root @ root.T + 3.0 * np.eye(d), rng.standard_normal((2, d)), np.array([2.0, -1.0])


def astray(rng, hessian, jacobian, size):
    """An offset along the limits whose slope there is as large in any direction."""
    tangent = np.linalg.svd(jacobian)[2][len(jacobian) :].T
    slope = size * rng.standard_normal(tangent.shape[1])
    return tangent @ np.linalg.solve(tangent.T @ hessian @ tangent, slope)


def test_multipliers_away_from_the_optimum_are_those_of_the_optimum():
    """With exact derivatives of a quadratic program they follow from any point of its limits."""
    rng = np.random.default_rng(6)
    hessian, jacobian, exact = program(rng)
    offset = astray(rng, hessian, jacobian, 0.3)
    slopes = np.vstack([-exact @ jacobian - hessian @ offset, jacobian])
    bends = np.stack([hessian, np.zeros_like(hessian), np.zeros_like(hessian)])
    found = balanced(np.full(20, 0.5), slopes, np.zeros((3, 20, 20)), PAIR, bends)
    plain = np.linalg.lstsq(jacobian.T, -slopes[0])[0]
    assert np.abs(plain - exact).max() > 0.05
    np.testing.assert_allclose(found.multipliers, exact, atol=0.2 * np.abs(plain - exact).max())
    assert (np.abs(found.multipliers - exact) <= 2.0 * found.errors).all()
    away = np.linalg.norm(offset)
    assert np.linalg.norm(found.offset - offset) < 0.5 * away


def test_errors_of_multipliers_cover_those_of_the_optimum():
    """Noisy slopes at points off the optimum of one program: the bars cover in as many runs as they say."""
    rng, sd = np.random.default_rng(7), 0.05
    hessian, jacobian, exact = program(rng)
    bends = np.stack([hessian, np.zeros_like(hessian), np.zeros_like(hessian)])
    cov = np.stack([sd**2 * np.eye(20), np.zeros((20, 20)), np.zeros((20, 20))])
    scores = []
    for _ in range(60):
        slope = -exact @ jacobian - hessian @ astray(rng, hessian, jacobian, 0.1)
        slopes = np.vstack([slope + sd * rng.standard_normal(20), jacobian])
        found = balanced(np.full(20, 0.5), slopes, cov, PAIR, bends)
        scores.append((found.multipliers - exact) / found.errors)
    assert 0.88 <= np.mean(np.abs(scores) <= 2.0) <= 0.99


@pytest.mark.parametrize("center", [-3.0, -0.5, 0.0, 2.0, 10.0])
def test_a_cut_normal_has_the_moments_of_a_truncated_one(center):
    sd = 0.7
    mean, std = _cut_normal(np.array([[1.0 / sd**2]]), np.array([center / sd**2]), np.zeros(1))
    exact = truncnorm(-center / sd, np.inf, loc=center, scale=sd)
    assert mean[0] == pytest.approx(exact.mean(), rel=0.05)
    assert std[0] == pytest.approx(exact.std(), rel=0.05)
    assert mean[0] > 0.0


def test_correlated_limits_are_cut_together():
    rng = np.random.default_rng(5)
    precision, pull = np.array([[2.0, 1.2], [1.2, 1.5]]), np.array([0.3, -0.4])
    draws = rng.multivariate_normal(
        np.linalg.solve(precision, pull), np.linalg.inv(precision), 2_000_000, method="cholesky"
    )
    kept = draws[(draws >= 0.0).all(1)]
    mean, std = _cut_normal(precision, pull, np.zeros(2))
    np.testing.assert_allclose(mean, kept.mean(0), rtol=0.05)
    np.testing.assert_allclose(std, kept.std(0), rtol=0.05)


def test_a_limit_that_just_binds_is_positive_and_one_without_slope_is_zero():
    slopes = np.array([[1.0, 1.0], [1.0, 0.9], [0.0, 0.0]])  # the first limit pulls the same way: it is slack
    terms = Terms((Term(1, 1.0, 0.0), Term(2, 1.0, 0.0)))
    cov = np.tile(0.01 * np.eye(2), (3, 1, 1))
    cov[2] = 0.0
    found = balanced(np.full(2, 0.5), slopes, cov, terms)
    assert 0.0 < found.multipliers[0] < 2.0 * found.errors[0]
    assert found.multipliers[1] == 0.0
    assert found.significant


def test_variables_stopped_by_a_bound_do_not_disturb():
    slopes = np.array([[-1.0, 5.0, -2.0], [1.0, 3.0, 2.0]])
    found = balanced(np.array([0.5, 0.0, 0.4]), slopes, np.zeros((2, 3, 3)), LIMIT)
    assert found.multipliers == pytest.approx([1.0], rel=1e-6)
    assert found.slope == pytest.approx(0.0, abs=1e-12)


def test_the_sentence_says_what_is_left():
    problem = Problem([(0, 1)] * 2, [], "f", fun=lambda x: {"f": 10.0 + x[0]})
    points = np.random.default_rng(0).uniform(0, 1, (30, 2))
    log = evaluated(problem, points)
    sentence = explain(log, believed(problem, np.array([0.5, 0.5]))).sentence
    assert sentence == (
        "not stationary: f could still fall by about 0.95 % per step of 0.1 of the variables' ranges"
    )
    at_bound = explain(log, believed(problem, np.array([0.0, 0.5]))).sentence
    assert at_bound.startswith("stationary: f would fall by less than 0.01 %")
    flat = Problem([(0, 1)] * 2, [], "f", fun=lambda _: {"f": 10.0})
    noisy = explain(evaluated(flat, points, noise=1.0), believed(flat, np.array([0.5, 0.5]))).sentence
    assert noisy.startswith("stationary as far as the run can tell: a gain of up to")


def corner(x):
    """A linear program whose optimum is the corner (0.4, 0.6): f + 2 (a - 0.4) + 3 (b - 0.6) is constant."""
    return {"f": 10.0 - 2.0 * x[0] - 3.0 * x[1], "a": float(x[0]), "b": float(x[1]), "c": float(x[0])}


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_an_answer_that_keeps_a_margin_has_the_multipliers_of_the_optimum(noise):
    """A margin of 0.005 of the box: what is left to gain is the multipliers times the margins."""
    problem = Problem([(0, 1)] * 3, ["a <= 0.4", "b <= 0.6", "c <= 0.8"], "f", fun=corner)
    points = np.clip(0.4 + 0.2 * np.random.default_rng(0).standard_normal((80, 3)), 0, 1)
    log, x = evaluated(problem, points, noise), np.array([0.395, 0.595, 0.5])
    found = explain(log, believed(problem, x, noise / 5.0))
    multipliers, errors = found.sensitivities.multipliers, found.sensitivities.multiplier_errors
    for name, exact in {"a": 2.0, "b": 3.0}.items():
        assert abs(multipliers[name] - exact) <= 2.0 * errors[name]
        assert 0.0 < errors[name] <= 0.25 * exact
    assert multipliers["c"] == 0.0
    assert found.sentence.startswith("stationary")
    cost = float(found.sentence.split("cost about ")[1].split(" %")[0])
    assert cost == pytest.approx(100.0 * 0.005 * 5.0 / problem.evaluate(x)["f"], rel=0.1)


def test_both_limits_of_an_outcome_act_as_an_equality():
    """Each could grow without end if the other does; only their difference says anything."""
    slopes = np.array([[-1.0, -2.0, 0.5], [2.0, 4.0, -1.0]])
    cov = np.tile(1e-4 * np.eye(3), (2, 1, 1))
    both = Terms((Term(1, 1.0, 0.1), Term(1, -1.0, -0.1)))
    found = balanced(np.full(3, 0.5), slopes, cov, both)
    alone = Terms((Term(1, 1.0, 0.0, equality=True),))
    exact = balanced(np.full(3, 0.5), slopes, cov, alone)
    assert exact.multipliers == pytest.approx([0.5], rel=0.01)
    assert both.sign @ found.multipliers == pytest.approx(exact.multipliers[0])
    assert np.linalg.norm(found.errors) == pytest.approx(exact.errors[0])


def test_a_run_answers_with_its_multipliers():
    """Minimize ``|x - 0.7|^2`` under ``mean(x) <= 0.5``: lambda = 0.4 d."""
    d = 4
    result = lcbo.minimize(
        lambda x: {"f": float(np.sum((x - 0.7) ** 2)), "c": float(x.mean())},
        [(0, 1)] * d,
        [Constraint("c", ub=0.5)],
        objective="f",
        budget=60,
        deterministic=True,
        progress=False,
    )
    error = result.multiplier_errors["c"]
    assert result.multipliers["c"] == pytest.approx(0.4 * d, rel=0.1)
    assert 0.0 < error < 0.4
    assert result.sensitivities.slopes[1] == pytest.approx(np.full(d, 1 / d), abs=0.02)
