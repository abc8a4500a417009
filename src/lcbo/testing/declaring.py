"""What a method declares of itself is true: its options, and whether it treats equality constraints."""

from __future__ import annotations

from functools import partial

import numpy as np

from lcbo.errors import ArgumentError
from lcbo.methods.protocol import Array
from lcbo.terms import Term, Terms
from lcbo.testing.harness import WITH_EQUALITY, Subject, check, require

_BUDGET = 60


@check
def equality_support_is_declared_honestly(subject: Subject) -> None:
    """A method that declares support comes closer to ``h = 0`` from either side; another one refuses.

    The objective pulls away from the equality, so that a method that reads it as ``h <= 0`` or ``h >= 0`` or
    not at all goes the wrong way in one of the two cases.
    """
    if not subject.spec.supports_equality:
        _require_refusal(subject)
        return
    for level, lure in ((0.75, 0.2), (0.25, 0.8)):
        terms = Terms((Term(1, 1.0, level, equality=True, tol=0.02),))
        run = subject.run(
            partial(_lured, lure), dim=2, n_outputs=2, terms=terms, budget=_BUDGET, n_init=6
        ).finish()
        error = np.abs(run.points.mean(1) - level)
        # Where a method tells its iterates from its exploration, the iterates count.
        late = [e for e, p in zip(error, run.asked, strict=True) if p.role == "iterate"] or error.tolist()
        last, first = np.median(late[-len(late) // 3 :]), np.median(error[:6])
        require(last < 0.75 * first, f"h = {level}: median error {last:.3g} at the end, {first:.3g} at first")


def _lured(lure: float, u: Array) -> Array:
    return np.array([0.2 * np.sum((u - lure) ** 2), u.mean()])


def _require_refusal(subject: Subject) -> None:
    try:
        subject.make(terms=WITH_EQUALITY)
    except ArgumentError:
        return
    raise AssertionError("declares no support for equality constraints, but takes them")


@check
def unknown_option_is_refused(subject: Subject) -> None:
    """An option the method does not have is an error that lists the ones it has."""
    broken = Subject(subject.spec, {**subject.options, "no such option": 1})
    try:
        broken.make()
    except ArgumentError as error:
        require(all(name in str(error) for name in subject.spec.options), f"not all options in: {error}")
        return
    raise AssertionError("an option it does not have is ignored")
