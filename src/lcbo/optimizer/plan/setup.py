"""Arguments of a run, checked once, and the `Setup` a method gets from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lcbo.checks import MOST_POINTS, integer, is_integer, is_number, mapping, number, probability, truth
from lcbo.errors import ArgumentError, TellError
from lcbo.methods import registry
from lcbo.methods.protocol import MethodSpec, Setup
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import FEASIBILITY_TOL
from lcbo.optimizer.plan.tables import brought_along, pairs_of
from lcbo.problem import Problem, is_finite, outcome_value
from lcbo.random import generator
from lcbo.text import shown
from lcbo.types import Array, Evaluation, Record

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain

CONFIDENCE = 0.9  # with which an answer is feasible, unless the user says otherwise
MOST_CONFIRM = 0.5  # part of a budget
LEAST_DESIGN = 6  # points of an initial design, where there are variables enough


@dataclass(frozen=True)
class Plan:
    """What a run is begun with: the arguments of `lcbo.Optimizer`, checked, or those of a stored run.

    ``x0`` are ``k x len(variables)`` points, ``data`` evaluations that are done.
    """

    problem: Problem
    budget: int | None
    device: str
    method: MethodSpec
    options: Mapping[str, Any]
    x0: Array | None
    data: Sequence[Evaluation]
    n_init: int | None
    seed: int
    confidence: float = CONFIDENCE
    confirm: float = 0.0
    feasibility_tol: float = FEASIBILITY_TOL
    least_design: int = LEAST_DESIGN  # 2 in runs begun before few variables got a design of their own

    def setup(self) -> Setup:
        """Return all the method gets to know.

        The default size of the initial design is d, of few variables 2 d + 2 up to 6, at most budget / 4,
        less the evaluations brought along, and at least 2 and the starts.
        """
        space, budget = self.problem.space, self.budget
        starts = np.zeros((0, space.dim)) if self.x0 is None else space.to_unit(self.x0)
        n_init = self.n_init
        if n_init is None:
            usual = max(space.dim, min(2 * space.dim + 2, self.least_design))
            usual = usual if budget is None else min(usual, max(2, budget // 4))
            n_init = max(2, usual - len(self.data), len(starts))
            n_init = n_init if budget is None else min(n_init, budget)
        return Setup(
            dim=space.dim,
            n_outputs=len(self.problem.outcomes),
            terms=self.problem.terms,
            noise_var=self.problem.noise_var,
            budget=budget,
            n_init=n_init,
            starts=starts,
            seed=self.seed,
            device=self.device,
            grid=space.grid,
            domain=self._domain(),
        )

    def _domain(self) -> Domain | None:
        """Return what known conditions allow; raises where nothing is."""
        if self.problem.domain is None:
            return None
        return self.problem.domain.searched(self.x0)

    def setup_after(self, ledger: Ledger) -> Setup:
        """Return what a method gets to know that begins anew in an amended run.

        What of ``x0`` was not asked for yet comes first, and what was the best evaluation where it is outside
        the bounds now: each at the nearest point within them.
        """
        problem, log = ledger.problem, ledger.log
        starts = [] if self.x0 is None else list(self.x0[ledger.n_asked :])
        if ledger.stood is not None and not problem.space.holds(ledger.stood.x):
            starts.append(ledger.stood.x)
        seed = int(generator(self.seed, "amendment", len(ledger.amendments)).integers(2**32))
        x0, budget = np.array(starts) if starts else None, ledger.budget
        anew = replace(self, problem=problem, budget=budget, x0=x0, data=(), seed=seed)
        known = int((~np.isnan(log.rows[:, 0])).sum()) + len(ledger.pending)
        return replace(anew.setup(), n_known=known, spent=ledger.n_asked, start=ledger.start)


def read_plan(problem: Problem, budget: int | None, device: str, **given: Any) -> Plan:
    """Return the arguments of an `Optimizer`, checked by themselves and against each other."""
    budget = None if budget is None else integer("budget", budget)
    read = read_arguments(check_problem(problem), given)
    if read["confirm"] is None:
        read["confirm"] = read["method"].confirm
    plan = Plan(problem, budget, read_device(device), **read)
    n_starts = 0 if plan.x0 is None else len(plan.x0)
    if budget is not None and n_starts > budget:
        raise ArgumentError("x0", f"at most budget={budget} points", n_starts)
    if plan.n_init is not None and budget is not None and plan.n_init > budget:
        raise ArgumentError("n_init", f"at most budget={budget}", plan.n_init)
    if plan.n_init is not None and plan.n_init < n_starts:
        raise ArgumentError("n_init", f"at least the {n_starts} points of x0", plan.n_init)
    return plan


def read_arguments(problem: Problem, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of an `Optimizer` as fields of a `Plan`, each checked by itself."""
    readers: dict[str, Callable[[Any], Any]] = {
        "method": read_method,
        "options": lambda value: {} if value is None else dict(mapping("options", value)),
        "x0": lambda value: None if value is None else read_start(value, problem),
        "n_init": lambda value: None if value is None else integer("n_init", value, most=MOST_POINTS),
        "data": lambda value: read_data(value, problem),
        "rng": read_seed,
        "confidence": lambda value: probability("confidence", value),
        "confirm": lambda value: None if value is None else number("confirm", value, 0.0, MOST_CONFIRM),
        "feasibility_tol": lambda value: number("feasibility_tol", value, 0.0),
    }
    unknown = sorted(set(given) - set(readers))
    if unknown:
        raise TypeError(f"Optimizer.open() got an unexpected keyword argument {unknown[0]!r}")
    read = {name: reader(given[name]) for name, reader in readers.items() if name in given}
    return {"seed" if name == "rng" else name: value for name, value in read.items()}


