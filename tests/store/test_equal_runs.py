"""A run that was stopped at every evaluation is, bit for bit, the run that was never stopped."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lcbo
from lcbo import Candidate, Optimizer, Problem, StoreError
from lcbo.methods import registry
from lcbo.store.records import put
from lcbo.store.store import Store, read, unlock

PAPER: Mapping[str, Any] = {"explorer_options": {"starts": 2, "steps": 5}}
METHODS: Mapping[str, Mapping[str, Any]] = {"lcbo": {}, "lcbo-paper": PAPER}


def problem() -> Problem:
    bounds = {"a": (0.0, 2.0), "fixed": (7.0, 7.0), "b": (-1.0, 1.0), "e": (10.0, 30.0), "g": (0.0, 0.1)}
    return Problem(bounds, ["c <= 0.4", "h == 0.1 +/- 0.05"], "f")


def outcomes(x: np.ndarray) -> dict[str, float]:
    u = (x[[0, 2, 3, 4]] - [0.0, -1.0, 10.0, 0.0]) / [2.0, 2.0, 20.0, 0.1]
    return {
        "f": float(np.sum((u - 0.3) ** 2)),
        "c": float(u[0] + np.sin(2 * u[1]) - 0.5),
        "h": float(u[1] * u[2]),
    }


def report(optimizer: Optimizer, candidate: Candidate) -> None:
    """Tell a candidate whole, in parts, in part for ever, or as a failure: always the same way for one id."""
    values = outcomes(candidate.x)
    if candidate.id % 9 == 4:
        optimizer.tell(candidate.id, failed="mesh failed")
    elif candidate.id % 9 == 5:
        optimizer.tell(candidate.id, {"c": values["c"]})
        optimizer.tell(candidate.id, {"f": values["f"], "h": values["h"]})
    elif candidate.id % 9 == 7:
        optimizer.tell(candidate.id, {"f": values["f"], "c": values["c"]}, final=True)
    elif candidate.id % 9 == 8:
        optimizer.tell(candidate.id, {**values, "f": np.inf})
    else:
        optimizer.tell(candidate.id, values)


def evaluate(optimizer: Optimizer, candidate: Candidate) -> None:
    optimizer.tell(candidate.id, optimizer.problem.evaluate(candidate.x))


def advance(optimizer: Optimizer, teller: Any = report) -> bool:
    """Make one evaluation; return whether there was one to make."""
    batch = optimizer.pending or optimizer.ask()
    if batch:
        teller(optimizer, batch[0])
    return bool(batch)


def assert_same(one: Optimizer, other: Optimizer) -> None:
    """Everything that can be seen of the two is the same to the last bit."""
    seen, again = one.log.evaluations, other.log.evaluations
    assert [o.id for o in seen] == [o.id for o in again]
    for a, b in zip(seen, again, strict=True):
        assert a.x.tobytes() == b.x.tobytes(), f"candidate {a.id}"
        assert (a.role, a.iteration, a.outcomes, a.failed) == (b.role, b.iteration, b.outcomes, b.failed)
    assert [(c.id, c.x.tobytes()) for c in one.pending] == [(c.id, c.x.tobytes()) for c in other.pending]
    assert one.info() == other.info()
    first, second = one.result(), other.result()
    for name in ("x", "x_recommended", "x_observed"):
        np.testing.assert_array_equal(first[name], second[name])
    for name in ("fun", "constr", "multipliers", "kkt", "pof", "success", "nit", "nfev", "nfail"):
        np.testing.assert_equal(first[name], second[name])


def straight(method: str, teller: Any = report, **arguments: Any) -> Optimizer:
    optimizer = Optimizer(arguments.pop("problem", None) or problem(), method, **arguments)
    while advance(optimizer, teller):
        pass
    return optimizer


def continued(path: Path, problem: Problem, **arguments: Any) -> Optimizer:
    """Go on with a run, or begin it."""
    if path.exists():
        return Optimizer.open(path, problem, **arguments)
    return Optimizer(problem, store=path, **arguments)


def in_steps(path: Path, method: str, teller: Any = report, step: int = 1, **arguments: Any) -> Optimizer:
    """Open the run anew for every ``step`` evaluations."""
    make = arguments.pop("make", problem)
    while True:
        with continued(path, make(), method=method, **arguments) as optimizer:
            if not all(advance(optimizer, teller) for _ in range(step)):
                return optimizer


@pytest.mark.parametrize("method", METHODS)
def test_run_stopped_at_every_evaluation(method: str, quick_folder: Path) -> None:
    given = {"budget": 36, "rng": 3, "options": METHODS[method]}
    whole = straight(method, **given)
    assert whole.n_ended == 36
    assert_same(in_steps(quick_folder / "run.db", method, **given), whole)
    with Optimizer.open(quick_folder / "run.db") as from_file:
        assert_same(from_file, whole)
    assert_same(lcbo.open_run(quick_folder / "run.db").optimizer, whole)


@pytest.mark.slow
def test_paper_run_with_its_own_settings_stopped_at_every_evaluation(quick_folder: Path) -> None:
    given = {"budget": 60, "rng": 4}
    assert_same(in_steps(quick_folder / "run.db", "lcbo-paper", **given), straight("lcbo-paper", **given))


@pytest.mark.parametrize("method", METHODS)
def test_benchmark_with_noise_stopped_often(method: str, quick_folder: Path) -> None:
    def make() -> Problem:
        return lcbo.problems.make("g07").noisy(rng=0)

    given = {"budget": 45, "rng": 1, "options": METHODS[method]}
    whole = straight(method, evaluate, problem=make(), **given)
    stopped = in_steps(quick_folder / "run.db", method, evaluate, step=7, make=make, **given)
    assert_same(stopped, whole)


@pytest.mark.parametrize("method", METHODS)
def test_data_and_starts_are_part_of_the_run(method: str, quick_folder: Path) -> None:
    points = problem().space.from_unit(np.random.default_rng(3).random((5, 4)))
    data = [(x, outcomes(x)) for x in points[:4]]
    given = {"budget": 24, "rng": 1, "options": METHODS[method], "data": data, "x0": points[4]}
    whole = straight(method, **given)
    assert_same(in_steps(quick_folder / "run.db", method, step=5, **given), whole)


def test_many_workers(quick_folder: Path) -> None:
    """Seven workers, tells in random order, one more candidate asked for whenever one is free."""

    def work(optimizer: Optimizer, count: int, rng: np.random.Generator) -> bool:
        for _ in range(count):
            optimizer.ask(max(7 - len(optimizer.pending), 1))
            if not optimizer.pending:
                return False
            report(optimizer, optimizer.pending[rng.integers(len(optimizer.pending))])
        return True

    given = {"budget": 40, "rng": 2}
    whole = Optimizer(problem(), "lcbo", **given)
    work(whole, 100, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    while True:
        with continued(quick_folder / "run.db", problem(), method="lcbo", **given) as stopped:
            if not work(stopped, 4, rng):
                break
    assert_same(stopped, whole)


@pytest.mark.parametrize("method", METHODS)
def test_extended_run(method: str, quick_folder: Path) -> None:
    """Budgets that cut a batch: what came before stays, what was cut comes next, stops change nothing."""
    options = {"explore": 3} if method == "lcbo" else METHODS[method]  # batches long enough to be cut

    def extended(path: Path, step: int) -> Optimizer:
        for budget in (14, 19, 30):
            optimizer = in_steps(path, method, step=step, budget=budget, rng=5, options=options)
            assert optimizer.n_ended == budget
        return optimizer

    stopped = extended(quick_folder / "stopped.db", step=1)
    assert_same(stopped, extended(quick_folder / "whole.db", step=1000))
    first = straight(method, budget=14, rng=5, options=options)
    for early, late in zip(first.log.evaluations, stopped.log.evaluations, strict=False):
        assert early.x.tobytes() == late.x.tobytes()
    iterations = [o.iteration for o in stopped.log.evaluations]
    sizes = [iterations.count(k) for k in range(1, max(iterations))]
    assert len(set(sizes)) == 1  # no batch lost its end to a budget
    assert any(iterations[budget - 1] == iterations[budget] for budget in (14, 19))


def test_state_of_another_version_is_refused_and_the_run_stays_readable(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    with Optimizer(problem(), budget=20, store=path) as optimizer:
        while advance(optimizer):
            pass
    with Store.open(path)._writing("x") as (db, _):
        put(db, "state", [1, read(path).state[0], '{"version": 4}'])
    unlock(path)
    with pytest.raises(StoreError, match="cannot go on from the state it left .*has version 4, .*lcbo 0"):
        Optimizer.open(path)
    run = lcbo.open_run(path)
    assert len(run.history) == run.status.ended == 20


@pytest.mark.slow
@pytest.mark.parametrize("method", registry.names())
def test_every_method_resumes(method: str, quick_folder: Path) -> None:
    """Conformance: also the methods that repeat their calls."""
    small: Mapping[str, Mapping[str, Any]] = {
        "lcbo-paper": PAPER,
        "lcbo-theory": {"repeats": 1, "explore": 2},
    }
    inequality = Problem([(0.0, 1.0)] * 3, ["c <= 0.4"], "f")

    def tell(optimizer: Optimizer, candidate: Candidate) -> None:
        x = candidate.x
        optimizer.tell(
            candidate.id, {"f": float(np.sum((x - 0.3) ** 2)), "c": float(x[0] + np.sin(2 * x[1]))}
        )

    given = {"budget": 20, "rng": 3, "options": small.get(method, {})}
    whole = straight(method, tell, problem=inequality, **given)
    path = quick_folder / "run.db"
    assert_same(in_steps(path, method, tell, step=6, make=lambda: inequality, **given), whole)
