"""Wrong input to `lcbo.minimize` gets an error that names the argument, what was expected and what came."""

import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import lcbo
from lcbo import ArgumentError, FunctionError, OutcomeError, TooManyFailuresError

BOX = [(0.0, 1.0)] * 3


def simulate(x: np.ndarray) -> dict[str, float]:
    return {"f": float(x @ x), "c": float(0.2 - x[0])}


def run(fun: Any = simulate, **arguments: Any) -> lcbo.Result:
    defaults = {"bounds": BOX, "constraints": ["c <= 0"], "objective": "f", "budget": 12}
    return lcbo.minimize(fun, **(defaults | arguments))


@pytest.mark.parametrize(
    ("arguments", "argument", "expected", "got"),
    [
        ({"bounds": [(0, 1), (3, 2)]}, "bounds of 'x2'", "low <= high", "(3.0, 2.0)"),
        ({"bounds": {"A1": (0, 1), "A2": (3, 2)}}, "bounds of 'A2'", "low <= high", "(3.0, 2.0)"),
        ({"bounds": Bounds([0, 2], [1, 1])}, "bounds of 'x2'", "low <= high", "(2.0, 1.0)"),
        ({"bounds": [(0, np.inf)]}, "bounds of 'x1'", "finite", "inf"),
        ({"bounds": [(np.nan, 1)]}, "bounds of 'x1'", "finite", "nan"),
        ({"bounds": [(0, 1), (5, 5, 5)]}, "bounds of 'x2'", "(low, high)", "(5, 5, 5)"),
        ({"bounds": 7}, "bounds", "(low, high)", "int 7"),
        ({"bounds": [(2, 2), (3, 3)]}, "bounds", "low < high", "only fixed"),
        ({"bounds": [("red", "blue")]}, "bounds of 'x1'", "categorical", "('red', 'blue')"),
        ({"bounds": [["steel", "wood", "glass"]]}, "bounds of 'x1'", "categorical", "'glass'"),
        ({"bounds": [range(4)]}, "bounds of 'x1'", "integer", "range(0, 4)"),
        ({"bounds": [(0, 4, "int")]}, "bounds of 'x1'", "integer", "'int'"),
        ({"bounds": [(False, True)]}, "bounds of 'x1'", "integer", "(False, True)"),
        ({"x0": [0.5, 0.5]}, "x0", "3 numbers", "shape (1, 2)"),
        ({"x0": [0.5, 0.5, 1.5]}, "x0", "'x3' within [0, 1]", "1.5"),
        ({"x0": [0.5, 0.5, np.nan]}, "x0", "'x3' within [0, 1]", "nan"),
        ({"x0": ["a", "b", "c"]}, "x0", "3 numbers", "'a'"),
        ({"x0": np.zeros((13, 3))}, "x0", "at most budget=12", "13"),
        ({"n_init": 13}, "n_init", "at most budget=12", "13"),
        ({"n_init": 0}, "n_init", "at least 1", "0"),
        ({"noise": {"mass": 1.0}}, "noise", "['f', 'c']", "mass"),
        ({"noise": -1.0}, "noise of 'f'", "at least 0", "-1.0"),
        ({"data": [([0, 0, 0], {"mass": 1.0})]}, "data", "['f', 'c']", "mass"),
        ({"data": [([0, 0], {"f": 1.0})]}, "data", "3 numbers", "shape (1, 2)"),
        ({"constraints": ["c <= 0", "c <= 1"]}, "constraints", "once", "'c' twice"),
        ({"constraints": ["f <= 0"]}, "constraints", "other than the objective", "'f'"),
        ({"constraints": ["c == 0"]}, "constraints", "tol", "'c == 0'"),
        ({"constraints": ["c < < 0"]}, "constraints", "'stress <= 40000'", "'c < < 0'"),
        ({"constraints": [{"type": "ineq"}]}, "constraints", "NonlinearConstraint", "{'type': 'ineq'}"),
        (
            {"constraints": NonlinearConstraint(lambda x: x, 0, 0)},
            "NonlinearConstraint component 0",
            "tol=",
            "lb = ub = 0",
        ),
        ({"bounds": {"c": (0, 1), "b": (0, 1)}}, "bounds", "other than the outcomes'", "['c']"),
        ({"objective": 3}, "objective", "name", "int 3"),
        ({"budget": 0}, "budget", "at least 1", "0"),
        ({"budget": 10.5}, "budget", "integer", "10.5"),
        ({"method": "lcba"}, "method", "lcbo, lcbo-paper", "'lcba'"),
        ({"method": None}, "method", "the name of a method, or a MethodSpec", "None"),
        ({"method": 3}, "method", "the name of a method, or a MethodSpec", "3"),
        ({"method": ["lcbo"]}, "method", "the name of a method, or a MethodSpec", "['lcbo']"),
        ({"options": [1]}, "options", "a mapping from names to values", "[1]"),
        ({"options": "explore=3"}, "options", "a mapping from names to values", "'explore=3'"),
        ({"options": {1: 2}}, "options", "a mapping from names to values", "{1: 2}"),
        ({"callback": 3}, "callback", "a function", "3"),
        ({"device": None}, "device", "'cuda'", "None"),
        ({"device": 0}, "device", "'cuda'", "0"),
        ({"store": 3}, "store", "a path", "int"),
        ({"retries": -1}, "retries", "at least 0", "-1"),
        ({"retries": None}, "retries", "at least 0", "None"),
        ({"workers": "two"}, "workers", "1 to 4096 processes", "'two'"),
        ({"slots": 0}, "slots", "at least 1", "0"),
        ({"timeout": "soon"}, "timeout", "above 0", "'soon'"),
        ({"target": "low"}, "target", "a number", "'low'"),
        ({"kkt_tol": 0}, "kkt_tol", "above 0", "0"),
        ({"max_failure_rate": 2}, "max_failure_rate", "from 0 to 1", "2"),
        ({"budget": None}, "budget", "at least 1", "None"),
        ({"data": 3}, "data", "pairs", "int"),
        ({"options": {"explor": 3}}, "options", "explore", "explor"),
        ({"rng": "seed"}, "rng", "integer", "'seed'"),
        ({"time_limit": -1}, "time_limit", "above 0", "-1"),
        ({"bounds": [(0, 10**400)]}, "bounds of 'x1'", "(low, high)", "tuple (0, 10000"),
        ({"bounds": [(0, 10**9999)]}, "bounds of 'x1'", "(low, high)", "tuple <tuple>"),
        ({"bounds": [0.5, 0.5, 0.5]}, "bounds", "x0=", "3 numbers"),
        ({"budget": 2**63}, "budget", "at most 1000000000", "9223372036854775808"),
        ({"budget": 10**9999}, "budget", "at most", "<int>"),
        ({"n_init": 10**30}, "n_init", "at most 1000000", "1" + "0" * 30),
        ({"noise": 10**400}, "noise of 'f'", "finite number", "10000"),
        ({"target": 10**400}, "target", "a number", "10000"),
        ({"time_limit": 10**400}, "time_limit", "above 0", "10000"),
        ({"workers": 10**30}, "workers", "1 to 4096 processes", "1" + "0" * 30),
        ({"slots": 10**30, "workers": 1}, "slots", "at most", "1" + "0" * 30),
        ({"retries": 10**30}, "retries", "at most", "1" + "0" * 30),
        ({"x0": ["0.1"] * 3}, "x0", "3 numbers", "'0.1'"),
        ({"x0": [True, False, True]}, "x0", "3 numbers", "True"),
        ({"x0": [0.1, 0.1, 10**400]}, "x0", "3 numbers", "10000"),
        ({"deterministic": "no"}, "deterministic", "True or False", "'no'"),
        ({"callback": "no"}, "callback", "a function", "'no'"),
        ({"store": "a\0b"}, "store", "a path", "a\\x00b"),
        ({"store": ""}, "store", "a path", "''"),
        ({"method": "sobol", "device": "cuda"}, "device", "'cpu' with sobol, which has no model", "'cuda'"),
        ({"method": "scbo", "options": {"n_candidates": 10**30}}, "options, n_candidates", "at most", "1000"),
        ({"method": "cmaes", "options": {"popsize": 10**12}}, "options, popsize", "at most 1000000", "1000"),
        ({"options": {"noise_probes": 10**12}}, "options, noise_probes", "at most 1000000", "1000"),
        (
            {"options": {"explorer": "paper", "explorer_options": {"starts": 10**30}}},
            "options, explorer_options, starts",
            "at most 1000000",
            "1000",
        ),
        (
            {"method": "cei", "options": {"optimizer_options": {"steps": 10**30}}},
            "options, optimizer_options, steps",
            "at most 1000000",
            "1000",
        ),
        (
            {"options": {"hyperparameters": {"lengthscale": 1e-300}}},
            "options, hyperparameters, lengthscale",
            "from 1e-06 to 1e+06",
            "1e-300",
        ),
        (
            {"options": {"hyperparameters": {"noise_var": 1e308}}},
            "options, hyperparameters, noise_var",
            "0 or numbers from 1e-30 to 1e+30",
            "1e+308",
        ),
        ({"known": 3}, "known", "a list", "int 3"),
        ({"known": [3]}, "known", "LinearConstraint", "int 3"),
        ({"known": {"a": 1}}, "known", "a list", "dict"),
        ({"known": [{"a": 1}]}, "known", "LinearConstraint", "{'a': 1}"),
        ({"known": ["x1 + y <= 1"]}, "known", "variables out of x1, x2, x3", "'y' in"),
        ({"known": ["__import__('os').abort() <= 1"]}, "known", "nothing but arithmetic", "__import__"),
        ({"known": ["__import__('os')"]}, "known", "'x2 * x3 <= 40'", "__import__"),
        ({"known": ["print(x1) <= 1"]}, "known", "sqrt", "'print'"),
        ({"known": ["(" * 900 + "x1" + ")" * 900 + " <= 1"]}, "known", "a text such as", "((((("),
        ({"known": ["x1 < 1"]}, "known", "with <=, >= or ==", "'x1 < 1'"),
        ({"known": ["x1 = 1"]}, "known", "a text such as", "'x1 = 1'"),
        ({"known": ["x1 * x2 == 1"]}, "known", "not linear", "x1 * x2 == 1"),
        ({"known": ["1 <= 2"]}, "known", "a condition on the variables", "1 <= 2"),
        ({"known": ["x1 <= 9 ** 9 ** 9"]}, "known", "finite numbers", "9 ** 9"),
        ({"known": ["x1 + x2 >= 3"]}, "known", "some point within the bounds meets", "missed by at least 1"),
        ({"known": ["x1 * x2 >= 3"]}, "known", "none was found", "'x1 * x2 >= 3' missed by 2"),
        ({"known": ["sqrt(x1 - 2) >= 0"]}, "known", "none was found", "missed by inf"),
        ({"known": LinearConstraint([1, 1], 0, 1)}, "LinearConstraint", "3 columns", "shape (1, 2)"),
        ({"known": LinearConstraint([1, np.nan, 1], 0, 1)}, "LinearConstraint", "finite", "nan"),
        ({"known": LinearConstraint([1, 1, 1], np.nan, 1)}, "LinearConstraint", "numbers as lb", "nan"),
        ({"known": LinearConstraint([1, 1, 1], 2, 1)}, "LinearConstraint", "lb <= ub", "2 <= x1 + x2 + x3"),
        ({"known": lcbo.Known(lambda _: None)}, "known, <lambda>", "returns a number", "None"),
        ({"known": lcbo.Known(lambda: 0)}, "known, <lambda>", "a function of one point", "TypeError"),
        ({"known": lcbo.Known(lambda _: "no")}, "known, <lambda>", "returns a number", "'no'"),
        ({"known": "x1 <= 0.5", "x0": [0.75, 0, 0]}, "x0", "known conditions", "missed by 0.25 in point 0"),
        (
            {"options": {"repeats": lambda k: 1 / (1 - k)}},
            "options, repeats",
            "function of the",
            "ZeroDivision",
        ),
    ],
)
def test_wrong_argument_is_named(arguments: dict[str, Any], argument: str, expected: str, got: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        run(**arguments)
    error = caught.value
    assert error.argument == argument
    assert expected in error.expected
    assert got in str(error.got)
    assert str(error) == f"{error.argument}: expected {error.expected}; got {error.got}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3,), "Known: expected a function"),
        ((abs, "a"), "Known, ub: expected a finite number"),
        ((abs, np.inf), "Known, ub: expected a finite number"),
        ((abs, 0, 3), "Known, name: expected a text"),
    ],
)
def test_wrong_known_function_is_named(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        lcbo.Known(*arguments)


def test_points_in_the_place_scipy_has_them_are_answered_by_the_order() -> None:
    with pytest.raises(ArgumentError, match=r"bounds: expected minimize\(fun, bounds, .*x0=.*SciPy has x0"):
        lcbo.minimize(simulate, [0.5] * 3, bounds=BOX, budget=12)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["lcbo", "", "a b", "../x", 3, None])
