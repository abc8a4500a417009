import os
import subprocess
import sys

import numpy as np
import pytest

from lcbo import ArgumentError, Objective, Optimizer, OutcomeError, Problem, StoreError, TellError

pytestmark = pytest.mark.usefixtures("uniform")

PROBLEM = Problem([(0, 1), (-2, 2)], ["c <= 0.5", "h <= 1"], "f")


def outcomes(x):
    return {"f": float(x.sum()), "c": float(x[0]), "h": 0.0}


def test_ask_hands_out_an_iteration_and_then_nothing():
    optimizer = Optimizer(PROBLEM, "uniform", budget=40, n_init=2)
    first = optimizer.ask()
    assert [c.id for c in first] == [0, 1]
    assert {c.role for c in first} == {"init"}
    assert optimizer.ask() == []
    assert optimizer.pending == first
    assert all(np.all((c.x >= PROBLEM.lb) & (c.x <= PROBLEM.ub)) for c in first)


def test_ask_gives_more_on_request_and_never_past_the_budget():
    optimizer = Optimizer(PROBLEM, "uniform", budget=8)
    assert len(optimizer.ask(3)) == 3
    assert len(optimizer.ask(10)) == 5
    assert optimizer.exhausted
    assert optimizer.ask(1) == []
    assert optimizer.ask() == []


def test_iteration_larger_than_what_is_left_is_cut():
    optimizer = Optimizer(PROBLEM, "uniform", budget=3, n_init=2, options={"batch": 5})
    for candidate in optimizer.ask():
        optimizer.tell(candidate.id, outcomes(candidate.x))
    assert len(optimizer.ask()) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_wrong_count_is_refused(n):
    with pytest.raises(ArgumentError, match="^n:"):
        Optimizer(PROBLEM, "uniform").ask(n)


def test_candidates_cannot_be_changed():
    candidate = Optimizer(PROBLEM, "uniform").ask()[0]
    with pytest.raises(ValueError, match="read-only"):
        candidate.x[0] = 0.0


def test_outcomes_arrive_in_any_order(uniform):
    optimizer = Optimizer(PROBLEM, "uniform", n_init=3)
    asked = optimizer.ask()
    for candidate in reversed(asked):
        optimizer.tell(candidate.id, outcomes(candidate.x))
    assert list(uniform[0].told) == [2, 1, 0]
    assert [o.id for o in optimizer.log.evaluations] == [2, 1, 0]
    assert optimizer.pending == []


def test_partial_outcomes_reach_the_method_when_complete(uniform):
    optimizer = Optimizer(PROBLEM, "uniform")
    candidate = optimizer.ask()[0]
    optimizer.tell(candidate.id, {"c": 1.0})
    optimizer.tell(candidate.id, {"c": 1.0, "h": 2.0})
    assert uniform[0].told == {}
    optimizer.tell(candidate.id, {"f": 3.0})
    np.testing.assert_array_equal(uniform[0].told[candidate.id], [3.0, 1.0, 2.0])


def test_final_leaves_missing_rows_nan(uniform):
    optimizer = Optimizer(PROBLEM, "uniform")
    candidate = optimizer.ask()[0]
    optimizer.tell(candidate.id, {"f": 3.0}, final=True)
    np.testing.assert_array_equal(uniform[0].told[candidate.id], [3.0, np.nan, np.nan])
    assert not optimizer.result().history.feasible[0]
    with pytest.raises(TellError, match="final"):
        optimizer.tell(candidate.id, {"c": 1.0})


def test_final_without_any_outcome_is_a_failure(uniform):
    optimizer = Optimizer(PROBLEM, "uniform")
    candidate = optimizer.ask()[0]
    optimizer.tell(candidate.id, {}, final=True)
    assert uniform[0].told == {candidate.id: None}


def test_same_values_again_change_nothing(uniform):
    optimizer = Optimizer(PROBLEM, "uniform", n_init=2)
    first, second = optimizer.ask()
    for _ in range(2):
        optimizer.tell(first.id, outcomes(first.x))
        optimizer.tell(second.id, failed="crash")
    optimizer.tell(first.id, {"f": outcomes(first.x)["f"]})
    assert len(uniform[0].told) == 2
    assert len(optimizer.log.evaluations) == 2


def test_contradictions_are_refused():
    optimizer = Optimizer(PROBLEM, "uniform", n_init=3)
    first, second, third = optimizer.ask()
    optimizer.tell(first.id, {"f": 1.0, "c": 2.0, "h": 3.0})
    optimizer.tell(second.id, failed="crash")
    optimizer.tell(third.id, {"f": 1.0})
    for known, told in ((first, {"c": 2.5}), (third, {"f": 1.5})):
        with pytest.raises(TellError, match=f"candidate {known.id}"):
            optimizer.tell(known.id, told)
    with pytest.raises(TellError, match="failed \\(crash\\)"):
        optimizer.tell(second.id, {"f": 1.0})
    with pytest.raises(TellError, match="succeeded"):
        optimizer.tell(first.id, failed="crash")


