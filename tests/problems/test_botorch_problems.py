import sys

import numpy as np
import pytest

import lcbo
from lcbo.problems import from_botorch, make, to_botorch

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


def points(problem, n=64):
    return problem.lb + (problem.ub - problem.lb) * np.random.default_rng(0).random((n, problem.n_variables))


@pytest.mark.parametrize("negate", [False, True])
def test_wrapping_converts_signs(negate):
    import torch
    from botorch.test_functions.synthetic import PressureVessel

    source = PressureVessel(negate=negate)
    problem = from_botorch(source)
    assert problem.objective.maximize is negate
    X = points(problem)
    outcomes = problem.evaluate_batch(X)
    slack = source.evaluate_slack(torch.tensor(X))
    np.testing.assert_allclose(outcomes["f"], source(torch.tensor(X)).numpy())
    for i in range(4):
        np.testing.assert_allclose(outcomes[f"g{i + 1}"], -slack[:, i].numpy())
    feasible = [problem.feasible(problem.evaluate(x)) for x in X]
    assert feasible == source.is_feasible(torch.tensor(X)).tolist()
    assert 0 < sum(feasible) < len(X)


def test_minimizing_a_negated_problem_reaches_the_same_point():
    from botorch.test_functions.synthetic import PressureVessel

    plain, negated = from_botorch(PressureVessel()), from_botorch(PressureVessel(negate=True))
    x = (plain.lb + plain.ub) / 2
    assert plain.evaluate(x)["f"] == -negated.evaluate(x)["f"]
    assert plain.to_rows(plain.evaluate(x))[0] == negated.to_rows(negated.evaluate(x))[0]
    assert plain.best_known.value == -negated.best_known.value


def test_published_value_and_own_noise():
    from botorch.test_functions.synthetic import ConstrainedGramacy

    problem = from_botorch(ConstrainedGramacy(noise_std=0.2, constraint_noise_std=[0.3, 0.4]))
    assert problem.best_known.value == pytest.approx(0.5998)
    assert problem.noise_sd() == pytest.approx({"f": 0.2, "g1": 0.3, "g2": 0.4})
    assert problem.noisy(rng=0).evaluate([0.2, 0.4]) != problem.evaluate([0.2, 0.4])


@pytest.mark.parametrize("name", ["truss25", "hs71", "eq_qp", "welded_beam"])
def test_the_other_direction_and_back(name):
    import torch

    problem = make(name)
    view = to_botorch(problem)
    back = from_botorch(view)
    X = points(problem, 8)
    X[0] = problem.best_known.x
    assert view.num_constraints == len(problem.constraints)
    assert view.is_minimization_problem
    for x, slack in zip(X, view.evaluate_slack(torch.tensor(X)), strict=True):
        outcomes = problem.evaluate(x)
        assert problem.feasible(outcomes) == bool((slack >= 0.0).all())
        assert problem.feasible(outcomes) == back.feasible(back.evaluate(x))
        assert back.evaluate(x)["f"] == outcomes[problem.objective.name]
    assert problem.feasible(problem.evaluate(X[0]))


def test_thresholds_become_slacks():
    import torch

    problem = lcbo.Problem(
        [(0.0, 1.0)],
        [lcbo.Constraint("a", lb=1.0, ub=3.0), lcbo.Constraint("b", eq=2.0, tol=0.5)],
        lcbo.Objective("f", maximize=True),
        fun=lambda x: {"f": x[0], "a": 4.0 * x[0], "b": 2.0 + x[0]},
    )
    view = to_botorch(problem)
    assert not view.is_minimization_problem
    slack = view.evaluate_slack(torch.tensor([[0.5], [1.0], [0.0]], dtype=torch.double))
    assert slack.tolist() == [[1.0, 1.0, 0.0], [-1.0, 3.0, -0.5], [3.0, -1.0, 0.5]]


def test_what_cannot_be_wrapped_is_refused():
    from botorch.test_functions.multi_objective import BNH
    from botorch.test_functions.synthetic import Branin, PressureVessel

    with pytest.raises(lcbo.ArgumentError, match="ConstrainedBaseTestProblem; got Branin"):
        from_botorch(Branin())
    with pytest.raises(lcbo.ArgumentError, match="a single objective; got 2 objectives"):
        from_botorch(BNH())
    discrete = PressureVessel()
    discrete.discrete_inds = [0]
    with pytest.raises(lcbo.ArgumentError, match="continuous inputs only"):
        from_botorch(discrete)


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botorch.test_functions", None)
    for convert, problem in ((from_botorch, object()), (to_botorch, make("hs71"))):
        with pytest.raises(ImportError, match=r"pip install 'lcbo\[botorch\]'"):
            convert(problem)
