import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lcbo
from lcbo import ArgumentError, Optimizer, Problem, Record, StoreError

pytestmark = pytest.mark.usefixtures("uniform")

PROBLEM = Problem({"a": (0, 1), "b": (-2, 2)}, ["c <= 0.5"], lcbo.Objective("f", maximize=True))


@pytest.fixture
def path(quick_folder):
    """A run of six asked, of which three ended, one of them failed, and one is told in part."""
    file = quick_folder / "run.db"
    data = [([0.5, 1.0], {"f": 1.0, "c": 0.1})]
    with Optimizer(PROBLEM, "uniform", budget=9, n_init=3, rng=1, data=data, store=file) as optimizer:
        for candidate in optimizer.ask():
            how = Record(f"w{candidate.id}", 100.0 + candidate.id, 0.5, "", 1)
            values = {"f": float(candidate.x.sum()), "c": 0.4}
            if candidate.id == 2:
                optimizer.tell(candidate.id, failed="diverged", record=Record(traceback="Traceback: x"))
            else:
                optimizer.tell(candidate.id, values, record=how)
        second = optimizer.ask()
        optimizer.tell(second[0].id, {"c": 1.0})
        optimizer.late(replace(second[0], id=2, status="done", outcomes={"f": 1.0}))
    return file


def test_status_counts_without_a_model(path, uniform):
    uniform.clear()
    status = lcbo.open_run(path).status
    assert not uniform
    assert (status.method, status.budget, status.asked) == ("uniform", 9, 6)
    assert (status.ended, status.failed, status.pending) == (3, 1, 3)
    assert status.iteration == 1
    assert status.created <= status.updated
    assert (status.writer, status.writing) == (None, False)


def test_status_of_a_new_run(quick_folder):
    Optimizer(PROBLEM, "uniform", store=quick_folder / "new.db").close()
    run = lcbo.open_run(quick_folder / "new.db")
    status = run.status
    assert (status.budget, status.asked, status.ended, status.iteration) == (None, 0, 0, 0)
    assert status.updated == status.created
    assert len(run.history) == 0
    assert len(run.trace) == 0
    assert run.result().x is None
    assert repr(run) == f"<StoredRun {run.path}: uniform, 0 of open evaluations>"


def test_writer_is_seen(path):
    with Optimizer.open(path):
        status = lcbo.open_run(path).status
        assert status.writer.pid == os.getpid()
        assert status.writing is True
    assert lcbo.open_run(path).status.writing is False


def test_history_has_a_row_per_ended_evaluation(path):
    frame = lcbo.open_run(path).history
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame["role"].tolist() == ["data", "init", "init", "init"]
    assert frame["failed"].tolist() == ["", "", "diverged", ""]
    assert frame["worker"].tolist() == ["", "w1", "", "w3"]
    assert frame["traceback"].tolist() == ["", "", "Traceback: x", ""]
    np.testing.assert_array_equal(frame["started"], [np.nan, 101.0, np.nan, 103.0])
    assert frame["seconds"].dtype == float
    assert frame.loc[1, "f"] == frame.loc[1, "a"] + frame.loc[1, "b"]
    assert np.isnan(frame.loc[2, "f"])


def test_history_is_that_of_the_optimizer(path):
    run = lcbo.open_run(path)
    own = run.optimizer.log.history().to_frame()
    pd.testing.assert_frame_equal(run.history[own.columns], own)


def test_trace_has_a_row_per_ask(path):
    trace = lcbo.open_run(path).trace
    assert trace["asked"].tolist() == [3, 6]
    assert trace["iteration"].tolist() == [0.0, 1.0]
    assert trace["step"].tolist() == [0.1, 0.1]


def test_result_says_how_far_the_run_is(path):
    result = lcbo.open_run(path).result()
    assert result.nfev == 3
    assert result.rng == 1
    assert result.message.endswith("3 evaluations so far.")
    with Optimizer.open(path) as optimizer:
        while batch := optimizer.pending or optimizer.ask():
            optimizer.tell(batch[0].id, failed="x")
    assert lcbo.open_run(path).result().message.endswith("Budget of 9 evaluations spent.")


def test_pending_and_problem(path):
    run = lcbo.open_run(path)
    assert [candidate.id for candidate in run.pending] == [4, 5, 6]
    assert run.problem.variables == ("a", "b")
    assert run.problem.objective.maximize
    assert run.meta["seed"] == 1


def test_benchmark_comes_with_its_function(quick_folder):
    file = quick_folder / "run.db"
    problem = lcbo.problems.make("hs71").noisy(rng=3)
    Optimizer(problem, "uniform", budget=9, store=file).close()
    again = lcbo.open_run(file).problem
    x = problem.space.from_unit(np.full(4, 0.5))
    assert again.evaluate(x) == problem.evaluate(x)


def test_run_is_as_it_was_when_it_was_opened(path):
    before = lcbo.open_run(path)
    with Optimizer.open(path) as optimizer:
        optimizer.tell(5, failed="x")
    assert before.status.ended == 3
    assert len(before.history) == 4
    assert before.result().nfev == 3
    after = lcbo.open_run(path)
    assert after.status.ended == 4


def test_optimizer_of_a_run_cannot_go_on(path):
    optimizer = lcbo.open_run(path).optimizer
    for call in (
        optimizer.ask,
        lambda: optimizer.tell(4, {"f": 1.0}),
        lambda: optimizer.late(optimizer.log.evaluations[0]),
    ):
        with pytest.raises(StoreError, match=f"^{path}: opened for reading; Optimizer.open"):
            call()
    assert optimizer.n_ended == 3
    assert optimizer.recommend() is None


def test_export(path, tmp_path):
    run = lcbo.open_run(path)
    written = pd.read_csv(run.export(tmp_path / "run.csv"), index_col="id")
    np.testing.assert_array_equal(written["f"], run.history["f"])
    assert list(written.columns) == list(run.history.columns)
    with pytest.raises(ArgumentError, match="ending in .csv, .json or .parquet"):
        run.export(tmp_path / "run.xls")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(ArgumentError, match="pyarrow"):
            run.export(tmp_path / "run.parquet")
    else:
        pd.testing.assert_frame_equal(pd.read_parquet(run.export(tmp_path / "run.parquet")), run.history)


@pytest.mark.parametrize("name", ["none.db", ".", "none/run.db"])
def test_nothing_to_open(tmp_path, name):
    with pytest.raises(StoreError, match="there is no such run file|got a directory"):
        lcbo.open_run(tmp_path / name)