def test_unknown_candidates_and_names_are_refused():
    optimizer = Optimizer(PROBLEM, "uniform")
    candidate = optimizer.ask()[0]
    with pytest.raises(TellError, match=r"pending: 0, 1.*got 17"):
        optimizer.tell(17, {"f": 1.0})
    with pytest.raises(ArgumentError, match="mass"):
        optimizer.tell(candidate.id, {"mass": 1.0})
    with pytest.raises(OutcomeError, match="outcome 'f'"):
        optimizer.tell(candidate.id, {"f": "1.0"})
    with pytest.raises(ArgumentError, match="neither"):
        optimizer.tell(candidate.id)
    with pytest.raises(ArgumentError, match="both"):
        optimizer.tell(candidate.id, {"f": 1.0}, failed="crash")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_value_that_is_not_finite_fails_the_evaluation(uniform, value):
    optimizer = Optimizer(PROBLEM, "uniform")
    candidate = optimizer.ask()[0]
    optimizer.tell(candidate.id, {"f": 1.0, "c": value})
    assert uniform[0].told == {candidate.id: None}
    assert "outcome 'c'" in optimizer.log.evaluations[0].failed


def test_method_sees_rows_of_a_maximized_objective(uniform):
    optimizer = Optimizer(Problem([(0, 1)], objective=Objective("power", maximize=True)), "uniform")
    candidate = optimizer.ask()[0]
    optimizer.tell(candidate.id, {"power": 3.0})
    np.testing.assert_array_equal(uniform[0].told[candidate.id], [-3.0])


