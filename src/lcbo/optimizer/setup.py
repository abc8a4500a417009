"""Arguments of a run, checked once, and the `Setup` a method gets from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lcbo.checks import integer, is_integer, mapping
from lcbo.errors import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import MethodSpec, Setup
from lcbo.problem import Problem, outcome_value
from lcbo.types import Array, Evaluation


@dataclass(frozen=True)
class Plan:
    """What a run is begun with: the user's arguments, checked, or those of a stored run.

    The fields are the arguments of `lcbo.Optimizer`: ``x0`` as ``k x len(variables)`` points, ``data`` as
    evaluations that are done, ``rng`` as the seed at the root of every random stream.
    """

    problem: Problem
    spec: MethodSpec
    options: Mapping[str, Any]
    budget: int | None
    x0: Array | None
    data: Sequence[Evaluation]
    n_init: int | None
    seed: int
    device: str = "cpu"

    def setup(self) -> Setup:
        """Return all the method gets to know."""
        space = self.problem.space
        starts = np.zeros((0, space.dim)) if self.x0 is None else space.to_unit(self.x0)
        n_init = self.n_init
        if n_init is None:
            n_init = initial_size(self.budget, space.dim, len(starts), len(self.data))
        return Setup(
            dim=space.dim,
            n_outputs=len(self.problem.outcomes),
            terms=self.problem.terms,
            noise_var=self.problem.noise_var,
            budget=self.budget,
            n_init=n_init,
            starts=starts,
            seed=self.seed,
            device=self.device,
        )


def read_plan(
    problem: Problem,
    method: object,
    options: object,
    budget: int | None,
    x0: ArrayLike | None,
    data: Any,
    n_init: int | None,
    rng: Any,
    device: object,
) -> Plan:
    """Return the arguments of an `Optimizer`, checked."""
    check_problem(problem)
    points = None if x0 is None else read_points("x0", x0, problem)
    n_starts = 0 if points is None else len(points)
    budget = None if budget is None else integer("budget", budget)
    if budget is not None and n_starts > budget:
        raise ArgumentError("x0", f"at most budget={budget} points", n_starts)
    if n_init is not None:
        n_init = integer("n_init", n_init)
        if budget is not None and n_init > budget:
            raise ArgumentError("n_init", f"at most budget={budget}", n_init)
        if n_init < n_starts:
            raise ArgumentError("n_init", f"at least the {n_starts} points of x0", n_init)
    known = read_data(data, problem)
    spec, named, seed = read_method(method), read_options(options), read_seed(rng)
    return Plan(problem, spec, named, budget, points, known, n_init, seed, read_device(device))


def initial_size(budget: int | None, dim: int, n_starts: int, n_data: int) -> int:
    """Return the default size of the initial design: d, at most budget / 4, at least 2 and the starts.

    ``n_data`` evaluations the user brings along make it that much smaller.
    """
    quarter = dim if budget is None else max(2, budget // 4)
    size = max(2, min(dim, quarter) - n_data, n_starts)
    return size if budget is None else min(size, budget)


def check_problem(problem: object) -> None:
    """Raise unless it is a problem."""
    if not isinstance(problem, Problem):
        raise ArgumentError("problem", "a Problem", type(problem).__name__)


def read_method(method: object) -> MethodSpec:
    """Return the method of a name, or the one given."""
    if isinstance(method, MethodSpec):
        return method
    if not isinstance(method, str):
        raise ArgumentError("method", "the name of a method, or a MethodSpec", repr(method))
    return registry.spec(method)


def read_options(options: object) -> dict[str, Any]:
    """Return the options of a method by name; whether it has them is for the method to say."""
    return {} if options is None else dict(mapping("options", options))


def read_device(device: object) -> str:
    """Return the name of a device; whether there is such a one is for the model to say."""
    if not isinstance(device, str) or not device:
        raise ArgumentError("device", "the name of a device such as 'cpu' or 'cuda'", repr(device))
    return device


def read_path(argument: str, path: object) -> Path:
    """Return the path of a run file."""
    if not isinstance(path, str | Path):
        raise ArgumentError(argument, "a path", type(path).__name__)
    return Path(path)


def read_points(argument: str, points: ArrayLike, problem: Problem) -> Array:
    """Return one point or several as ``k x len(variables)``, each within the bounds."""
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(argument, f"points of {problem.n_variables} numbers", repr(points)) from None
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != problem.n_variables or not len(array):
        raise ArgumentError(
            argument, f"one or more points of {problem.n_variables} numbers", f"shape {array.shape}"
        )
    outside = ~((array >= problem.lb) & (array <= problem.ub))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        expected = f"{problem.variables[column]!r} within [{problem.lb[column]:g}, {problem.ub[column]:g}]"
        raise ArgumentError(argument, expected, f"{array[row, column]:g} in point {row}")
    return array


def read_data(data: Any, problem: Problem) -> list[Evaluation]:
    """Return evaluations made elsewhere, numbered 0, 1, 2, ...

    Accepts a list of ``(x, outcomes)`` pairs, or ``(X, outcomes)`` with ``X`` of ``k x len(variables)`` and a
    mapping from outcome name to ``k`` values. Outcomes may be missing (left out, or NaN).
    """
    if data is None:
        return []
    expected = "a list of (x, outcomes) pairs, or (X, mapping of name to values)"
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[1], Mapping):
        columns = {name: np.atleast_1d(values) for name, values in data[1].items()}
        points = read_points("data", data[0], problem)
        wrong = {name: len(values) for name, values in columns.items() if len(values) != len(points)}
        if wrong:
            raise ArgumentError("data", f"{len(points)} values per outcome", wrong)
        pairs: Sequence[Any] = [(x, {n: v[i] for n, v in columns.items()}) for i, x in enumerate(points)]
    elif isinstance(data, Sequence) and not isinstance(data, str):
        pairs = data
    else:
        raise ArgumentError("data", expected, type(data).__name__)
    read = []
    for pair in pairs:
        if not (isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[1], Mapping)):
            raise ArgumentError("data", expected, repr(pair))
        outcomes = read_outcomes("data", pair[1], problem)
        finite = {name: value for name, value in outcomes.items() if np.isfinite(value)}
        if finite:
            read.append((read_points("data", pair[0], problem)[0], finite))
    return brought_along(read, problem)


def brought_along(pairs: Sequence[tuple[Array, Mapping[str, float]]], problem: Problem) -> list[Evaluation]:
    """Return ``(x, outcomes)`` pairs as evaluations that are done."""
    return [
        Evaluation(id, x, problem.space.to_unit(x), "data", 0, "done", outcomes)
        for id, (x, outcomes) in enumerate(pairs)
    ]


def read_outcomes(argument: str, outcomes: Mapping[str, object], problem: Problem) -> dict[str, float]:
    """Return outcomes as floats; every name must be one of the problem's, not every one need be there."""
    if not isinstance(outcomes, Mapping):
        raise ArgumentError(argument, "a mapping of outcome names to values", repr(outcomes))
    unknown = [name for name in outcomes if name not in problem.outcomes]
    if unknown:
        raise ArgumentError(argument, f"outcome names out of {list(problem.outcomes)}", unknown)
    return {name: outcome_value(name, value) for name, value in outcomes.items()}


def read_seed(rng: int | np.random.Generator | None) -> int:
    """Return the root seed; a generator or ``None`` draws one."""
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**32))
    if not is_integer(rng) or rng < 0:
        raise ArgumentError("rng", "an integer of at least 0, a numpy Generator or None", repr(rng))
    return int(rng)
