"""No method ever evaluates a point that breaks a known condition."""

import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import lcbo
from lcbo import Known, Problem, Variable
from lcbo.methods import registry

SEARCH = {"optimizer_options": {"starts": 2, "steps": 4}, "fit_every": 100}
REGION = {"n_candidates": 64, "batch": 3, "fit_every": 100}
QUICK = {
    **dict.fromkeys(("cei", "epbo"), SEARCH),
    "logcei": SEARCH | {"n_draws": 2, "fit": "fixed"},
    **dict.fromkeys(("scbo", "hdsafebo"), REGION),
    "furbo": REGION | {"inspectors_per_dim": 20, "fit": "fixed"},
}
SHARES = {name: (0.0, 1.0) for name in "abcde"}
MIXED = {
    "a": Variable(0.01, 1.0, log=True),
    "b": (0.0, 1.0),
    "c": (0.0, 1.0),
    "n": Variable(0, 8, integer=True),
}


def simulate(x):
    return {"f": float(np.sum((x - 0.3) ** 2)), "g": float(0.1 - x[0])}


def broken_shares(x):
    return max(abs(x.sum() - 1.0) - 1e-12, 2.0 * x[1] - x[0], x[2] + x[3] - 0.7)


def broken_mixed(x):
    a, b, c, n = x
    return max(a + b - 0.8, b * c - 0.1, n - 5.0 * c - 2.0, abs(n - round(n)), math.sqrt(a) - b - 0.7)


CASES = {
    "linear": (
        SHARES,
        [LinearConstraint(np.ones((1, 5)), 1, 1), "a >= 2 * b", "c + d <= 0.7"],
        broken_shares,
    ),
    "mixed": (
        MIXED,
        ["a + b <= 0.8", Known(lambda x: x[1] * x[2], ub=0.1), "n <= 5 * c + 2", "sqrt(a) - b <= 0.7"],
        broken_mixed,
    ),
}


# Presets of a method that is here: known conditions are kept by what does not depend on options.
PRESETS = ("lcbo-authors", "scbo-original", "cei-plain")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", [name for name in registry.names() if name not in PRESETS])
def test_no_evaluation_breaks_a_known_condition(method, case):
    bounds, known, broken = CASES[case]
    problem = Problem(bounds, ["g <= 0"], "f", fun=simulate, known=known, deterministic=True)
    optimizer = lcbo.Optimizer(problem, method, budget=11, n_init=5, options=QUICK.get(method, {}))
    seen = []
    while batch := optimizer.ask():
        for candidate in batch:
            np.testing.assert_array_equal(problem.space.from_unit(candidate.u), candidate.x)
            seen.append(candidate.x)
            optimizer.tell(candidate.id, simulate(candidate.x))
    seen += [candidate.x for candidate in optimizer.ask(3)]
    assert len(seen) == 11
    assert max(map(broken, seen)) <= 0.0
    assert len(np.unique(seen, axis=0)) > 6


def test_confirmation_and_restarts_keep_them_too():
    problem = Problem(SHARES, ["g <= 0"], "f", known=CASES["linear"][1], noise=0.05)
    optimizer = lcbo.Optimizer(problem, budget=24, confirm=0.3)
    rng, roles = np.random.default_rng(0), []
    while batch := optimizer.ask():
        for candidate in batch:
            roles.append(candidate.role)
            assert broken_shares(candidate.x) <= 0.0
            told = {name: value + 0.05 * rng.normal() for name, value in simulate(candidate.x).items()}
            optimizer.tell(candidate.id, told)
    assert roles.count("confirm") == 7
    assert broken_shares(optimizer.result().x) <= 0.0


def test_failures_do_not_lead_outside():
    problem = Problem(SHARES, [], "f", known=CASES["linear"][1], deterministic=True)
    optimizer = lcbo.Optimizer(problem, budget=30)
    while batch := optimizer.ask():
        for candidate in batch:
            assert broken_shares(candidate.x) <= 0.0
            if candidate.x[4] < 0.2:
                optimizer.tell(candidate.id, failed="it broke")
            else:
                optimizer.tell(candidate.id, {"f": simulate(candidate.x)["f"]})


