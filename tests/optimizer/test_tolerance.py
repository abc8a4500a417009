"""One feasibility tolerance for all methods, in units of each outcome's scale."""

import numpy as np
import pytest

import lcbo
from lcbo import Optimizer, Problem
from lcbo.compare.score import best_feasible
from lcbo.optimizer.log import Log
from lcbo.types import Evaluation


def told(values):
    """A log of ``f`` and ``c`` pairs."""
    log = Log(Problem([(0, 1)], ["c <= 0"], "f"))
    for id, (f, c) in enumerate(values):
        u = np.array([id / 10])
        log.add(Evaluation(id, u, u, "init", 0, "done", {"f": f, "c": c}))
    return log


def test_best_may_be_outside_by_the_tolerance():
    log = told([(3.0, -1.0), (2.0, 1e-8), (1.0, 1e-3)])
    assert log.best.outcomes["f"] == 2.0
    assert log.history().feasible.tolist() == [True, True, False]
    assert log.history().best_feasible.tolist() == [3.0, 2.0, 2.0]
    assert log.allowed[1] == pytest.approx(1e-6 * np.std([-1.0, 1e-8, 1e-3]))


def test_limit_is_not_left_for_a_gain_within_the_tolerance():
    log = told([(3.0, -1.0), (2.0 + 1e-8, 0.0), (2.0, 1e-8), (2.0 + 1e-9, -1e-9)])
    assert log.best.id == 3
    assert log.basins([0])[0].outcomes["f"] == 2.0 + 1e-9
    assert told([(3.0, -1.0), (2.0 + 1e-5, 0.0), (2.0, 1e-8)]).best.id == 2  # worth it


def test_wide_tolerance_is_no_price_for_keeping_the_limits():
    log = Log(Problem([(0, 1)], ["c <= 0"], "f"), feasibility_tol=0.5)
    for id, (f, c) in enumerate([(3.0, -1.0), (2.9, 0.1)]):
        u = np.array([id / 10])
        log.add(Evaluation(id, u, u, "init", 0, "done", {"f": f, "c": c}))
    assert log.best.id == 1


def test_scale_of_the_outcome_decides():
    values = [(3.0, -1.0), (2.0, 0.5e-3), (1.0, 0.0)]
    small, large = told(values), told([(f, 1e6 * c) for f, c in values])
    assert small.best.id == large.best.id == 2
    assert [e.id for e in small.evaluations if small.history().feasible[e.id]] == [0, 2]
    np.testing.assert_array_equal(small.history().feasible, large.history().feasible)


def test_comparisons_have_the_same_tolerance():
    outcomes = [{"f": 3.0, "c": -1.0}, {"f": 2.0, "c": 1e-8}, {}, {"f": 1.0, "c": 1.0}]
    best = best_feasible(Problem([(0, 1)], ["c <= 0"], "f"), outcomes)
    assert best.tolist() == [3.0, 2.0, 2.0, 2.0]


def quadratic(x):
    return {"f": float(np.sum((x - 0.7) ** 2)), "c": float(np.mean(x)), "g": float(x[0] - x[1])}


def test_answer_of_a_solver_is_the_point_it_converged_to():
    problem = Problem([(0, 1)] * 4, ["c <= 0.5", "g <= -0.1"], "f", fun=quadratic)
    result = lcbo.minimize(problem, budget=120, method="cobyqa", progress=False)
    # Equality-constrained least distance: mean 0.5 and x0 - x1 = -0.1 both bind.
    optimum = 4 * 0.2**2 + 2 * 0.05**2
    assert result.success
    assert result.fun == pytest.approx(optimum, abs=1e-7)
    assert result.feasibility_tol["c"] == pytest.approx(1e-6 * np.std(result.history.outcomes["c"]))
    strict = lcbo.minimize(problem, budget=120, method="cobyqa", progress=False, feasibility_tol=0.0)
    assert strict.fun >= result.fun


def test_run_file_keeps_the_tolerance_and_the_confidence(quick_folder):
    path = quick_folder / "run.db"
    with Optimizer(
        Problem([(0, 1)], ["c <= 0"], "f"), store=path, feasibility_tol=0.5, confidence=0.8
    ) as run:
        for candidate, c in zip(run.ask(2), (-1.0, 0.3), strict=True):
            run.tell(candidate.id, {"f": -c, "c": c})
        assert run.log.best.id == 1
    stored = lcbo.open_run(path)
    assert stored.log.feasibility_tol == 0.5
    assert stored.result().confidence == 0.8
    assert stored.result(confidence=0.7).confidence == 0.7
    with pytest.raises(lcbo.StoreError, match="confidence: the run has 0.8; now it is 0.9"):
        Optimizer.open(path, confidence=0.9)
