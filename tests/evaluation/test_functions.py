"""Functions of many points, by name, and in Python files."""

from functools import cache

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, OutcomeError, Problem
from lcbo.evaluation.python_file import FileFunction
from lcbo.problem.sources import describe_problem, rebuild_problem

BOX = {"width": (0.1, 1.0), "height": (0.1, 1.0), "gauge": (5.0, 5.0)}
MODEL = """
from helper import stress

def simulate(x):
    return {"mass": x["width"] * x["height"], "stress": stress(x)}

class Simulator:
    def __call__(self, X):
        return X[:, 0] * X[:, 1], 6.0 / (X[:, :1] * X[:, 1:2] ** 2)

simulator = Simulator()
"""


def one(x):
    return {"mass": x[0] * x[1], "stress": 6.0 / (x[0] * x[1] ** 2)}


def run(fun, **arguments):
    given = {"budget": 24, "deterministic": True, "rng": 3} | arguments
    return lcbo.minimize(fun, BOX, ["stress <= 40"], "mass", **given)


@cache
def one_by_one():
    return run(one)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "helper.py").write_text('def stress(x):\n    return 6.0 / (x["width"] * x["height"] ** 2)\n')
    return tmp_path


@pytest.mark.parametrize(
    "returns",
    [
        lambda f, c: {"mass": f, "stress": c, "unused": list(c)},
        lambda f, c: (f, c[:, None]),
        lambda f, c: [{"mass": a, "stress": b} for a, b in zip(f, c, strict=True)],
        lambda f, c: [(a, [b]) for a, b in zip(f, c, strict=True)],
    ],
)
def test_batch_is_one_call_and_gives_the_same_run(returns):
    calls = []

    def many(X):
        calls.append(len(X))
        return returns(X[:, 0] * X[:, 1], 6.0 / (X[:, 0] * X[:, 1] ** 2))

    result, expected = run(many, vectorized=True), one_by_one()
    np.testing.assert_array_equal(result.history.X, expected.history.X)
    assert result.fun == expected.fun
    assert sum(calls) == 24
    assert calls[0] == 6  # the design
    assert len(calls) < 12


def test_rows_fail_by_themselves_and_an_exception_fails_the_batch():
    def many(X):
        if len(X) == 6:
            mass = X[:, 0].copy()
            mass[2] = np.nan
            return {"mass": mass, "stress": X[:, 1]}
        raise RuntimeError("no licence")

    result = run(many, vectorized=True, budget=12, n_init=6, max_failure_rate=1.0)
    reasons = result.history.failed.tolist()
    assert reasons[2] == "outcome 'mass' is nan"
    assert reasons[:2] == ["", ""]
    assert set(reasons[6:]) == {"RuntimeError: no licence"}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"mass": 1.0, "stress": 2.0}, "outcome 'mass': expected 6 values, one per point; got float"),
        ({"mass": [1.0] * 5, "stress": [2.0] * 6}, "outcome 'mass': expected 6 values, one per point; got 5"),
        (([1.0] * 6, 3.0), "c: expected 6 values, one per point; got float"),
        (None, "fun: expected 6 values, one per point; got NoneType"),
    ],
)
def test_wrong_number_of_values_is_named(returned, message):
    with pytest.raises(OutcomeError, match=message):
        run(lambda _: returned, vectorized=True)


def test_vectorized_refuses_what_takes_one_point(tmp_path):
    with pytest.raises(ArgumentError, match="workers: expected no workers, slots and timeout"):
        run(one, vectorized=True, workers=2)
    with pytest.raises(ArgumentError, match="vectorized: expected False beside a Command"):
        Problem(BOX, [], "f", fun=lcbo.Command("echo", folder=tmp_path), vectorized=True)
    with pytest.raises(ArgumentError, match="vectorized: expected True or False"):
        run(one, vectorized="yes")


def test_points_go_in_by_name():
    seen = []

    def fun(x):
        seen.append(x)
        return one([x["width"], x["height"]])

    result = run(fun, named=True, x0={"width": 0.5, "height": 0.75})
    assert seen[0] == {"width": 0.5, "height": 0.75, "gauge": 5.0}
    assert all(type(value) is float for value in seen[0].values())
    np.testing.assert_array_equal(result.history.X, run(one, x0=[0.5, 0.75, 5.0]).history.X)
    many = run(lambda x: {"mass": x["width"], "stress": x["height"]}, named=True, vectorized=True)
    assert many.nfev == 24
    two = Problem(BOX, [], "f")
    points = [{"width": 0.5, "height": 0.75}, {"height": 0.25, "width": 0.5, "gauge": 5.0}]
    first, second = lcbo.Optimizer(two, "sobol", x0=points, n_init=2).ask()
    assert (first.x.tolist(), second.x.tolist()) == ([0.5, 0.75, 5.0], [0.5, 0.25, 5.0])


