"""A problem: variables, outcomes, thresholds and noise in user units, and the output rows the methods see.

Row 0 is the objective, negated when it is maximized; rows 1..m are the constrained outcomes in the order
they are first named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from lcbo.checks import is_number, number, truth
from lcbo.errors import ArgumentError, OutcomeError
from lcbo.problem.calling import ByName, OneByOne, split, takes_seed
from lcbo.problem.constraint import Constraint, Objective, outcome_names
from lcbo.problem.known import is_linear_constraint, read_known
from lcbo.problem.outcomes import is_finite, outcome_value, read_positional
from lcbo.problem.scipy import ConstraintFunction, is_nonlinear_constraint
from lcbo.problem.space import Space
from lcbo.problem.variable import Variable, read_variables
from lcbo.terms import Terms
from lcbo.text import Displayed, described
from lcbo.types import Array, Measured

if TYPE_CHECKING:
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

    from lcbo.problem.domain import Domain
    from lcbo.problem.known import Conditions, Known

    Pair: TypeAlias = tuple[float, float] | Variable
    BoundsLike: TypeAlias = Sequence[Pair] | Array | Mapping[str, Pair] | Bounds
    ConstraintLike: TypeAlias = Constraint | str | NonlinearConstraint
    KnownLike: TypeAlias = Known | str | LinearConstraint

_OF_THE_FUNCTION = ("fun", "source", "vectorized", "takes_seed", "terms")


@runtime_checkable
class NamedFunction(Protocol):
    """A function that knows variables and outcomes by name, such as a `Command`, and maybe a recipe."""

    @property
    def source(self) -> Mapping[str, Any] | None:
        """The recipe from which it can be made again, see `Problem.source`."""

    def bound_to(self, problem: Problem, outcomes: Sequence[str]) -> Callable[[Array], Any]:
        """Return the function for the variables of a problem and the outcomes it must give."""


class Problem(Displayed):
    """An objective and constraints on named outcomes of one evaluation, over a box.

    Args:
        bounds: ``(low, high)`` or a `Variable` per variable as a list, an ``n x 2`` array, a SciPy
            ``Bounds``, or a mapping from variable name to them. A variable with ``low == high`` is fixed.
            Without names the variables are ``x1``, ``x2``, ...
        constraints: `Constraint` objects, texts such as ``"stress <= 40000"``, or SciPy
            ``NonlinearConstraint`` objects, whose components become the outcomes ``c0``, ``c1``, ... With
            scalar limits, its function is called once, in the middle of the box, to count them.
        objective: name of the outcome to minimize, or an `Objective`.
        fun: maps a point (1-D float64 array, user units) to a mapping of outcomes by name, or to
            ``(f, c)`` with ``c`` in the order of `outcomes`; to a number when there is nothing beside ``f``.
            Each may stand in a `Measured` with standard errors. If it declares a parameter ``seed``, a run
            gives it a number of its own for every evaluation.
        noise: standard deviation of every outcome, or by name; names left out are unknown.
        deterministic: says that two evaluations of one point agree.
        vectorized: ``fun`` takes many points at once, ``n x len(variables)``, and returns ``n`` values per
            outcome, or a list of ``n`` mappings; a row of NaN is an evaluation that failed.
        named: ``fun`` takes a mapping from variable name to value; with ``vectorized`` to ``n`` values.
        known: conditions on the variables themselves that no evaluated point breaks: texts such as
            ``"height >= 2 * width"`` or ``"a + b + c == 1"``, SciPy ``LinearConstraint``, `Known`.

    Attributes:
        dim: number ``d`` of free variables, as in `Space` and in the methods; variables that follow from
            others by a known equality are not counted.
        n_variables: number of variables, fixed ones included: the length of a point.
        lb: lower bounds, one per variable; ``ub`` likewise, ``bounds`` both as ``n x 2``.
        variables: names of the variables.
        kinds: of each in words, such as ``"log"`` or ``"integer"``; empty for a plain one.
        free: mask of the variables that are not fixed.
        space: the box and its unit cube.
        objective: the `Objective`.
        constraints: the `Constraint` objects.
        known: the known conditions, as texts in ``known.names``.
        domain: the points they allow; ``None`` without any.
        outcomes: names, the objective first, then every constrained outcome once.
        noise: known standard deviations by outcome name.
        deterministic: whether all of them are known to be zero.
        vectorized: whether a batch of points may be evaluated by one call, `call_many`.
        takes_seed: whether ``fun`` declares a parameter ``seed``.
        source: a recipe, as JSON values, from which the problem with its function can be made again;
            ``None`` when the function is the user's own.
    """

    source: Mapping[str, Any] | None = None
    vectorized = False
    takes_seed = False

    def __init__(
        self,
        bounds: BoundsLike,
        constraints: ConstraintLike | Iterable[ConstraintLike] = (),
        objective: str | Objective = "objective",
        *,
        fun: Callable[..., Any] | None = None,
        noise: float | Mapping[str, float] | None = None,
        deterministic: bool = False,
        vectorized: bool = False,
        named: bool = False,
        known: KnownLike | Iterable[KnownLike] | Conditions = (),
    ) -> None:
        stated = read_variables(bounds)
        self.variables, self.kinds = tuple(stated), tuple(each.kind for each in stated.values())
        self.space = Space.of(list(stated.values()))
        self.known = read_known(known, self.variables, truth("named", named), self.space.integer)
        self.domain = self._domain()
        self.space = self.space if self.domain is None else self.domain.space
        self.lb, self.ub, self.free = self.space.lb, self.space.ub, self.space.free
        if not self.space.dim:
            raise ArgumentError("bounds", "at least one variable with low < high", "only fixed variables")
        self.dim, self.n_variables = self.space.dim, self.lb.size
        self.objective = Objective(objective) if isinstance(objective, str) else objective
        if not isinstance(self.objective, Objective):
            raise ArgumentError("objective", "an outcome name or an Objective", described(objective))
        self.constraints, functions = _read_constraints(constraints, lambda: self.middle)
        self.outcomes = outcome_names(self.objective, self.constraints)
        if shared := set(self.variables) & set(self.outcomes):
            raise ArgumentError("bounds", "variable names other than the outcomes'", sorted(shared))
        truth("deterministic", deterministic)
        self.noise = _read_noise(noise, deterministic, self.outcomes)
        self.deterministic = all(self.noise.get(name) == 0.0 for name in self.outcomes)
        if fun is not None and not callable(fun):
            raise ArgumentError("fun", "a function of one point", repr(fun))
        elsewhere = {c.name for function in functions for c in function.constraints}
        own = [name for name in self.outcomes if name not in elsewhere]
        if isinstance(fun, NamedFunction):
            self.source = None if functions else fun.source
            fun = fun.bound_to(self, own)
        self.takes_seed = fun is not None and takes_seed(fun)
        self.vectorized = truth("vectorized", vectorized) and fun is not None
        if named and fun is not None:
            fun = ByName(fun, self.variables, self.space.integer)
        if self.vectorized and fun is not None:
            if functions or hasattr(fun, "outcomes"):
                expected = "False beside a Command or a NonlinearConstraint, which take one point"
                raise ArgumentError("vectorized", expected, True)
            fun = OneByOne(fun)
        self.fun = fun if fun is None or not functions else _joined(fun, own, functions)

    def __repr__(self) -> str:
        limits = f"{len(self.constraints)} constraint{'s' * (len(self.constraints) != 1)}"
        limits += f", {len(self.known)} known" if len(self.known) else ""
        function = "" if self.fun is None else ", with its function"
        over = f"{self.n_variables} variables{self.counted_kinds}"
        return f"<{type(self).__name__}: {self.objective} over {over}, {limits}{function}>"

    def _domain(self) -> Domain | None:
        """Return the points that the known conditions allow; SciPy is needed where there are any."""
        if not len(self.known) or not self.space.dim:
            return None
        from lcbo.problem.domain import Domain

        return Domain(self.space, self.known)

    @property
    def middle(self) -> Array:
        """A point in the middle of what is allowed, in user units."""
        return self.space.middle if self.domain is None else self.space.from_unit(self.domain.inside)

    @property
    def counted_kinds(self) -> str:
        """How many variables are of which kind, in parentheses; empty where all are plain."""
        count = Counter(kind for kind in self.kinds if kind)
        return f" ({', '.join(f'{n} {kind}' for kind, n in count.items())})" if count else ""

    @property
    def fixed(self) -> dict[str, float]:
        """The values of the variables that are fixed."""
        held = zip(self.variables, self.lb.tolist(), self.space.fixed, strict=True)
        return {name: value for name, value, fixed in held if fixed}

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds, ``n x 2``."""
        return np.column_stack([self.lb, self.ub])

    @cached_property
    def terms(self) -> Terms:
        """The constraints as conditions on output rows."""
        rows = {name: row for row, name in enumerate(self.outcomes)}
        return Terms(tuple(term for c in self.constraints for term in c.terms(rows[c.name])))

    @property
    def noise_var(self) -> tuple[float | None, ...]:
        """Noise variance per output row in squared user units; ``0.0`` is none, ``None`` unknown."""
        return tuple(None if (sd := self.noise.get(name)) is None else sd**2 for name in self.outcomes)

    def evaluate(self, x: Array) -> dict[str, float]:
        """Return the outcomes at ``x`` by name, as `read` out of what ``fun`` returns (with the seed 0)."""
        if self.fun is None:
            raise ArgumentError("fun", "a Problem built with fun=...", "a Problem without a function")
        return self.read(self.call(x, 0))

    def call(self, x: Array, seed: int) -> Any:
        """Return what ``fun`` returns at ``x``; ``seed`` is for a function that takes one."""
        assert self.fun is not None
        more = {"seed": seed} if self.takes_seed else {}
        return self.fun(np.array(x, dtype=np.float64), **more)

    def call_many(self, X: Array, seeds: Sequence[int]) -> list[Any]:
        """Return what a ``vectorized`` function returns for every row of ``X``, by one call."""
        assert isinstance(self.fun, OneByOne)
        more = {"seed": np.array(seeds)} if self.takes_seed else {}
        return split(self.fun.many(np.array(X, dtype=np.float64), **more), len(X))

    def restated(self, other: Problem) -> Self:
        """Return this problem with the variables, conditions and noise of another one; its function stays."""
        twin = object.__new__(type(self))  # a copy of a noisy benchmark would draw other noise
        stated = {name: value for name, value in vars(other).items() if name not in _OF_THE_FUNCTION}
        twin.__dict__.update(vars(self) | stated)
        twin.__dict__.pop("terms", None)
        if getattr(self.fun, "__self__", None) is self:
            twin.fun = MethodType(self.fun.__func__, twin)
        return twin

    def additional(self, returned: object) -> dict[str, float]:
        """Return what a function returned by name beside the outcomes, as far as it is finite numbers.

        It is kept on record, so that a limit may be put on it later.
        """
        values = returned.values if isinstance(returned, Measured) else returned
        if not isinstance(values, Mapping):
            return {}
        more = [(n, v) for n, v in values.items() if isinstance(n, str) and n and n not in self.outcomes]
        return {name: float(value) for name, value in more if is_number(value) and is_finite(float(value))}

    def continue_after(self, n_ended: int) -> None:
        """Called when a run resumes after ``n_ended`` evaluations; only a random function needs to know."""

    def read(self, returned: object) -> dict[str, float]:
        """Return the problem's outcomes out of whatever a function returned; names not needed are left out.

        Raises:
            OutcomeError: if names are missing, a value is not a real number or the form is not known.
        """
        if isinstance(returned, Measured):
            return self.read(returned.values)
        if isinstance(returned, Mapping):
            missing = [name for name in self.outcomes if name not in returned]
            if missing:
                came = ", ".join(map(repr, returned)) or "nothing"
                raise OutcomeError(
                    f"fun: expected the outcomes {list(self.outcomes)}; {missing} missing, got {came}"
                )
            return {name: outcome_value(name, returned[name]) for name in self.outcomes}
        return read_positional(returned, self.outcomes)

    def read_sem(self, sem: object) -> dict[str, float]:
        """Return standard errors by outcome; a name that is none and a value below 0 raise `OutcomeError`."""
        stated = sem.sem if isinstance(sem, Measured) else sem
        if not isinstance(stated, Mapping):
            raise OutcomeError(
                f"sem: expected a mapping from outcome to standard error; got {described(stated)}"
            )
        if unknown := [name for name in stated if name not in self.outcomes]:
            raise OutcomeError(f"sem: expected names out of {list(self.outcomes)}; got {unknown}")
        errors = {str(name): outcome_value(name, value) for name, value in stated.items()}
        for name, value in errors.items():
            if not 0.0 <= value < math.inf:
                raise OutcomeError(f"sem of {name!r}: expected a number of at least 0; got {value!r}")
        return errors

    def sem_rows(self, sem: Mapping[str, float]) -> Array | None:
        """Return standard errors per output row, NaN where not known; ``None`` where none is."""
        return np.array([sem.get(name, math.nan) for name in self.outcomes]) if sem else None

    def feasible(self, outcomes: Mapping[str, float]) -> bool:
        """Return whether every constraint holds; a missing outcome is not feasible."""
        return all(c.holds(outcomes.get(c.name, math.nan)) for c in self.constraints)

    def infeasibility(self, outcomes: Mapping[str, float], scale: Mapping[str, float] | None = None) -> float:
        """Return the sum of the violations, each divided by its outcome's scale (1 when not given).

        A missing outcome counts as infinitely violated.
        """
        total = 0.0
        for c in self.constraints:
            if c.name not in outcomes:
                return math.inf
            total += c.violation(outcomes[c.name]) / (1.0 if scale is None else scale[c.name])
        return total

    def to_rows(self, outcomes: Mapping[str, float]) -> Array:
        """Return the ``1 + m`` output rows of named outcomes, NaN where one is missing."""
        y = np.array([outcomes.get(name, math.nan) for name in self.outcomes])
        y[0] *= self.objective.sign
        return y

    def from_rows(self, y: Array) -> dict[str, float]:
        """Return named outcomes in user units from ``1 + m`` output rows."""
        named = dict(zip(self.outcomes, map(float, y), strict=True))
        named[self.objective.name] *= self.objective.sign
        return named


