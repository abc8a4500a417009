"""Hostile functions in worker processes: each costs its own evaluation and leaves nothing behind."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, OutcomeError, Problem, TooManyFailuresError
from lcbo.errors import WorkerError
from lcbo.evaluation import processes
from lcbo.evaluation.pool import THREAD_LIMITS, ProcessPool
from lcbo.types import Candidate

pytestmark = [
    pytest.mark.usefixtures("uniform"),
    pytest.mark.skipif(os.name != "posix", reason="worker processes need POSIX"),
]
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import pytest

SLEEPER = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]


def marked(mark: str) -> list[int]:
    """Return the living processes whose environment carries a mark, this one left out."""
    alive = {process.pid for process in processes.table()} - {os.getpid()}
    found = []
    for pid in alive:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in environment:
            found.append(pid)
    return found


@pytest.fixture(autouse=True)
def no_leaks(monkeypatch):
    """Fail when a process started by the test is still there after it."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("LCBO_TEST_MARK", mark)
    yield mark
    if Path("/proc/self/stat").exists():
        left = [Path(f"/proc/{pid}/cmdline").read_text() for pid in marked(mark)]
        assert not left


def problem_of(fun) -> Problem:
    return Problem([(0.0, 100.0)], ["c <= 0"], "f", fun=fun)


def outcome(x):
    return {"f": float(x[0]), "c": -1.0}


def points(*values) -> list[Candidate]:
    return [Candidate(i, np.array([float(v)]), np.zeros(1), "init", 0) for i, v in enumerate(values)]


def evaluate_all(pool: ProcessPool, candidates: list[Candidate]):
    """Return the evaluations by candidate id."""
    for candidate in candidates:
        pool.submit(candidate)
    done = {}
    while finished := pool.wait(60.0):
        done |= {attempt.evaluation.id: attempt.evaluation for attempt in finished}
    assert sorted(done) == [c.id for c in candidates]
    return [done[c.id] for c in candidates]


def between_good_ones(functions, workers=2, **arguments):
    """Evaluate hostile functions in turn with good ones and return their endings."""

    def mixed(x):
        number, hostile = divmod(int(x[0]), 2)
        return functions[number](x * 0.0) if hostile else outcome(x)

    with ProcessPool(problem_of(mixed), workers, **arguments) as pool:
        endings = evaluate_all(pool, points(*range(2 * len(functions) + 1)))
    for good in endings[::2]:
        assert good.failed is None
        assert good.outcomes["c"] == -1.0
    return endings[1::2]


def raises(x):
    raise RuntimeError(f"diverged at {x[0]}")


class Unpicklable(Exception):
    def __init__(self, a, _):
        super().__init__(a)
        self.lock = threading.Lock()

    def __str__(self):
        raise ValueError("no message")


def raises_unpicklable(_):
    raise Unpicklable(1, 2)


def raises_with_a_huge_message(_):
    raise RuntimeError("x" * 10_000_000)


def exits(_):
    sys.exit(3)


def recurses(x):
    return recurses(x)


def ends_process(_):
    sys.stderr.write("licence server not reachable\n")
    sys.stderr.flush()
    os._exit(3)


def segfaults(_):
    ctypes.string_at(0)


def is_killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def kills_its_group(_):
    os.kill(0, signal.SIGKILL)


def kills_supervisor(_):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def closes_files(_):
    os.closerange(3, 256)
    return {"f": 1.0, "c": -1.0}


def interrupts(_):
    raise KeyboardInterrupt


HOSTILE = [
    (raises, "RuntimeError: diverged at 0.0"),
    (raises_unpicklable, "Unpicklable: (its message cannot be read)"),
    (raises_with_a_huge_message, "RuntimeError: xxxx"),
    (exits, "SystemExit: 3"),
    (recurses, "RecursionError"),
    (ends_process, "exit code 3"),
    (segfaults, "died of SIGSEGV"),
    (is_killed, "died of SIGKILL (killed from outside, perhaps for want of memory)"),
    (kills_its_group, "died of SIGKILL"),
    (kills_supervisor, "lost together with its supervisor"),
    (closes_files, "the worker process"),
    (interrupts, "died of SIGINT"),
    (lambda _: {"f": np.nan, "c": 0.0}, "outcome 'f' is nan"),
    (lambda _: {"f": 1.0}, "['c'] missing"),
    (lambda _: lambda: None, "got function"),
    (lambda _: {"f": threading.Lock(), "c": 0.0}, "outcome 'f': expected a real number"),
    (lambda _: "x" * 50_000_000, "got str"),
]


