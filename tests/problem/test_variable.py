import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Problem, Variable
from lcbo.cli.screen import design
from lcbo.evaluation.command.problem_file import read_problem_file
from lcbo.optimizer.sensitivity import explain
from lcbo.problem.sources import describe_problem, plain_problem
from lcbo.reporting.format import summary
from lcbo.reporting.report import report

MIXED = {
    "k": Variable(1e-6, 1.0, log=True),
    "n": Variable(1, 99, integer=True),
    "m": Variable(1, 1024, log=True, integer=True),
    "x": (-1.0, 1.0),
}


def test_log_scale_has_equal_factors_at_equal_distances():
    space = Problem(MIXED).space
    u = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 1.0]])
    x = space.from_unit(u)
    np.testing.assert_allclose(x, [[1e-6, 1, 1, -1], [1e-3, 50, 32, 0], [1, 99, 1024, 1]], rtol=1e-14)
    np.testing.assert_array_equal(x[[0, 2]], [[1e-6, 1, 1, -1], [1, 99, 1024, 1]])
    np.testing.assert_allclose(space.to_unit(x), u, atol=1e-15)


def test_grid_of_integers_is_where_rounded_points_are():
    problem = Problem(MIXED)
    space, grid = problem.space, problem.space.grid
    u = np.random.default_rng(0).random((200, 4))
    snapped, x = grid.snap(u), space.from_unit(u)
    np.testing.assert_array_equal(x[:, 1:3], np.rint(x[:, 1:3]))
    np.testing.assert_array_equal(snapped[:, [0, 3]], u[:, [0, 3]])
    np.testing.assert_array_equal(space.from_unit(snapped), x)
    np.testing.assert_array_equal(grid.snap(snapped), snapped)  # a repeat is one to the last digit
    np.testing.assert_array_equal(
        space.from_unit(grid.shifted(snapped, np.array([0, 1, -1, 1])))[0, 1], x[0, 1] + 1
    )
    assert Problem({"k": MIXED["k"], "x": (0, 1)}).space.grid is None


def test_slope_of_the_scales_is_that_of_finite_differences():
    space = Problem({"k": Variable(1e-4, 10.0, log=True), "x": (-3.0, 5.0)}).space
    u, h = np.array([0.3, 0.6]), 1e-6
    numeric = [
        (space.from_unit(u + h * e) - space.from_unit(u - h * e))[i] / (2 * h)
        for i, e in enumerate(np.eye(2))
    ]
    np.testing.assert_allclose(space.slope(u), numeric, rtol=1e-8)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Variable(0, 1, log=True), "above 0"),
        (lambda: Variable(-1, 1, log=True), "above 0"),
        (lambda: Variable(0.5, 3, integer=True), "whole bounds"),
        (lambda: Variable(2, 1), "low <= high"),
        (lambda: Variable("a", 1), "two numbers"),
        (lambda: Variable(1, 2, log="yes"), "True or False"),
        (lambda: Variable(1, float("inf")), "finite"),
        (lambda: Problem({"metal": ["steel", "wood"]}), "one run per value: results = {value: lcbo.minimize"),
    ],
)
def test_what_is_no_variable_is_refused(wrong, message):
    with pytest.raises(ArgumentError, match=message):
        wrong()


def test_kinds_are_described_shown_and_rebuilt():
    problem = Problem(MIXED, fun=lambda values: float(sum(values.values())), named=True)
    assert problem.kinds == ("log", "integer", "log integer", "")
    assert "4 variables (1 log, 1 integer, 1 log integer)" in repr(problem)
    described = describe_problem(problem)
    assert described["variables"]["n"] == [1.0, 99.0, "integer"]
    assert described["variables"]["x"] == [-1.0, 1.0]
    assert describe_problem(plain_problem(described)) == described


def test_named_function_gets_integers():
    seen = {}
    problem = Problem(MIXED, fun=lambda values: seen.update(values) or 0.0, named=True)
    problem.evaluate(problem.space.middle)
    assert {name: type(value) for name, value in seen.items()} == {"k": float, "n": int, "m": int, "x": float}


