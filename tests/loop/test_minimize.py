import os
import platform
import signal
import time

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Constraint, Objective, OutcomeError, Problem, TooManyFailuresError
from lcbo.loop.stopping import ALL_FAILED, MIN_EVALUATIONS
from lcbo.optimizer.log import Log

pytestmark = pytest.mark.usefixtures("uniform")

BOX = [(0.0, 1.0), (-2.0, 2.0)]


def simulate(x):
    return {"f": float(x @ x), "c": float(0.2 - x[0])}


def run(fun=simulate, **arguments):
    defaults = {
        "bounds": BOX,
        "constraints": ["c <= 0"],
        "objective": "f",
        "budget": 30,
        "deterministic": True,
        "method": "uniform",
    }
    return lcbo.minimize(fun, **(defaults | arguments))


def test_best_feasible_point_is_returned():
    result = run()
    history = result.history
    assert result.success
    assert result.nfev == len(history) == 30
    assert result.reason == "budget of 30 evaluations spent"
    assert result.fun == np.min(history.outcomes["f"][history.outcomes["c"] <= 0])
    assert result.fun == simulate(result.x)["f"]
    assert result.constr == {"c": simulate(result.x)["c"]}
    assert result.pof == 1.0


def test_positional_return_and_problem_give_the_same_run():
    named = run()
    positional = run(lambda x: (simulate(x)["f"], [simulate(x)["c"]]))
    problem = Problem(BOX, ["c <= 0"], "f", fun=simulate, deterministic=True)
    whole = lcbo.minimize(problem, budget=30, method="uniform")
    for other in (positional, whole):
        np.testing.assert_array_equal(named.history.X, other.history.X)
        assert other.fun == named.fun


def test_maximization_by_name():
    low = run()
    high = run(
        lambda x: simulate(x) | {"gain": -simulate(x)["f"]}, objective=Objective("gain", maximize=True)
    )
    assert high.fun == -low.fun
    np.testing.assert_array_equal(high.history.best_feasible, -low.history.best_feasible)


def test_nothing_feasible_gives_the_least_infeasible_point():
    result = run(constraints=["c <= -5"])
    assert not result.success
    assert result.pof == 0.0
    assert "least infeasible" in result.message
    assert result.constr["c"] == result.history.outcomes["c"].min()
    assert np.isnan(result.history.best_feasible).all()


def test_function_gets_a_copy_it_may_change():
    def spoils(x):
        value = simulate(x)
        x[:] = 99.0
        return value

    np.testing.assert_array_equal(run(spoils).history.X, run().history.X)


def test_fixed_variables_keep_their_value():
    result = run(lambda x: {"f": x.sum()}, bounds=[(0, 1), (3, 3)], constraints=[])
    assert set(result.history.X[:, 1]) == {3.0}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "NoneType"),
        ("text", "str"),
        (1.0, "float"),
        ((1.0, [1.0, 2.0]), "2 values"),
        ({"f": 1.0}, r"\['c'\] missing"),
        ({"f": 1.0, "c": 1j}, "complex"),
        ({"f": "1", "c": 1.0}, "outcome 'f'"),
    ],
)
def test_wrong_return_raises_at_the_first_evaluation(returned, message):
    calls = []
    with pytest.raises(OutcomeError, match=message):
        run(lambda x: calls.append(x) or returned)
    assert len(calls) == 1


@pytest.mark.parametrize("value", [{"f": np.nan, "c": 1.0}, (1.0, [np.nan])])
def test_function_that_always_returns_nan_raises(value):
    with pytest.raises(TooManyFailuresError, match="nan"):
        run(lambda _: value)


def test_function_that_always_raises_is_reported_with_its_cause():
    calls = []

    def broken(x):
        calls.append(x)
        raise ZeroDivisionError("mesh is empty")

    with pytest.raises(TooManyFailuresError, match=r"all 10 evaluations failed.*mesh is empty") as error:
        run(broken)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert len(calls) == ALL_FAILED
    with pytest.raises(TooManyFailuresError, match="all 4 evaluations failed"):
        run(broken, budget=4)


