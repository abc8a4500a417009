"""The contract between an optimizer loop and a method.

A method lives in the unit cube of the free variables and sees output rows: row 0 is the objective
(always minimized), rows 1..m the constrained outcomes, in the user's scale. It never sees the
user's function. Proposals are numbered 0, 1, 2, ... in the order they are made; that number is the
candidate's id everywhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from lcbo.problem.space import Grid
from lcbo.scaling import Scaling
from lcbo.terms import Terms
from lcbo.types import Array as Array

if TYPE_CHECKING:
    from lcbo.methods.decision import Prospects
    from lcbo.problem.domain import Domain


@dataclass(frozen=True)
class Setup:
    """All a method knows about the problem."""

    dim: int  # number of free variables, d
    n_outputs: int  # number of output rows, 1 + m
    terms: Terms  # the conditions
    noise_var: tuple[float | None, ...]  # per row, in squared user units; 0.0: deterministic, None: unknown
    budget: int | None  # evaluations in all; None: open-ended
    n_init: int  # size of an initial design, points of `starts` included
    starts: Array  # k x d, points of the unit cube to evaluate first
    seed: int  # root of every random stream
    device: str = "cpu"  # where the models compute, by PyTorch's name; "cuda" is the first accelerator
    grid: Grid | None = None  # the places of integers: only points of it are evaluated
    n_known: int = 0  # evaluations of an amended run, which stand for as many points of the design
    spent: int = 0  # of the budget, before the method began
    start: Array | None = None  # where the run stood, though better points are known; None: at the best one
    domain: Domain | None = None  # what known conditions allow: only points of it are evaluated

    def snapped(self, u: Array) -> Array:
        """Return the point that is evaluated for a point of the cube: itself, where nothing forbids it."""
        if self.domain is not None:
            return self.domain.nearest(u)
        return u if self.grid is None else self.grid.snap(u)

    def uniform(self, rng: Generator, count: int) -> Array:
        """Return random points of the cube, or of what is allowed of it, ``count x d``."""
        return rng.random((count, self.dim)) if self.domain is None else self.domain.sample(rng, count)

    @property
    def deterministic(self) -> bool:
        """Whether two evaluations of one point are known to agree."""
        return all(variance == 0.0 for variance in self.noise_var)


@dataclass(frozen=True)
class Proposal:
    """One point a method wants evaluated; ``role`` is ``init``, ``iterate``, ``explore`` or ``confirm``.

    Where a method is restored, one with the role ``data`` is a point that was included at that moment.
    """

    id: int
    u: Array
    role: str
    iteration: int


@dataclass(frozen=True)
class Outcome:
    """What was told of one proposal: its outputs, or ``None`` for a failure; their errors where known."""

    id: int
    y: Array | None
    sem: Array | None = None


Call = Proposal | Outcome


@dataclass(frozen=True)
class Belief:
    """What a method's model believes at one point of the unit cube.

    Rows are outputs in the user's scale; gradients are per unit-cube coordinate. ``scale`` is the
    standard deviation each row was divided by, so that ``gradient / scale[:, None]`` is standardized.
    """

    u: Array
    mean: Array
    std: Array
    gradient: Array
    gradient_std: Array
    scale: Array


@dataclass(frozen=True)
class Forecast:
    """What a method's model believes at ``k`` points together, and what it missed among its own data.

    All in standardized outputs; ``scaling`` leads back to the user's. Leaving one of its ``n`` observations
    out, the model predicts it with an error; what it thought the error's variance would be is that of the
    output, ``missed_var``, and of the noise.

    Attributes:
        scaling: of the outputs.
        mean: ``k x B``.
        var: ``k x B``, of the noise-free outputs.
        cov: ``B x k x k``, or ``None`` where the points are judged one by one.
        noise_var: ``B``, of one observation.
        missed: ``B x n``, errors; NaN where an outcome is missing.
        missed_var: ``B x n``.
        missed_noise_var: ``B x n``, of the observations: less where a point was repeated.
        observed: ``B x n``, the observations.
    """

    scaling: Scaling
    mean: Array
    var: Array
    cov: Array | None
    noise_var: Array
    missed: Array
    missed_var: Array
    missed_noise_var: Array
    observed: Array


class Method(ABC):
    """A sequential design rule with two verbs, ``ask`` and ``tell``.

    A method is a pure function of its setup, its options and the sequence of calls, so a run can always be
    continued by replaying its calls. A method whose asks are expensive offers `state` and `restore`
    instead: the state is taken after an ask, and nothing is computed anew.

    Attributes:
        setup: what the method knows about the problem; only the budget may grow during a run.
        diagnostics: what happened inside the method worth studying later, as flat dataclasses.
    """

    setup: Setup
    diagnostics: Sequence[Any] = ()

    @abstractmethod
    def include(self, u: Array, y: Array | None) -> int:
        """Take a point evaluated elsewhere into the data and return the id it got; ``None`` is a failure."""

    @abstractmethod
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without blocking.

        Args:
            n: ``None`` asks for what the current iteration still lacks, possibly nothing. A number asks for
                up to that many; beyond the iteration's need these are further exploration points
                conditioned on everything pending.
            most: what the budget still allows; a batch that is longer stays in the method's queue.
        """

    @abstractmethod
    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""

    def measured(self, id: int, sem: Array) -> None:  # noqa: B027  (most methods have no use for it)
        """Take note of the standard errors of what is told next of a proposal, NaN where not known."""

    def hear(self, outcome: Outcome) -> None:
        """Take an outcome with all that is known of it."""
        if outcome.sem is not None:
            self.measured(outcome.id, outcome.sem)
        self.tell(outcome.id, outcome.y)

    def recommend(self) -> Array | None:
        """Return the point the model believes best; ``None`` without a model: the best observed one."""
        return None

    def belief(self, u: Array) -> Belief | None:  # noqa: ARG002  (for methods with a model)
        """Return the model's belief at a point, or ``None`` where the method has no model."""
        return None

    def candidates(self) -> Array | None:
        """Return the evaluated points a model can vouch for, ``k x d``; ``None`` without a model."""
        return None

    def forecast(self, u: Array) -> Forecast | None:  # noqa: ARG002
        """Return the model's belief at points, ``k x d``, or ``None`` without a model."""
        return None

    def prospects(self) -> Prospects | None:
        """Return what is known of the candidates for the answer beyond the model; ``None``: ask the model."""
        return None

    def descents(self) -> Sequence[int]:
        """Return the id of the first evaluation of each descent: more than one after restarts."""
        return [0]

    def remarks(self) -> Sequence[str]:
        """Return what the method learned about the problem that a user should know, in sentences."""
        return []

    def surrogate(self) -> Any:
        """Return the `Model` of everything told and the `Frame` it sees the cube in, ``None`` without one."""
        return None

    @abstractmethod
    def info(self) -> Mapping[str, float]:
        """Return the numbers worth showing now: ``iteration`` always, step size, penalty, rescues."""

    def state(self) -> dict[str, Any] | None:
        """Return all that `restore` needs beside the calls so far, as JSON values; ``None``: replay."""
        return None

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on, in a new object, from a state taken after ``calls`` (proposals and tells in order)."""
        raise NotImplementedError

    def extend(self, budget: int | None) -> None:
        """Take note of a new budget."""
        self.setup = replace(self.setup, budget=budget)


@dataclass(frozen=True)
class MethodSpec:
    """A registered method: how to build it, its options, and what it declares of itself.

    Attributes:
        name: as on the command line.
        summary: one line.
        build: maps ``(setup, options)`` to the method.
        options: the options it takes, with their defaults.
        options_class: dataclass of the options; its docstring and those of its bases say what each means.
        supports_equality: whether it steers towards ``h(x) = 0``; otherwise such a problem is refused.
        sequential: after the initial design it has at most one proposal out at a time.
        confirm: part of a noisy run's budget that confirms its answer, unless the user says otherwise.
    """

    name: str
    summary: str
    build: Callable[[Setup, Mapping[str, Any]], Method]
    options: Mapping[str, Any] = field(default_factory=dict)
    options_class: type | None = None
    supports_equality: bool = True
    sequential: bool = False
    confirm: float = 0.0
