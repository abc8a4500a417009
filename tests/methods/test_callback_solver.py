"""A solver turned inside out: one evaluation at a time, errors, and threads that end."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from lcbo.errors import LcboError
from lcbo.methods import registry
from lcbo.methods.classical.callback import (
    CachedEvaluation,
    CallbackSolver,
    Evaluate,
    Solve,
    SolverThread,
    Value,
)
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.terms import Term, Terms

UPPER = Term(1, 1.0, 0.5)
ONE_LIMIT = Terms((UPPER,))


def setup(dim: int = 2, terms: Terms = ONE_LIMIT, n_init: int = 3, seed: int = 0) -> Setup:
    return Setup(dim, 2, terms, (None, None), None, n_init, np.zeros((0, dim)), seed)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    if set(threading.enumerate()) - before:
        gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(5.0)
        assert not thread.is_alive()


def three_points(evaluate: Evaluate) -> None:
    for x in (0.1, 0.2, 0.3):
        evaluate(np.array([x]))


def value(x: float) -> Value:
    return x, np.array([x])


def test_points_come_one_by_one_and_the_end_is_said() -> None:
    solver = SolverThread(three_points)
    points = [solver.next(None), solver.next(value(1.0)), solver.next(value(2.0))]
    np.testing.assert_array_equal(points, [[0.1], [0.2], [0.3]])
    assert solver.next(value(3.0)) is None


def test_solver_gets_the_values_it_asked_for() -> None:
    got = []

    def solve(evaluate: Evaluate) -> None:
        got.append(evaluate(np.zeros(1))[0])
        got.append(evaluate(np.ones(1))[0])

    solver = SolverThread(solve)
    solver.next(None)
    solver.next(value(7.0))
    solver.next(value(8.0))
    assert got == [7.0, 8.0]


@pytest.mark.parametrize("calls", [0, 1])
def test_what_the_solver_raises_is_raised_to_the_caller(calls: int) -> None:
    def broken(evaluate: Evaluate) -> None:
        for _ in range(calls):
            evaluate(np.zeros(1))
        raise ZeroDivisionError("in the solver")

    solver = SolverThread(broken)
    if calls:
        solver.next(None)
    with pytest.raises(ZeroDivisionError, match="in the solver"):
        solver.next(value(1.0) if calls else None)
    with pytest.raises(LcboError, match="thread is gone"):
        solver.next(value(1.0))


def test_a_solver_that_is_dropped_gives_up_even_if_it_catches_every_exception() -> None:
    ended = threading.Event()

    def stubborn(evaluate: Evaluate) -> None:
        try:
            while True:
                try:
                    evaluate(np.zeros(1))
                except Exception:
                    continue
        finally:
            ended.set()

    solver = SolverThread(stubborn)
    solver.next(None)
    assert not ended.is_set()
    del solver
    gc.collect()
    assert ended.wait(5.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cobyqa", "cobyla", "slsqp"])
def test_threads_of_many_open_runs_end_with_them(name: str) -> None:
    before = threading.active_count()
    methods = [registry.make(name, setup(seed=seed)) for seed in range(5)]
    for _ in range(6):
        for method in methods:
            for p in method.ask():
                method.tell(p.id, np.array([p.u.sum(), p.u[0]]))
    assert threading.active_count() == before + 5
    threads = set(threading.enumerate())
    del methods, method
    gc.collect()
    for thread in threads - {threading.current_thread()}:
        thread.join(5.0)
    assert threading.active_count() == before


def counted(log: list[Array]) -> CachedEvaluation:
    def evaluate(u: Array) -> Value:
        log.append(u.copy())
        return float(10 * u.sum()), u + len(log)

    return CachedEvaluation(2, evaluate)


def test_objective_and_terms_are_one_evaluation_in_either_order() -> None:
    log: list[Array] = []
    both, a, b = counted(log), np.array([0.1, 0.2]), np.array([0.3, 0.4])
    assert both.objective(a) == pytest.approx(3.0)
    np.testing.assert_array_equal(both.terms(a), a + 1)
    np.testing.assert_array_equal(both.terms(b), b + 2)
    assert both.objective(b) == pytest.approx(7.0)
    np.testing.assert_array_equal(log, [a, b])


def test_terms_of_old_points_come_from_memory_in_spite_of_rounding() -> None:
    log: list[Array] = []
    both, a, b = counted(log), np.array([0.1, 0.2]), np.array([0.3, 0.4])
    both.objective(a)
    both.objective(b)
    again = np.nextafter(a, 1.0)
    np.testing.assert_array_equal(both.terms(again), a + 1)
    assert len(log) == 2


def test_every_reading_of_the_objective_is_an_evaluation_and_the_latest_terms_count() -> None:
    log: list[Array] = []
    both, a = counted(log), np.array([0.1, 0.2])
    both.objective(a)
    both.objective(a)
    assert len(log) == 2
    np.testing.assert_array_equal(both.terms(a), a + 2)


def test_changing_what_was_returned_changes_nothing() -> None:
    both, a = counted([]), np.array([0.1, 0.2])
    both.terms(a)[:] = 99.0
    np.testing.assert_array_equal(both.terms(a), a + 1)


class Scripted(CallbackSolver):
    """Every run evaluates its start and then the points of a script."""

    def __init__(self, setup: Setup, script: list[float]) -> None:
        super().__init__(setup)
        self.script = script

    def _solve(self, start: Array) -> Solve:
        script = self.script

        def solve(evaluate: Evaluate) -> None:
            evaluate(start)
            for x in script:
                evaluate(np.full(len(start), x))

        return solve


def drive(method: CallbackSolver, count: int, truth: dict[float, float] | None = None) -> list[Proposal]:
    """Evaluations ``(f, c) = (sum(u), 0)``, or ``truth`` of the first coordinate."""
    asked: list[Proposal] = []
    while len(asked) < count:
        batch = method.ask(most=count - len(asked))
        assert batch
        asked += batch
        for p in batch:
            f = p.u.sum() if truth is None else truth.get(float(p.u[0]), 5.0)
            method.tell(p.id, np.array([f, 0.0]))
    return asked


def test_first_run_starts_at_the_best_of_the_design_without_evaluating_it_again() -> None:
    method = Scripted(setup(), [0.9])
    asked = drive(method, 4)
    assert [p.role for p in asked] == ["init"] * 3 + ["iterate"]
    np.testing.assert_array_equal(asked[3].u, [0.9, 0.9])
    best = min(asked[:3], key=lambda p: p.u.sum())
    np.testing.assert_array_equal(method.archive.u[method._incumbent], best.u)


def test_run_that_found_a_better_point_is_followed_by_one_from_there() -> None:
    method = Scripted(setup(), [0.01, 0.9])
    asked = drive(method, 3 + 2 + 2)
    assert method.restarts == 1
    np.testing.assert_array_equal([p.u[0] for p in asked[3:]], [0.01, 0.9, 0.01, 0.9])
    np.testing.assert_array_equal(method.archive.u[method._incumbent], [0.01, 0.01])


def test_run_that_found_nothing_better_is_followed_by_one_from_a_uniform_point() -> None:
    method, again, other = (Scripted(setup(seed=seed), [0.9]) for seed in (0, 0, 1))
    asked = drive(method, 3 + 1 + 2 + 2)
    starts = [asked[4].u, asked[6].u]
    assert method.restarts == 2
    assert not np.array_equal(starts[0], starts[1])
    assert all(np.all((u > 0.0) & (u < 1.0)) for u in starts)
    np.testing.assert_array_equal([p.u for p in drive(again, 8)], [p.u for p in asked])
    assert not np.array_equal(drive(other, 8)[4].u, starts[0])


def test_a_trace_of_improvement_does_not_count() -> None:
    """The design's objectives spread by about 1, so 1e-6 is next to nothing."""
    method = Scripted(setup(), [0.5])
    drive(method, 3)
    best = method.archive.y[:, 0].min()
    truth = {0.5: best - 1e-6}
    asked = [*drive(method, 1, truth), *drive(method, 1, truth)]
    assert method.restarts == 1
    assert not np.array_equal(asked[1].u, [0.5, 0.5])


