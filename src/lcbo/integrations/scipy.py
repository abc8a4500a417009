"""`scipy_method`: lcbo as a ``method`` of `scipy.optimize.minimize`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from lcbo.errors import ArgumentError, OutcomeError
from lcbo.loop.minimize import minimize
from lcbo.optimizer.result import Result, Snapshot
from lcbo.problem import Constraint, Problem
from lcbo.text import described
from lcbo.types import Array

OBJECTIVE = "fun"
FEASIBLE, INFEASIBLE, STOPPED = 0, 2, 99  # `status`; 99 is SciPy's for a callback that raised StopIteration


def scipy_method(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    budget: int,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    disp: bool = False,
    noise: float | None = None,
    deterministic: bool = False,
    **run: Any,
) -> OptimizeResult:
    """Minimize as a method of SciPy: ``scipy.optimize.minimize(..., method=lcbo.scipy_method)``.

    Every function is called once per point. An exception or NaN is a failed evaluation, as in
    `lcbo.minimize`; one at the start is raised where it comes from a constraint, whose length is asked there.

    Args:
        fun: objective, ``fun(x, *args)``.
        x0: the point to evaluate first, within the bounds.
        args: further arguments of ``fun``.
        budget: evaluations in all; this and what follows ``tol`` stand in SciPy's ``options``.
        bounds: finite ones are required, as pairs or as ``Bounds``; equal ones fix a variable.
        constraints: ``NonlinearConstraint``, ``LinearConstraint`` (an outcome without noise) and dicts.
        callback: called after every evaluation with the best point so far, ``callback(xk)`` or
            ``callback(intermediate_result=...)``; ``StopIteration`` ends the run.
        tol: the tolerance of equality constraints, required where there are any.
        jac: derivatives are not used; they are accepted with a warning, as are ``hess`` and ``hessp``.
        hess: as ``jac``.
        hessp: as ``jac``.
        disp: show a progress bar on a terminal.
        noise: known standard deviation of objective and nonlinear constraints.
        deterministic: says that there is no noise.
        run: further arguments of `lcbo.minimize`, such as ``rng``, ``n_init``, ``workers`` and ``store``.

    Returns:
        The `Result` of `lcbo.minimize` with ``constr`` as one array per constraint, ``maxcv``, the largest
        violation, and ``status``: 0 feasible, 2 not, 99 stopped by the callback.
    """
    for name, given in (("jac", jac), ("hess", hess), ("hessp", hessp)):
        if given:
            warnings.warn(f"lcbo does not use derivatives ({name}).", RuntimeWarning, stacklevel=3)
    if bounds is None:
        raise ArgumentError("bounds", "a (low, high) pair per variable", None)
    start = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    box = Problem(bounds).space
    if start.shape != box.lb.shape:
        raise ArgumentError("x0", f"{box.lb.size} numbers, as many as there are bounds", start.shape)
    # The point that will be evaluated first: x0 as it comes back from the unit cube.
    first = box.from_unit(box.to_unit(start))
    functions = _Functions(fun, args, _parts(constraints), first)
    stated = [c for part in functions.parts for c in part.constraints(tol)]
    known = {c.name: 0.0 for part in functions.parts if part.linear for c in part.constraints(tol)}
    if noise is not None:
        known = dict.fromkeys([OBJECTIVE, *(c.name for c in stated)], noise) | known
    stating: dict[str, Any] = {"deterministic": True} if deterministic else {"noise": known or None}
    problem = Problem(bounds, stated, OBJECTIVE, fun=functions, **stating)
    result = minimize(
        problem, budget=budget, x0=start, callback=_called(callback), progress=bool(disp), **run
    )
    return _as_scipy(result, problem, functions.parts)


@dataclass
class _Part:
    """One constraint of SciPy: its function, and the limits of its components once their number is known."""

    fun: Callable[[Array], Any]
    lb: Any
    ub: Any
    linear: bool
    names: tuple[str, ...] = ()

    def constraints(self, tol: float | None) -> list[Constraint]:
        """Return a `Constraint` for every component that is limited at all."""
        found = []
        for name, (lb, ub) in zip(self.names, self._limits(), strict=True):
            if lb == ub:
                if tol is None:
                    expected = "minimize(..., tol=...), within which equality constraints are to hold"
                    raise ArgumentError("tol", expected, None)
                found.append(Constraint(name, eq=lb, tol=tol))
            elif np.isfinite(lb) or np.isfinite(ub):
                found.append(Constraint(name, lb=lb, ub=ub))
        return found

    def _limits(self) -> list[tuple[float, float]]:
        try:
            low, high = (np.broadcast_to(side, len(self.names)) for side in (self.lb, self.ub))
        except ValueError:
            expected = f"one lb and ub, or {len(self.names)} as its function has values"
            raise ArgumentError("constraints", expected, (np.shape(self.lb), np.shape(self.ub))) from None
        return [(float(lb), float(ub)) for lb, ub in zip(low, high, strict=True)]


class _Functions:
    """Objective and constraints as one function of the outcomes; the values at the first point are kept."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], parts: list[_Part], x: Array) -> None:
        self._fun, self._args, self.parts = fun, args, parts
        count = 0
        self._first = x.tobytes(), [np.atleast_1d(part.fun(x.copy())) for part in parts]
        for part, values in zip(parts, self._first[1], strict=True):
            if values.ndim != 1:
                raise OutcomeError(f"constraints: expected a number or a vector; got shape {values.shape}")
            part.names = tuple(f"c{count + i}" for i in range(len(values)))
            count += len(values)

    def __call__(self, x: Array) -> dict[str, Any]:
        named = {OBJECTIVE: self._fun(x.copy(), *self._args)}
        at, known = self._first
        for i, part in enumerate(self.parts):
            values = known[i] if x.tobytes() == at else np.atleast_1d(part.fun(x.copy()))
            if values.shape != (len(part.names),):
                expected = f"{len(part.names)} values, as at the first point"
                raise OutcomeError(f"constraints: expected {expected}; got shape {values.shape}")
            named |= dict(zip(part.names, values, strict=True))
        return named