@pytest.mark.parametrize("method", ["lcbo", "lcbo-paper", "cei", "scbo", "cobyqa", "slsqp", "sobol"])
def test_every_method_evaluates_whole_numbers_and_knows_it(method, tmp_path):
    bounds = {"n": Variable(0, 20, integer=True), "k": Variable(1e-3, 1.0, log=True)}
    fun = lambda x: {"f": (x[0] - 7.3) ** 2 + np.log10(x[1] / 0.02) ** 2}  # noqa: E731
    problem = Problem(bounds, objective="f", fun=fun, deterministic=True)
    file = tmp_path / "run.db"
    options = {"scbo": {"n_candidates": 64}, "cei": {"fit_every": 8}}.get(method)
    with lcbo.Optimizer(problem, method, budget=16, store=file, options=options) as optimizer:
        while batch := optimizer.ask():
            for candidate in batch:
                assert candidate.x[0] == np.rint(candidate.x[0])
                np.testing.assert_array_equal(candidate.u, problem.space.grid.snap(candidate.u))
                optimizer.tell(candidate.id, problem.evaluate(candidate.x))
        assert optimizer.n_ended == 16
    again = lcbo.open_run(file)
    assert again.problem.kinds == ("integer", "log")
    other = Problem({**bounds, "n": (0, 20)}, objective="f", fun=fun, deterministic=True)
    with pytest.raises(lcbo.StoreError, match="integer"):
        lcbo.Optimizer.open(file, other)


def test_slopes_at_the_answer_follow_the_chain_rule():
    bounds = {"k": Variable(1e-4, 1.0, log=True), "x": (0.0, 4.0)}
    problem = Problem(bounds, objective="f", deterministic=True)
    optimizer = lcbo.Optimizer(problem, budget=30, rng=1, n_init=25)
    for candidate in optimizer.ask():
        k, x = candidate.x
        optimizer.tell(candidate.id, {"f": 3.0 * np.log(k) + 2.0 * x})
    optimizer.ask()
    at = np.array([0.01, 2.0])
    found = explain(optimizer.log, optimizer.belief(at)).sensitivities
    np.testing.assert_allclose(found.slopes[0], [3.0 / 0.01, 2.0], rtol=1e-3)
    np.testing.assert_allclose(found.changes()[0][0], [0.03 * np.log(1e4), 0.08], rtol=1e-3)


def test_log_scale_finds_what_is_spread_over_decades():
    def fun(x):
        return {"f": float(np.square(np.log10(x) + 4.0).sum())}

    within = {}
    for log in (True, False):
        bounds = [Variable(1e-6, 1.0, log=log)] * 5
        result = lcbo.minimize(fun, bounds, (), "f", budget=60, rng=0, deterministic=True)
        within[log] = bool(np.all(np.abs(result.x / 1e-4 - 1.0) <= 0.05))
    assert within == {True: True, False: False}


FILE = """
objective = "f"
deterministic = true
[variables]
n = { low = 1, high = 9, integer = true }
k = { low = 1e-6, high = 1, log = true, count = 2 }
x = [0, 1]
[command]
run = "echo {{ n }} {{ k1 }} {{ k2 }} {{ x }}"
patterns = { f = '^(\\d+) ' }
"""


def test_problem_file_report_and_status_know_the_kinds(tmp_path):
    (tmp_path / "design.toml").write_text(FILE)
    problem = read_problem_file(tmp_path / "design.toml").problem
    assert problem.kinds == ("integer", "log", "log", "")
    assert summary(problem) == "minimize f over 4 variables (1 integer, 2 log)"
    point = problem.space.middle
    assert problem.evaluate(point) == {"f": 5.0}  # and no decimal point
    assert design(problem, point).columns[-1].header == "kind"
    with lcbo.Optimizer(problem, "sobol", budget=3, store=tmp_path / "run.db") as optimizer:
        for candidate in optimizer.ask(3):
            optimizer.tell(candidate.id, {"f": candidate.x[0]})
    page = report(lcbo.open_run(tmp_path / "run.db"))
    assert "<td>log</td>" in page
    assert "4 (1 integer, 2 log)" in page
    (tmp_path / "wrong.toml").write_text(FILE.replace("1e-6", "0"))
    with pytest.raises(ArgumentError, match=r"\[variables\] k: expected bounds above 0"):
        read_problem_file(tmp_path / "wrong.toml")