def test_first_feasible_point_counts_as_better_whatever_its_objective() -> None:
    method = Scripted(setup(), [0.5])
    for p in method.ask():
        method.tell(p.id, np.array([p.u.sum(), 0.6]))
    (p,) = method.ask()
    method.tell(p.id, np.array([99.0, 0.4]))
    (p,) = method.ask()
    np.testing.assert_array_equal(method.archive.u[method._incumbent], [0.5, 0.5])


def test_solver_sees_scaled_values_and_the_worst_so_far_where_there_is_none() -> None:
    seen: list[Value] = []

    class Spy(Scripted):
        def _solve(self, start: Array) -> Solve:
            def solve(evaluate: Evaluate) -> None:
                seen.extend(evaluate(np.full(len(start), x)) for x in (0.2, 0.3, 0.4, 0.5))

            return solve

    equal = Term(1, -1.0, 2.0, equality=True)
    method = Spy(setup(terms=Terms((UPPER, equal)), n_init=2), [])
    design = np.array([[1.0, 10.0], [5.0, 4.0]])
    answers: list[Array | None] = [*design, np.array([2.0, -8.0]), np.array([np.nan, 1.0]), None]
    answers.append(np.array([3.0, np.nan]))
    while answers:
        for p in method.ask(most=len(answers)):
            method.tell(p.id, answers.pop(0))
    method.ask()
    sf, sc = design.std(0)
    expected = [
        (2.0 / sf, [-8.5 / sc, 10.0 / sc]),
        (5.0 / sf, [0.5 / sc, 1.0 / sc]),  # the objective is missing: the worst so far is 5
        (5.0 / sf, [9.5 / sc, 10.0 / sc]),  # failed: the worst of all, an equality's worst is the farthest
        (3.0 / sf, [9.5 / sc, 10.0 / sc]),
    ]
    assert len(seen) == 4
    for (f, terms), (f_expected, terms_expected) in zip(seen, expected, strict=True):
        assert f == pytest.approx(f_expected)
        np.testing.assert_allclose(terms, terms_expected)


def test_error_of_the_solver_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: object, **__: object) -> None:
        raise ValueError("no such radius")

    monkeypatch.setattr("lcbo.methods.classical.scipy_solvers.minimize", solve)
    method = registry.make("cobyqa", setup())
    for p in method.ask():
        method.tell(p.id, np.array([p.u.sum(), 0.0]))
    with pytest.raises(LcboError, match="the solver failed: ValueError: no such radius"):
        method.ask()
