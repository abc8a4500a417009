import functools
import json
import math
import subprocess
import sys
import textwrap
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
import torch
from scipy.stats import norm

import lcbo
from lcbo import Constraint, Objective, Problem, StoreError
from lcbo.methods import registry
from lcbo.methods.protocol import Setup
from lcbo.optimizer.plan import describe as plan
from lcbo.optimizer.plan.describe import (
    describe_run,
    describe_value,
    differences,
    fingerprint,
    rebuild_value,
    renamed_options,
)
from lcbo.problem.sources import describe_problem, plain_problem, rebuild_problem
from lcbo.problems.registry import from_source
from lcbo.steps.schedules import Growth, Power
from lcbo.terms import Terms


def through_json(value):
    return json.loads(json.dumps(value))


def described(**changes):
    given = {
        "problem": Problem({"a": (0, 1), "b": (-2, 2)}, ["c <= 0.5", "0 <= d <= 1"], "f", noise=0.1),
        "method": "lcbo",
        "options": {"eta": Power(1.0, 0.5), "delta": 0.1},
        "x0": np.array([[0.5, 1.0]]),
        "n_init": 3,
        "data": [(np.array([0.25, 0.0]), {"f": 1.0, "c": 2.0})],
    }
    given.update(changes)
    return describe_run(**given)


class TestProblem:
    @pytest.mark.parametrize("name", lcbo.problems.names())
    def test_every_benchmark_and_its_noisy_view_come_back(self, name):
        try:
            problem = lcbo.problems.make(name)
        except ImportError as error:
            pytest.skip(str(error))
        for kind in (problem, problem.noisy(rng=3, sd=0.2)):
            facts = through_json({"problem": describe_problem(kind), "source": describe_value(kind.source)})
            again = rebuild_problem(facts["problem"], facts["source"])
            assert type(again) is type(kind)
            assert not differences(facts["problem"], through_json(describe_problem(again)))
            plain = plain_problem(facts["problem"])
            assert plain.fun is None
            assert not differences(facts["problem"], through_json(describe_problem(plain)))
            assert plain.terms == kind.terms
            assert plain.noise_var == kind.noise_var
            assert plain.bounds.tobytes() == kind.bounds.tobytes()

    @pytest.mark.parametrize("name", ["truss25", "gp_sample", "g07", "speed_reducer", "eq_sphere"])
    def test_rebuilt_function_gives_the_same_values(self, name):
        problem = lcbo.problems.make(name)
        x = problem.space.from_unit(np.random.default_rng(0).random(problem.space.dim))
        again = from_source(through_json(describe_value(problem.source)), {})
        assert again.evaluate(x) == problem.evaluate(x)
        noisy = problem.noisy(rng=4)
        noisy.continue_after(7)
        noisy_again = from_source(through_json(describe_value(noisy.source)), {})
        noisy_again.continue_after(7)
        assert noisy_again.evaluate(x) == noisy.evaluate(x)

    def test_variant_is_part_of_the_recipe(self):
        problem = lcbo.problems.make("gp_sample", d=np.int64(4), seed=7)
        again = from_source(through_json(describe_value(problem.source)), {})
        x = np.full(4, 0.3)
        assert again.evaluate(x) == problem.evaluate(x)

    def test_benchmark_that_has_changed_since_is_read_without_its_function(self):
        problem = lcbo.problems.make("hs71")
        facts = {"problem": through_json(describe_problem(problem)), "source": problem.source}
        facts["problem"]["variables"]["x1"] = [0.0, 9.0]
        again = rebuild_problem(facts["problem"], facts["source"])
        assert again.fun is None
        assert again.bounds[0].tolist() == [0.0, 9.0]

    @pytest.mark.parametrize("source", [None, {"name": "none of ours", "variant": {}}, {"evaluation": {}}])
    def test_unknown_recipe_leaves_the_problem_without_a_function(self, source):
        facts = {"problem": describe_problem(Problem([(0, 1)])), "source": source}
        assert rebuild_problem(facts["problem"], source).fun is None

    def test_own_problem_comes_back(self):
        problem = Problem(
            {"width (mm)": (1e-3, 5), "fixed": (7, 7)},
            [Constraint("h", eq=0.1, tol=1e-3), "0 <= y <= 3", "z >= -1e300"],
            Objective("power", maximize=True),
            noise={"y": 0.25, "power": 0.0},
        )
        again = plain_problem(through_json(describe_problem(problem)), fun=abs)
        assert again.variables == problem.variables
        assert again.bounds.tobytes() == problem.bounds.tobytes()
        assert again.constraints == problem.constraints
        assert again.objective == problem.objective
        assert again.noise == problem.noise
        assert again.fun is abs
        assert fingerprint(describe_problem(again)) == fingerprint(describe_problem(problem))