def check_problem(problem: object) -> Problem:
    """Return a problem, or raise where it is none."""
    if not isinstance(problem, Problem):
        raise ArgumentError("problem", "a Problem", type(problem).__name__)
    return problem


def read_method(method: object) -> MethodSpec:
    """Return the method of a name, or the one given."""
    if isinstance(method, str):
        return registry.spec(method)
    entry = registry.check_spec(method)
    if entry.name in registry.names() and registry.spec(entry.name) != entry:
        raise ArgumentError("method", "a MethodSpec whose name no other method has", repr(entry.name))
    return entry


def read_device(device: object) -> str:
    """Return the name of a device; whether there is such a one is for the model to say."""
    if not isinstance(device, str) or not device:
        raise ArgumentError("device", "the name of a device such as 'cpu' or 'cuda'", repr(device))
    return device


def read_path(argument: str, path: object) -> Path:
    """Return the path of a file."""
    if not isinstance(path, str | Path):
        raise ArgumentError(argument, "a path", type(path).__name__)
    if not str(path) or "\0" in str(path):
        raise ArgumentError(argument, "a path", repr(str(path)))
    return Path(path)


def read_points(argument: str, points: ArrayLike, problem: Problem) -> Array:
    """Return one point or several as ``k x len(variables)``, each within the bounds."""
    points = _listed_points(argument, points, problem)
    try:
        given = np.array(points)
        if given.dtype.kind not in "fiu" and not all(map(is_number, given.flat)):
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(argument, f"points of {problem.n_variables} numbers", shown(points)) from None
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != problem.n_variables or not len(array):
        expected = f"one or more points of {problem.n_variables} numbers"
        raise ArgumentError(argument, expected, f"shape {array.shape}")
    outside = ~((array >= problem.lb) & (array <= problem.ub))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        expected = f"{problem.variables[column]!r} within [{problem.lb[column]:g}, {problem.ub[column]:g}]"
        raise ArgumentError(argument, expected, f"{array[row, column]:g} in point {row}")
    return array


def read_start(points: ArrayLike, problem: Problem) -> Array:
    """Return points to evaluate first; each meets the known conditions."""
    array = read_points("x0", points, problem)
    for i, x in enumerate(array):
        if (broken := problem.known.broken(x, problem.space)) is not None:
            raise ArgumentError("x0", "points that meet the known conditions", f"{broken} in point {i}")
    return array


def _listed_points(argument: str, points: Any, problem: Problem) -> Any:
    """Return points given by name as lists of numbers, anything else as it is; a fixed variable may lack."""
    single = isinstance(points, Mapping)
    if not single and not (isinstance(points, Sequence) and points and isinstance(points[0], Mapping)):
        return points
    fixed = dict(problem.fixed)
    listed = []
    for point in [points] if single else points:
        named = {**fixed, **mapping(argument, point)}
        if set(named) != set(problem.variables):
            wrong = sorted(set(named) ^ set(problem.variables))
            raise ArgumentError(argument, f"a value for each of {', '.join(problem.variables[:20])}", wrong)
        listed.append([named[name] for name in problem.variables])
    return listed


def read_data(data: Any, problem: Problem) -> list[Evaluation]:
    """Return evaluations made elsewhere, numbered 0, 1, 2, ...; outcomes may be left out, or NaN."""
    if data is None:
        return []
    found = pairs_of(data, problem)
    if found is not None:
        return brought_along(found, problem)
    expected = "a table, a file, a result, a list of (x, outcomes) pairs, or (X, mapping of name to values)"
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
        finite = {name: value for name, value in outcomes.items() if is_finite(value)}
        if finite:
            read.append((read_points("data", pair[0], problem)[0], finite))
    return brought_along(read, problem)


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


def check_tell(id: object, outcomes: object, failed: object, final: object, record: object) -> None:
    """Check the arguments of `Optimizer.tell`, each by itself."""
    if (outcomes is None) == (failed is None):
        came = "neither" if failed is None else "both"
        raise ArgumentError("tell", "either outcomes or failed='reason'", came)
    if not is_integer(id):
        raise TellError(f"id: expected the id of a candidate, an integer; got {shown(id)}")
    truth("final", final)
    if failed is not None and not isinstance(failed, str):
        raise ArgumentError("failed", "the reason as a text", repr(failed))
    if record is not None and not isinstance(record, Record):
        raise ArgumentError("record", "a Record", repr(record))
