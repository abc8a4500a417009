"""What the checks share: a small problem, a method under test, and a run of it that is watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from lcbo.methods import registry
from lcbo.methods.protocol import Array, Method, MethodSpec, Proposal, Setup
from lcbo.terms import Term, Terms

DIM = 3
BUDGET = 16
ROLES = {"init", "iterate", "explore"}
INEQUALITY = Terms((Term(1, 1.0, 0.4), Term(1, -1.0, -3.0), Term(2, 1.0, 0.3)))
WITH_EQUALITY = Terms((*INEQUALITY.each[:2], Term(2, 1.0, 0.1, equality=True, tol=0.05)))

Truth = Callable[[Array], Array]
Answer = Callable[[Proposal], Array | None]


def truth(u: Array) -> Array:
    """Objective, one outcome with two bounds and one with an upper bound or an equality."""
    return np.array([np.sum((u - 0.3) ** 2), u[0] + np.sin(2.0 * u[1 % len(u)]) - 0.5, u[1 % len(u)] * u[-1]])


def require(condition: object, message: str) -> None:
    """Raise AssertionError with a message unless a condition holds, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


def require_equal(got: Array, expected: Array, message: str) -> None:
    """Raise AssertionError unless two arrays are equal to the last bit."""
    if got.shape != expected.shape:
        raise AssertionError(f"{message}: {len(got)} points instead of {len(expected)}")
    different = np.flatnonzero((got != expected).any(-1))
    if len(different):
        k = different[0]
        raise AssertionError(f"{message}: point {k} is {got[k]} instead of {expected[k]}")


@dataclass(frozen=True)
class Subject:
    """A method under test with the options it is tested with."""

    spec: MethodSpec
    options: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(method: str | MethodSpec, options: Mapping[str, Any] | None = None) -> Subject:
        """Return the subject of a registered name or of an entry."""
        return Subject(registry.spec(method) if isinstance(method, str) else method, dict(options or {}))

    @property
    def terms(self) -> Terms:
        """The conditions of the small problem, with an equality where the method claims to treat it."""
        return WITH_EQUALITY if self.spec.supports_equality else INEQUALITY

    def make(self, **changes: Any) -> Method:
        """Return a new method for the small problem, with changes of its setup."""
        facts: dict[str, Any] = {"dim": DIM, "n_outputs": 3, "terms": self.terms}
        facts |= {"budget": BUDGET, "n_init": 4, "seed": 0, **changes}
        facts.setdefault("noise_var", (None,) * facts["n_outputs"])
        facts.setdefault("starts", np.zeros((0, facts["dim"])))
        return registry.make(self.spec, Setup(**facts), self.options)

    def run(self, truth: Truth = truth, **changes: Any) -> Drive:
        """Return a run at its start."""
        return Drive(self.make(**changes), truth)

    def points(self, truth: Truth = truth, **changes: Any) -> Array:
        """Return the points of a whole run, in the order they were asked for."""
        return self.run(truth, **changes).finish().points


class Drive:
    """A method driven as an optimizer does it; every ask is checked for shape, bounds, ids and budget.

    Attributes:
        asked: proposals in order.
        pending: those not told yet, by id.
    """

    def __init__(self, method: Method, truth: Truth = truth) -> None:
        self.method, self.truth = method, truth
        self.asked: list[Proposal] = []
        self.pending: dict[int, Proposal] = {}
        self._included = 0
        self._copies: list[Array] = []

    @property
    def left(self) -> int | None:
        """What the budget still allows."""
        budget = self.method.setup.budget
        return None if budget is None else budget - len(self.asked)

    @property
    def points(self) -> Array:
        """Points asked for so far, ``n x d``."""
        return np.array(self._copies).reshape(-1, self.method.setup.dim)

    def include(self, u: Array) -> None:
        """Include a point that was evaluated elsewhere."""
        id = self.method.include(u, self.truth(u))
        require(id == self._included, f"include: expected id {self._included}; got {id}")
        self._included += 1

    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Ask as an optimizer does, for at most ``most`` points and never beyond the budget."""
        most = min((k for k in (most, self.left) if k is not None), default=None)
        if most is not None and most <= 0:
            return []
        limit = min((k for k in (n, most) if k is not None), default=None)
        proposals = self.method.ask(n, most)
        require(isinstance(proposals, list), f"ask: expected a list; got {type(proposals).__name__}")
        if limit is not None:
            require(len(proposals) <= limit, f"ask: expected at most {limit} points; got {len(proposals)}")
        for proposal in proposals:
            self._admit(proposal)
        return proposals

    def tell(self, proposal: Proposal, y: Array | None) -> None:
        """Tell outputs, or a failure."""
        del self.pending[proposal.id]
        self.method.tell(proposal.id, y)

    def evaluate(self, proposals: list[Proposal] | None = None, answer: Answer | None = None) -> None:
        """Tell what the small problem says, or an ``answer``, to some proposals or all that are pending."""
        for proposal in list(self.pending.values()) if proposals is None else proposals:
            self.tell(proposal, self.truth(proposal.u) if answer is None else answer(proposal))

    def finish(self, answer: Answer | None = None) -> Drive:
        """Ask and tell until the budget is spent."""
        while batch := self.ask():
            self.evaluate(batch, answer)
        require(self.left == 0, f"ask: nothing came although the budget allows {self.left} points more")
        for proposal, copy in zip(self.asked, self._copies, strict=True):
            require(np.array_equal(proposal.u, copy), f"point {proposal.id} was changed after it was asked")
        return self

    def _admit(self, proposal: Proposal) -> None:
        expected = self._included + len(self.asked)
        id, u, dim = proposal.id, proposal.u, self.method.setup.dim
        require(id == expected, f"ask: expected id {expected}; got {id}")
        shape = f"ask: expected u as a float64 array of shape ({dim},); got {u!r}"
        require(isinstance(u, np.ndarray) and u.dtype == np.float64 and u.shape == (dim,), shape)
        require(np.all((u >= 0.0) & (u <= 1.0)), f"ask: expected u within the unit cube; got {u}")
        require(proposal.role in ROLES, f"ask: expected a role out of {ROLES}; got {proposal.role!r}")
        if self.asked:
            before = self.asked[-1].iteration
            require(proposal.iteration >= before, f"ask: iteration went back from {before}")
        self.asked.append(proposal)
        self.pending[id] = proposal
        self._copies.append(u.copy())


Check = Callable[..., None]
CHECKS: list[Check] = []


def check(function: Callable[[Subject], None]) -> Check:
    """Add a function of a subject to `CHECKS`, as one of a registered name or `MethodSpec`, and options."""

    @wraps(function)
    def checked(method: str | MethodSpec, options: Mapping[str, Any] | None = None) -> None:
        subject = Subject.of(method, options)
        try:
            function(subject)
        except AssertionError as error:
            raise AssertionError(f"{subject.spec.name}, {function.__name__}: {error}") from error

    CHECKS.append(checked)
    return checked