class TestValues:
    @pytest.mark.parametrize(
        ("value", "rebuilt"),
        [
            (0.1, 0.1),
            (True, True),
            (None, None),
            ("auto", "auto"),
            (math.inf, math.inf),
            ((0.1, 0.02, 0.5), [0.1, 0.02, 0.5]),
            (np.float32(0.5), 0.5),
            (np.int64(3), 3),
            (np.bool_(True), True),
            (np.array([[1.0, 2.0]]), [[1.0, 2.0]]),
            (torch.tensor([0.25, 4.0], dtype=torch.float64), [0.25, 4.0]),
            (Power(10.0, 0.25), Power(10.0, 0.25)),
            (Growth(1.0, 2.0, 0.5), Growth(1.0, 2.0, 0.5)),
            ({"b": {"rate": 1.0}, "function": "linear"}, {"b": {"rate": 1.0}, "function": "linear"}),
        ],
        ids=repr,
    )
    def test_value_comes_back(self, value, rebuilt):
        assert rebuild_value(through_json(describe_value(value))) == rebuilt

    @pytest.mark.parametrize("method", registry.names())
    def test_every_default_of_every_method_comes_back(self, method):
        defaults = registry.spec(method).options
        again = rebuild_value(through_json(describe_value(defaults)))
        assert {k: list(v) if isinstance(v, tuple) else v for k, v in defaults.items()} == again

    def test_order_of_options_does_not_matter(self):
        one, other = describe_value({"a": 1, "b": 2}), describe_value({"b": 2, "a": 1})
        assert differences(one, other) == []
        assert fingerprint(one) == fingerprint(other)

    def test_python_code_cannot_be_rebuilt(self):
        class Thing:
            pass

        for value in (lambda k: k, math.sqrt, functools.partial(pow, 2), Thing(), {1, 2}):
            with pytest.raises(StoreError, match="Python code, which a run file does not hold; go on with"):
                rebuild_value(through_json(describe_value({"eta": value})))


class TestFunctions:
    def same(self, one, other):
        return describe_value(one) == describe_value(other)

    def test_same_code_is_the_same(self):
        def make():
            return lambda k: [0.5 / (k + j) for j in range(3) if j in {"a", "b", 1}]

        assert self.same(make(), make())

    def test_other_code_constants_and_values_differ(self):
        def power(exponent):
            return lambda k, scale=1.0: scale * k**exponent

        def scaled(scale):
            return lambda k, scale=scale: scale * k

        assert not self.same(lambda k: k + 1, lambda k: k + 2)
        assert not self.same(lambda k: k + 1, lambda k: k * 1)
        assert not self.same(lambda k: [k for _ in "ab"], lambda k: [k for _ in "abc"])
        assert not self.same(power(2), power(3))
        assert not self.same(scaled(2), scaled(3))
        assert not self.same(functools.partial(pow, 2), functools.partial(pow, 3))
        assert not self.same(math.sqrt, math.exp)

    def test_callable_objects_are_told_apart_by_their_values(self):
        class Decay:
            def __init__(self, rate):
                self.rate, self.other = rate, object()

            def __call__(self, k):
                return self.rate / k

        assert self.same(Decay(2), Decay(2))
        assert not self.same(Decay(2), Decay(3))

    def test_digest_is_the_same_in_another_process(self):
        code = """
        import json, sys
        from lcbo.optimizer.plan.describe import describe_value
        f = lambda k: [(lambda j: j + k)(i) for i in range(3) if i in {"x", "y", "z", 2}]
        sys.stdout.write(json.dumps(describe_value(f)))
        """
        answers = {
            subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code)],
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in "12"
        }
        assert len(answers) == 1