def test_hostile_evaluations_cost_only_themselves():
    endings = between_good_ones([fun for fun, _ in HOSTILE])
    for (fun, reason), ending in zip(HOSTILE, endings, strict=True):
        assert reason in ending.failed, fun
        assert not ending.outcomes
        assert len(ending.failed) < 3_000
        assert ending.record.seconds >= 0.0
        assert ending.record.worker
    traces = {fun: ending.record.traceback for (fun, _), ending in zip(HOSTILE, endings, strict=True)}
    assert "in raises" in traces[raises]
    assert "licence server not reachable" in traces[ends_process]
    assert "in segfaults" in traces[segfaults]


def test_extra_values_that_cannot_be_sent_do_no_harm():
    huge = lambda x: outcome(x) | {"mesh": threading.Lock(), "field": np.zeros(10**7)}  # noqa: E731
    (ending,) = between_good_ones([huge])
    assert ending.outcomes == {"f": 0.0, "c": -1.0}


def loops(_):
    while True:
        pass


def holds_the_lock(_):
    ctypes.PyDLL(None).pause()


def stops_itself(_):
    os.kill(os.getpid(), signal.SIGSTOP)


def ignores_signals(_):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def hangs_with_children(_):
    subprocess.Popen(SLEEPER)
    subprocess.Popen(SLEEPER, start_new_session=True)
    subprocess.run(["/bin/sh", "-c", "sleep 600 & sleep 600"], check=False)


def test_evaluations_that_hang_are_killed_with_all_they_started():
    functions = [loops, holds_the_lock, stops_itself, ignores_signals, hangs_with_children]
    for fun, ending in zip(functions, between_good_ones(functions, 5, timeout=0.8), strict=True):
        assert ending.failed == "timeout: no result within 0.8 s"
        assert ending.record.seconds >= 0.8
        if fun is not stops_itself:
            assert f"in {fun.__name__}" in ending.record.traceback


def test_two_hundred_megabytes_of_output_do_no_harm():
    (ending,) = between_good_ones([prints(200)])
    assert ending.failed is None


@pytest.mark.slow
def test_a_gigabyte_of_output_does_no_harm():
    (ending,) = between_good_ones([prints(1000)])
    assert ending.failed is None


def prints(megabytes):
    def fun(x):
        line = "residual 1e-3\n" * 70_000
        for _ in range(megabytes):
            sys.stdout.write(line)
        return outcome(x)

    return fun


def test_only_the_end_of_the_output_is_recorded():
    def fun(_):
        for i in range(20_000):
            print("iteration", i)  # noqa: T201
        sys.stdout.flush()
        os._exit(1)

    output = between_good_ones([fun])[0].record.traceback
    assert output.endswith("iteration 19999\n")
    assert len(output) < 20_000


@linux
def test_stray_processes_end_with_the_evaluation(tmp_path, no_leaks):
    """A process nobody can wait for any more is killed after the evaluation; one still held stays."""

    def fun(x):
        if x[0] == 0:
            fun.server = subprocess.Popen(SLEEPER)
            for own_session in ("", "setsid "):
                subprocess.run(["/bin/sh", "-c", f"{own_session}sleep 600 & echo $! >> strays"], check=True)
        return outcome(x) | {"f": float(fun.server.poll() is None)}

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        with ProcessPool(problem_of(fun), 1) as pool:
            first, second = evaluate_all(pool, points(0, 1))
            assert len(marked(no_leaks)) == 3  # supervisor, worker, server
    assert first.outcomes["f"] == second.outcomes["f"] == 1.0
    strays = [int(pid) for pid in (tmp_path / "strays").read_text().split()]
    assert len(strays) == 2
    assert not {process.pid for process in processes.table()} & set(strays)


@linux
def test_failed_evaluation_that_leaves_processes_gets_a_fresh_worker(no_leaks):
    def fun(x):
        if x[0] == 0:
            globals()["server"] = subprocess.Popen(SLEEPER)
            raise RuntimeError("after the server started")
        return outcome(x) | {"f": float("server" in globals())}

    with ProcessPool(problem_of(fun), 1) as pool:
        first, second = evaluate_all(pool, points(0, 1))
        assert len(marked(no_leaks)) == 2
    assert first.failed == "RuntimeError: after the server started"
    assert second.outcomes["f"] == 0.0
    assert first.record.worker != second.record.worker


