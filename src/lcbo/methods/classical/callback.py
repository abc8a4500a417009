"""A solver that calls the function itself, turned inside out to wait for ``ask`` and ``tell``.

The solver runs in a thread of its own and stands still whenever it wants a value: there is never more than
one of the two threads running. `SolverThread` is that exchange, `CallbackSolver` the method around it, with
its starts and restarts.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from lcbo.errors import LcboError
from lcbo.methods.base.archive import Archive
from lcbo.methods.base.model_free import ModelFree
from lcbo.methods.protocol import Array, Setup
from lcbo.random import generator

Value = tuple[Any, Array]  # objective and terms: a number and T; of n points asked for at once n and n x T
Evaluate = Callable[[Array], Value]
Solve = Callable[[Evaluate], None]

_SAME = 1e-9  # distance up to which two points differ by rounding
_IMPROVEMENT = 1e-3  # in standard deviations of the objective over the design


class SolverThread:
    """The points a solver asks for, one by one, or several at once as the rows of an array.

    The thread holds no reference to this object: once it is dropped, the solver is told to give up and the
    thread ends. So ``solve``, which runs the solver on a function until it has converged, must not refer to
    whoever owns this object.
    """

    def __init__(self, solve: Solve) -> None:
        self._values: SimpleQueue[Value | None] = SimpleQueue()
        self._points: SimpleQueue[Array | BaseException | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(solve, self._values, self._points), daemon=True)
        self._waits = False
        # At exit the thread stands still and dies with the process.
        weakref.finalize(self, self._values.put, None).atexit = False

    def next(self, value: Value | None) -> Array | None:
        """Hand over the last value (``None`` at first) and return the next point, ``None`` at the end."""
        if not self._waits:  # else Ctrl-C came while waiting, and the value has been handed over
            if value is None:
                self._thread.start()
            elif not self._thread.is_alive():
                raise LcboError("the solver's thread is gone: it failed before, or the process was forked")
            else:
                self._values.put(value)
        self._waits = True
        point = self._points.get()
        self._waits = False
        if isinstance(point, BaseException):
            raise point
        return point


class _GiveUpError(BaseException):
    """Unwinds a solver nobody waits for; not an Exception, so that no solver catches it."""


def _work(solve: Solve, values: SimpleQueue[Any], points: SimpleQueue[Any]) -> None:
    def evaluate(u: Array) -> Value:
        points.put(u.copy())
        value: Value | None = values.get()
        if value is None:
            raise _GiveUpError
        return value

    try:
        solve(evaluate)
    except _GiveUpError:
        return
    except BaseException as error:
        points.put(error)
    else:
        points.put(None)


class CachedEvaluation:
    """Objective and terms as the two functions a solver wants, from one evaluation per point.

    Every reading of the objective is one evaluation, as it is for the solver. The terms come from the
    nearest evaluated point, not from the last one: SciPy's COBYQA (1.17) asks for them again and again at old
    points, which it rebuilds as sums and so misses by rounding (cobyqa/cobyqa issue 206).
    """

    def __init__(self, dim: int, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._points = Archive(dim, 1)
        self._values: list[Value] = []
        self._unread = False  # whether only the terms of the last evaluation have been read

    def objective(self, u: Array) -> float:
        """Return the objective at a point."""
        if not (self._unread and np.array_equal(u, self._points.u[-1])):
            self._remember(u)
        self._unread = False
        return float(self._values[-1][0])

    def terms(self, u: Array) -> Array:
        """Return the ``T`` terms at a point."""
        distance = np.abs(self._points.u - u).max(1)
        if (distance <= _SAME).any():
            return self._values[len(distance) - 1 - int(distance[::-1].argmin())][1].copy()
        self._remember(u)
        return self._values[-1][1].copy()

    def _remember(self, u: Array) -> None:
        self._values.append(self._evaluate(u))
        self._points.add(u)
        self._unread = True


class CallbackSolver(ModelFree):
    """A sequential solver with restarts.

    The first run starts at the best point of the initial design. When a run has ended, the next one starts at
    the best point observed if the run has found a better one, and at a uniform point otherwise. A start that
    has been evaluated is not evaluated again.
    """

    role = "iterate"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._solver: SolverThread | None = None
        self._incumbent = 0  # id of the best point when the run began

    @abstractmethod
    def _solve(self, start: Array) -> Solve:
        """Return a run of the solver from a point; it must not refer to this object."""

    def next_batch(self) -> list[Array]:
        """Return the one point the solver wants next."""
        u = None if self._solver is None else self._resume(self.values(self.batch[-1]))
        while u is None:
            u = self._begin()
        return [np.clip(u, 0.0, 1.0)]

    def _begin(self) -> Array | None:
        """Begin a run and return the first point to evaluate, ``None`` when it has ended without one."""
        start, known = self._start()
        self._solver = SolverThread(self._solve(start))
        u = self._resume(None)
        if known is not None and u is not None and np.array_equal(u, start):
            u = self._resume(self.values(known))
        return u

    def _resume(self, value: Value | None) -> Array | None:
        """Hand the solver a value and return what it asks for next, ``None`` when it has ended."""
        assert self._solver is not None
        try:
            u = self._solver.next(value)
        except Exception as error:
            raise LcboError(f"the solver failed: {type(error).__name__}: {error}") from error
        if u is None:
            self._solver = None
            self.restarts += 1
        return u

    def _start(self) -> tuple[Array, int | None]:
        """Start of the next run, and its id where it has been evaluated."""
        best = self.best()
        if self.restarts == 0 or self._improved(best):
            self._incumbent = best
            return self.archive.u[best].copy(), best
        return self.setup.uniform(generator(self.setup.seed, "restart", self.restarts), 1)[0], None

    def _improved(self, best: int) -> bool:
        """Whether the best point is clearly better than before the run: in violation, else in objective."""
        conditions, scale = self.setup.terms, self.scale[self.setup.terms.rows]
        (old, old_terms), (new, new_terms) = self.values(self._incumbent), self.values(best)
        before, now = (float(conditions.excess(terms, scale).sum()) for terms in (old_terms, new_terms))
        return now < (1.0 - _IMPROVEMENT) * before or (before == 0.0 and new < old - _IMPROVEMENT)
