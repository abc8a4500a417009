"""Runs with a store: continuing, refusing, breaking off. The method here resumes by repeating its calls."""

import gc
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Optimizer, Problem, Record, RunInUseError, StoreError, StoreWarning, TellError
from lcbo.methods import registry
from lcbo.optimizer.plan import resume
from lcbo.store.store import Store, read

pytestmark = pytest.mark.usefixtures("uniform")

PROBLEM = Problem([(0, 1), (-2, 2)], ["c <= 0.5", "h <= 1"], "f")
BUDGET = 23


def outcomes(x):
    return {"f": float(x.sum()), "c": float(x[0]), "h": float(x[0] * x[1])}


@pytest.fixture
def path(quick_folder):
    return quick_folder / "run.db"


def begin(store=None, problem=PROBLEM, **arguments):
    """Begin a run, or go on with the one that is there, checking all arguments."""
    given = {"method": "uniform", "budget": BUDGET, "rng": 5, "n_init": 4, "x0": None, "options": None}
    given |= arguments
    if isinstance(store, str | Path) and len(Path(store).name) < 99 and Path(store).exists():
        return Optimizer.open(store, problem, **given)
    return Optimizer(problem, store=store, **given)


def report(optimizer, candidate):
    """Tell a candidate in one of several ways, always the same for one id."""
    values = outcomes(candidate.x)
    if candidate.id % 7 == 3:
        optimizer.tell(candidate.id, failed=f"mesh {candidate.id} failed")
    elif candidate.id % 7 == 4:
        optimizer.tell(candidate.id, {**values, "h": np.nan})
    elif candidate.id % 7 == 5:
        optimizer.tell(candidate.id, {"c": values["c"]})
        optimizer.tell(candidate.id, {"f": values["f"]}, final=True)
    else:
        optimizer.tell(candidate.id, values, record=Record("w1", 1.5, 0.25, "", 1))


def finish(optimizer):
    while batch := optimizer.pending or optimizer.ask():
        report(optimizer, batch[0])


