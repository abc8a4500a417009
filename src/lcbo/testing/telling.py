"""What may be told to a method: in any order, in part, failures, in any units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lcbo.methods.protocol import Array, Proposal
from lcbo.terms import Terms
from lcbo.testing.harness import DIM, Answer, Subject, check, require, require_equal, truth


@check
def order_of_tells_does_not_matter(subject: Subject) -> None:
    """A batch told backwards leads to the same run."""
    run = subject.run()
    while batch := run.ask():
        run.evaluate(batch[::-1])
    require_equal(run.points, subject.points(), "told backwards")


def _losing(rows: Sequence[int]) -> Answer:
    """Answers in which the rows are missing in turn."""

    def answer(proposal: Proposal) -> Array:
        y = truth(proposal.u)
        y[rows[proposal.id % len(rows)]] = np.nan
        return y

    return answer


def _failing(fails: Callable[[Proposal], object]) -> Answer:
    """Answers of which some fail."""
    return lambda proposal: None if fails(proposal) else truth(proposal.u)


@check
def missing_outcomes_do_not_stop_a_run(subject: Subject) -> None:
    """Outcomes are missing sometimes, one constraint always, or the objective always."""
    for rows in ((0, 1, 2), (1,), (2,), (0,)):
        subject.run().finish(_losing(rows))


@check
def failures_do_not_stop_a_run(subject: Subject) -> None:
    """Every second evaluation, everything after the initial design, or everything fails."""
    subject.run().finish(_failing(lambda p: p.id % 2))
    subject.run().finish(_failing(lambda p: p.role != "init"))
    subject.run().finish(_failing(lambda _: True))


@check
def failed_initial_design_is_followed_by_other_points(subject: Subject) -> None:
    """When the whole initial design fails, the run goes on elsewhere."""
    points = subject.run().finish(_failing(lambda p: p.id < 4)).points
    for u in points[4:]:
        again = (points[:4] == u).all(1).any()
        require(not again, f"evaluated a failed point of the initial design again: {u}")


@check
def data_counts_but_costs_nothing(subject: Subject) -> None:
    """Points evaluated elsewhere get the first ids, leave the budget alone, and can replace a design."""
    for answer in (None, _failing(lambda p: p.role == "init")):
        run = subject.run(budget=12)
        for u in np.random.default_rng(3).random((6, DIM)):
            run.include(u)
        run.finish(answer)


@check
def constant_outcomes_do_not_stop_a_run(subject: Subject) -> None:
    """An outcome that never changes, at any level, does not stop a run."""
    for constant in ((0.0, np.nan, np.nan), (np.nan, -7.0, 1e12), (0.0, 0.0, 0.0)):
        level = np.array(constant)
        subject.points(partial(_replaced, level))


def _replaced(level: Array, u: Array) -> Array:
    return np.where(np.isnan(level), truth(u), level)


@check
def units_do_not_matter(subject: Subject) -> None:
    """Outcomes and bounds multiplied by powers of two lead to the same run, bit for bit."""
    plain = subject.points()
    for powers in ((40, -30, 0), (-20, 10, 25)):
        factor = 2.0 ** np.array(powers)
        terms = tuple(
            replace(t, threshold=t.threshold * factor[t.row], tol=t.tol * factor[t.row])
            for t in subject.terms
        )
        scaled = subject.points(partial(_multiplied, factor), terms=Terms(terms))
        require_equal(scaled, plain, f"outcomes times 2 to the power of {powers}")


def _multiplied(factor: Array, u: Array) -> Array:
    return factor * truth(u)