def failing(kind, when):
    calls = []

    def fun(x):
        calls.append(x)
        if not when(len(calls)):
            return simulate(x)
        if kind == "raise":
            raise RuntimeError("solver diverged")
        return {"nan": {"f": np.nan, "c": 1.0}, "none": None, "missing": {"f": 1.0}}[kind]

    return fun


@pytest.mark.parametrize("kind", ["raise", "nan", "none", "missing"])
def test_failures_mid_run_are_recorded_and_lose_nothing(kind):
    result = run(failing(kind, lambda n: n % 3 == 0))
    assert result.nfev == 30
    assert result.nfail == 10
    assert result.success
    assert np.sum(result.history.failed != "") == 10
    assert np.isnan(result.history.outcomes["f"]).sum() == 10


def test_too_many_failures_stop_the_run_with_what_there_is():
    result = run(failing("raise", lambda n: n > 5))
    assert result.nfev == MIN_EVALUATIONS
    assert "too many evaluations failed (15 of 20" in result.reason
    assert "solver diverged" in result.reason
    assert result.x is not None


def test_callback_sees_every_evaluation_and_may_stop():
    seen = []

    def callback(snapshot):
        seen.append(snapshot)
        if snapshot.nfev == 7:
            raise StopIteration

    result = run(callback=callback)
    assert [s.nfev for s in seen] == list(range(1, 8))
    assert result.nfev == 7
    assert result.reason == "stopped by the callback"
    assert seen[-1].fun == result.fun
    assert seen[-1].latest.id == 6


def test_interrupt_returns_the_best_so_far():
    def fun(x, calls=[]):  # noqa: B006  (counts its calls)
        calls.append(x)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return simulate(x)

    result = run(fun)
    assert result.nfev == 11
    assert result.reason == "interrupted"
    assert result.success


def test_interrupt_before_anything_is_known_is_passed_on():
    def fun(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(fun)


@pytest.fixture(params=["heard", "ignored"])
def interrupt(request):
    """Ctrl-C as a program in the foreground has it, and as a job in the background inherits it."""
    before = signal.getsignal(signal.SIGINT)
    handler = signal.default_int_handler if request.param == "heard" else signal.SIG_IGN
    signal.signal(signal.SIGINT, handler)
    yield handler
    signal.signal(signal.SIGINT, before)


def test_interrupt_waits_for_the_optimizer(uniform, monkeypatch, interrupt):
    """Ctrl-C in the middle of a tell takes effect after it."""

    def add(self, evaluation, original=Log.add):
        if evaluation.id == 11:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, evaluation)

    monkeypatch.setattr(Log, "add", add)
    result = run()
    assert result.reason == "interrupted"
    assert result.nfev == len(uniform[0].told) == 12
    assert signal.getsignal(signal.SIGINT) is interrupt


def test_retries_try_again_and_are_counted():
    tries, attempts = {}, []

    def fun(x):
        tries[x.tobytes()] = tries.get(x.tobytes(), 0) + 1
        if tries[x.tobytes()] < 3:
            raise RuntimeError("no licence")
        return simulate(x)

    def callback(snapshot):
        attempts.append(snapshot.latest.record.attempts)

    assert run(fun, retries=2, callback=callback).nfail == 0
    assert attempts == [3] * 30
    tries.clear()
    attempts.clear()
    with pytest.raises(TooManyFailuresError, match="no licence"):
        run(fun, retries=1, callback=callback)
    assert attempts == [2] * ALL_FAILED


def test_failure_rate_is_the_users_choice():
    assert run(failing("raise", lambda n: n > 5), max_failure_rate=1.0).nfail == 25
    assert run(failing("raise", lambda n: n % 5 == 0), max_failure_rate=0.1).nfev == MIN_EVALUATIONS


def test_a_design_that_mostly_fails_does_not_stop_a_run_that_learns_where():
    def crashes(x):
        if x[0] > 0.3:
            raise RuntimeError("diverged")
        return {"f": float(-x.sum()), "c": -1.0}

    failed = []
    for seed in range(3):
        result = run(crashes, bounds=[(0, 1)] * 3, n_init=20, budget=60, method="lcbo", rng=seed)
        failed.append(result.history.failed.astype(bool))
        assert result.nfev == 60
        assert result.fun < -1.8  # -2.3 is the best there is
    assert np.mean([each[:20] for each in failed]) > 0.5
    assert np.mean([each[20:] for each in failed]) < 0.4