def assert_same_run(one, other):
    assert [o.id for o in one.log.evaluations] == [o.id for o in other.log.evaluations]
    for a, b in zip(one.log.evaluations, other.log.evaluations, strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert (a.role, a.iteration, a.outcomes, a.failed) == (b.role, b.iteration, b.outcomes, b.failed)
    assert [c.id for c in one.pending] == [c.id for c in other.pending]
    assert one.n_asked == other.n_asked
    assert one.info() == other.info()


@pytest.fixture
def whole():
    optimizer = begin()
    finish(optimizer)
    return optimizer


def test_store_changes_nothing_about_a_run(path, whole):
    with begin(path) as optimizer:
        finish(optimizer)
        assert_same_run(optimizer, whole)
    with Optimizer.open(path) as again:
        assert_same_run(again, whole)
        assert again.ask() == []


def test_run_interrupted_after_every_tell_is_the_same_run(path, whole):
    for turn in range(1000):
        with begin(path) if turn % 2 else begin(str(path)) as optimizer:
            batch = optimizer.pending or optimizer.ask()
            if not batch:
                break
            report(optimizer, batch[0])
    assert_same_run(optimizer, whole)
    assert optimizer.n_ended == BUDGET


def test_run_interrupted_after_every_ask_is_the_same_run(path, whole):
    """An ask whose candidates nobody evaluated yet is not asked again."""
    while True:
        with Optimizer.open(path) if path.exists() else begin(path) as optimizer:
            optimizer.ask()
        with Optimizer.open(path) as optimizer:
            if not optimizer.pending:
                break
            for candidate in optimizer.pending:
                report(optimizer, candidate)
    assert_same_run(optimizer, whole)


def test_outcomes_told_in_part_survive(path):
    with begin(path) as optimizer:
        id = optimizer.ask()[0].id
        optimizer.tell(id, {"c": 0.25})
    with begin(path) as optimizer:
        with pytest.raises(TellError, match="expected 0.25 as told before; got 0.5"):
            optimizer.tell(id, {"c": 0.5})
        optimizer.tell(id, {"f": 1.0, "h": 2.0})
        assert optimizer.log.evaluations[0].outcomes == {"c": 0.25, "f": 1.0, "h": 2.0}


def test_telling_again_is_not_recorded_again(path):
    with begin(path) as optimizer:
        candidate = optimizer.ask()[0]
        for _ in range(2):
            optimizer.tell(candidate.id, outcomes(candidate.x))
        assert len(optimizer.store.contents().entries) == 3


def test_late_outcome_is_on_record_and_not_used(path):
    with begin(path) as optimizer:
        first, *_ = optimizer.ask()
        with pytest.raises(TellError, match="whose evaluation has ended"):
            optimizer.late(first)
        optimizer.tell(first.id, failed="timeout")
        ended = replace(first, status="done", outcomes={"f": 1.0}, record=Record("w2"))
        optimizer.late(ended)
        optimizer.late(replace(first, status="failed", failed="again"))
    with Optimizer.open(path) as again:
        assert again.log.evaluations[0].failed == "timeout"
        assert again.log.evaluations[0].outcomes == {}
    *_, came, failed = read(path).entries
    assert (came.late, came.outcomes, came.failed, came.record.worker) == (
        True,
        {"f": 1.0},
        None,
        "w2",
    )
    assert (failed.late, failed.failed) == (True, "again")


def test_data_and_starts_come_back(path):
    data = [([0.5, 1.0], {"f": 1.0, "c": 0.1, "h": 0.2}), ([0.25, 0.0], {"f": 2.0})]
    with begin(path, data=data, x0=[0.5, 0.5]) as optimizer:
        report(optimizer, optimizer.ask()[0])
    with Optimizer.open(path) as again:
        assert_same_run(again, optimizer)
        assert [o.role for o in again.log.evaluations] == ["data", "data", "init"]
        finish(again)
        assert again.n_ended == BUDGET


def test_noise_of_a_benchmark_goes_on_where_it_was(path):
    def evaluated(optimizer, count):
        for _ in range(count):
            candidate = (optimizer.pending or optimizer.ask())[0]
            optimizer.tell(candidate.id, optimizer.problem.evaluate(candidate.x))
        return [o.outcomes for o in optimizer.log.evaluations]

    truth = lcbo.problems.make("g07")
    straight = evaluated(begin(problem=truth.noisy(rng=2)), 12)
    for _ in range(4):
        with begin(path, problem=truth.noisy(rng=2)) as optimizer:
            evaluated(optimizer, 2)
    with Optimizer.open(path) as optimizer:  # builds the noisy view itself
        assert evaluated(optimizer, 4) == straight


class TestRefusals:
    def test_every_change_is_named(self, path):
        with begin(path) as optimizer:
            optimizer.ask()
        other = Problem([(0, 1), (-2, 3)], ["c <= 0.5", "h <= 1"], "f")
        with pytest.raises(StoreError) as raised:
            begin(path, other, rng=6, n_init=5, options={"batch": 4}, x0=[0.5, 0.5])
        first, *lines = str(raised.value).splitlines()
        assert first == f"{path}: this run was begun with other arguments:"
        assert lines == [
            "  problem.variables.x2: the run has [-2.0, 2.0]; now it is [-2.0, 3.0]",
            "  options.batch: the run has none; now it is 4",
            "  x0: the run has null; now it is [[0.5, 0.5]]",
            "  n_init: the run has 4; now it is 5",
            "  seed: the run has 5; now it is 6",
        ]
        with begin(path) as again:  # the refusal has released the file
            assert again.n_asked == 4

    def test_many_changes_are_counted(self, path):
        names = {f"v{i}": (0, 1) for i in range(40)}
        begin(path, Problem(names)).close()
        with pytest.raises(StoreError, match="and 28 more$"):
            begin(path, Problem(dict.fromkeys(names, (0, 2))))

    def test_another_benchmark_of_the_same_form_is_refused(self, path):
        def view(seed, noise_seed):
            return lcbo.problems.make("gp_sample", d=3, seed=seed).noisy(rng=noise_seed)

        begin(path, view(1, 0)).close()
        begin(path, view(1, 0)).close()
        changed = (
            r"benchmark.variant.seed: the run has 1; now it is 2\n  "
            r"benchmark.noise.rng: the run has 0; now it is 3$"
        )
        with pytest.raises(StoreError, match=changed):
            begin(path, view(2, 3))
        plain = Problem(dict(zip(view(1, 0).variables, view(1, 0).bounds, strict=True)))
        with pytest.raises(StoreError, match="problem.objective"):
            begin(path, plain)

    @pytest.mark.parametrize("rng", [5, np.int64(5), None, np.random.default_rng(3)], ids=str)
    def test_seed_that_agrees_or_is_left_open_is_accepted(self, path, rng):
        begin(path).close()
        with begin(path, rng=rng) as optimizer:
            assert optimizer.seed == 5

    @pytest.mark.parametrize("rng", [np.int64(6), True, "five", -1], ids=str)
    def test_wrong_seed_is_refused_by_name(self, path, rng):
        begin(path).close()
        with pytest.raises((StoreError, ArgumentError), match="seed: the run has 5; now it is 6|^rng:"):
            begin(path, rng=rng)
        begin(path).close()

    def test_other_versions_warn_and_the_run_goes_on(self, path, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(resume, "versions", lambda: {"lcbo": "0.0.9", "old": "1"})
            begin(path).close()
        with pytest.warns(StoreWarning, match='begun with other versions:.* lcbo: the run has "0.0.9"; now'):
            optimizer = begin(path)
        finish(optimizer)
        optimizer.close()
        assert lcbo.open_run(path).result().nfev == BUDGET  # looking does not warn

    @pytest.mark.parametrize("store", [5, b"run.db", ["run.db"]])
    def test_store_that_is_no_path(self, store):
        with pytest.raises(ArgumentError, match="^store: expected a path"):
            begin(store)

    def test_wrong_arguments_leave_no_file(self, path):
        with pytest.raises(ArgumentError):
            begin(path, n_init=100)
        with pytest.raises(ArgumentError):
            begin(path, data=[1])
        assert os.listdir(path.parent) == []

    def test_name_too_long_for_the_system(self, tmp_path):
        with pytest.raises(StoreError, match="File name too long"):
            begin(tmp_path / ("x" * 300))

    def test_second_optimizer_is_refused(self, path):
        with begin(path), pytest.raises(RunInUseError, match="it is this one"):
            begin(path)

    def test_refused_file_is_free_again(self, path):
        begin(path).close()
        with pytest.raises(ArgumentError, match="^x0"):
            begin(path, x0=[9.0, 9.0])
        with pytest.raises(ArgumentError, match="^budget"):
            begin(path, budget=3)
        with pytest.raises(ArgumentError, match="^budget"):
            begin(path, budget="many")
        begin(path).close()


class TestBudget:
    def test_larger_budget_goes_on_and_is_kept(self, path):
        with begin(path) as optimizer:
            finish(optimizer)
        with begin(path, budget=np.int64(30)) as optimizer:
            finish(optimizer)
            assert optimizer.n_ended == 30
        with Optimizer.open(path) as optimizer:
            assert optimizer.budget == 30
        with Optimizer.open(path, budget=32) as optimizer:
            finish(optimizer)
        assert [e.budget for e in read(path).entries if hasattr(e, "budget")] == [BUDGET, 30, 32]

    def test_budget_left_out_is_that_of_the_run(self, path):
        begin(path).close()
        with begin(path, budget=None) as optimizer:
            assert optimizer.budget == BUDGET

    def test_smaller_budget_is_refused(self, path):
        begin(path).close()
        with pytest.raises(
            ArgumentError, match=f"^budget: expected at least {BUDGET}, as the run has; got 22"
        ):
            begin(path, budget=BUDGET - 1)
        begin(path, budget=BUDGET).close()

    def test_open_budget_stays_open(self, path):
        begin(path, budget=None).close()
        with pytest.raises(ArgumentError, match="^budget: expected an open budget, as the run has; got 50"):
            begin(path, budget=50)

    def test_what_came_before_the_extension_is_unchanged(self, path, whole):
        for budget in (6, 11, BUDGET):
            with begin(path, budget=budget) as optimizer:
                finish(optimizer)
        points = [o.x.tobytes() for o in whole.log.evaluations]
        assert [o.x.tobytes() for o in optimizer.log.evaluations] == points


class TestReplay:
    def test_method_that_does_not_repeat_itself_is_noticed(self, path, monkeypatch):
        with begin(path) as optimizer:
            finish(optimizer)
        same = registry.make

        def other(name, setup, options):
            method = same(name, setup, options)
            method.options = {"batch": 2}
            return method

        monkeypatch.setattr(registry, "make", other)
        expected = (
            f"^{path}: the method resumes by repeating its calls, and did not.*ask 6 gives other points"
        )
        with pytest.raises(StoreError, match=expected):
            Optimizer.open(path)
        assert lcbo.open_run(path).status.ended == BUDGET

    def test_number_asked_for_is_repeated(self, path):
        with begin(path) as optimizer:
            asked = [optimizer.ask(n) for n in (1, 2, np.int64(3))]
        with Optimizer.open(path) as again:
            assert [c.id for c in again.pending] == [c.id for batch in asked for c in batch]
            assert again.n_asked == 6


class Flaky:
    """A connection that fails at one of its commits: before, or by Ctrl-C right after."""

    def __init__(self, db, commit, error):
        self.db, self.left, self.error = db, commit, error

    def execute(self, sql, *arguments):
        if sql == "COMMIT":
            self.left -= 1
            if self.left == 0:
                if self.error is KeyboardInterrupt:
                    self.db.execute(sql)
                    raise KeyboardInterrupt
                raise sqlite3.OperationalError("database or disk is full")
        return self.db.execute(sql, *arguments)

    def close(self):
        self.db.close()


class TestBreakingOff:
    @pytest.mark.parametrize("error", [StoreError, KeyboardInterrupt])
    def test_run_goes_on_in_the_same_object_whichever_commit_breaks(self, quick_folder, error):
        straight = begin(budget=11)
        finish(straight)
        for commit in range(1, 100):
            path = quick_folder / f"{commit}.db"
            optimizer = begin(path, budget=11)
            optimizer.store._db = Flaky(optimizer.store._db, commit, error)
            try:
                finish(optimizer)
            except error:
                finish(optimizer)
            else:
                break
            assert_same_run(optimizer, straight)
            optimizer.close()
            with Optimizer.open(path) as again:
                assert_same_run(again, straight)
        assert commit > 11
        optimizer.close()

    def test_failed_tell_changes_nothing_and_names_what_is_lost(self, path, uniform):
        optimizer = begin(path)
        first, second, *_ = optimizer.ask()
        report(optimizer, first)
        optimizer.store._db.execute("PRAGMA query_only=ON")
        lost = r'candidate 1 could not be recorded: \{"f": .*"c": .*"h": .*\}; everything recorded before is'
        with pytest.raises(StoreError, match=lost):
            optimizer.tell(second.id, outcomes(second.x))
        assert [c.id for c in optimizer.pending] == [1, 2, 3]
        assert list(uniform[0].told) == [0]
        optimizer.store._db.execute("PRAGMA query_only=OFF")
        optimizer.tell(second.id, outcomes(second.x))
        assert [c.id for c in optimizer.pending] == [2, 3]
        optimizer.close()

    def test_failed_ask_hands_nothing_out_and_is_made_again(self, path, whole):
        optimizer = begin(path)
        optimizer.store._db.execute("PRAGMA query_only=ON")
        for _ in range(2):
            with pytest.raises(StoreError, match="4 candidates could not be recorded"):
                optimizer.ask()
            assert optimizer.pending == []
            assert optimizer.n_asked == 0
        optimizer.store._db.execute("PRAGMA query_only=OFF")
        finish(optimizer)
        assert_same_run(optimizer, whole)
        optimizer.close()

    def test_ask_that_was_interrupted_inside_the_method_is_made_again(
        self, path, whole, uniform, monkeypatch
    ):
        optimizer = begin(path)
        method = type(uniform[-1])
        propose, calls = method._propose, []

        def interrupted(self, role):
            calls.append(role)
            if len(calls) == 7:
                raise KeyboardInterrupt
            return propose(self, role)

        monkeypatch.setattr(method, "_propose", interrupted)
        with pytest.raises(KeyboardInterrupt):
            finish(optimizer)
        finish(optimizer)
        assert_same_run(optimizer, whole)
        optimizer.close()

    def test_noise_does_not_start_again_when_a_tell_is_repeated(self, path):
        noisy = lcbo.problems.make("g07").noisy(rng=2)
        optimizer = begin(path, noisy)
        first, second, *_ = optimizer.ask()
        values = noisy.evaluate(first.x)
        optimizer.store._db.execute("PRAGMA query_only=ON")
        with pytest.raises(StoreError):
            optimizer.tell(first.id, values)
        optimizer.store._db.execute("PRAGMA query_only=OFF")
        optimizer.tell(first.id, values)
        assert noisy.count == 1
        optimizer.tell(second.id, noisy.evaluate(second.x))
        optimizer.close()


class TestClosing:
    def test_closed_optimizer_says_so(self, path):
        optimizer = begin(path)
        candidate = optimizer.ask()[0]
        optimizer.close()
        optimizer.close()
        with pytest.raises(StoreError, match="candidate 0 could not be recorded:.* the run was closed"):
            optimizer.tell(candidate.id, outcomes(candidate.x))
        assert optimizer.n_ended == 0

    def test_forgotten_optimizer_lets_go_of_the_run(self, path):
        begin(path).ask()
        gc.collect()
        with begin(path) as optimizer:
            assert optimizer.n_asked == 4

    def test_error_in_a_with_block_lets_go_of_the_run(self, path):
        with pytest.raises(ZeroDivisionError), begin(path):
            _ = 1 / 0
        begin(path).close()

    def test_file_that_was_taken_over_is_left_alone(self, path):
        old = begin(path)
        candidate = old.ask()[0]
        lcbo.store.store.unlock(path)
        with begin(path) as new:
            with pytest.raises(RunInUseError, match=r"candidate 0 could not be recorded: \{.*taken over"):
                old.tell(candidate.id, outcomes(candidate.x))
            old.close()
            new.tell(candidate.id, outcomes(candidate.x))


class TestCallables:
    def test_run_goes_on_with_the_same_function_and_not_from_the_file_alone(self, path):
        def options(rate):
            return {"schedule": lambda k: rate * k, "batch": 2}

        with begin(path, options=options(0.5)) as optimizer:
            report(optimizer, optimizer.ask()[0])
        with begin(path, options=options(0.5)) as again:
            assert_same_run(again, optimizer)
        with pytest.raises(StoreError, match="options.schedule.digest: the run has"):
            begin(path, options=options(0.75))
        hint = rf"^{path}: the option .*options.<locals>.<lambda> is Python code.*lcbo.Optimizer.open\("
        with pytest.raises(StoreError, match=hint):
            Optimizer.open(path)
        run = lcbo.open_run(path)
        assert run.status.ended == 1
        assert len(run.history) == 1
        assert [c.id for c in run.pending] == [1, 2, 3]
        with pytest.raises(StoreError, match="is Python code"):
            run.result()


@pytest.mark.parametrize("failed", [ValueError("x"), True, 3])
def test_reason_that_is_no_text_is_refused(failed):
    optimizer = begin()
    with pytest.raises(ArgumentError, match="^failed: expected the reason as a text"):
        optimizer.tell(optimizer.ask()[0].id, failed=failed)


def test_empty_reason_is_a_failure_all_the_same(path):
    with begin(path) as optimizer:
        optimizer.tell(optimizer.ask()[0].id, failed="")
    with Optimizer.open(path) as again:
        assert again.log.n_failed == 1
        assert again.log.evaluations[0].failed == "no reason given"


def test_numpy_ids_are_ids(path):
    with begin(path) as optimizer:
        candidate = optimizer.ask()[1]
        optimizer.tell(np.int64(candidate.id), outcomes(candidate.x))
    assert read(path).entries[-1].id == 1


def test_store_object_is_released_when_its_run_cannot_be_built(path, monkeypatch):
    begin(path).close()

    def refuse(*_):
        raise ArgumentError("method", "another", "this")

    monkeypatch.setattr(registry, "make", refuse)
    with pytest.raises(ArgumentError):
        Optimizer.open(path)
    Store.open(path).close()
