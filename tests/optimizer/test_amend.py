"""Amending a run: it continues from its data, resumes bit for bit, and keeps what was before."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lcbo
from lcbo import Optimizer, Problem, RunInUseError, StoreError, TellError
from lcbo.methods import registry
from lcbo.methods.restarted import Restarted
from lcbo.store.store import Store

BOX = [(0.0, 1.0)] * 3
QUICK = ("scbo", "cobyqa", "slsqp", "cmaes")
KINDS: dict[str, dict[str, Any]] = {
    "correct": {"correct": {2: {"f": 5.0}}},
    "withdraw": {"withdraw": [1, 3]},
    "limits": {"limits": "c <= 0"},
    "constrain": {"constrain": "mass <= 1.2"},
    "widen": {"bounds": {"x2": (-0.1, 1.5)}},
    "tighten": {"bounds": {"x1": (0.35, 0.45)}},
    "fix": {"fix": {"x3": 0.25}},
}


def simulate(x: np.ndarray) -> dict[str, float]:
    return {"f": float(((x - 0.3) ** 2).sum()), "c": float(0.5 - x[0]), "mass": float(x.sum())}


def problem(**more: Any) -> Problem:
    return Problem(BOX, ["c <= 0.1"], "f", **({"deterministic": True} | more))


def advance(optimizer: Optimizer, n: int) -> list[np.ndarray]:
    """Make ``n`` evaluations, pending ones first, and return their points."""
    made: list[np.ndarray] = []
    while len(made) < n and (batch := optimizer.pending or optimizer.ask()):
        for candidate in batch[: n - len(made)]:
            made.append(candidate.x)
            optimizer.settle(replace(candidate, status="done", outcomes=simulate(candidate.x)))
    return made


def resumed_equals_whole(path: Path, n: int) -> Optimizer:
    """Check that a run stopped after every evaluation makes the points of one that is not stopped."""
    copy = shutil.copy(path, path.with_name("whole.db"))
    with Optimizer.open(copy) as whole:
        points = advance(whole, n)
    again: list[np.ndarray] = []
    for _ in range(n):
        with Optimizer.open(path) as optimizer:
            again += advance(optimizer, 1)
    assert len(points) == n
    np.testing.assert_array_equal(again, points)
    one, other = whole.result(), lcbo.open_run(path).result()
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.fun, one.nfev, one.nit) == (other.fun, other.nfev, other.nit)
    return whole


@pytest.mark.parametrize("kind", KINDS)
def test_run_goes_on_bit_for_bit_after_each_kind_of_change(kind: str, quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    with Optimizer(problem(), budget=30, store=path) as optimizer:
        advance(optimizer, 7)  # some of the batch are still pending
        entry = optimizer.amend(**KINDS[kind], reason="new insight")
        assert optimizer.amendments == [entry]
    run = lcbo.open_run(path)
    [stored] = run.amendments
    assert (stored.changes, stored.reason, stored.time) == (entry.changes, "new insight", entry.time)
    whole = resumed_equals_whole(path, 4)
    after = [e for e in whole.log.evaluations if e.id > 8]
    assert after
    assert all(whole.problem.space.holds(e.x) for e in after)
    assert len({e.id for e in whole.log.evaluations}) == len(whole.log.evaluations)


@pytest.mark.parametrize(
    "method",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in registry.names()
        if name != "lcbo"
    ],
)
def test_every_method_goes_on_bit_for_bit(method: str, quick_folder: Path) -> None:
    noisy, small = method != "hdsafebo", {"n_candidates": 64} if method == "scbo" else {}
    given = {"budget": 20, "store": quick_folder / "run.db", "options": small}
    with Optimizer(problem(deterministic=not noisy), method, **given) as run:
        advance(run, 7)
        run.amend(limits="c <= 0.05", bounds={"x2": (0.0, 0.9)}, withdraw=0, constrain="mass <= 2")
    resumed_equals_whole(quick_folder / "run.db", 4)


def test_dry_run_leaves_the_points_to_come_as_they_are() -> None:
    """With known conditions: a wider box has another set of allowed points in its cube."""

    def points(**amended: Any) -> list[np.ndarray]:
        optimizer = Optimizer(
            Problem({"a": (0.0, 1.0), "b": (0.0, 1.0)}, (), "f", known="a + b <= 1"), "sobol", budget=12
        )
        advance(optimizer, 4)
        if amended:
            optimizer.amend(**amended, dry_run=True)
        return advance(optimizer, 8)

    np.testing.assert_array_equal(points(bounds={"a": (0.0, 2.0)}), points())


def test_file_changes_nothing_about_an_amended_run(quick_folder: Path) -> None:
    def points(**store: Any) -> list[np.ndarray]:
        with Optimizer(problem(), "cobyqa", budget=30, **store) as optimizer:
            made = advance(optimizer, 8)
            optimizer.amend(limits="c <= 0")
            made += advance(optimizer, 4)
            optimizer.amend(fix={"x2": 0.5})
            return made + advance(optimizer, 4)

    np.testing.assert_array_equal(points(), points(store=quick_folder / "run.db"))


@pytest.fixture
def sampled() -> Optimizer:
    """Eight uniform points without a model."""
    optimizer = Optimizer(problem(), "sobol", budget=20)
    advance(optimizer, 8)
    return optimizer


def test_corrected_value_counts_everywhere(sampled: Optimizer) -> None:
    best = sampled.log.best
    assert best is not None
    sampled.amend(correct={best.id: {"f": 9.0}})
    assert sampled.log.best is not None
    assert sampled.log.best.id != best.id
    history = sampled.result().history
    assert history.outcomes["f"][history.id == best.id] == 9.0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e301])
def test_value_corrected_to_none_is_a_failure_and_can_be_mended(sampled: Optimizer, value: float) -> None:
    sampled.amend(correct={3: {"f": value}})
    assert sampled.log.n_failed == 1
    assert sampled.result().history.failed[3] == "corrected: no finite 'f'"
    sampled.amend(correct={3: {"f": 1.0, "c": 0.0}})
    assert sampled.log.n_failed == 0
    assert sampled.log.rows[3].tolist() == [1.0, 0.0]


def test_withdrawn_evaluation_is_gone_and_its_budget_spent(sampled: Optimizer) -> None:
    ids = [c.id for c in sampled.ask(2)]
    told = sampled.log.evaluations[2].outcomes
    sampled.amend(withdraw=[2, ids[0]])
    assert 2 not in sampled.result().history.id
    assert [c.id for c in sampled.pending] == ids[1:]
    assert (sampled.n_asked, sampled.n_ended) == (10, 9)
    with pytest.raises(TellError, match="withdrawn"):
        sampled.tell(ids[0], {"f": 1.0, "c": 0.0})
    with pytest.raises(TellError, match="as told before"):
        sampled.tell(2, {"f": 1.0, "c": 0.0})
    sampled.tell(2, {"f": told["f"], "c": told["c"]})  # the same again does nothing, as ever
    advance(sampled, 20)
    assert sampled.n_ended == sampled.budget == 20
    assert len(sampled.result().history) == 18


def test_changed_limit_changes_what_was_feasible(sampled: Optimizer) -> None:
    before = sampled.result().history.feasible.sum()
    sampled.amend(limits="c <= -0.2")
    history = sampled.result().history
    assert history.feasible.sum() < before
    np.testing.assert_array_equal(history.feasible, history.outcomes["c"] <= -0.2)
    assert list(sampled.result().slack) == ["c <= -0.2"]


def test_one_side_of_an_interval_and_an_equality_are_changed_alone() -> None:
    stated = ["0 <= a <= 3", "b >= 1", "b <= 2", lcbo.Constraint("h", eq=0.0, tol=0.1, confidence=0.99)]
    optimizer = Optimizer(Problem(BOX, stated, "f"), "cobyqa")
    entry = optimizer.amend(limits=["a >= 1", "1.5 <= b <= 7", "h == 1 +/- 0.2"])
    now = ["1 <= a <= 3", "1.5 <= b", "b <= 7", "h == 1 +/- 0.2"]
    assert list(map(str, optimizer.problem.constraints)) == now
    assert optimizer.problem.constraints[-1].confidence == 0.99
    assert str(entry).startswith("limit 0 <= a <= 3 changed to 1 <= a <= 3; limit 1 <= b changed to 1.5")


def test_limit_on_what_was_recorded(sampled: Optimizer) -> None:
    sampled.amend(constrain="mass <= 1.2")
    assert sampled.problem.outcomes == ("f", "c", "mass")
    assert sampled.problem.deterministic
    history = sampled.result().history
    np.testing.assert_allclose(history.outcomes["mass"], history.X.sum(1))
    assert not history.feasible[history.outcomes["mass"] > 1.2].any()


def test_value_told_beside_the_outcomes_can_get_a_limit_later() -> None:
    optimizer = Optimizer(problem(), "sobol", budget=9)
    one, other = optimizer.ask(2)
    optimizer.tell(one.id, {"f": 1.0, "c": 0.0}, also={"mass": 3.0})
    optimizer.tell(other.id, {"f": 2.0, "c": 0.0})
    optimizer.amend(constrain="mass <= 4")
    assert optimizer.log.best is not None
    assert optimizer.log.best.id == one.id
    [third] = optimizer.ask(1)
    optimizer.tell(third.id, {"f": 0.5, "c": 0.0})
    assert [c.id for c in optimizer.pending] == [third.id]  # it owes the mass
    optimizer.tell(third.id, {"mass": 2.0})
    assert optimizer.result().fun == 0.5


def test_evaluations_outside_new_bounds_are_history_and_the_best_is_moved_inside(sampled: Optimizer) -> None:
    best = sampled.log.best
    assert best is not None
    low = float(best.x[0]) + 0.1
    out = [c.id for c in sampled.ask(4) if c.x[0] < low]
    assert out
    entry = sampled.amend(bounds={"x1": (low, 2.0)})
    assert [change.id for change in entry.changes if change.kind == "withdraw"] == out
    history = sampled.result().history
    outside = history.X[:, 0] < low
    assert outside[history.id == best.id].all()
    assert np.isfinite(history.outcomes["f"]).all()
    assert not history.feasible[outside].any()
    assert sampled.result().x[0] >= low
    sampled.amend(withdraw=0)  # at the same place: the best is still to be moved
    np.testing.assert_array_equal(sampled.ask(1)[0].x, [low, *best.x[1:]])
    sampled.amend(withdraw=1)
    assert sampled.ask(1)[0].x[0] != low


def test_fixed_variable_stays_fixed_and_can_be_freed(sampled: Optimizer) -> None:
    sampled.amend(fix={"x3": 0.25})
    assert sampled.problem.dim == 2
    assert all(x[2] == 0.25 for x in advance(sampled, 4))
    assert sampled.result().x[2] == 0.25
    sampled.amend(bounds={"x3": (0.0, 1.0)})
    assert sampled.problem.dim == 3
    assert len(sampled.result().history) == 12
    assert sampled.log.best is not None


def test_integers_and_logarithms_keep_their_kinds() -> None:
    kinds = {"n": lcbo.Variable(1, 9, integer=True), "k": lcbo.Variable(1e-3, 1.0, log=True)}
    optimizer = Optimizer(Problem(kinds, (), "f"), "sobol")
    optimizer.tell(optimizer.ask(1)[0].id, {"f": 1.0})
    optimizer.amend(bounds={"n": (2, 5), "k": (1e-4, 1.0)})
    assert optimizer.problem.kinds == ("integer", "log")
    assert {float(c.x[0]) for c in optimizer.ask(20)} <= {2.0, 3.0, 4.0, 5.0}
    with pytest.raises(lcbo.ArgumentError, match="whole"):
        optimizer.amend(bounds={"n": (2, 5.5)})
    with pytest.raises(lcbo.ArgumentError, match="above 0"):
        optimizer.amend(bounds={"k": (0.0, 1.0)})


def test_tightened_limit_does_not_send_the_run_back_to_its_beginning() -> None:
    optimizer = Optimizer(problem(), budget=40)
    advance(optimizer, 15)
    best = optimizer.log.best
    assert best is not None
    optimizer.amend(limits="c <= 0")  # feasible up to now: 0.1
    optimizer.amend(withdraw=0)  # the second of two must not forget where the run stood
    points = np.array([c.x for c in optimizer.ask(4)])
    assert np.abs(points - best.x).max() < 0.2
    advance(optimizer, 12)
    assert optimizer.result().fun == pytest.approx(0.04, rel=0.02)


def test_starts_that_were_not_asked_for_yet_come_first() -> None:
    x0 = np.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9], [0.2, 0.5, 0.8]])
    optimizer = Optimizer(problem(), "sobol", x0=x0)
    optimizer.ask(1)
    optimizer.amend(bounds={"x1": (0.0, 0.5)})
    np.testing.assert_allclose([c.x for c in optimizer.ask(2)], [[0.5, 0.9, 0.9], [0.2, 0.5, 0.8]])


def test_data_brought_along_can_be_corrected_and_amended_runs_are_data(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    data = [([0.5, 0.2, 0.1], {"f": 0.2, "c": 0.0}), ([0.6, 0.2, 0.1], {"f": 9.0, "c": 0.0})]
    with Optimizer(problem(), "sobol", data=data, store=path) as optimizer:
        optimizer.tell(optimizer.ask(1)[0].id, {"f": 7.0, "c": 0.0})
        optimizer.amend(correct={1: {"f": 0.1}}, withdraw=0)
        assert optimizer.result().fun == 0.1
    assert lcbo.open_run(path).result().fun == 0.1
    again = Optimizer(problem(), "sobol", data=path)
    assert [e.outcomes["f"] for e in again.log.evaluations] == [0.1, 7.0]


def test_minimize_goes_on_with_the_problem_of_before_or_of_now(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    before, other = problem(fun=simulate), Problem(BOX, ["c <= 7"], "f", fun=simulate, deterministic=True)
    now = Problem(BOX, ["c <= 0", "mass <= 1.2"], "f", fun=simulate, deterministic=True)
    lcbo.minimize(before, budget=6, method="sobol", store=path)
    with Optimizer.open(path) as optimizer:
        optimizer.amend(limits="c <= 0", constrain="mass <= 1.2")
    for given, budget in ((before, 8), (now, 10)):
        result = lcbo.minimize(given, budget=budget, method="sobol", store=path)
        assert list(result.slack) == ["c <= 0", "mass <= 1.2"]
        assert np.isfinite(result.history.outcomes["mass"]).all()
        assert len(result.history) == budget
    with pytest.raises(StoreError, match="c"):
        lcbo.minimize(other, budget=12, method="sobol", store=path)


def test_benchmark_with_noise_goes_on_with_its_noise(quick_folder: Path) -> None:
    def noisy() -> Problem:
        return lcbo.problems.make("pressure_vessel").noisy(rng=1)

    for path in (quick_folder / "run.db", quick_folder / "whole.db"):
        lcbo.minimize(noisy(), budget=5, method="sobol", store=path)
        with Optimizer.open(path) as optimizer:
            name, low, high = optimizer.problem.variables[2], optimizer.problem.lb[2], optimizer.problem.ub[2]
            optimizer.amend(bounds={name: (float(low), float(high) * 1.5)})
    lcbo.minimize(noisy(), budget=7, method="sobol", store=quick_folder / "run.db")
    one = lcbo.minimize(noisy(), budget=9, method="sobol", store=quick_folder / "run.db")
    other = lcbo.minimize(noisy(), budget=9, method="sobol", store=quick_folder / "whole.db")
    assert one.nfail == 0
    np.testing.assert_equal(one.history.outcomes, other.history.outcomes)


def test_pending_candidate_told_afterwards_reaches_the_method() -> None:
    optimizer = Optimizer(problem(), budget=30, options={"explore": 3})
    advance(optimizer, 7)
    [*waiting] = optimizer.pending
    assert waiting
    optimizer.amend(limits="c <= 0.05")
    assert isinstance(optimizer._method, Restarted)
    before = len(optimizer._method._own)
    advance(optimizer, len(waiting))
    assert len(optimizer._method._own) == before + len(waiting)
    assert [e.id for e in optimizer.log.evaluations[-len(waiting) :]] == [c.id for c in waiting]


def test_amendment_that_cannot_be_recorded_has_not_happened(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Optimizer(problem(), "sobol", budget=9, store=quick_folder / "run.db") as optimizer:
        advance(optimizer, 4)

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "record_amendment", full)
            with pytest.raises(StoreError, match="full"):
                optimizer.amend(withdraw=0)
        assert optimizer.amendments == []
        assert len(optimizer.log.evaluations) == 4
        optimizer.amend(withdraw=0)
        assert len(optimizer.log.evaluations) == 3


def test_method_that_cannot_treat_the_new_problem_refuses_and_nothing_happens(sampled: Optimizer) -> None:
    with pytest.raises(lcbo.ArgumentError, match="equality"):
        sampled.amend(constrain="mass == 1 +/- 0.1")
    assert (sampled.amendments, sampled.problem.outcomes) == ([], ("f", "c"))
    assert str(sampled.amend(constrain="mass <= 1", dry_run=True)) == "limit mass <= 1 added"
    assert (sampled.amendments, sampled.problem.outcomes) == ([], ("f", "c"))


def test_only_the_owner_amends(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    with Optimizer(problem(), "sobol", store=path) as optimizer:
        advance(optimizer, 2)
        with pytest.raises(RunInUseError):
            Optimizer.open(path)
        with pytest.raises(StoreError, match="for reading"):
            Optimizer.inspect(path).amend(withdraw=0)


def test_file_says_what_was_before_and_older_code_refuses_it(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    with Optimizer(problem(), "sobol", store=path) as optimizer:
        advance(optimizer, 2)
        with sqlite3.connect(path) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (1,)
        db.close()
        optimizer.amend(correct={0: {"f": 7.0}})
        optimizer.ask(1)
    past = lcbo.open_run(path)
    assert past.entries[2].outcomes["f"] == past.amendments[0].changes[0].before
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.execute("DELETE FROM amendments")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="not complete"):
        lcbo.open_run(path)
