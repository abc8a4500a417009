"""Integers in the default method: held by the steps, moved by jumps."""

import itertools
import math

import numpy as np
import pytest

import lcbo
from lcbo import Problem, Variable
from lcbo.optimizer.plan.setup import read_plan
from lcbo.steps.step import Iterate


def vessel(x):
    shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    cost += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
    return {"cost": cost, "g1": 0.0193 * radius - shell, "g2": 0.00954 * radius - head, "volume": volume}


VESSEL = {
    "n1": Variable(1, 99, integer=True),
    "n2": Variable(1, 99, integer=True),
    "radius": (10.0, 200.0),
    "length": (10.0, 200.0),
}
LIMITS = ["g1 <= 0", "g2 <= 0", "volume >= 1296000"]


@pytest.mark.slow
def test_pressure_vessel_within_a_percent():
    found = []
    for seed in range(5):
        result = lcbo.minimize(vessel, VESSEL, LIMITS, "cost", budget=300, rng=seed, deterministic=True)
        assert result.success
        found.append(result.fun)
    assert np.median(found) <= 1.01 * 6059.714


def test_integers_do_not_stall_beside_a_limit():
    # The best of the relaxed problem, n = 7.66, rounds to 8, which the limit forbids.
    result = lcbo.minimize(
        lambda x: {"f": (x[0] - 12.0) ** 2 + (x[1] - 0.3) ** 2, "c": x[0] + x[1] - 7.8},
        {"n": Variable(0, 40, integer=True), "x": (0.0, 1.0)},
        ["c <= 0"],
        "f",
        budget=40,
        deterministic=True,
    )
    assert result.success
    assert result.x[0] == 7
    assert result.fun == pytest.approx(25.0, abs=1e-2)


def test_nothing_but_integers():
    def fun(x):
        return {
            "f": float((x[0] - 3) ** 2 + (x[1] - 11) ** 2 + 0.5 * (x[0] - 3) * (x[1] - 11) + (x[2] - 5) ** 2)
        }

    result = lcbo.minimize(fun, [Variable(0, 15, integer=True)] * 3, (), "f", budget=60, deterministic=True)
    best = min(itertools.product(range(16), repeat=3), key=lambda x: fun(x)["f"])
    assert tuple(result.x) == best
    assert len({x.tobytes() for x in result.history.X}) >= 55  # hardly anything twice


@pytest.mark.parametrize("method", ["lcbo", "cei", "slsqp", "cobyqa"])
def test_few_places_are_all_there_is(method):
    bounds = {"a": Variable(0, 1, integer=True), "b": Variable(1, 2, integer=True)}
    result = lcbo.minimize(
        lambda x: {"f": x[0] - x[1]}, bounds, (), "f", budget=20, method=method, deterministic=True
    )
    assert tuple(result.x) == (0.0, 2.0)


def test_jump_lands_on_the_grid_and_a_run_resumes_bit_for_bit(tmp_path):
    problem = Problem(VESSEL, LIMITS, "cost", fun=vessel, deterministic=True)
    grid = problem.space.grid

    def told(optimizer, count):
        for _ in range(count):
            for candidate in optimizer.ask():
                np.testing.assert_array_equal(grid.snap(candidate.u), candidate.u)
                optimizer.tell(candidate.id, problem.evaluate(candidate.x))

    whole = lcbo.Optimizer(problem, budget=60, rng=3)
    told(whole, 10)
    with lcbo.Optimizer(problem, budget=60, rng=3, store=tmp_path / "run.db") as first:
        told(first, 5)
    with lcbo.Optimizer.open(tmp_path / "run.db", problem) as second:
        told(second, 5)
        np.testing.assert_array_equal(second.log.history().X, whole.log.history().X)
    integers = {tuple(x[:2]) for x in whole.log.history().X}
    assert len(integers) > 5


def test_failures_lead_integers_all_the_way_back():
    problem = Problem(VESSEL, LIMITS, "cost", deterministic=True)
    plan = read_plan(problem, 60, "cpu", method="lcbo", options=None, x0=None, data=None, n_init=None, rng=0,
                     confidence=0.9, confirm=None, feasibility_tol=1e-6)  # fmt: skip
    method = plan.method.build(plan.setup(), {})
    grid = problem.space.grid
    here = grid.snap(np.full(4, 0.5))
    step = grid.shifted(here, np.array([1, 0, 0, 0])) - here + np.array([0.0, 0.0, 0.2, 0.0])
    back = method.integers.back(Iterate(here + step, step), Iterate(here + 0.5 * step, 0.5 * step))
    np.testing.assert_allclose(back.u, here + np.array([0.0, 0.0, 0.1, 0.0]), atol=1e-15)
