"""Evaluations on executors of the standard library and on a real Dask cluster."""

import os
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Optimizer, OutcomeError, Problem
from lcbo.errors import WorkerError
from lcbo.evaluation.executors import FutureEvaluator
from lcbo.types import Candidate

pytestmark = pytest.mark.usefixtures("uniform")


def simulate(x):
    return {"f": float(x @ x), "c": float(0.2 - x[0])}


def run(fun=simulate, **arguments):
    defaults = {
        "bounds": [(0.0, 1.0)] * 2,
        "constraints": ["c <= 0"],
        "objective": "f",
        "budget": 20,
        "method": "uniform",
    }
    return lcbo.minimize(fun, **(defaults | arguments))


class Quiet(Executor):
    """Runs everything at once, in this thread, and does not say how many workers it has."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def test_threads_evaluate_at_once():
    together = threading.Barrier(4, timeout=30)

    def fun(x):
        together.wait()
        return simulate(x)

    with ThreadPoolExecutor(4) as executor:
        result = run(fun, workers=executor)
    assert result.nfev == 20
    assert result.nfail == 0


def test_processes_get_functions_they_cannot_import():
    offset = 0.25
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        result = run(
            lambda x: simulate(x) | {"f": float(np.sum((x - offset) ** 2))}, workers=executor, budget=6
        )
    assert result.nfev == 6
    assert result.nfail == 0
    assert result.success


def test_failures_and_wrong_forms_are_recorded():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) % 3 == 0:
            raise RuntimeError("diverged")
        return simulate(x) if len(calls) % 3 == 1 else None

    seen = []
    with ThreadPoolExecutor(1) as executor:
        run(fun, workers=executor, budget=6, callback=lambda s: seen.append(s.latest), max_failure_rate=1)
        with pytest.raises(OutcomeError, match="NoneType"):
            run(lambda _: None, workers=executor)
    assert [bool(o.failed) for o in seen] == [False, True, True] * 2
    assert "in fun" in seen[2].record.traceback


def test_size_must_be_known():
    with pytest.raises(ArgumentError, match="^slots"):
        run(workers=Quiet())
    assert run(workers=Quiet(), slots=3).nfev == 20


def test_late_result_is_kept_but_not_used(tmp_path):
    """An evaluation that exceeds its timeout fails; its slot and its result come back later."""
    release = threading.Event()
    late = []

    def fun(x):
        if x[0] == 0.5:
            release.wait(30)
        time.sleep(0.03)
        return simulate(x)

    def callback(snapshot):
        if snapshot.latest.failed:
            release.set()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as executor:
        original = Optimizer.late
        patch.setattr(Optimizer, "late", lambda self, ended: late.append(ended) or original(self, ended))
        result = run(
            fun, workers=executor, timeout=0.2, x0=[0.5, 0.5], callback=callback, store=tmp_path / "run.db"
        )
    assert result.history.failed[result.history.id == 0] == "timeout: no result within 0.2 s"
    assert result.nfail == 1
    assert result.nfev == 20
    (ended,) = late
    assert (ended.id, ended.status, ended.outcomes) == (0, "done", {"f": 0.5, "c": -0.3})
    assert ended.failed is None


def test_late_result_of_a_first_try_waits_for_the_second():
    """A candidate tried again after a timeout is told once; what the first try gave comes late."""
    release, tries, late = threading.Event(), [], []

    def fun(x):
        if x[0] == 0.5:
            tries.append(x)
            if len(tries) == 1:
                release.wait(30)
            else:
                release.set()
                time.sleep(0.4)
        return simulate(x)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as executor:
        original = Optimizer.late
        patch.setattr(Optimizer, "late", lambda self, ended: late.append(ended.id) or original(self, ended))
        result = run(fun, workers=executor, timeout=1.0, retries=1, x0=[0.5, 0.5], budget=300)
    assert len(tries) == 2
    assert late == [0]
    assert result.nfail == 0
    assert sorted(result.history.id) == list(range(300))


def test_executor_with_every_worker_stuck_ends_the_run():
    release = threading.Event()

    def fun(x):
        if x[0] != 0.5:
            release.wait(30)
        return simulate(x)

    with ThreadPoolExecutor(2) as executor:
        result = run(fun, workers=executor, timeout=0.2, x0=[0.5, 0.5])
        release.set()
    assert result.reason == "every worker of the executor is busy with an evaluation that timed out"
    assert result.nfev == 3
    assert result.fun == 0.5


def test_evaluation_that_never_began_is_canceled():
    release = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        problem = Problem([(0.0, 1.0)] * 2, ["c <= 0"], "f", fun=lambda _: release.wait(30))
        evaluator = FutureEvaluator(problem, executor, timeout=0.2, slots=2)
        for id in range(2):
            evaluator.submit(Candidate(id, np.zeros(2), np.zeros(2), "init", 0))
        assert {f.evaluation.id for f in evaluator.wait() + evaluator.wait(0.0)} == {0, 1}
        assert evaluator.slots == 1
        release.set()
        (late,) = evaluator.wait()
    assert (late.evaluation.id, late.late) == (0, True)
    assert evaluator.slots == 2


def dies_at_half(x):
    if x[0] == 0.5:
        os._exit(1)
    return simulate(x)


def test_broken_executor_ends_the_run_with_what_there_is():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        result = run(dies_at_half, workers=executor, x0=[[0.1, 0.1], [0.3, 0.3], [0.5, 0.5]])
        assert "takes no more evaluations (BrokenProcessPool" in result.reason
        assert "workers=n" in result.reason
        assert result.nfev == 3
        assert result.nfail == 1
        with pytest.raises(WorkerError, match="BrokenProcessPool"):
            run(workers=executor)


def test_stopped_run_leaves_the_executor_usable():
    def stop(_):
        raise StopIteration

    with ThreadPoolExecutor(2) as executor:
        result = run(workers=executor, callback=stop)
        assert result.reason == "stopped by the callback"
        assert 1 <= result.nfev <= 2
        assert executor.submit(int, "7").result() == 7


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (extra: dask)")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.slow
def test_dask_cluster(cluster, tmp_path):
    """All workers are used, equal calls are not taken for one, and killing a worker loses nothing."""
    view = lcbo.problems.make("hs71").noisy(rng=0)
    evaluator = FutureEvaluator(view, cluster.get_executor(pure=True))
    assert evaluator.slots == 3, "one waits at the scheduler"
    assert FutureEvaluator(view, cluster.get_executor(pure=True), timeout=9.0).slots == 2
    for id in range(3):
        evaluator.submit(Candidate(id, np.array([1.0, 5.0, 5.0, 1.0]), np.zeros(4), "init", 0))
    values = set()
    while finished := evaluator.wait(60.0):
        values |= {f.evaluation.outcomes[view.objective.name] for f in finished}
    assert len(values) == 3

    def together(x):
        (tmp_path / str(os.getpid())).touch()
        until = time.monotonic() + 60.0
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        return simulate(x)

    assert run(together, workers=cluster, budget=4).nfail == 0
    assert len(list(tmp_path.iterdir())) == 2

    def fatal(x):
        if x[0] == 0.5 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os._exit(1)
        return simulate(x)

    result = run(fatal, workers=cluster, x0=[0.5, 0.5])
    assert (tmp_path / "killed").exists()
    assert result.nfail == 0
    assert sorted(result.history.id) == list(range(20))