def test_record_tells_how_an_evaluation_went():
    seen = []
    run(failing("raise", lambda n: n == 2), budget=4, callback=lambda s: seen.append(s.latest))
    assert "in fun" in seen[1].record.traceback
    assert [o.record.traceback for o in seen[2:]] == ["", ""]
    assert all(abs(o.record.started - time.time()) < 60 and o.record.seconds >= 0 for o in seen)
    assert {o.record.worker for o in seen} == {f"{platform.node()}:{os.getpid()}"}


def test_pending_candidates_come_first(tmp_path):
    """What an earlier process asked for and never told is evaluated before anything new."""
    points, store = [], tmp_path / "run.db"

    def fun(x):
        points.append(x)
        if len(points) == 8:
            raise KeyboardInterrupt
        return simulate(x)

    assert run(fun, store=store).nfev == 7
    assert run(fun, store=store).nfev == 30
    uninterrupted = run()
    np.testing.assert_array_equal(points[7], points[8])
    np.testing.assert_array_equal(points[:7] + points[8:], uninterrupted.history.X)


def test_time_limit_stops():
    result = run(lambda x: time.sleep(0.02) or simulate(x), budget=1000, time_limit=0.1)
    assert 1 <= result.nfev < 20
    assert result.reason == "time limit of 0.1 s reached"


def test_target_needs_a_feasible_point():
    result = run(target=0.9, budget=500)
    assert result.nfev < 500
    assert result.fun <= 0.9
    assert "target" in result.reason
    assert run(target=1e9, constraints=["c <= -5"]).nfev == 30
    gain = run(
        lambda x: {"f": -x @ x, "c": -1.0}, objective=Objective("f", maximize=True), target=-0.9, budget=500
    )
    assert -0.9 <= gain.fun <= 0


def test_kkt_tolerance_stops_at_a_stationary_point():
    def believe(_):
        return np.array([0.0, -1.0]), np.zeros(2), np.array([[1e-3, 0.0], [0.0, 0.0]])

    options = {"believe": believe, "recommend": np.full(2, 0.5)}
    assert "KKT" in run(kkt_tol=1e-5, options=options).reason
    assert "budget" in run(kkt_tol=1e-7, options=options).reason


def test_method_with_nothing_more_to_propose_ends_the_run():
    result = run(options={"stop_at": 2}, n_init=2)
    assert result.nfev == 5
    assert "nothing more" in result.reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fun": 3}, "^fun"),
        ({"bounds": None}, "^bounds"),
        ({"budget": None}, "^budget"),
        ({"time_limit": 0}, "^time_limit"),
        ({"time_limit": "1"}, "^time_limit"),
        ({"kkt_tol": -1.0}, "^kkt_tol"),
        ({"target": np.nan}, "^target"),
        ({"target": "low"}, "^target"),
        ({"n_init": 31}, "^n_init"),
        ({"x0": [5.0, 0.0]}, "^x0"),
        ({"constraints": [Constraint("c", ub=0), "c <= 1"]}, "'c' twice"),
        ({"workers": 0}, "^workers"),
        ({"workers": True}, "^workers"),
        ({"workers": "4"}, "^workers"),
        ({"slots": 2}, "^slots"),
        ({"slots": 0, "workers": 2}, "^slots"),
        ({"timeout": -1.0}, "^timeout"),
        ({"retries": -1}, "^retries"),
        ({"max_failure_rate": 1.5}, "^max_failure_rate"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        run(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"bounds": BOX},
        {"constraints": ["c <= 0"]},
        {"objective": "g"},
        {"noise": 1.0},
        {"deterministic": True},
    ],
)
def test_problem_takes_no_second_statement(arguments):
    with pytest.raises(ArgumentError, match=f"^{next(iter(arguments))}"):
        lcbo.minimize(Problem(BOX, ["c <= 0"], "f", fun=simulate), budget=10, **arguments)


def test_problem_needs_its_function():
    with pytest.raises(ArgumentError, match="^fun"):
        lcbo.minimize(Problem(BOX), budget=10)


def test_nothing_is_printed_without_a_terminal(capfd):
    run(progress=True)
    assert capfd.readouterr() == ("", "")
