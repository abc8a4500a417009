import math

import numpy as np
import pytest
import torch
from scipy.optimize import Bounds, NonlinearConstraint

from lcbo.errors import ArgumentError, OutcomeError
from lcbo.problem import Constraint, Objective, Problem
from lcbo.terms import Term

BOX = [(0.0, 1.0), (-2.0, 2.0)]


def test_bounds_in_every_form_agree():
    forms = [BOX, np.array(BOX), Bounds([0, -2], [1, 2]), {"x1": (0, 1), "x2": (-2, 2)}]
    for bounds in forms:
        problem = Problem(bounds)
        np.testing.assert_array_equal(problem.bounds, BOX)
        assert problem.variables == ("x1", "x2")
        assert problem.dim == problem.n_variables == 2


def test_variable_names_come_from_the_mapping():
    assert Problem({"A1": (0, 1), "A2": (3, 3)}).variables == ("A1", "A2")


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(1, 0)], "low <= high"),
        ([(0, math.inf)], "finite"),
        ([(math.nan, 1)], "finite"),
        ([(-1e308, 1e308)], "finite"),
        ([("red", "blue")], "categorical"),
        ([("red", "green", "blue")], "categorical"),
        ([range(3)], "integer"),
        ([(True, False)], "integer"),
        ([(0, 5, "int")], "integer"),
        ([{1, 2}], "integer"),
        ([(0, 1j)], "pair of numbers"),
        ([1.0, 2.0], "pair per variable"),
        (3, "pair per variable"),
        ([], "pair per variable"),
        ("ab", "pair per variable"),
        ([(1, 1)], "low < high"),
    ],
)
def test_wrong_bounds_are_refused(bounds, message):
    with pytest.raises(ArgumentError, match=message) as error:
        Problem(bounds)
    assert str(error.value).startswith("bounds")


def test_fixed_variables_stay_in_x_but_not_in_the_cube():
    problem = Problem([(0, 1), (7, 7), (0, 1)])
    assert problem.n_variables == 3
    assert problem.dim == problem.space.dim == 2
    assert problem.free.tolist() == [True, False, True]


def test_outcomes_are_the_objective_then_each_constrained_name_once():
    problem = Problem(BOX, ["a <= 1", "b >= 0", "a >= -1", Constraint("h", eq=0, tol=0.1)], "f")
    assert problem.outcomes == ("f", "a", "b", "h")
    assert problem.terms.each == (
        Term(1, 1.0, 1.0),
        Term(2, -1.0, 0.0),
        Term(1, -1.0, -1.0),
        Term(3, 1.0, 0.0, equality=True, tol=0.1),
    )


@pytest.mark.parametrize(
    "constraints", [["a <= 1", "a <= 2"], ["0 <= a <= 1", "a >= 0"], ["a == 0 +/- 1", "a <= 1"]]
)
def test_duplicate_constraints_are_refused(constraints):
    with pytest.raises(ArgumentError, match="'a' twice"):
        Problem(BOX, constraints)


def test_objective_cannot_be_constrained():
    with pytest.raises(ArgumentError, match="objective"):
        Problem(BOX, ["weight <= 1"], "weight")


def test_variable_and_outcome_names_must_differ():
    with pytest.raises(ArgumentError, match="area"):
        Problem({"area": (0, 1)}, ["area <= 1"])


@pytest.mark.parametrize("constraints", [3, [3], [None], {"type": "ineq"}, [{"type": "ineq"}]])
def test_wrong_constraints_are_refused(constraints):
    with pytest.raises(ArgumentError, match="^constraints"):
        Problem(BOX, constraints)


def test_single_constraint_needs_no_list():
    assert Problem(BOX, "a <= 1").outcomes == ("objective", "a")


def test_maximized_objective_is_negated_in_row_0_only():
    problem = Problem(BOX, ["c <= 0"], Objective("power", maximize=True))
    outcomes = {"power": 3.0, "c": 2.0}
    np.testing.assert_array_equal(problem.to_rows(outcomes), [-3.0, 2.0])
    assert problem.from_rows(np.array([-3.0, 2.0])) == outcomes


def test_missing_outcomes_are_nan_rows_and_infeasible():
    problem = Problem(BOX, ["a <= 1", "b <= 1"])
    assert np.isnan(problem.to_rows({"objective": 1.0, "a": 0.0})).tolist() == [False, False, True]
    assert not problem.feasible({"objective": 1.0, "a": 0.0})
    assert problem.infeasibility({"a": 0.0}) == math.inf


def test_infeasibility_is_measured_in_the_given_scale():
    problem = Problem(BOX, ["a <= 1", "b <= 1"])
    assert problem.infeasibility({"a": 3.0, "b": 2.0}) == 3.0
    assert problem.infeasibility({"a": 3.0, "b": 2.0}, {"a": 4.0, "b": 2.0}) == 1.0


