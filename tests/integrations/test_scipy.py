import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult, minimize

import lcbo

BOX = [(0.0, 2.0), (0.0, 3.0)]
START = [1.9, 2.7]  # not a point that the unit cube gives back to the last bit


def objective(x):
    return (x[0] - 2.0) ** 2 + (x[1] - 3.0) ** 2


def disc(x):
    return x[0] ** 2 + x[1] ** 2


def solve(fun=objective, x0=START, bounds=BOX, constraints=(), callback=None, tol=None, **options):
    options = {"budget": 24, "deterministic": True, "rng": 3, **options}
    return minimize(
        fun,
        x0,
        method=lcbo.scipy_method,
        bounds=bounds,
        constraints=constraints,
        callback=callback,
        tol=tol,
        options=options,
    )


def test_trajectory_is_that_of_minimize_with_the_same_seed():
    found = solve(constraints=NonlinearConstraint(disc, -np.inf, 4.0))
    own = lcbo.minimize(
        lambda x: {"fun": objective(x), "c0": disc(x)},
        BOX,
        ["c0 <= 4"],
        "fun",
        budget=24,
        x0=START,
        deterministic=True,
        rng=3,
        progress=False,
    )
    np.testing.assert_array_equal(found.history.X, own.history.X)
    np.testing.assert_array_equal(found.x, own.x)
    assert found.fun == own.fun


def test_result_has_the_fields_of_scipy():
    found = solve(constraints=[NonlinearConstraint(disc, -np.inf, 4.0)])
    assert isinstance(found, OptimizeResult)
    assert found.success
    assert (found.status, found.nfev, found.maxcv) == (0, 24, 0.0)
    assert isinstance(found.message, str)
    assert found.nit > 0
    np.testing.assert_array_equal(found.constr[0], [disc(found.x)])
    best = 2.0 * np.array([2.0, 3.0]) / np.sqrt(13.0)  # nearest point of the disc, in closed form
    assert found.fun == pytest.approx(objective(best), rel=2e-2)


def test_all_forms_of_constraints_agree():
    forms = [
        (NonlinearConstraint(lambda x: [x[0] + x[1], x[0] - x[1]], [-np.inf, -1.0], [2.0, np.inf]),),
        [LinearConstraint([[1.0, 1.0], [1.0, -1.0]], [-np.inf, -1.0], [2.0, np.inf])],
        [
            {"type": "ineq", "fun": lambda x, total: total - x[0] - x[1], "args": (2.0,)},
            {"type": "ineq", "fun": lambda x: x[0] - x[1] + 1.0},
        ],
    ]
    nonlinear, linear, dicts = (solve(constraints=form) for form in forms)
    np.testing.assert_array_equal(nonlinear.history.X, linear.history.X)
    for found in (nonlinear, linear, dicts):
        assert found.fun == pytest.approx(4.5, rel=2e-2)  # at (0.5, 1.5)
        assert found.maxcv == 0.0


def test_linear_constraint_has_no_noise_and_the_rest_its_own():
    from lcbo.integrations import scipy

    seen = {}
    original = scipy.minimize

    def spy(problem, **arguments):
        seen["noise"] = problem.noise
        return original(problem, **arguments)

    forms = [NonlinearConstraint(disc, -np.inf, 4.0), LinearConstraint([1.0, 1.0], ub=3.0)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy, "minimize", spy)
        solve(constraints=forms, deterministic=False, noise=0.1, budget=4)
        assert seen["noise"] == {"fun": 0.1, "c0": 0.1, "c1": 0.0}
        solve(constraints=forms, deterministic=False, budget=4)
        assert seen["noise"] == {"c1": 0.0}


def test_every_function_is_called_once_per_point():
    calls = {"fun": [], "c": []}

    def counted(name, function):
        def called(x):
            calls[name].append(x.tobytes())
            return function(x)

        return called

    constraint = NonlinearConstraint(counted("c", disc), 0.5, 4.0)
    found = solve(counted("fun", objective), constraints=constraint, n_init=2, budget=6)
    assert len(calls["fun"]) == len(calls["c"]) == found.nfev == 6
    assert calls["fun"] == calls["c"]


def test_equality_wants_a_tolerance():
    with pytest.raises(lcbo.ArgumentError, match="tol"):
        solve(constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 2.0})
    found = solve(constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 2.0}, tol=1e-3, budget=40)
    assert found.success
    assert abs(found.x.sum() - 2.0) <= 1e-3


@pytest.mark.parametrize("form", ["point", "intermediate_result"])
def test_callback_takes_scipy_s_two_forms_and_stops(form):
    seen = []

    def by_point(xk):
        seen.append(xk)
        if len(seen) == 3:
            raise StopIteration

    def by_result(intermediate_result):
        assert intermediate_result.fun == objective(intermediate_result.x)
        by_point(intermediate_result.x)

    found = solve(callback=by_point if form == "point" else by_result)
    assert (found.nfev, found.status, found.success) == (3, 99, False)
    assert all(x.shape == (2,) for x in seen)


def test_args_bounds_object_and_fixed_variable():
    found = minimize(
        lambda x, a: objective(x) + a,
        [1.0, 0.5],
        args=(7.0,),
        method=lcbo.scipy_method,
        bounds=Bounds([0.0, 0.5], [2.0, 0.5]),
        options={"budget": 12, "deterministic": True},
    )
    assert found.x[1] == 0.5
    assert found.fun == pytest.approx(7.0 + 6.25, abs=1e-2)


def test_failures_are_counted_and_derivatives_warned_about():
    def fails(x):
        return np.nan if x[0] > 1.5 else objective(x)

    found = solve(fails, x0=[1.0, 1.0])
    assert found.nfail > 0
    assert found.x[0] <= 1.5
    with pytest.warns(RuntimeWarning, match="jac"):
        minimize(
            objective, START, jac=lambda x: x, method=lcbo.scipy_method, bounds=BOX, options={"budget": 3}
        )


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"bounds": None}, "bounds"),
        ({"bounds": [(0.0, None), (0.0, 1.0)]}, "bounds"),
        ({"x0": [1.0]}, "x0"),
        ({"constraints": 3.0}, "constraints"),
        ({"constraints": [{"type": "le", "fun": disc}]}, "constraints"),
        ({"constraints": NonlinearConstraint(disc, [0.0, 0.0], [1.0, 1.0])}, "constraints"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises(lcbo.ArgumentError, match=name):
        solve(**arguments)
