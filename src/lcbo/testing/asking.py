"""What a method declares of itself is true, and what it may return when it is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcbo.errors import ArgumentError
from lcbo.methods.protocol import Array
from lcbo.terms import Term, Terms
from lcbo.testing.harness import BUDGET, DIM, WITH_EQUALITY, Subject, check, require, require_equal, truth


@check
def points_lie_in_the_unit_cube(subject: Subject) -> None:
    """Every proposal is a float64 point of the cube with the next id and a known role."""
    run = subject.run().finish()
    require(run.points.shape == (BUDGET, DIM), f"expected {BUDGET} x {DIM} points; got {run.points.shape}")
    require("iteration" in run.method.info(), "info: expected an entry 'iteration'")


@check
def starts_come_first(subject: Subject) -> None:
    """The user's points are evaluated before all others, as the initial design."""
    starts = np.array([[0.25, 0.5, 0.75], [1.0, 0.0, 0.5]])
    run = subject.run(starts=starts).finish()
    require_equal(run.points[:2], starts, "starts")
    require({p.role for p in run.asked[:4]} == {"init"}, "expected role 'init' for the initial design")


@check
def budget_is_spent_exactly(subject: Subject) -> None:
    """Small and odd budgets are spent exactly."""
    for budget in (1, 3, 9):
        run = subject.run(budget=budget, n_init=min(4, budget)).finish()
        require(len(run.asked) == budget, f"budget {budget}: {len(run.asked)} points")


@check
def budget_may_grow(subject: Subject) -> None:
    """A run goes on when its budget is extended, and one without a budget never ends."""
    run = subject.run(budget=9).finish()
    run.method.extend(15)
    run.finish()
    run = subject.run(budget=None)
    while len(run.asked) < 15:
        batch = run.ask()
        require(batch, "ask: nothing came although there is no budget")
        run.evaluate(batch)


@check
def rest_of_a_batch_stays_queued(subject: Subject) -> None:
    """Asking in pieces gives the points of asking at once."""
    pieces = subject.run()
    while pieces.left:
        while pieces.ask(most=1):
            pass  # the queue gives one point after the other
        pieces.evaluate()
    require_equal(pieces.points, subject.points(), "asked for one by one")


@check
def nothing_is_asked_while_a_batch_is_out(subject: Subject) -> None:
    """A second ``ask()`` returns nothing until something is told."""
    run = subject.run()
    while batch := run.ask():
        again = run.ask()
        require(not again, f"ask: {len(again)} points while {len(batch)} of this iteration are out")
        run.evaluate(batch)


@check
def asking_for_a_number_is_a_limit(subject: Subject) -> None:
    """``ask(n)`` gives at most n; a sequential method has at most one proposal out after the design."""
    run = subject.run()
    for n in (3, 1):
        require(len(run.ask(n)) == n, f"ask({n}): expected {n} points of the initial design")
    run.evaluate()
    while run.left:
        for n in (1, 5, 2):
            run.ask(n)
        require(run.pending, "ask(n): nothing came although nothing is out")
        if subject.spec.sequential:
            require(len(run.pending) == 1, f"declared sequential, but has {len(run.pending)} points out")
        run.evaluate()


@check
def workers_do_not_starve(subject: Subject) -> None:
    """With one worker or five and outcomes in any order, the budget is spent; something is always out."""
    for workers in (1, 5):
        run, rng = subject.run(), np.random.default_rng(0)
        while run.left or run.pending:
            if len(run.pending) < workers:
                run.ask(workers - len(run.pending))
            require(run.pending, f"{workers} workers: nothing is out and nothing comes")
            ids = list(run.pending)
            run.evaluate([run.pending[ids[rng.integers(len(ids))]]])


@check
def looking_changes_nothing(subject: Subject) -> None:
    """``recommend``, ``belief``, ``info`` and ``state`` leave a run as it is and have the right shapes."""
    run = subject.run()
    while batch := run.ask():
        for proposal in batch:
            run.tell(proposal, truth(proposal.u))
            recommended = run.method.recommend()
            if recommended is not None:
                inside = recommended.shape == (DIM,) and np.all((recommended >= 0.0) & (recommended <= 1.0))
                require(inside, f"recommend: expected a point of the cube; got {recommended}")
            belief = run.method.belief(proposal.u)
            if belief is not None:
                shapes = [belief.mean.shape, belief.std.shape, belief.gradient.shape]
                require(shapes == [(3,), (3,), (3, DIM)], f"belief: got shapes {shapes}")
                require(np.all(belief.std >= 0.0), f"belief: expected std >= 0; got {belief.std}")
            require(all(np.isfinite(v) for v in run.method.info().values()), "info: expected finite numbers")
            run.method.state()
    require_equal(run.points, subject.points(), "watched all the time")


@check
def small_problems_are_solved_too(subject: Subject) -> None:
    """Problems with one variable or without constraints are solved."""
    subject.points(dim=1, terms=Terms(subject.terms.each[:1]))
    subject.points(lambda u: truth(u)[:1], n_outputs=1, terms=Terms())


@check
def equality_support_is_declared_honestly(subject: Subject) -> None:
    """A method that declares support comes closer to ``h = 0`` from either side; another one refuses.

    The objective pulls away from the equality, so that a method that reads it as ``h <= 0`` or ``h >= 0`` or
    not at all goes the wrong way in one of the two cases.
    """
    if not subject.spec.supports_equality:
        complaint = _refusal(subject, terms=WITH_EQUALITY)
        require(complaint, "declares no support for equality constraints, but takes them")
        return
    for level, lure in ((0.75, 0.2), (0.25, 0.8)):

        def lured(u: Array, lure: float = lure) -> Array:
            return np.array([0.2 * np.sum((u - lure) ** 2), u.mean()])

        terms = Terms((Term(1, 1.0, level, equality=True, tol=0.02),))
        run = subject.run(lured, dim=2, n_outputs=2, terms=terms, budget=60, n_init=6).finish()
        error = np.abs(run.points.mean(1) - level)
        # Where a method tells its iterates from its exploration, the iterates count.
        late = [e for e, p in zip(error, run.asked, strict=True) if p.role == "iterate"] or error.tolist()
        last, first = np.median(late[-len(late) // 3 :]), np.median(error[:6])
        require(last < 0.75 * first, f"h = {level}: median error {last:.3g} at the end, {first:.3g} at first")


@check
def unknown_option_is_refused(subject: Subject) -> None:
    """An option the method does not have is an error that lists the ones it has."""
    complaint = _refusal(Subject(subject.spec, {**subject.options, "no such option": 1}))
    require(complaint, "an option it does not have is ignored")
    require(all(name in complaint for name in subject.spec.options), f"not all options in: {complaint}")


def _refusal(subject: Subject, **changes: Any) -> str:
    """Return the error of building the method, nothing where it is built."""
    try:
        subject.make(**changes)
    except ArgumentError as error:
        return str(error)
    return ""
