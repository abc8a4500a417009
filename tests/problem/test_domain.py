"""The set of allowed points against independent solvers and by its definition."""

import pickle

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import lcbo
from lcbo import ArgumentError, Known, Problem, Variable
from lcbo.random import generator

BOX = {"a": (0.0, 1.0), "b": (0.0, 2.0), "c": (-1.0, 1.0)}


def domain(known, bounds=BOX, **more):
    return Problem(bounds, known=known, **more).domain


def nearest_by_slsqp(rows, limits, target):
    """The projection by another solver."""
    found = minimize(
        lambda u: np.sum((u - target) ** 2),
        np.full(len(target), 0.5),
        jac=lambda u: 2.0 * (u - target),
        bounds=[(0.0, 1.0)] * len(target),
        constraints={"type": "ineq", "fun": lambda u: limits - rows @ u, "jac": lambda _: -rows},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


@pytest.mark.parametrize("seed", range(8))
def test_projection_agrees_with_another_solver(seed):
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    rows = rng.standard_normal((k, d))
    limits = rows @ rng.random(d) + 0.05
    allowed = domain(LinearConstraint(rows, -np.inf, limits), [(0.0, 1.0)] * d)
    for target in rng.uniform(0.0, 1.0, (5, d)):
        found = allowed.nearest(target)
        np.testing.assert_allclose(found, nearest_by_slsqp(rows, limits, target), atol=1e-6)
        assert (rows @ found <= limits).all()
        np.testing.assert_array_equal(allowed.nearest(found), found)


def test_projection_in_user_units_is_scaled_to_the_cube():
    allowed = domain("x1 + x2 <= 1", [(0.0, 10.0), (0.0, 0.1)])
    x = allowed.space.from_unit(allowed.nearest(np.array([0.5, 0.5])))
    assert x[0] + x[1] <= 1.0
    assert x == pytest.approx([0.95, 0.05], abs=1e-3)  # the coordinate with the wide range moves


def test_equalities_are_met_to_rounding_by_variables_that_follow():
    problem = Problem([(0.0, 1.0)] * 12, known=LinearConstraint(np.ones(12), 1.0, 1.0))
    assert problem.dim == 11
    points = problem.domain.sample(generator(0, "test"), 200)
    X = problem.space.from_unit(points)
    assert np.abs(X.sum(1) - 1.0).max() <= 1e-15 * 12
    assert X.min() >= 0.0
    np.testing.assert_allclose(problem.space.to_unit(X), points, atol=1e-15)


def test_distances_in_the_cube_are_those_of_all_shares():
    problem = Problem([(0.0, 1.0)] * 6, known=LinearConstraint(np.ones(6), 1.0, 1.0))
    points = problem.domain.sample(generator(0, "test"), 10)
    X = problem.space.from_unit(points)
    wide = np.linalg.norm(X[1:] - X[0], axis=1) / np.linalg.norm(points[1:] - points[0], axis=1)
    np.testing.assert_allclose(wide, wide[0])
    assert wide[0] < 1.5


def test_several_equalities_one_of_them_implied():
    problem = Problem(BOX, known=["a + b == 1", "a - c == 0", "2 * a + b - c == 1", "b + c == 1"])
    assert problem.dim == 1
    X = problem.space.from_unit(problem.domain.sample(generator(0, "test"), 20))
    np.testing.assert_allclose(X[:, 0] + X[:, 1], 1.0, atol=1e-14)
    np.testing.assert_allclose(X[:, 0], X[:, 2], atol=1e-14)


def test_inequalities_without_room_between_them_are_equalities():
    problem = Problem(BOX, known=["a <= b", "b <= a", "c <= -1"])
    assert problem.dim == 1
    x = problem.space.from_unit(np.array([0.3]))
    assert x[0] == pytest.approx(x[1], abs=1e-15)
    assert x[2] == -1.0


def test_fixed_variables_count_in_the_rows():
    problem = Problem({"a": (0, 1), "b": (0.25, 0.25), "c": (0, 1)}, known="a + b + c == 1")
    X = problem.space.from_unit(problem.domain.sample(generator(0, "test"), 10))
    np.testing.assert_allclose(X.sum(1), 1.0, atol=1e-15)
    assert (X[:, 1] == 0.25).all()


def test_linear_rows_are_exact_on_a_log_scale():
    bounds = {"a": Variable(1e-4, 1.0, log=True), "b": Variable(1e-4, 1.0, log=True), "c": (0.0, 1.0)}
    problem = Problem(bounds, known=["a + b <= 0.01", "c == 1 - a - b"])
    points = problem.domain.nearest(np.random.default_rng(0).random((20, 2)))
    X = problem.space.from_unit(points)
    assert (X[:, 0] + X[:, 1] <= 0.01).all()
    np.testing.assert_allclose(X.sum(1), 1.0, atol=1e-15)


def test_curves_hold_exactly_and_the_nearest_point_is_near():
    allowed = domain([Known(lambda x: x[0] ** 2 + x[1] ** 2, ub=0.25, name="circle")], [(0.0, 1.0)] * 2)
    for target in np.random.default_rng(0).random((8, 2)):
        found = allowed.nearest(target)
        assert found @ found <= 0.25
        exact = target * min(1.0, 0.5 / np.linalg.norm(target))
        np.testing.assert_allclose(found, exact, atol=1e-6)


def test_a_curve_that_cannot_be_differentiated_is_met_too():
    allowed = domain([Known(lambda x: float(x[0] > 0.4) + float(x[1] > 0.3), name="steps")], [(0.0, 1.0)] * 2)
    for target in np.random.default_rng(0).random((8, 2)):
        x = allowed.nearest(target)
        assert x[0] <= 0.4
        assert x[1] <= 0.3


def test_where_a_curve_has_no_value_it_does_not_hold():
    allowed = domain(["log(x1 - 0.5) <= 10", "sqrt(x2 - 0.2) >= 0"], [(0.0, 1.0)] * 2)
    x = allowed.nearest(np.array([0.1, 0.1]))
    assert x[0] > 0.5
    assert x[1] >= 0.2


def test_integers_keep_linear_conditions():
    bounds = {"n": Variable(0, 20, integer=True), "m": Variable(0, 20, integer=True), "z": (0.0, 1.0)}
    problem = Problem(bounds, known=["3 * n + 5 * m <= 40 + z", "n >= 2 * m"])
    for u in np.random.default_rng(0).random((8, 3)):
        found = problem.domain.nearest(u)
        n, m, z = problem.space.from_unit(found)
        assert n == int(n)
        assert m == int(m)
        assert 3 * n + 5 * m <= 40 + z
        assert n >= 2 * m
        np.testing.assert_array_equal(problem.domain.nearest(found), found)


def test_integers_of_an_equality_stay_whole():
    bounds = dict.fromkeys("klm", Variable(0, 10, integer=True))
    problem = Problem(bounds, known="k + l + m == 10")
    X = problem.space.from_unit(problem.domain.nearest(np.random.default_rng(0).random((6, 2))))
    assert (X.sum(1) == 10).all()
    assert ((X >= 0) & (X <= 10)).all()
    np.testing.assert_array_equal(X, np.rint(X))


def test_a_share_follows_before_an_integer_does():
    problem = Problem({"n": Variable(0, 4, integer=True), "z": (0.0, 1.0)}, known="n + 4 * z == 4")
    assert problem.space.followers.which.tolist() == [1]


@pytest.mark.parametrize(
    "known",
    [
        ["a + b + c <= 0.5"],
        LinearConstraint([[1.0, 1.0, 1.0]], 1.0, 1.0),
        ["a * b <= 0.05", "c >= a"],
        ["a + b <= 0.001"],
    ],
)
def test_random_points_and_pulled_ones_are_inside(known):
    allowed = domain(known)
    points = allowed.sample(generator(1, "test"), 30)
    assert allowed.contains(points).all()
    assert len(np.unique(points, axis=0)) == 30
    pulled = allowed.pulled(np.random.default_rng(0).random((50, points.shape[1])), points[0])
    assert allowed.contains(pulled).all()


def test_random_points_of_a_simplex_have_its_mean():
    points = domain("x1 + x2 + x3 + x4 + x5 <= 1", [(0.0, 1.0)] * 5).sample(generator(0, "test"), 2000)
    np.testing.assert_allclose(points.mean(0), 1.0 / 6.0, atol=0.02)  # a Dirichlet distribution


def test_limits_are_the_derivatives_of_the_conditions():
    bounds = {"a": Variable(0.01, 1.0, log=True), "b": (0.0, 2.0), "c": (-1.0, 1.0)}
    allowed = domain(["a + b <= 1.5", "a * b <= 0.6", "a + b + c == 1"], bounds)
    u = allowed.inside
    values, slopes = allowed.limits(u)
    for i in range(len(u)):
        step = np.eye(len(u))[i] * 1e-5
        rise = (allowed.limits(u + step)[0] - allowed.limits(u - step)[0]) / 2e-5
        linear = len(allowed.polytope.rows)
        np.testing.assert_allclose(slopes[:linear, i], rise[:linear], atol=1e-6)
    assert (values <= 0.0).all()


def test_a_problem_with_known_conditions_can_be_sent_to_a_worker():
    problem = Problem(BOX, known=["a * b <= 1", "a + c <= 1"])
    again = pickle.loads(pickle.dumps(problem))
    assert again.domain.contains(np.full((1, 3), 0.2)) == problem.domain.contains(np.full((1, 3), 0.2))


def test_named_functions_get_names():
    seen = []
    problem = Problem(
        BOX, known=[Known(lambda x: seen.append(x) or x["a"] - x["b"], name="order")], named=True
    )
    x = problem.space.from_unit(problem.domain.nearest(np.array([0.9, 0.1, 0.5])))
    assert x[0] <= x[1]
    assert set(seen[0]) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("a + b >= 4", "'a \\+ b >= 4' missed by at least 1"),
        (["a + b >= 2", "a + b <= 1"], "missed by at least 1"),
        (["a == 0.3", "a == 0.4"], "missed by at least 0.1"),
        (LinearConstraint([1, 1, 0], 5, 5), "'a \\+ b == 5' missed by at least 2"),
        (["a == 0", "b == 0", "c == 0"], "more than a single point"),
    ],
)
def test_an_empty_set_is_reported_with_its_conditions(known, words):
    with pytest.raises(ArgumentError, match=words):
        Problem(BOX, known=known)