def test_setup_is_what_the_problem_says(uniform):
    problem = Problem([(0, 1), (3, 3), (0, 2)], ["0 <= c <= 1"], "f", noise={"c": 0.5})
    Optimizer(problem, "uniform", budget=100, rng=7, x0=[0.5, 3, 1.0])
    setup = uniform[0].setup
    assert (setup.dim, setup.n_outputs, setup.seed, setup.budget) == (2, 2, 7, 100)
    assert setup.terms == problem.terms
    assert setup.noise_var == (None, 0.25)
    np.testing.assert_array_equal(setup.starts, [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("dim", "arguments", "expected"),
    [
        (25, {}, 25),
        (25, {"budget": 1000}, 25),
        (25, {"budget": 40}, 10),
        (25, {"budget": 4}, 2),
        (25, {"budget": 1}, 1),
        (25, {"budget": 40, "n_init": 30}, 30),
        (25, {"budget": 1000, "data": (np.full((10, 25), 0.5), {"objective": np.ones(10)})}, 15),
        (25, {"budget": 12, "x0": np.full((5, 25), 0.5)}, 5),
        (1, {"budget": 100}, 4),
        (2, {"budget": 100}, 6),
        (5, {}, 6),
        (5, {"budget": 12}, 3),
    ],
)
def test_size_of_the_initial_design(uniform, dim, arguments, expected):
    Optimizer(Problem([(0, 1)] * dim), "uniform", **arguments)
    assert uniform[0].setup.n_init == expected


def test_x0_is_evaluated_first():
    x0 = [[0.25, 1.0], [0.75, -1.0]]
    asked = Optimizer(PROBLEM, "uniform", n_init=4, x0=x0).ask()
    np.testing.assert_array_equal([c.x for c in asked[:2]], x0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, "^budget"),
        ({"budget": 2.5}, "^budget"),
        ({"n_init": 0}, "^n_init"),
        ({"n_init": 11, "budget": 10}, "^n_init.*budget=10.*got 11"),
        ({"n_init": 1, "x0": [[0, 0], [0, 0]]}, "^n_init.*2 points"),
        ({"budget": 1, "x0": [[0, 0], [0, 0]]}, "^x0.*budget=1"),
        ({"x0": [0.5]}, "^x0.*2 numbers.*shape"),
        ({"x0": [0.5, 3.0]}, r"^x0.*'x2' within \[-2, 2\].*got 3"),
        ({"x0": [np.nan, 0.0]}, "^x0"),
        ({"x0": ["a", "b"]}, "^x0"),
        ({"x0": np.zeros((0, 2))}, "^x0"),
        ({"rng": -1}, "^rng"),
        ({"rng": "0"}, "^rng"),
        ({"data": 3}, "^data"),
        ({"data": [([0, 0], 1.0)]}, "^data"),
        ({"data": [([0, 9], {"f": 1.0})]}, "^data.*'x2'"),
        ({"data": [([0, 0], {"mass": 1.0})]}, "^data.*mass"),
        ({"data": ([[0, 0], [1, 1]], {"f": [1.0]})}, "^data: expected 2 values"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Optimizer(PROBLEM, "uniform", **arguments)


def test_problem_must_be_a_problem():
    with pytest.raises(ArgumentError, match="^problem"):
        Optimizer([(0, 1)])


def test_data_informs_the_method_and_costs_no_budget(uniform):
    pairs = [([0.1, 0.0], {"f": 5.0, "c": 0.0, "h": 0.0}), ([0.2, 0.0], {"f": 4.0})]
    optimizer = Optimizer(PROBLEM, "uniform", budget=4, data=pairs)
    assert len(uniform[0].included) == 2
    np.testing.assert_array_equal(uniform[0].included[1][1], [4.0, np.nan, np.nan])
    assert [c.id for c in optimizer.ask(9)] == [2, 3, 4, 5]
    result = optimizer.result()
    assert result.nfev == 0
    assert result.fun_observed == 5.0
    assert result.history.role.tolist() == ["data", "data"]


def test_data_as_arrays_equals_data_as_pairs(uniform):
    x = np.array([[0.1, 0.0], [0.2, 1.0]])
    values = {"f": [1.0, 2.0], "c": [0.0, np.nan], "h": [0.0, 1.0]}
    Optimizer(PROBLEM, "uniform", data=(x, values))
    Optimizer(PROBLEM, "uniform", data=[(p, {n: v[i] for n, v in values.items()}) for i, p in enumerate(x)])
    for (u, y), (u2, y2) in zip(uniform[0].included, uniform[1].included, strict=True):
        np.testing.assert_array_equal(u, u2)
        np.testing.assert_array_equal(y, y2)


ALIKE = [pytest.param(name, marks=pytest.mark.slow) for name in ("cei", "scbo", "cmaes")]


@pytest.mark.parametrize("method", ["lcbo", "cobyqa", "sobol", *ALIKE])
def test_data_joins_a_run_under_way(method):
    optimizer = Optimizer(Problem([(0, 2), (0, 1)], ["c <= 0.5"], "f"), method, budget=14, n_init=4)

    def evaluate(x):
        return {"f": float(x.sum()), "c": float(1.0 - x[0])}

    while batch := optimizer.ask():
        for candidate in batch:
            optimizer.tell(candidate.id, evaluate(candidate.x))
        optimizer.include([([1.0, 0.0], {"f": 1.0, "c": 0.0}), ([0.5, 0.5], {"f": 1.0})])
    result = optimizer.result()
    assert result.nfev == 14
    assert (result.history.role == "data").sum() >= 4
    assert result.fun_observed <= 1.0
    optimizer.close()


def test_data_cannot_join_a_run_with_a_file(quick_folder):
    with (
        Optimizer(PROBLEM, "uniform", store=quick_folder / "run.db") as optimizer,
        pytest.raises(StoreError, match="at its beginning"),
    ):
        optimizer.include([([0.1, 0.0], {"f": 5.0})])


def test_seed_is_recorded_and_drawn_when_not_given():
    assert Optimizer(PROBLEM, "uniform", rng=5).result().rng == 5
    drawn = {Optimizer(PROBLEM, "uniform", rng=None).seed for _ in range(3)}
    assert len(drawn) == 3
    generators = [np.random.default_rng(1) for _ in range(2)]
    assert (
        Optimizer(PROBLEM, "uniform", rng=generators[0]).seed
        == Optimizer(PROBLEM, "uniform", rng=generators[1]).seed
    )


def test_method_computes_with_one_thread_also_in_libraries_it_loads_itself():
    code = """
import sys
import lcbo
from lcbo.methods import registry

assert "torch" not in sys.modules
sobol = registry.spec("sobol")

def build(setup, options):
    import torch

    sys.stdout.write(f"{torch.get_num_threads()} ")
    method = sobol.build(setup, options)
    ask = method.ask
    method.ask = lambda *n: sys.stdout.write(f"{torch.get_num_threads()} ") and ask(*n)
    return method

optimizer = lcbo.Optimizer(lcbo.Problem([(0, 1)] * 2), lcbo.MethodSpec("own", "", build), budget=4)
optimizer.ask()
import torch
sys.stdout.write(str(torch.get_num_threads()))
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    before, during, after = done.stdout.split()
    assert during == "1"
    assert after == before


@pytest.mark.parametrize("id", [0.0, True, None, "0", [0], {}, np.array([0])])
def test_an_id_is_an_integer_and_a_wrong_one_changes_nothing(id):
    optimizer = Optimizer(PROBLEM, budget=8)
    first = optimizer.ask()[0]
    with pytest.raises(TellError, match="id: expected the id of a candidate, an integer"):
        optimizer.tell(id, {"f": 1.0, "c": 0.0})
    assert first.id in {candidate.id for candidate in optimizer.pending}
    assert optimizer.n_ended == 0


def test_a_record_is_a_record():
    optimizer = Optimizer(PROBLEM, budget=8)
    with pytest.raises(ArgumentError, match="record: expected a Record; got 3"):
        optimizer.tell(optimizer.ask()[0].id, {"f": 1.0, "c": 0.0}, record=3)