def _joined(
    fun: Callable[..., Any], own: Sequence[str], functions: Sequence[ConstraintFunction]
) -> Callable[..., Any]:
    """Return a function that adds the components of SciPy constraints to the outcomes of ``fun``."""

    def joined(x: Array, **seed: int) -> Any:
        returned = fun(x, **seed)
        if isinstance(returned, Measured):
            return Measured(added(returned.values, x), returned.sem)
        return added(returned, x)

    def added(returned: Any, x: Array) -> dict[str, Any]:
        named = dict(returned) if isinstance(returned, Mapping) else read_positional(returned, own)
        for function in functions:
            named.update(function(x))
        return named

    return joined


def _read_constraints(
    constraints: Any, middle: Callable[[], Array]
) -> tuple[tuple[Constraint, ...], list[ConstraintFunction]]:
    """Return the constraints, and the functions of those that SciPy's objects bring along.

    How many components such a function has may only show when it is called, in the ``middle`` of the box.
    """
    single = isinstance(constraints, Constraint | str) or any(
        hasattr(constraints, name) for name in ("fun", "lb")
    )
    if not single and (isinstance(constraints, Mapping) or not isinstance(constraints, Iterable)):
        raise ArgumentError("constraints", "a list of constraints", described(constraints))
    read: list[Constraint] = []
    functions: list[ConstraintFunction] = []
    for entry in [constraints] if single else constraints:
        if isinstance(entry, Constraint):
            read.append(entry)
        elif isinstance(entry, str):
            read.append(Constraint.parse(entry))
        elif is_nonlinear_constraint(entry):
            before = sum(len(f.constraints) for f in functions)
            functions.append(ConstraintFunction(entry, before, middle()))
            read += functions[-1].constraints
        else:
            expected = "a Constraint, a text such as 'stress <= 40000' or a SciPy NonlinearConstraint"
            if is_linear_constraint(entry):
                expected += " (a LinearConstraint on the variables is known=[...])"
            raise ArgumentError("constraints", expected, described(entry))
    return tuple(read), functions


def _read_noise(noise: Any, deterministic: bool, outcomes: tuple[str, ...]) -> dict[str, float]:
    """Return the known noise standard deviations by outcome name."""
    if noise is None:
        return dict.fromkeys(outcomes, 0.0) if deterministic else {}
    if deterministic:
        raise ArgumentError("noise", "None beside deterministic=True", noise)
    by_name = noise if isinstance(noise, Mapping) else dict.fromkeys(outcomes, noise)
    unknown = [name for name in by_name if name not in outcomes]
    if unknown:
        raise ArgumentError("noise", f"names out of {list(outcomes)}", unknown)
    return {name: number(f"noise of {name!r}", sd, least=0) for name, sd in by_name.items()}