def test_function_may_return_names_positions_or_tensors():
    expected = {"f": 1.0, "a": 2.0, "b": 3.0}
    for returned in (
        {"b": 3, "f": np.float32(1), "a": np.array([2.0]), "other": "text"},
        (1.0, [2.0, 3.0]),
        (1, (2, 3)),
        (np.array(1.0), np.array([2, 3])),
        {"f": torch.tensor(1.0, requires_grad=True), "a": torch.tensor([2.0]), "b": 3.0},
    ):
        problem = Problem(BOX, ["a <= 0", "b <= 0"], "f", fun=lambda _, r=returned: r)
        assert problem.evaluate(np.zeros(2)) == expected


def test_function_without_constraints_may_return_a_number():
    assert Problem(BOX, fun=lambda x: x.sum()).evaluate(np.ones(2)) == {"objective": 2.0}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"f": 1.0}, r"\['a'\] missing"),
        ({}, "missing"),
        (None, "got NoneType"),
        ("1.0", "got str"),
        (1.0, "got float"),
        ((1.0, [1.0, 2.0]), "got 2 values"),
        ((1.0, []), "got 0 values"),
        ((1.0, 2.0, 3.0), "got tuple"),
        ({"f": None, "a": 1.0}, "outcome 'f'.*NoneType"),
        ({"f": "1", "a": 1.0}, "outcome 'f'.*str"),
        ({"f": 1.0, "a": 1 + 2j}, "outcome 'a'.*complex"),
        ({"f": np.complex128(1), "a": 1.0}, "outcome 'f'.*complex"),
        ({"f": np.ones(2), "a": 1.0}, "outcome 'f'.*ndarray"),
        ({"f": 1.0, "a": True}, "outcome 'a'.*bool"),
    ],
)
def test_wrong_return_is_refused_by_name(returned, message):
    problem = Problem(BOX, ["a <= 0"], "f", fun=lambda _: returned)
    with pytest.raises(OutcomeError, match=message):
        problem.evaluate(np.zeros(2))


def test_scipy_constraints_become_named_outcomes():
    first = NonlinearConstraint(lambda x: [x[0], 2 * x[1]], [-np.inf, 0], [1, 3])
    second = NonlinearConstraint(lambda x: x.sum(), -np.inf, 5)
    problem = Problem(BOX, [first, "a <= 1", second], fun=lambda x: (x[0], [7.0]))
    assert problem.constraints == (
        Constraint("c0", ub=1),
        Constraint("c1", lb=0, ub=3),
        Constraint("a", ub=1),
        Constraint("c2", ub=5),
    )
    assert problem.evaluate(np.array([0.5, 1.0])) == {
        "objective": 0.5,
        "c0": 0.5,
        "c1": 2.0,
        "a": 7.0,
        "c2": 1.5,
    }


def test_scipy_equality_needs_a_tolerance():
    with pytest.raises(ArgumentError, match="tol"):
        Problem(BOX, NonlinearConstraint(lambda x: x, 0, 0))


def test_scipy_constraint_of_another_length_is_refused():
    problem = Problem(BOX, NonlinearConstraint(lambda x: x, [0], 1), fun=lambda x: x[0])
    with pytest.raises(OutcomeError, match="expected 1 values"):
        problem.evaluate(np.zeros(2))


def test_noise_is_known_per_outcome():
    assert Problem(BOX, ["a <= 1"]).noise_var == (None, None)
    assert Problem(BOX, ["a <= 1"], deterministic=True).noise_var == (0.0, 0.0)
    assert Problem(BOX, ["a <= 1"], noise=0.5).noise_var == (0.25, 0.25)
    partly = Problem(BOX, ["a <= 1"], noise={"a": 2.0})
    assert partly.noise_var == (None, 4.0)
    assert not partly.deterministic
    assert Problem(BOX, ["a <= 1"], noise=0).deterministic


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, "0.1", {"b": 1.0}, True])
def test_wrong_noise_is_refused(noise):
    with pytest.raises(ArgumentError, match="^noise"):
        Problem(BOX, ["a <= 1"], noise=noise)


def test_noise_and_deterministic_contradict():
    with pytest.raises(ArgumentError, match="^noise"):
        Problem(BOX, noise=0.1, deterministic=True)


def test_problem_without_function_cannot_be_evaluated():
    with pytest.raises(ArgumentError, match="^fun"):
        Problem(BOX).evaluate(np.zeros(2))


@pytest.mark.parametrize("arguments", [{"fun": 3}, {"objective": 3}, {"objective": None}])
def test_wrong_function_or_objective_is_refused(arguments):
    with pytest.raises(ArgumentError, match=f"^{next(iter(arguments))}"):
        Problem(BOX, **arguments)
