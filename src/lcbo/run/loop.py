"""`minimize`: the serial loop from a function to an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lcbo.errors import ArgumentError, TooManyFailuresError
from lcbo.problem import Objective, Problem
from lcbo.run import answer
from lcbo.run.evaluate import evaluate
from lcbo.run.optimizer import Optimizer
from lcbo.run.progress import ProgressBar
from lcbo.run.result import Result, Snapshot
from lcbo.run.stopping import Stopping
from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problem import BoundsLike, ConstraintLike

Callback = Callable[[Snapshot], object]


def minimize(
    fun: Callable[[Array], Any] | Problem,
    bounds: BoundsLike | None = None,
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    objective: str | Objective = "objective",
    *,
    budget: int,
    method: str = "lcbo",
    x0: ArrayLike | None = None,
    data: Any = None,
    n_init: int | None = None,
    noise: float | Mapping[str, float] | None = None,
    deterministic: bool = False,
    rng: int | np.random.Generator | None = 0,
    time_limit: float | None = None,
    target: float | None = None,
    kkt_tol: float | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Minimise an expensive function under constraints on quantities it returns beside the objective.

    Args:
        fun: maps a point (1-D float64 array, user units) to a mapping of outcomes by name, or to ``(f, c)``
            with ``c`` in the order of the constraints. An exception or NaN is a failed evaluation: it is
            recorded and the run goes on, until 10 evaluations have failed without a single success or
            more than half of at least 20. Or a `Problem` with its own function; then leave out
            ``bounds``, ``constraints``, ``objective``, ``noise`` and ``deterministic``.
        bounds: ``(low, high)`` per variable, a SciPy ``Bounds``, or a mapping from name to pair.
        constraints: `Constraint` objects, texts such as ``"stress <= 40000"``, SciPy ``NonlinearConstraint``.
        objective: name of the outcome to minimise, or an `Objective`.
        budget: evaluations in all, the initial design included.
        method: name of the method; ``lcbo methods`` lists them.
        x0: a point, or several as rows, to evaluate first.
        data: evaluations made elsewhere: ``(x, outcomes)`` pairs, or ``(X, mapping of arrays)``.
        n_init: size of the initial design; by default d, at most a quarter of the budget.
        noise: known noise standard deviation, one for all or by outcome name.
        deterministic: says that there is no noise.
        rng: seed, or a numpy Generator or ``None`` to draw one.
        time_limit: wall time in seconds.
        target: stop at a feasible observation this good.
        kkt_tol: stop when the expected squared KKT residuals fall below it.
        callback: called after every evaluation with a `Snapshot`; raising ``StopIteration`` ends the run.
        progress: show a progress bar on a terminal.
        options: options of the method.

    Returns:
        The answer, a SciPy ``OptimizeResult``; see `Result` for its fields. Ctrl-C returns the answer so far.

    Raises:
        ArgumentError: an argument is wrong.
        OutcomeError: the function does not return the outcomes.
        TooManyFailuresError: no evaluation succeeded.
    """
    problem = _read_problem(fun, bounds, constraints, objective, noise, deterministic)
    stopping = Stopping(time_limit, target, kkt_tol)
    if budget is None:
        raise ArgumentError("budget", "an integer of at least 1", None)
    optimizer = Optimizer(
        problem, method, budget=budget, x0=x0, data=data, n_init=n_init, rng=rng, options=options
    )
    with ProgressBar(optimizer, progress) as bar:
        try:
            reason = _run(optimizer, stopping, callback, bar)
        except KeyboardInterrupt:
            if optimizer.log.incumbent() is None:
                raise
            reason = "interrupted"
    return optimizer.result(reason)


def _run(optimizer: Optimizer, stopping: Stopping, callback: Callback | None, bar: ProgressBar) -> str:
    """Evaluate until something says stop and return the reason."""
    problem, log = optimizer.problem, optimizer.log
    error: Exception | None = None
    succeeded = False
    reason = None
    while reason is None:
        candidates = optimizer.ask()
        if not candidates:
            spent = f"budget of {optimizer.budget} evaluations spent"
            reason = spent if optimizer.exhausted else "the method has nothing more to propose"
        for candidate in candidates:
            done = evaluate(problem, candidate.x, strict=not succeeded)
            if done.failed is None:
                succeeded = True
                optimizer.tell(candidate.id, done.outcomes)
            else:
                error = done.error
                optimizer.tell(candidate.id, failed=done.failed)
            bar.update()
            reason = _called_back(optimizer, callback) or stopping.reason(optimizer)
            if reason is not None:
                break
    if log.incumbent() is None:
        last = log.observations[-1].failed if log.observations else "nothing was evaluated"
        n = optimizer.n_ended
        raise TooManyFailuresError(
            f"fun: expected outcomes; all {n} evaluations failed, the last: {last}"
        ) from error
    return reason


def _called_back(optimizer: Optimizer, callback: Callback | None) -> str | None:
    if callback is not None:
        try:
            callback(answer.snapshot(optimizer.log, optimizer.info()))
        except StopIteration:
            return "stopped by the callback"
    return None


def _read_problem(
    fun: Callable[[Array], Any] | Problem,
    bounds: BoundsLike | None,
    constraints: Any,
    objective: str | Objective,
    noise: float | Mapping[str, float] | None,
    deterministic: bool,
) -> Problem:
    """Return the problem to solve: the one passed, or one built from the arguments."""
    if not isinstance(fun, Problem):
        if not callable(fun):
            raise ArgumentError("fun", "a function or a Problem", repr(fun))
        if bounds is None:
            raise ArgumentError("bounds", "a (low, high) pair per variable", None)
        return Problem(bounds, constraints, objective, fun=fun, noise=noise, deterministic=deterministic)
    given = {
        "bounds": bounds is not None,
        "constraints": not isinstance(constraints, tuple) or constraints != (),
        "objective": objective != "objective",
        "noise": noise is not None,
        "deterministic": deterministic,
    }
    if any(given.values()):
        names = [name for name, is_given in given.items() if is_given]
        raise ArgumentError(names[0], "nothing beside a Problem, which states it itself", "a value")
    if fun.fun is None:
        raise ArgumentError("fun", "a Problem with its own function (Problem(..., fun=...))", "one without")
    return fun
