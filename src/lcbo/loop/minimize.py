"""`minimize`: from a function to an answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lcbo.checks import integer, is_integer, positive, truth
from lcbo.errors import ArgumentError, WorkerError
from lcbo.evaluation.evaluator import Batched, Evaluator, InProcess
from lcbo.loop.interrupt import interruptible
from lcbo.loop.loop import Callback, Loop
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import MAX_FAILURE_RATE, Stopping
from lcbo.methods.protocol import MethodSpec
from lcbo.optimizer.log import FEASIBILITY_TOL
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.setup import CONFIDENCE, read_path
from lcbo.optimizer.result import Result
from lcbo.problem import Objective, Problem
from lcbo.store.database import exists

if TYPE_CHECKING:
    from lcbo.problem.problem import BoundsLike, ConstraintLike, KnownLike

logger = logging.getLogger(__name__)
_MOST_WORKERS = 4096
Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


def _helpful(call: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Answer a call in the order of SciPy's ``minimize(fun, x0, bounds=...)`` by saying what the order is."""

    @wraps(call)
    def checked(*arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        if len(arguments) > 1 and "bounds" in named:
            expected = "minimize(fun, bounds, constraints, objective, budget=..., x0=...)"
            raise ArgumentError("bounds", expected, "them twice (SciPy has x0 in second place)")
        return call(*arguments, **named)

    return checked


@_helpful
def minimize(
    fun: Callable[..., Any] | Problem,
    bounds: BoundsLike | None = None,
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    objective: str | Objective = "objective",
    *,
    budget: int,
    method: str | MethodSpec = "lcbo",
    x0: ArrayLike | None = None,
    data: Any = None,
    n_init: int | None = None,
    noise: float | Mapping[str, float] | None = None,
    deterministic: bool = False,
    vectorized: bool = False,
    named: bool = False,
    known: KnownLike | Iterable[KnownLike] = (),
    rng: int | np.random.Generator | None = 0,
    time_limit: float | None = None,
    target: float | None = None,
    kkt_tol: float | None = None,
    workers: int | Executor | Any = None,
    slots: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    max_failure_rate: float = MAX_FAILURE_RATE,
    common_random_numbers: bool = False,
    store: str | Path | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    options: Mapping[str, Any] | None = None,
    confidence: float = CONFIDENCE,
    confirm: float | None = None,
    feasibility_tol: float = FEASIBILITY_TOL,
    device: str = "cpu",
) -> Result:
    """Minimize an expensive function under constraints on quantities it returns beside the objective.

    Args:
        fun: maps a point (1-D float64 array, user units) to a mapping of outcomes by name, or to ``(f, c)``
            with ``c`` in the order of the constraints. An exception, NaN or a number beyond 1e300 is a failed
            evaluation: it is recorded and the run goes on, until 10 evaluations have failed without a single
            success or more than half of those chosen after the initial design (``max_failure_rate``). A
            `Command` runs an external simulator. Or a `Problem` with its own function; then leave out
            ``bounds``, ``constraints``, ``objective``, ``noise``, ``deterministic`` and ``known``.
        bounds: ``(low, high)`` per variable, a SciPy ``Bounds``, or a mapping from name to pair.
        constraints: `Constraint` objects, texts such as ``"stress <= 40000"``, SciPy ``NonlinearConstraint``.
        objective: name of the outcome to minimize, or an `Objective`.
        budget: evaluations in all, the initial design included.
        method: name of the method, ``lcbo methods`` lists them; or a `MethodSpec`.
        x0: a point, or several as rows, to evaluate first; an array or a mapping by variable name.
        data: evaluations made elsewhere: a DataFrame, a CSV or run file, a `Result` or its history,
            ``(x, outcomes)`` pairs, or ``(X, mapping of arrays)``; see `Optimizer`.
        n_init: size of the initial design; by default d (of few variables 2 d + 2, up to 6), at most a
            quarter of the budget.
        noise: known noise standard deviation, one for all or by outcome name.
        deterministic: says that there is no noise.
        vectorized: ``fun`` takes all points of a batch at once, see `Problem`; evaluated in this process.
        named: ``fun`` takes a mapping from variable name to value.
        known: conditions on the variables themselves that no evaluated point breaks: texts such as
            ``"a + b <= 1"``, SciPy ``LinearConstraint`` objects, `Known` functions.
        rng: seed, or a numpy Generator or ``None`` to draw one.
        time_limit: wall time in seconds; worker processes are killed when it is over.
        target: stop at a feasible observation this good.
        kkt_tol: stop when the expected squared KKT residuals fall below it.
        workers: ``None`` evaluates in this process; a number starts as many worker processes (-1: one per
            core), which may crash, hang or print what they like; a ``concurrent.futures.Executor`` or a Dask
            ``Client`` gets the evaluations instead.
        slots: evaluations under way at once, by default one per worker.
        timeout: seconds one evaluation may take. Its worker process is killed with everything it started
            (one is used even without ``workers``); an executor's evaluation is given up.
        retries: how often a failed evaluation is tried again.
        max_failure_rate: part of the evaluations that may fail before the run stops, once there are 20; the
            initial design is drawn blindly and does not count.
        common_random_numbers: a function that declares a parameter ``seed`` gets one seed for all points of a
            batch instead of one for each.
        store: file that keeps the run; a run that is there is continued.
        callback: called after every evaluation with a `Snapshot`; raising ``StopIteration`` ends the run. Any
            other exception is raised again with the answer so far as its attribute ``result``.
        progress: show a progress bar on a terminal.
        options: options of the method.
        confidence: probability with which the answer of a noisy run is to be feasible (see `Optimizer`).
        confirm: part of the budget that a noisy run keeps to evaluate the candidates for its answer again;
            by default 0.05 for ``lcbo`` and 0 for every other method.
        feasibility_tol: by how much of its standard deviation over the run an outcome may be beyond its
            limit and still count as feasible.
        device: where the models compute, ``"cpu"`` or ``"cuda"``.

    Returns:
        The answer, a SciPy ``OptimizeResult``; see `Result` for its fields. Ctrl-C returns the answer so far.
        When a run stops before its budget is spent, evaluations under way are abandoned; with a ``store``
        they are made anew when it is continued.

    Raises:
        ArgumentError: an argument is wrong.
        OutcomeError: the function does not return the outcomes.
        FunctionError: the very first evaluation ended with a ``TypeError``, ``NameError``, ``ImportError``,
            ``AttributeError`` or for want of a program to start. Later these are failures like any other.
        TooManyFailuresError: no evaluation succeeded.
        WorkerError: no worker can load the function, or the executor is broken, before anything succeeded.
    """
    given: dict[str, Any] = {"noise": noise, "deterministic": deterministic, "known": known}
    given |= {"vectorized": vectorized, "named": named}
    problem = _read_problem(fun, bounds, constraints, objective, given)
    stopping = Stopping(time_limit, target, kkt_tol, max_failure_rate)
    integer("budget", budget)
    integer("retries", retries, least=0)
    common = truth("common_random_numbers", common_random_numbers)
    if callback is not None and not callable(callback):
        raise ArgumentError("callback", "a function of one Snapshot", repr(callback))
    evaluator = make_evaluator(problem, workers, slots, timeout)
    run = {"method": method, "options": options, "x0": x0, "data": data, "n_init": n_init, "rng": rng}
    run |= {"confidence": confidence, "confirm": confirm, "feasibility_tol": feasibility_tol}
    with begun_or_continued(problem, store, budget=budget, device=device, **run) as optimizer:
        if optimizer.amendments:  # the outcomes may be others now
            evaluator = make_evaluator(optimizer.problem, workers, slots, timeout)
        with evaluator:
            loop = Loop(optimizer, evaluator, retries, common)
            return _run(optimizer, evaluator, stopping, loop, callback, progress)


def resume(
    path: str | Path,
    *,
    budget: int | None = None,
    workers: Any = None,
    timeout: float | None = None,
    retries: int = 0,
    common_random_numbers: bool = False,
    device: str = "cpu",
    **limits: Any,
) -> Result:
    """Continue a run whose file knows its function; ``limits`` are those of `Stopping`."""
    stopping = Stopping(**limits)
    integer("retries", retries, least=0)
    common = truth("common_random_numbers", common_random_numbers)
    with (
        Optimizer.open(path, budget=budget, device=device) as optimizer,
        make_evaluator(optimizer.problem, workers, None, timeout) as evaluator,
    ):
        if optimizer.budget is None:
            raise ArgumentError("budget", "a run whose budget is not open", None)
        loop = Loop(optimizer, evaluator, retries, common)
        return _run(optimizer, evaluator, stopping, loop, None, True)


def begun_or_continued(problem: Problem, store: str | Path | None, **arguments: Any) -> Optimizer:
    """Return the optimizer of a new run, or of the one that is in the store."""
    if store is not None and exists(read_path("store", store)):
        return Optimizer.open(store, problem, **arguments)
    return Optimizer(problem, store=store, **arguments)


def _run(
    optimizer: Optimizer,
    evaluator: Evaluator,
    stopping: Stopping,
    loop: Loop,
    callback: Callback | None,
    progress: bool,
) -> Result:
    logger.info("%s with %s, seed %d", optimizer.problem, optimizer, optimizer.seed)
    with interruptible(), ProgressBar(optimizer, progress, stopping) as bar:
        try:
            reason = loop.run(stopping, callback, bar)
        except (KeyboardInterrupt, WorkerError) as stop:
            loop.collect()
            if optimizer.log.incumbent() is None:
                raise
            reason = "interrupted" if isinstance(stop, KeyboardInterrupt) else str(stop)
        except Exception as error:
            if error is loop.raised:
                _keep_result(error, loop, optimizer)
            raise
        evaluator.close()
        result = optimizer.result(reason)
        logger.info("stopped: %s", result.message)
        return result


def _keep_result(error: Exception, loop: Loop, optimizer: Optimizer) -> None:
    """Hang the answer so far on what the callback raised: days of evaluations must not go with it."""
    loop.collect()
    if optimizer.log.incumbent() is not None:
        error.result = optimizer.result(f"the callback raised {type(error).__name__}")  # type: ignore[attr-defined]
        error.add_note("The answer so far is the attribute `result` of this exception.")


def make_evaluator(
    problem: Problem, workers: Any = None, slots: int | None = None, timeout: float | None = None
) -> Evaluator:
    """Return where the evaluations of a run take place; the arguments are those of `minimize`."""
    timeout = positive("timeout", timeout)
    if slots is not None:
        slots = integer("slots", slots)
    if hasattr(workers, "get_executor"):  # a Dask client
        workers = workers.get_executor(pure=False)
    if isinstance(workers, Executor):
        from lcbo.evaluation.executors import FutureEvaluator

        return FutureEvaluator(problem, workers, timeout, slots)
    if problem.vectorized and not (workers is None and timeout is None and slots is None):
        raise ArgumentError("workers", "no workers, slots and timeout beside vectorized=True", repr(workers))
    if workers is None and timeout is None:
        if slots is not None:
            raise ArgumentError("slots", "None without workers", slots)
        return Batched(problem) if problem.vectorized else InProcess(problem)
    from lcbo.evaluation.pool import ProcessPool, available_cores

    number = 1 if workers is None else workers
    if not is_integer(number) or not (number == -1 or 1 <= number <= _MOST_WORKERS):
        expected = f"1 to {_MOST_WORKERS} processes, -1 for one per core, an Executor or a Dask Client"
        raise ArgumentError("workers", expected, repr(workers))
    return ProcessPool(problem, available_cores() if number == -1 else int(number), timeout, slots)


def _read_problem(
    fun: Any, bounds: Any, constraints: Any, objective: Any, others: Mapping[str, Any]
) -> Problem:
    """Return the problem to solve: the one passed, or one built from the arguments."""
    if not isinstance(fun, Problem):
        if not callable(fun):
            raise ArgumentError("fun", "a function or a Problem", repr(fun))
        if bounds is None:
            raise ArgumentError("bounds", "a (low, high) pair per variable", None)
        return Problem(bounds, constraints, objective, fun=fun, **others)
    given = {
        "bounds": bounds is not None,
        "constraints": not isinstance(constraints, tuple) or constraints != (),
        "objective": objective != "objective",
        **{name: value is not None and value is not False for name, value in others.items()},
        "known": not isinstance(others["known"], tuple) or others["known"] != (),
    }
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise ArgumentError(names[0], "nothing beside a Problem, which states it itself", "a value")
    if fun.fun is None:
        raise ArgumentError("fun", "a Problem with its own function (Problem(..., fun=...))", "one without")
    return fun
