"""Arguments of a run, checked and turned into the `Setup` a method gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lcbo.checks import integer
from lcbo.errors import ArgumentError
from lcbo.methods.protocol import Setup
from lcbo.problem import Problem, outcome_value
from lcbo.types import Array


def build_setup(
    problem: Problem,
    *,
    budget: int | None,
    x0: ArrayLike | None,
    n_init: int | None,
    n_data: int,
    rng: int | np.random.Generator | None,
) -> Setup:
    """Return the setup of a run.

    ``n_data`` evaluations the user brings along make the default initial design that much smaller.
    """
    if budget is not None:
        budget = integer("budget", budget)
    starts = np.zeros((0, problem.space.dim))
    if x0 is not None:
        starts = problem.space.to_unit(read_points("x0", x0, problem))
    return Setup(
        dim=problem.space.dim,
        n_outputs=len(problem.outcomes),
        terms=problem.terms,
        noise_var=problem.noise_var,
        budget=budget,
        n_init=_initial_size(n_init, budget, problem.space.dim, len(starts), n_data),
        starts=starts,
        seed=read_seed(rng),
    )


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


def read_data(data: Any, problem: Problem) -> list[tuple[Array, dict[str, float]]]:
    """Return evaluations made elsewhere as ``(x, outcomes)`` pairs.

    Accepts a list of such pairs, or ``(X, outcomes)`` with ``X`` of ``k x len(variables)`` and a mapping
    from outcome name to ``k`` values. Outcomes may be missing (left out, or NaN).
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
    return read


def read_outcomes(argument: str, outcomes: Mapping[str, object], problem: Problem) -> dict[str, float]:
    """Return outcomes as floats; every name must be one of the problem's, not every one need be there."""
    if not isinstance(outcomes, Mapping):
        raise ArgumentError(argument, "a mapping of outcome names to values", repr(outcomes))
    unknown = [name for name in outcomes if name not in problem.outcomes]
    if unknown:
        raise ArgumentError(argument, f"outcome names out of {list(problem.outcomes)}", unknown)
    return {name: outcome_value(name, value) for name, value in outcomes.items()}


def _initial_size(n_init: int | None, budget: int | None, dim: int, n_starts: int, n_data: int) -> int:
    """Return the size of the initial design: d, at most budget / 4, at least 2 and the starts."""
    if budget is not None and n_starts > budget:
        raise ArgumentError("x0", f"at most budget={budget} points", n_starts)
    if n_init is None:
        quarter = dim if budget is None else max(2, budget // 4)
        size = max(2, min(dim, quarter) - n_data, n_starts)
        return size if budget is None else min(size, budget)
    n_init = integer("n_init", n_init)
    if budget is not None and n_init > budget:
        raise ArgumentError("n_init", f"at most budget={budget}", n_init)
    if n_init < n_starts:
        raise ArgumentError("n_init", f"at least the {n_starts} points of x0", n_init)
    return n_init


def read_seed(rng: int | np.random.Generator | None) -> int:
    """Return the root seed; a generator or ``None`` draws one."""
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**32))
    if isinstance(rng, bool) or not isinstance(rng, Integral) or rng < 0:
        raise ArgumentError("rng", "an integer of at least 0, a numpy Generator or None", repr(rng))
    return int(rng)
