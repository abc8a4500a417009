"""What every registered method must do, whatever its algorithm."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from lcbo import ArgumentError, Candidate, Optimizer, Problem
from lcbo.methods import registry

SMALL: Mapping[str, Mapping[str, Any]] = {
    "lcbo": {},
    "lcbo-paper": {"explore": 2, "explorer_options": {"starts": 2, "steps": 5}},
    "lcbo-theory": {"repeats": 1, "explore": 2, "explorer": "fast"},  # its own one repeats points by design
}
DIM = 3  # free variables; a fourth one is fixed

each_method = pytest.mark.parametrize("method", registry.names())


def problem(**arguments: Any) -> Problem:
    bounds = {"a": (0.0, 2.0), "fixed": (7.0, 7.0), "b": (-1.0, 1.0), "e": (10.0, 30.0)}
    return Problem(bounds, ["c <= 0.4", "h == 0.1 +/- 0.05"], "f", **arguments)


def outcomes(x: np.ndarray) -> dict[str, float]:
    u = (x[[0, 2, 3]] - [0.0, -1.0, 10.0]) / [2.0, 2.0, 20.0]
    return {
        "f": float(np.sum((u - 0.3) ** 2)),
        "c": float(u[0] + np.sin(2 * u[1]) - 0.5),
        "h": float(u[1] * u[2]),
    }


def optimizer(method: str, budget: int | None = 24, **arguments: Any) -> Optimizer:
    options = {**SMALL[method], **arguments.pop("options", {})}
    return Optimizer(problem(), method, budget=budget, options=options, **arguments)


Teller = Callable[[Optimizer, list[Candidate]], None]


def tell_all(opt: Optimizer, batch: Iterable[Candidate]) -> None:
    for candidate in batch:
        opt.tell(candidate.id, outcomes(candidate.x))


def drive(opt: Optimizer, teller: Teller = tell_all) -> np.ndarray:
    """Ask and tell until nothing is left; return the points in the order they were asked for."""
    asked: list[Candidate] = []
    while batch := opt.ask():
        asked += batch
        teller(opt, batch)
    return np.array([candidate.x for candidate in asked])


def test_every_method_has_small_options() -> None:
    assert set(SMALL) == set(registry.names())


@each_method
def test_candidates_have_the_right_shape_and_stay_in_bounds(method: str) -> None:
    opt = optimizer(method)
    asked: list[Candidate] = []
    while batch := opt.ask():
        asked += batch
        tell_all(opt, batch)
    X = np.array([candidate.x for candidate in asked])
    assert X.shape == (24, DIM + 1)
    assert X.dtype == np.float64
    assert np.all((opt.problem.lb <= X) & (opt.problem.ub >= X))
    assert np.all(X[:, 1] == 7.0)
    assert [candidate.id for candidate in asked] == list(range(24))
    assert {candidate.role for candidate in asked} <= {"init", "iterate", "explore"}
    iterations = [candidate.iteration for candidate in asked]
    assert iterations == sorted(iterations)
    recommended = opt.recommend()
    assert recommended is not None
    assert opt.problem.space.contains(recommended)


@each_method
@pytest.mark.parametrize("budget", [1, 2, 7, 20])
def test_budget_is_spent_exactly(method: str, budget: int) -> None:
    opt = optimizer(method, budget)
    assert len(drive(opt)) == budget
    assert opt.exhausted
    assert opt.result().nfev == budget


@each_method
def test_order_of_tells_does_not_matter(method: str) -> None:
    def backwards(opt: Optimizer, batch: list[Candidate]) -> None:
        tell_all(opt, batch[::-1])

    np.testing.assert_array_equal(drive(optimizer(method), backwards), drive(optimizer(method)))


@each_method
def test_outcomes_told_in_parts_are_the_same_outcomes(method: str) -> None:
    def in_parts(opt: Optimizer, batch: list[Candidate]) -> None:
        for name in ("h", "f", "c"):
            for candidate in batch:
                opt.tell(candidate.id, {name: outcomes(candidate.x)[name]})

    np.testing.assert_array_equal(drive(optimizer(method), in_parts), drive(optimizer(method)))


@each_method
def test_outcomes_that_never_come_do_not_stop_a_run(method: str) -> None:
    def lossy(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            known = outcomes(candidate.x)
            lost = ("f", "c", "h", "")[candidate.id % 4]
            opt.tell(candidate.id, {n: v for n, v in known.items() if n != lost}, final=True)

    opt = optimizer(method)
    X = drive(opt, lossy)
    assert len(X) == 24
    assert np.isfinite(X).all()
    assert opt.result().x is not None


@each_method
def test_one_outcome_that_never_comes_at_all_does_not_stop_a_run(method: str) -> None:
    def lossy(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            known = outcomes(candidate.x)
            opt.tell(candidate.id, {"f": known["f"], "h": known["h"]}, final=True)

    X = drive(optimizer(method), lossy)
    assert len(X) == 24
    assert np.isfinite(X).all()


@each_method
@pytest.mark.parametrize("role", ["init", "explore", "iterate"])
def test_failures_do_not_stop_a_run(method: str, role: str) -> None:
    def failing(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            if candidate.role == role and candidate.id % 2:
                opt.tell(candidate.id, failed="diverged")
            else:
                opt.tell(candidate.id, outcomes(candidate.x))

    opt = optimizer(method)
    X = drive(opt, failing)
    assert len(X) == 24
    assert opt.problem.space.contains(X)
    assert opt.result().nfail == opt.log.n_failed > 0


@each_method
def test_not_finite_value_is_a_failure(method: str) -> None:
    def sometimes_nan(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            broken = {"c": (np.nan, np.inf)[candidate.id % 2]} if candidate.id % 3 == 2 else {}
            opt.tell(candidate.id, outcomes(candidate.x) | broken)

    opt = optimizer(method)
    X = drive(opt, sometimes_nan)
    assert len(X) == 24
    assert np.isfinite(X).all()
    assert opt.result().nfail == 8


@each_method
def test_failed_iterate_goes_back_halfway(method: str) -> None:
    opt = optimizer(method, None, n_init=4)
    tell_all(opt, opt.ask())
    iterates: list[np.ndarray] = []
    for k in range(1, 8):
        batch = opt.ask()
        iterates.append(next(c.x for c in batch if c.role == "iterate"))
        for candidate in batch:
            if candidate.role == "iterate" and k in (5, 6):
                opt.tell(candidate.id, failed="diverged")
            else:
                opt.tell(candidate.id, outcomes(candidate.x))
    good, first, second, third = opt.problem.space.to_unit(np.array(iterates[3:7]))
    np.testing.assert_allclose(second, 0.5 * (good + first), atol=1e-12)
    np.testing.assert_allclose(third, 0.5 * (good + second), atol=1e-12)


@each_method
def test_failed_initial_design_is_followed_by_another(method: str) -> None:
    opt = optimizer(method, 24, n_init=4)
    first = opt.ask()
    for candidate in first:
        opt.tell(candidate.id, failed="licence server down")
    second = opt.ask()
    assert second
    assert {c.x.tobytes() for c in first}.isdisjoint(c.x.tobytes() for c in second)
    tell_all(opt, second)
    drive(opt)
    assert opt.n_ended == 24
    assert opt.result().x is not None


@each_method
def test_run_in_which_everything_fails_ends(method: str) -> None:
    def failing(opt: Optimizer, batch: list[Candidate]) -> None:
        for candidate in batch:
            opt.tell(candidate.id, failed="diverged")

    opt = optimizer(method)
    assert len(drive(opt, failing)) == 24
    assert opt.result().x is None


@each_method
def test_nothing_is_asked_while_a_batch_is_out(method: str) -> None:
    opt = optimizer(method)
    for _ in range(4):
        batch = opt.ask()
        assert batch
        assert opt.ask() == []
        tell_all(opt, batch[:-1])
        assert opt.ask() == []
        tell_all(opt, batch[-1:])


@each_method
def test_asking_for_more_gives_further_exploration_points(method: str) -> None:
    opt = optimizer(method, 40)
    tell_all(opt, opt.ask())
    batch = opt.ask()
    more = opt.ask(3) + opt.ask(2)
    assert len(more) == 5
    assert {c.role for c in more} == {"explore"}
    assert len({c.x.tobytes() for c in more}) == 5
    assert {c.x.tobytes() for c in batch}.isdisjoint(c.x.tobytes() for c in more)
    tell_all(opt, [*more, *batch])
    assert drive(opt).shape[0] == opt.n_asked - len(more) - len(batch) - DIM
    assert opt.n_ended == 40


@each_method
def test_asking_for_a_few_leaves_the_rest_of_the_iteration(method: str) -> None:
    opt = optimizer(method, 40)
    whole = optimizer(method, 40)
    one_by_one: list[Candidate] = []
    for _ in range(DIM):
        one_by_one += opt.ask(1)
    for mine, other in zip(one_by_one, whole.ask(), strict=True):
        np.testing.assert_array_equal(mine.x, other.x)


@each_method
def test_asking_never_passes_the_budget(method: str) -> None:
    opt = optimizer(method, 10)
    assert len(opt.ask(6)) == 6
    assert len(opt.ask(50)) == 4
    assert opt.exhausted
    assert opt.ask(3) == []
    assert opt.ask() == []
    tell_all(opt, opt.pending)
    assert opt.ask() == []
    assert opt.result().nfev == 10


@each_method
def test_step_with_stragglers_out_is_taken_only_where_allowed(method: str) -> None:
    opt = optimizer(method, 60, options={"explore": 4})
    tell_all(opt, opt.ask())
    batch = opt.ask()
    tell_all(opt, batch[:-1])
    (further,) = opt.ask(1)
    assert (further.iteration > batch[0].iteration) == (method == "lcbo")
    tell_all(opt, [further, batch[-1]])
    drive(opt)
    assert opt.n_ended == 60


@each_method
def test_many_workers_keep_a_run_going(method: str) -> None:
    """Seven workers: whenever one is free it asks for one point; outcomes come back in random order."""
    opt, rng = optimizer(method, 50), np.random.default_rng(0)
    while not opt.exhausted or opt.pending:
        asked = opt.ask(max(7 - len(opt.pending), 1))
        assert opt.pending, "workers starve"
        assert asked or opt.exhausted
        done = opt.pending[rng.integers(len(opt.pending))]
        tell_all(opt, [done])
    assert opt.result().nfev == 50


@each_method
def test_data_is_used_and_costs_no_budget(method: str) -> None:
    rng = np.random.default_rng(3)
    points = problem().space.from_unit(rng.random((6, DIM)))
    opt = optimizer(method, 12, data=[(x, outcomes(x)) for x in points])
    assert len(drive(opt)) == 12
    assert len(opt.result().history) == 18


@each_method
def test_data_alone_carries_a_run_whose_own_design_failed(method: str) -> None:
    points = problem().space.from_unit(np.random.default_rng(3).random((6, DIM)))
    opt = optimizer(method, 12, data=[(x, outcomes(x)) for x in points])
    for candidate in opt.ask():
        opt.tell(candidate.id, failed="diverged")
    drive(opt)
    assert opt.n_ended == 12


@each_method
def test_seed_changes_the_run(method: str) -> None:
    assert not np.array_equal(drive(optimizer(method, rng=0)), drive(optimizer(method, rng=1)))


@each_method
def test_unknown_option_is_refused_by_name(method: str) -> None:
    with pytest.raises(ArgumentError, match=f"^options: expected options of {method}.*got.*'batch'"):
        optimizer(method, options={"batch": 3})


@each_method
def test_no_global_state_is_touched(method: str) -> None:
    def state() -> list[Any]:
        pools = [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()]
        kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002  (the state to be left alone)
        return [
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.random.get_rng_state().tolist(),
            random.getstate(),
            (kind, keys.tolist(), *rest),
            np.geterr(),
            pools,
        ]

    drive(optimizer(method))  # loads every library
    before = state()
    opt = optimizer(method)
    drive(opt)
    opt.result()
    assert state() == before


def digest(method: str) -> str:
    """Identify a trajectory to the last bit, points and answer."""
    opt = optimizer(method, 30, rng=5)
    points = drive(opt)
    answer = opt.result()
    return hashlib.sha256(points.tobytes() + answer.x.tobytes()).hexdigest()


def test_same_seed_in_a_fresh_process_gives_the_same_trajectory() -> None:
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_conformance as t\n"
    code += "sys.stdout.write(' '.join(map(t.digest, t.registry.names())))"
    fresh = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert fresh.stdout.split() == [digest(method) for method in registry.names()]