def test_idle_workers_run_their_exit_handlers(tmp_path):
    def fun(x):
        import atexit

        atexit.register((tmp_path / "left").touch)
        return outcome(x)

    with ProcessPool(problem_of(fun), 1) as pool:
        evaluate_all(pool, points(0))
    assert (tmp_path / "left").exists()


def test_worker_lost_while_idle_costs_nothing():
    with ProcessPool(problem_of(lambda x: outcome(x) | {"f": os.getppid()}), 1) as pool:
        (first,) = evaluate_all(pool, points(0))
        os.kill(int(first.outcomes["f"]), signal.SIGKILL)
        time.sleep(0.2)
        (second,) = evaluate_all(pool, points(1))
    assert second.failed is None
    assert second.outcomes["f"] != first.outcomes["f"]


def test_threads_are_shared_among_workers(monkeypatch):
    for name in THREAD_LIMITS[:-1]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(THREAD_LIMITS[-1], "7")
    names = (*THREAD_LIMITS[:1], THREAD_LIMITS[-1])
    monkeypatch.setattr("lcbo.evaluation.pool.available_cores", lambda: 6)
    fun = lambda _: {"f": int(os.environ[names[0]]), "c": int(os.environ[names[1]])}  # noqa: E731
    with ProcessPool(problem_of(fun), 2) as pool:
        (ending,) = evaluate_all(pool, points(0))
    assert ending.outcomes == {"f": 3.0, "c": 7.0}


def test_function_that_cannot_be_sent_is_refused():
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"^fun: .*sent to a worker.*lock"):
        ProcessPool(problem_of(lambda _: lock), 1)


def test_function_that_cannot_be_loaded_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def fun(x):\n    return {'f': 1.0, 'c': 0.0}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from only_here import fun

    (tmp_path / "only_here.py").write_text("raise ImportError('library missing')\n")
    with ProcessPool(problem_of(fun), 2) as pool, pytest.raises(WorkerError, match="library missing"):
        evaluate_all(pool, points(0))