def test_method_with_a_name_that_is_taken_or_none_is_refused(name: Any) -> None:
    spec = lcbo.MethodSpec(name, "mine", lambda *_: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(ArgumentError, match="^method"):
        run(method=spec)
    with pytest.raises(ArgumentError, match="^(method|spec)"):
        lcbo.register(spec)


def test_registered_method_may_be_given_by_its_entry() -> None:
    from lcbo.methods import registry

    assert run(method=registry.spec("sobol")).nfev == 12


@pytest.mark.parametrize("final", ["no", None, 1])
def test_final_is_true_or_false(final: Any) -> None:
    optimizer = lcbo.Optimizer(lcbo.Problem(BOX, [], "f"), "sobol")
    optimizer.ask()
    with pytest.raises(ArgumentError, match="final: expected True or False"):
        optimizer.tell(0, {"f": 1.0}, final=final)
    with pytest.raises(ArgumentError, match="^n: expected None or an integer from 1 to 1000000"):
        optimizer.ask(10**30)


@pytest.mark.parametrize("lengthscale", [1e-6, 1e6])
@pytest.mark.parametrize("method", ["lcbo", "cei", "scbo"])
def test_extreme_hyperparameters_make_a_model(method: str, lengthscale: float) -> None:
    extreme = {"lengthscale": lengthscale, "outputscale": 1e30, "noise_var": 1e-30, "mean": 1e30}
    small = {"scbo": {"n_candidates": 64}, "cei": {"optimizer_options": {"starts": 2, "steps": 5}}}
    options: dict[str, Any] = {"fit": "fixed", "hyperparameters": extreme, **small.get(method, {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lcbo.NumericalRescueWarning)
        assert run(method=method, options=options).nfev == 12


def test_schedules_that_come_down_to_zero_do_not_end_a_run() -> None:
    options = {"repeats": lambda k: float(k < 3), "explore": lambda k: float(k < 3)}
    result = run(options=options, budget=14)
    assert result.nfev == 14
    assert result.reason == "budget of 14 evaluations spent"


def test_vector_constraint_with_scalar_limits_broadcasts() -> None:
    seen: list[np.ndarray] = []

    def c(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return 0.2 - x

    problem = lcbo.Problem(BOX, NonlinearConstraint(c, -np.inf, 0.0), "f", fun=lambda x: float(x @ x))
    assert [str(constraint) for constraint in problem.constraints] == ["c0 <= 0", "c1 <= 0", "c2 <= 0"]
    np.testing.assert_array_equal(seen, [[0.5, 0.5, 0.5]])
    assert problem.evaluate(np.ones(3)) == {"f": 3.0, "c0": -0.8, "c1": -0.8, "c2": -0.8}
    stated = lcbo.Problem(BOX, NonlinearConstraint(c, [-np.inf] * 3, 0.0), "f")
    assert len(stated.constraints) == 3
    assert len(seen) == 2  # the middle and the evaluation; limits that say how many need no call

    def fails(x: np.ndarray) -> float:
        raise RuntimeError(str(x))

    assert len(lcbo.Problem(BOX, NonlinearConstraint(fails, -np.inf, 0.0), "f").constraints) == 1


def test_equality_without_tolerance_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'balance'.*tol=1e-3.*got tol=None"):
        run(constraints=[lcbo.Constraint("balance", eq=0.0)])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"fun: expected .*\['f', 'c'\].*got NoneType"),
        ("fast", r"fun: expected .*\['f', 'c'\].*got str 'fast'"),
        (1.0, r"fun: expected .*\(f, c\).*got float"),
        ([1.0, 2.0], r"fun: expected .*\(f, c\).*got list"),
        ((1.0, [1.0, 2.0]), "fun: expected .*1 values.*got 2 values"),
        ((1.0, []), "fun: expected .*1 values.*got 0 values"),
        ({"f": 1.0, "cc": 1.0}, r"fun: expected .*\['c'\] missing, got 'f', 'cc'"),
        ({"f": None, "c": 1.0}, "outcome 'f': expected a real number; got NoneType"),
        ({"f": "1.0", "c": 1.0}, "outcome 'f': expected a real number; got str"),
        ({"f": 1.0, "c": 1 + 2j}, "outcome 'c': expected a real number; got complex"),
        ({"f": 1.0, "c": np.array([1.0, 2.0])}, "outcome 'c': expected a real number; got ndarray"),
        ((np.complex128(1.0), [0.0]), "outcome 'f': expected a real number; got complex128"),
    ],
)
def test_wrong_return_is_named_at_the_first_evaluation(returned: Any, message: str) -> None:
    with pytest.raises(OutcomeError, match=message):
        run(lambda _: returned)


@pytest.mark.parametrize("returned", [(np.nan, [0.0]), {"f": 1.0, "c": np.inf}])
def test_function_that_is_never_finite_is_named(returned: Any) -> None:
    with pytest.raises(TooManyFailuresError, match="^fun: expected outcomes; all 10 .*outcome '(f|c)' is"):
        run(lambda _: returned)


@pytest.mark.parametrize("method", ["lcbo", "lcbo-paper"])
@pytest.mark.parametrize("broken", ["raise", None, "text", (1.0, []), (np.nan, [0.0]), (1j, [0.0])])
def test_failure_mid_run_loses_nothing(method: str, broken: Any) -> None:
    calls: list[np.ndarray] = []

    def fun(x: np.ndarray) -> Any:
        calls.append(x)
        if len(calls) % 4:
            return simulate(x)
        if broken == "raise":
            raise RuntimeError("solver diverged")
        return broken

    small = {"explorer_options": {"starts": 1, "steps": 2}} if method == "lcbo-paper" else {}
    result = run(fun, budget=24, method=method, options=small)
    assert len(calls) == result.nfev == 24
    assert result.nfail == 6
    np.testing.assert_array_equal(result.history.X, calls)
    assert np.isfinite(result.history.outcomes["f"]).sum() == 18


def test_too_many_failures_end_the_run_with_what_there_is() -> None:
    calls: list[np.ndarray] = []

    def fun(x: np.ndarray) -> dict[str, float]:
        calls.append(x)
        if len(calls) > 8:
            raise RuntimeError("licence expired")
        return simulate(x)

    result = run(fun, budget=100)
    assert result.nfev == 20
    assert "too many evaluations failed (12 of 20" in result.reason
    assert "licence expired" in result.message
    assert result.x is not None


@pytest.mark.parametrize(
    "constraints",
    [
        ["c >= 2", "c <= 1"],
        ["c >= 1", "c <= 1"],
        [lcbo.Constraint("c", lb=0.5), NonlinearConstraint(lambda x: x[0], 2, 3), "c <= 0.1"],
    ],
)
def test_limits_that_contradict_each_other_are_refused(constraints: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"^constraints: expected limits that leave .*got .*<= c and c <="
    ):
        run(constraints=constraints)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"lb": 3.0, "ub": 2.0}, r"'c': expected lb < ub .*got \[3, 2\]"),
        ({"eq": 3.0, "tol": 0.1, "ub": 2.0}, "'c': expected either eq with tol, or lb and ub; got both"),
        ({"eq": 3.0, "tol": 0.1, "lb": 1.0}, "'c': expected either eq with tol, or lb and ub; got both"),
    ],
)
def test_a_limit_that_contradicts_itself_is_refused(stated: dict[str, float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        lcbo.Constraint("c", **stated)


@pytest.mark.parametrize("limits", [["c == 3 +/- 0.1", "c <= 2"], ["c >= 4", "c == 3 +/- 0.1"]])
def test_a_value_outside_its_limits_is_refused(limits: list[str]) -> None:
    with pytest.raises(ArgumentError, match="^constraints: expected each outcome bounded once per side"):
        run(constraints=limits)


def test_scipys_limits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ArgumentError, match="lb < ub"):
        run(constraints=NonlinearConstraint(lambda x: x[0], 2, 1))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid", "ignore::lcbo.NumericalRescueWarning")
@pytest.mark.parametrize("method", ["lcbo", "sobol"])
@pytest.mark.parametrize("size", [1.7e308, 1e301, 1e299])
def test_outcomes_near_the_largest_number_never_succeed_with_nan(method: str, size: float) -> None:
    def fun(x: np.ndarray) -> dict[str, float]:
        huge = size * (1.0 if x[1] > 0.5 else -1.0)
        return {"f": huge if x[0] > 0.5 else float(x @ x), "c": huge if x[2] > 0.8 else -1.0}

    result = run(fun, budget=16, method=method, max_failure_rate=1.0)
    if result.success:
        assert np.isfinite(result.fun)
        assert np.isfinite(result.constr["c"])
    assert not np.isnan(result.pof)
    assert (result.nfail > 0) == (size > 1e300)


def test_only_outcomes_near_the_largest_number_end_the_run_as_failures() -> None:
    with pytest.raises(TooManyFailuresError, match=r"outcome 'f' is 1\.7e\+308"):
        run(lambda _: {"f": 1.7e308, "c": -1.0})


def missing_import(_: Any) -> Any:
    import a_package_that_is_not_there

    return a_package_that_is_not_there


def missing_program(_: Any) -> Any:
    return subprocess.run(["a-program-that-is-not-there"], check=True)


BROKEN = {
    "TypeError": lambda x: len(3) + x,
    "NameError": lambda x: undefined_name,  # noqa: F821, ARG005
    "AttributeError": lambda x: x.norm(),
    "ModuleNotFoundError": missing_import,
    "FileNotFoundError": missing_program,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_programming_error_in_the_first_evaluation_ends_the_run(kind: str, tmp_path: Path) -> None:
    calls = []

    def fun(x: np.ndarray) -> Any:
        calls.append(x)
        return BROKEN[kind](x)

    store = tmp_path / "run.db"
    with pytest.raises(FunctionError, match=f"^fun: the first evaluation .*: {kind}: ") as caught:
        run(fun, store=store)
    assert type(caught.value.__cause__).__name__ == kind
    assert "test_bad_input.py" in caught.value.trace
    assert "evaluate.py" not in caught.value.trace
    assert len(calls) == 1
    result = run(store=store)  # with a function that works: what was asked for is evaluated first
    np.testing.assert_array_equal(result.history.X[0], calls[0])
    assert result.nfev == 12
    assert result.nfail == 0


@pytest.mark.parametrize("kind", BROKEN)
def test_a_programming_error_later_is_a_failure_like_any_other(kind: str) -> None:
    calls: list[np.ndarray] = []

    def fun(x: np.ndarray) -> Any:
        calls.append(x)
        return BROKEN[kind](x) if len(calls) == 2 else simulate(x)

    result = run(fun)
    assert (result.nfev, result.nfail) == (12, 1)


def test_a_file_that_is_not_found_in_the_first_evaluation_is_a_failure() -> None:
    calls: list[np.ndarray] = []

    def fun(x: np.ndarray) -> Any:
        calls.append(x)
        return Path("no-output.txt").read_text() if len(calls) == 1 else simulate(x)

    assert run(fun).nfail == 1


def test_a_programming_error_in_a_worker_shows_the_workers_traceback() -> None:
    with pytest.raises(FunctionError, match="TypeError") as caught:
        run(lambda x: x + "text", workers=1)
    assert "test_bad_input.py" in caught.value.trace
    assert "In the worker:" in caught.value.__notes__[0]


def test_an_exception_in_a_callback_keeps_the_result() -> None:
    def callback(seen: lcbo.Snapshot) -> None:
        if seen.nfev == 7:
            raise KeyError("plot")

    with pytest.raises(KeyError, match="plot") as caught:
        run(callback=callback)
    result = caught.value.result  # type: ignore[attr-defined]
    assert result.nfev == 7
    assert result.x is not None
    assert result.reason == "the callback raised KeyError"
    assert "attribute `result`" in caught.value.__notes__[0]


def sampled() -> lcbo.Optimizer:
    """An optimizer that was told of one candidate and waits for another."""
    optimizer = lcbo.Optimizer(lcbo.Problem(BOX, ["c <= 0.1"], "f"), "sobol")
    one, _ = optimizer.ask(2)
    optimizer.tell(one.id, simulate(one.x), also={"mass": 2.0})
    return optimizer


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "amend: expected something to change; got nothing"),
        ({"limits": "c <= 0.1"}, "nothing that is not so already"),
        ({"correct": {99: {"f": 1.0}}}, "an evaluation that has ended; got 99"),
        ({"correct": {1: {"f": 1.0}}}, "got 1, which is pending"),
        ({"correct": {"7": {"f": 1.0}}}, "correct: expected the id of an evaluation that has ended; got '7'"),
        ({"correct": {True: {"f": 1.0}}}, "got True"),
        (
            {"correct": {0: {"g": 1.0}}},
            r"evaluation 0: expected names out of \['f', 'c', 'mass'\]; got \['g'\]",
        ),
        ({"correct": {0: {"f": "a"}}}, "outcome 'f': expected a real number; got str 'a'"),
        ({"correct": {0: {}}}, "outcomes by name"),
        ({"correct": {0: 3.0}}, "outcomes by name; got float 3.0"),
        ({"correct": [0]}, "correct: expected a mapping"),
        ({"withdraw": [99]}, "withdraw: expected the id of an evaluation of the run; got 99"),
        ({"withdraw": "7"}, "withdraw: expected ids"),
        ({"withdraw": [[0]]}, r"an evaluation of the run; got \[0\]"),
        ({"withdraw": None}, "withdraw: expected ids"),
        ({"withdraw": 0, "correct": {0: {"f": 1.0}}}, "not corrected at the same time"),
        ({"limits": "g <= 3"}, "a limit that there is, to be changed: c .constrain adds one.; got g <= 3"),
        ({"limits": "c >= 3"}, "a limit that there is, to be changed: c <= 0.1"),
        ({"limits": "c < < 3"}, "limits: expected a text such as"),
        ({"limits": "c <= nan"}, "limits"),
        ({"limits": "c <= inf"}, "finite"),
        ({"limits": 3}, "limits: expected constraints such as"),
        ({"limits": [3]}, "limits: expected constraints such as"),
        ({"constrain": "height <= 3"}, "an outcome that was recorded: f, c, mass; got 'height'"),
        ({"constrain": "f <= 3"}, "other than the objective"),
        ({"constrain": "c <= 3"}, "once per side"),
        ({"constrain": "c >= 3"}, "leave an outcome room"),
        ({"bounds": {"x9": (0, 1)}}, "bounds: expected variables out of"),
        ({"bounds": {"x1": (1, 0)}}, "bounds of 'x1': expected low <= high"),
        ({"bounds": {"x1": (0, np.inf)}}, "finite"),
        ({"bounds": {"x1": (np.nan, 1)}}, "finite"),
        ({"bounds": {"x1": 3}}, "two numbers; got int 3"),
        ({"bounds": [(0, 1)] * 3}, "bounds: expected a mapping"),
        ({"bounds": {"x1": (0.2, 0.3)}, "fix": {"x1": 0.25}}, "at the same time"),
        ({"fix": {"x1": 7.0}}, r"fix, 'x1': expected a number within its bounds \[0, 1\]; got 7.0"),
        ({"fix": {"x1": np.nan}}, "got nan"),
        ({"fix": {"x1": 0.5, "x2": 0.5, "x3": 0.5}}, "only fixed variables"),
        ({"fix": {"x9": 7.0}}, "fix: expected variables"),
        ({"fix": "x1"}, "fix: expected a mapping"),
        ({"withdraw": 0, "reason": 3}, "reason: expected a text"),
        ({"withdraw": 0, "dry_run": "no"}, "dry_run: expected True or False"),
    ],
)
def test_wrong_change_is_refused_and_changes_nothing(changes: dict[str, Any], message: str) -> None:
    optimizer = sampled()
    with pytest.raises(lcbo.LcboError, match=message):
        optimizer.amend(**changes)
    assert optimizer.amendments == []
    assert list(map(str, optimizer.problem.constraints)) == ["c <= 0.1"]


@pytest.mark.parametrize(
    ("also", "message"),
    [({"f": 1.0}, "other than those of the outcomes"), ({"m": "a"}, "a real number"), (3, "a mapping")],
)
def test_wrong_further_values_are_refused(also: Any, message: str) -> None:
    optimizer = sampled()
    [candidate] = optimizer.pending
    with pytest.raises(lcbo.LcboError, match=message):
        optimizer.tell(candidate.id, {"f": 1.0, "c": 0.0}, also=also)
    assert optimizer.pending == [candidate]