def test_no_whole_numbers_is_reported():
    bounds = {"n": Variable(0, 4, integer=True), "z": (0.0, 1.0)}
    with pytest.raises(ArgumentError, match="whole numbers"):
        lcbo.Optimizer(Problem(bounds, known=["n >= 1.2", "n <= 1.8"]))
    with pytest.raises(ArgumentError, match="no integer"):
        Problem(dict.fromkeys("kl", Variable(0, 4, integer=True)), known="2 * k + 3 * l == 6")


def test_a_curve_nothing_meets_is_reported_before_the_first_evaluation():
    with pytest.raises(ArgumentError, match="none was found; if you know one, give it as x0.*'a \\* b >= 3'"):
        lcbo.minimize(np.sum, BOX, known="a * b >= 3", budget=5)


def test_a_small_set_is_found_and_a_hint_helps_where_nothing_else_does():
    tiny = Known(lambda x: np.hypot(x[0] - 0.123, x[1] - 0.456), ub=1e-3, name="tiny")
    assert domain([tiny], [(0.0, 1.0)] * 2).holds(domain([tiny], [(0.0, 1.0)] * 2).inside)
    flat = Known(lambda x: -1.0 if np.hypot(x[0] - 0.123, x[1] - 0.456) < 1e-6 else 1.0, name="flat")
    problem = Problem([(0.0, 1.0)] * 2, known=[flat])
    with pytest.raises(ArgumentError, match="give it as x0"):
        lcbo.Optimizer(problem, budget=4)
    (first,) = lcbo.Optimizer(problem, "sobol", budget=4, x0=[0.123, 0.456]).ask(1)
    assert np.hypot(*(first.x - [0.123, 0.456])) < 1e-6