def test_function_that_can_no_longer_be_loaded_ends_the_run_with_what_there_is(tmp_path, monkeypatch):
    source = tmp_path / "breaks.py"
    source.write_text(
        "import os\n"
        "def fun(x):\n"
        "    if x[0] == 0.5:\n"
        f"        open({str(source)!r}, 'w').write('1 / 0')\n"
        "        os._exit(1)\n"
        "    return {'f': 1.0, 'c': 0.0}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from breaks import fun

    result = run(fun, workers=1, x0=[[0.1, 0.1], [0.5, 0.5]])
    assert result.reason.startswith("the function cannot be loaded in a worker process")
    assert "ZeroDivisionError" in result.reason
    assert list(result.history.failed) == ["", "the worker process ended with exit code 1"]


def test_module_beside_the_script_is_found(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("def fun(x):\n    return {'f': 7.0, 'c': 0.0}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from beside import fun

    with ProcessPool(problem_of(fun), 1) as pool:
        assert evaluate_all(pool, points(0))[0].outcomes["f"] == 7.0


def test_noise_differs_between_workers():
    view = lcbo.problems.make("hs71").noisy(rng=0)
    x = np.array([1.0, 5.0, 5.0, 1.0])
    with ProcessPool(view, 2) as pool:
        ends = evaluate_all(pool, [Candidate(i, x, np.zeros(4), "init", 0) for i in range(4)])
    values = [end.outcomes[view.objective.name] for end in ends]
    assert len(set(values)) == 4


def run(fun, **arguments):
    defaults = {
        "bounds": [(0.0, 1.0)] * 2,
        "constraints": ["c <= 0"],
        "objective": "f",
        "budget": 20,
        "method": "uniform",
    }
    return lcbo.minimize(fun, **(defaults | arguments))


def simple(x):
    return {"f": float(x @ x), "c": float(0.2 - x[0])}


def test_one_worker_gives_the_run_of_the_serial_loop():
    serial, worker = run(simple), run(simple, workers=1)
    np.testing.assert_array_equal(serial.history.X, worker.history.X)
    np.testing.assert_array_equal(serial.history.outcomes["f"], worker.history.outcomes["f"])


def test_wrong_form_raises_at_the_first_evaluation():
    with pytest.raises(OutcomeError, match=r"\['c'\] missing"):
        run(lambda _: {"f": 1.0}, workers=2)


def test_function_that_always_fails_is_reported_with_its_traceback():
    with pytest.raises(TooManyFailuresError, match="all 1[01] evaluations failed.*diverged") as error:
        run(raises, workers=2)
    assert "in raises" in error.value.__notes__[0]


def test_straggler_does_not_block_the_others(tmp_path):
    """The first evaluation ends only when all others have ended."""

    def fun(x):
        while x[0] == 0.5 and not (tmp_path / "go").exists():
            time.sleep(0.01)
        return simple(x)

    def callback(snapshot):
        if snapshot.nfev == 11:
            (tmp_path / "go").touch()

    result = run(fun, workers=2, x0=[0.5, 0.5], budget=12, callback=callback)
    assert list(result.history.id) == [*range(1, 12), 0]


def test_time_limit_kills_what_is_under_way_and_a_later_run_makes_it_anew(tmp_path):
    def fun(x):
        time.sleep(0.0 if x[0] == 0.5 else 600)
        return simple(x)

    arguments = {"workers": 2, "x0": [0.5, 0.5], "store": tmp_path / "run.db"}
    stopped = run(fun, time_limit=1.5, **arguments)
    assert stopped.reason == "time limit of 1.5 s reached"
    assert list(stopped.history.id) == [0]
    under_way = {c.id: c.x for c in lcbo.open_run(arguments["store"]).pending}
    assert list(under_way) in ([1], [1, 2])  # on a slow machine the time is over before 2 is asked for
    frame = run(simple, **arguments).history.to_frame()
    assert frame.index[0] == 0
    assert sorted(frame.index) == list(range(20))
    for id, x in under_way.items():
        np.testing.assert_array_equal(frame.loc[id, ["x1", "x2"]].astype(float), x)


SCRIPT = """
    import os, sys, time, uuid
    import lcbo

    OFFSET = 0.5

    class Model:
        def __call__(self, x):
            return shifted(x)

    def shifted(x):
        return {"f": float(sum((x - OFFSET) ** 2)), "c": 0.2 - x[0]}

    given = dict(method="sobol", budget=6, workers=2, progress=True)
    result = lcbo.minimize(Model(), [(0, 1)] * 2, ["c <= 0"], "f", **given)
    print(result.nfev, result.nfail)
"""


def test_script_without_main_guard_and_notebook_function(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.stdout, done.stderr) == ("6 0\n", "")

    names = {"__name__": "__main__"}  # as a notebook cell sees it
    exec("scale = 2.0\ndef cell(x):\n    return {'f': scale * float(x @ x), 'c': -1.0}", names)
    assert run(names["cell"], workers=1, budget=4).nfail == 0


@linux
def test_killed_run_leaves_no_worker(tmp_path, no_leaks):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import ctypes, subprocess
            import numpy as np
            from lcbo import Candidate, Problem
            from lcbo.evaluation.pool import ProcessPool

            def hangs(x):
                subprocess.Popen(["sleep", "600"])
                subprocess.run(["/bin/sh", "-c", "setsid sleep 600 &"])
                open("running", "a").write("x")
                ctypes.PyDLL(None).pause()

            pool = ProcessPool(Problem([(0, 1)], (), "f", fun=hangs), 2)
            for id in range(2):
                pool.submit(Candidate(id, np.zeros(1), np.zeros(1), "init", 0))
            pool.wait()
            """
        )
    )
    run = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path)
    flag = tmp_path / "running"
    wait_until(lambda: flag.exists() and flag.read_text() == "xx")
    wait_until(lambda: len(marked(no_leaks)) == 1 + 2 * 4)  # those of `setsid` begin in the background
    run.kill()
    run.wait()
    wait_until(lambda: not marked(no_leaks))


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_interrupt_in_a_parallel_run_returns_the_best_so_far():
    ended = []

    def callback(snapshot):
        ended.append(snapshot.nfev)
        if snapshot.nfev == 5:
            os.kill(os.getpid(), signal.SIGINT)

    result = run(lambda x: time.sleep(0.01) or simple(x), workers=2, callback=callback, budget=1000)
    assert result.reason == "interrupted"
    assert 5 <= result.nfev < 20


def test_ps_shows_the_same_processes_as_proc():
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc to compare with")
    if subprocess.run(["/bin/sh", "-c", "command -v ps"], capture_output=True, check=False).returncode:
        pytest.skip("no ps")
    mine = {(p.pid, p.parent) for p in processes._from_proc()}
    listed = {(p.pid, p.parent) for p in processes._from_ps()}
    assert (os.getpid(), os.getppid()) in mine & listed