@pytest.mark.parametrize(
    ("x0", "message"),
    [
        ({"width": 0.5}, r"x0: expected a value for each of width, height, gauge; got \['height'\]"),
        ({"width": 0.5, "height": 0.5, "depth": 1}, r"got \['depth'\]"),
        ({"width": 0.5, "height": "0.5"}, "x0: expected points of 3 numbers"),
        ([{"width": 0.5, "height": 0.5}, [0.5, 0.5, 5]], "x0: expected a mapping"),
    ],
)
def test_points_by_wrong_names_are_refused(x0, message):
    with pytest.raises(ArgumentError, match=message):
        run(one, x0=x0)


def test_function_of_a_file_is_executed_only_when_it_is_called(folder):
    (folder / "model.py").write_text(MODEL + "open('executed', 'w').close()\n")
    fun = FileFunction("model.py:simulate", str(folder), named=True)
    problem = Problem(BOX, ["stress <= 40"], "mass", fun=fun, named=True)
    again = rebuild_problem(describe_problem(problem), problem.source)
    assert not (folder / "executed").exists()
    assert again.fun is not None


@pytest.mark.parametrize("workers", [None, 1])
def test_function_of_a_file_evaluates_here_and_in_workers(folder, workers):
    fun = FileFunction("model.py:simulate", str(folder), named=True)
    problem = Problem(BOX, ["stress <= 40"], "mass", fun=fun, named=True)
    result = lcbo.minimize(problem, budget=8, method="sobol", workers=workers)
    assert result.nfail == 0
    assert result.fun == pytest.approx(result.x[0] * result.x[1])


def test_objects_of_a_file_may_be_functions_too(folder):
    fun = FileFunction("model.py:simulator", str(folder), vectorized=True)
    problem = Problem(BOX, ["stress <= 40"], "mass", fun=fun, vectorized=True)
    assert problem.evaluate(np.array([0.5, 0.5, 5.0])) == one([0.5, 0.5])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("model.py", "'model.py:simulate'"),
        ("model.txt:simulate", "'model.py:simulate'"),
        (3, "'model.py:simulate'"),
        ("other.py:simulate", "a Python file that can be read"),
        ("model.py:simulat", "a function of model.py: simulate, Simulator; got 'simulat'"),
    ],
)
def test_function_that_is_not_there_is_named(folder, function, message):
    with pytest.raises(ArgumentError, match="^function: .*" + message):
        FileFunction(function, str(folder))


class TestSeeds:
    def seeds(self, wrap=lambda f: f, **arguments):
        """The seeds of a run by id, and the iteration every id belongs to."""
        seen = {}

        def fun(x, seed):
            for point, each in zip(np.atleast_2d(x), np.atleast_1d(seed), strict=True):
                seen[tuple(point)] = int(each)
            many = np.atleast_2d(x)
            return {"mass": many[:, 0], "stress": many[:, 1]} if x.ndim == 2 else one(x)

        small = {} if "method" in arguments else {"method": "scbo", "options": {"n_candidates": 64}}
        result = run(wrap(fun), **(small | {"budget": 10, "n_init": 4} | arguments))
        return [seen[tuple(x)] for x in result.history.X], result.history.iteration.tolist()

    def test_every_evaluation_has_its_own_and_a_run_repeats_them(self):
        first, _ = self.seeds()
        assert len(set(first)) == len(first) == 10
        assert self.seeds()[0] == first
        assert not set(self.seeds(rng=4)[0]) & set(first)

    def test_common_ones_are_equal_within_a_batch_only(self):
        seeds, iterations = self.seeds(common_random_numbers=True)
        assert len(set(seeds)) == len(set(iterations)) > 2
        assert len(set(zip(seeds, iterations, strict=True))) == len(set(iterations))

    def test_vectorized_functions_get_one_per_point(self):
        assert len(set(self.seeds(vectorized=True)[0])) == 10

    def test_resumed_run_goes_on_with_the_same_seeds(self, tmp_path):
        whole, _ = self.seeds(method="sobol")
        given = {"method": "sobol", "store": tmp_path / "run.db"}
        seen = self.seeds(budget=10, **given, callback=stop_after(4))[0]
        assert seen == whole[:4]
        seen = {}

        def fun(x, *, seed):
            seen[tuple(x)] = seed
            return one(x)

        result = run(fun, budget=10, n_init=4, **given)
        assert [seen[tuple(x)] for x in result.history.X[4:]] == whole[4:]

    def test_commands_and_files_get_one_too(self, tmp_path):
        echo = """echo '{"mass": '$LCBO_SEED', "stress": 1}'"""
        command = lcbo.Command(echo, folder=tmp_path, parameters="p.json")
        result = run(command, method="sobol", budget=3)
        problem = Problem(BOX, ["stress <= 40"], "mass")
        optimizer = lcbo.Optimizer(problem, "sobol", budget=3, rng=3)
        expected = [optimizer.evaluation_seed(c) for c in optimizer.ask(3)]
        assert result.history.outcomes["mass"].tolist() == expected
        (tmp_path / "drawn.py").write_text("def f(x, seed):\n    return {'mass': seed, 'stress': 1}\n")
        result = run(FileFunction("drawn.py:f", str(tmp_path)), method="sobol", budget=3)
        assert result.history.outcomes["mass"].tolist() == expected


def stop_after(n):
    def callback(snapshot):
        if snapshot.nfev == n:
            raise StopIteration

    return callback