def _parts(constraints: Any) -> list[_Part]:
    single = isinstance(constraints, Mapping) or hasattr(constraints, "lb")
    if not single and not isinstance(constraints, Sequence):
        raise ArgumentError("constraints", "a SciPy constraint, or a list of them", described(constraints))
    return [_part(entry) for entry in ([constraints] if single else constraints)]


def _part(entry: Any) -> _Part:
    if hasattr(entry, "A") and hasattr(entry, "lb"):
        matrix = np.atleast_2d(entry.A.toarray() if hasattr(entry.A, "toarray") else entry.A)
        return _Part(lambda x: matrix @ x, entry.lb, entry.ub, linear=True)
    if hasattr(entry, "fun") and hasattr(entry, "lb"):
        return _Part(entry.fun, entry.lb, entry.ub, linear=False)
    kind = str(entry.get("type")).lower() if isinstance(entry, Mapping) else ""
    if kind not in ("eq", "ineq") or not callable(entry.get("fun")):
        expected = "NonlinearConstraint, LinearConstraint or {'type': 'eq' or 'ineq', 'fun': ...}"
        raise ArgumentError("constraints", expected, described(entry))
    function, further = entry["fun"], tuple(entry.get("args", ()))
    return _Part(lambda x: function(x, *further), 0.0, np.inf if kind == "ineq" else 0.0, linear=False)


def _called(callback: Callable[..., Any] | None) -> Callable[[Snapshot], None] | None:
    """Return a callback of lcbo that calls one of SciPy's, in the form its signature asks for."""
    if callback is None:
        return None
    by_name = set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def called(snapshot: Snapshot) -> None:
        if snapshot.x is None:
            return
        if by_name:
            callback(intermediate_result=snapshot)
        else:
            callback(snapshot.x)

    return called


def _as_scipy(result: Result, problem: Problem, parts: Sequence[_Part]) -> OptimizeResult:
    named = result.constr
    violations = [c.violation(named[c.name]) for c in problem.constraints]
    answer: Any = result
    answer.maxcv = max(violations, default=0.0)
    answer.constr = [np.array([named.get(name, np.nan) for name in part.names]) for part in parts]
    answer.status = FEASIBLE if result.success else INFEASIBLE
    if result.reason == "stopped by the callback":
        answer.status, answer.success = STOPPED, False
    return result