class Careless(lcbo.Method):
    """A method from elsewhere that knows nothing of known conditions."""

    def __init__(self, setup, _options):
        self.setup, self._asked = setup, 0

    def include(self, *_):
        self._asked += 1
        return self._asked - 1

    def ask(self, *_):
        self._asked += 1
        return [lcbo.Proposal(self._asked - 1, np.full(self.setup.dim, 0.9), "explore", 0)]

    def tell(self, *_):
        pass

    def info(self):
        return {"iteration": 0}


def test_a_method_from_elsewhere_cannot_break_them():
    spec = lcbo.MethodSpec("careless", "asks for anything", Careless)
    problem = Problem(SHARES, [], "f", known=CASES["linear"][1])
    (candidate,) = lcbo.Optimizer(problem, spec, budget=3).ask()
    assert broken_shares(candidate.x) <= 0.0


def test_the_optimum_on_a_known_boundary_is_found():
    """Closed form: the projection of the target onto the plane of the shares."""
    target = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
    answer = target - (target.sum() - 1.0) / 5.0
    result = lcbo.minimize(
        lambda x: float(np.sum((x - target) ** 2)),
        SHARES,
        known="a + b + c + d + e == 1",
        budget=45,
        deterministic=True,
    )
    np.testing.assert_allclose(result.x, answer, atol=2e-3)


def test_an_active_inequality_is_followed_to_its_corner():
    result = lcbo.minimize(
        lambda x: float(-x[0] - 2.0 * x[1] + 0.1 * x[2]),
        SHARES,
        known=["a + b <= 0.8", "b <= a", "c >= 0.25"],
        budget=40,
        deterministic=True,
    )
    np.testing.assert_allclose(result.x[:3], [0.4, 0.4, 0.25], atol=1e-6)


def test_a_curved_boundary_is_followed():
    """Closed form: the point of a circle in the direction of the gradient."""
    result = lcbo.minimize(
        lambda x: float(-2.0 * x[0] - x[1]),
        [(0.0, 1.0)] * 2,
        known=Known(lambda x: float(x @ x), ub=0.25),
        budget=30,
        deterministic=True,
    )
    assert result.fun == pytest.approx(-0.5 * math.sqrt(5.0), rel=2e-3)
    assert float(result.x @ result.x) <= 0.25


def test_a_start_that_breaks_one_is_an_error_with_name_and_amount():
    starts = [[0.0] * 5, [0.1, 0.2, 0.0, 0.0, 0.0]]
    with pytest.raises(lcbo.ArgumentError, match="x0: .*'a >= 2 \\* b' missed by 0.3 in point 1"):
        lcbo.minimize(simulate, SHARES, ["g <= 0"], "f", known="a >= 2 * b", budget=9, x0=starts)


def test_a_start_that_is_rounded_is_used():
    x0 = [0.1, 0.05, 0.3, 0.3, 0.25 + 1e-11]
    problem = Problem(SHARES, [], "f", known=CASES["linear"][1])
    first = lcbo.Optimizer(problem, "sobol", budget=5, x0=x0).ask()[0]
    np.testing.assert_allclose(first.x, x0, atol=1e-10)
    assert broken_shares(first.x) <= 0.0


def test_data_that_break_them_are_left_out():
    problem = Problem(SHARES, [], "f", known="a + b <= 0.5")
    data = [([0.1] * 5, {"f": 1.0}), ([0.9] * 5, {"f": 0.0})]
    with pytest.warns(lcbo.DataWarning, match="1 of 2 rows break a known condition"):
        optimizer = lcbo.Optimizer(problem, "sobol", budget=5, data=data)
    assert len(optimizer.log.evaluations) == 1


def test_a_linear_constraint_among_the_outcomes_is_told_its_place():
    with pytest.raises(lcbo.ArgumentError, match="known="):
        Problem(SHARES, LinearConstraint(np.ones(5), 1, 1), "f")