class TestOldOptions:
    def test_british_names_are_read(self):
        stored = {"standardise": True, "step": "linearised"}
        assert renamed_options(stored, "lcbo") == {"standardize": True, "step": "linearized"}

    @pytest.mark.parametrize("margin", [0.0, 1.0, 2.5, 40.0])
    def test_margin_of_old_runs_is_a_probability(self, margin):
        """One standard deviation of the normal distribution is kept with a probability of 0.841."""
        (landing,) = renamed_options({"margin": margin}, "lcbo").values()
        assert landing == pytest.approx(norm.cdf(margin), abs=1e-8)
        registry.make("lcbo", Setup(2, 1, Terms(), (None,), 9, 2, np.zeros((0, 2)), 0), {"landing": landing})

    def test_margin_of_another_method_is_its_own(self):
        assert renamed_options({"margin": 0.5}, "slsqp") == {"margin": 0.5}


class TestDifferences:
    def test_equal_runs_have_none(self):
        assert differences(described(), described()) == []

    def test_every_difference_is_named(self):
        changed = described(
            problem=Problem(
                {"a": (0, 2), "e": (-2, 2)}, ["c <= 0.75", "0 <= d"], Objective("f", maximize=True)
            ),
            method="lcbo-paper",
            options={"eta": Power(2.0, 0.5), "landing": 0.25},
            x0=None,
            n_init=4,
            data=[(np.array([0.25, 0.5]), {"f": 1.0, "c": 2.5})],
        )
        assert differences(described(), changed) == [
            "problem.variables.a: the run has [0.0, 1.0]; now it is [0.0, 2.0]",
            "problem.variables.b: the run has [-2.0, 2.0]; now there is none",
            "problem.variables.e: the run has none; now it is [-2.0, 2.0]",
            "problem.objective.maximize: the run has false; now it is true",
            "problem.constraints: "
            'the run has [{"name": "c", "ub": 0.5}, {"name": "d", "lb": 0.0, "ub": 1.0}]; '
            'now it is [{"name": "c", "ub": 0.75}, {"name": "d", "lb": 0.0}]',
            "problem.noise.c: the run has 0.1; now there is none",
            "problem.noise.d: the run has 0.1; now there is none",
            "problem.noise.f: the run has 0.1; now there is none",
            'method: the run has "lcbo"; now it is "lcbo-paper"',
            "options.delta: the run has 0.1; now there is none",
            "options.eta.Power: the run has [1.0, 0.5]; now it is [2.0, 0.5]",
            "options.landing: the run has none; now it is 0.25",
            "x0: the run has [[0.5, 1.0]]; now it is null",
            "n_init: the run has 3; now it is 4",
            'data: the run has [[[0.25, 0.0], {"c": 2.0, "f": 1.0}]]; '
            'now it is [[[0.25, 0.5], {"c": 2.5, "f": 1.0}]]',
        ]

    def test_order_of_variables_matters(self):
        bounds = {"a": (0, 1), "b": (0, 1)}
        swapped = dict(reversed(bounds.items()))
        lines = differences(describe_problem(Problem(bounds)), describe_problem(Problem(swapped)))
        assert lines == ['variables: the run has the order ["a", "b"]; now it is ["b", "a"]']

    def test_long_lists_are_compared_entry_by_entry(self):
        x = np.linspace(0, 1, 30)
        y = x.copy()
        y[7] = 0.5
        lines = differences([x.tolist()], [y.tolist()], "x0")
        assert lines == [f"x0[0][7]: the run has {x[7]}; now it is 0.5"]
        lines = differences(x.tolist(), [*x.tolist(), 2.0], "x0")
        assert lines == ["x0[30]: the run has none; now it is 2.0"]
        lines = differences([f"constraint {i}" for i in range(9)], [f"constraint {i}" for i in range(8)], "c")
        assert lines == ['c[8]: the run has "constraint 8"; now there is none']
        lines = differences([[x.tolist(), {"f": 1.0}]] * 9, [], "data")
        assert lines == ["data: the run has 9 entries; now there are 0, and 9 differ"]

    def test_long_values_are_cut(self):
        (line,) = differences({"a": "x" * 500}, {"a": "y" * 500})
        assert len(line) < 250


def test_a_package_that_is_not_installed_has_no_version_but_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the library runs from a source tree."""

    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(plan, "version", missing)
    plan._version.cache_clear()
    try:
        assert plan.versions()["lcbo"] == "not installed"
    finally:
        plan._version.cache_clear()
