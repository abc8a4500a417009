"""What moves what at the answer, and what is still to be gained there, with error bars and in words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.methods.protocol import Belief
from lcbo.optimizer.balance import Balance, balance, may_bind
from lcbo.optimizer.log import Log
from lcbo.types import Array

if TYPE_CHECKING:
    import pandas as pd

    from lcbo.optimizer.slopes import Slopes
    from lcbo.problem import Problem

STEP = 0.1  # of the unit cube: the move that what is left to gain is told for
NEGLIGIBLE = 1e-4  # of the objective: less is not worth a sentence
LEAST_VALUE = 1e-2  # of its scatter, below which the objective is no measure of its own changes


@dataclass(frozen=True, repr=False)
class Sensitivities:
    """Slopes of every outcome at the answer and what every limit costs, in user units with standard errors.

    Attributes:
        outcomes: names, the objective first.
        variables: names.
        widths: their ranges; with a log scale the value times the logarithm of ``high / low``, which has the
            same share of the cube.
        slopes: ``len(outcomes) x len(variables)``; NaN for a variable that is fixed.
        errors: their standard errors.
        multipliers: by constrained outcome, how much the objective would improve per unit of its limit.
        multiplier_errors: their standard errors.
    """

    outcomes: tuple[str, ...]
    variables: tuple[str, ...]
    widths: Array
    slopes: Array
    errors: Array
    multipliers: dict[str, float]
    multiplier_errors: dict[str, float]

    def __repr__(self) -> str:
        return f"<Sensitivities of {len(self.outcomes)} outcomes to {len(self.variables)} variables>"

    def changes(self) -> tuple[Array, Array]:
        """Return slopes and errors over a hundredth of each variable's range, which compare between them."""
        return 0.01 * self.widths * self.slopes, 0.01 * self.widths * self.errors

    def strongest(self, rows: Sequence[int], count: int) -> NDArray[np.intp]:
        """Return the variables, at most ``count``, that move some outcomes most for all that is known.

        What is known of a slope is how far it is from 0 beyond its error; every outcome has its own measure.
        """
        change, error = (np.nan_to_num(part[list(rows)]) for part in self.changes())
        size = np.maximum(np.abs(change) - error, 0.0)
        share = (size / np.maximum(size.max(1, keepdims=True), 1e-300)).max(0)
        free = np.flatnonzero(~np.isnan(self.slopes[0]))
        order: NDArray[np.intp] = free[np.argsort(-share[free], kind="stable")][:count]
        return order

    def to_frame(self) -> pd.DataFrame:
        """Return a row per outcome and variable with the columns ``slope`` and ``error``."""
        import pandas as pd

        index = pd.MultiIndex.from_product([self.outcomes, self.variables], names=["outcome", "variable"])
        return pd.DataFrame({"slope": self.slopes.ravel(), "error": self.errors.ravel()}, index=index)


@dataclass(frozen=True)
class Explanation:
    """The sensitivities at a point and a sentence on how stationary it is."""

    sensitivities: Sensitivities
    sentence: str


def explain(log: Log, belief: Belief) -> Explanation:
    """Return what is known about the surroundings of the point of a belief."""
    problem, scale = log.problem, np.array(list(log.scale().values()))
    slopes = _slopes(log, belief, scale)
    terms = problem.terms
    values = terms.values(belief.mean) / scale[terms.rows]
    deviations = belief.std[terms.rows] / scale[terms.rows]
    binding = may_bind(values, deviations, slopes.mean[terms.rows], terms.equality)
    walls = None if problem.domain is None else problem.domain.touching(slopes.u)
    found = balance(slopes.u, slopes.mean, slopes.cov, slopes.bends, terms, binding, walls)
    there = values + terms.sign * (slopes.mean[terms.rows] @ found.offset)
    if (further := may_bind(there, deviations, slopes.mean[terms.rows], terms.equality) & ~binding).any():
        found = balance(slopes.u, slopes.mean, slopes.cov, slopes.bends, terms, binding | further, walls)
    margins = float(found.multipliers @ np.where(terms.equality, 0.0, np.maximum(-values, 0.0)))
    return Explanation(
        _in_user_units(problem, slopes, found),
        _sentence(problem, found, margins, float(belief.mean[0]), scale),
    )


def _slopes(log: Log, belief: Belief, scale: Array) -> Slopes:
    """Return the slopes from all evaluations near the point; the method's own where they give no model."""
    from lcbo.optimizer.slopes import Slopes, local_slopes

    points = np.array([evaluation.u for evaluation in log.evaluations])
    try:
        with warnings.catch_warnings():  # a rescue of this model is none of the run
            warnings.simplefilter("ignore", NumericalRescueWarning)
            return local_slopes(belief.u, points, log.rows, log.problem.noise_var, scale)
    except ModelError:
        cov = (belief.gradient_std / scale[:, None])[:, :, None] ** 2 * np.eye(len(belief.u))
        return Slopes(belief.u, belief.gradient / scale[:, None], cov, np.zeros_like(cov), scale)


def _in_user_units(problem: Problem, slopes: Slopes, found: Balance) -> Sensitivities:
    scale, sign = slopes.scale, np.ones(len(problem.outcomes))
    sign[0] = problem.objective.sign
    widths = problem.ub - problem.lb
    widths[problem.free] = problem.space.slope(slopes.u)
    per_unit = scale[:, None] / widths[problem.free]
    shape = len(problem.outcomes), problem.n_variables
    mean, error = np.full(shape, np.nan), np.full(shape, np.nan)
    by_cube, spread, mix = slopes.mean, slopes.std, problem.space.mix
    if mix is not None:
        cov = mix.slopes(mix.slopes(slopes.cov).swapaxes(1, 2))
        by_cube, spread = mix.slopes(by_cube), np.sqrt(cov.diagonal(axis1=1, axis2=2))
    mean[:, problem.free] = sign[:, None] * by_cube * per_unit
    error[:, problem.free] = spread * per_unit
    multipliers = dict.fromkeys(problem.outcomes[1:], 0.0)
    errors = dict.fromkeys(problem.outcomes[1:], 0.0)
    for term, value, sd in zip(problem.terms, found.multipliers, found.errors, strict=True):
        name, unit = problem.outcomes[term.row], float(scale[0] / scale[term.row])
        multipliers[name] += float(term.sign * value) * unit
        errors[name] = math.hypot(errors[name], float(sd) * unit)
    return Sensitivities(problem.outcomes, problem.variables, widths, mean, error, multipliers, errors)


def _sentence(problem: Problem, found: Balance, margins: float, value: float, scale: Array) -> str:
    """Return what is left to gain, as a part of the objective over a step of a tenth of the box.

    Args:
        problem: the problem.
        found: multipliers and what is left of the slope.
        margins: what the room to the limits that may bind costs, in units of the objective's scale.
        value: of the objective.
        scale: of the outputs.
    """
    name, better = problem.objective.name, "rise" if problem.objective.maximize else "fall"
    by_value = abs(value) >= LEAST_VALUE * scale[0]
    whole = scale[0] / (abs(value) if by_value else scale[0])
    share = STEP * whole
    of = "" if by_value else " of its scatter over the run"
    seen = f"{100.0 * share * found.slope:.2g} %{of}"
    unseen = f"{100.0 * share * math.hypot(found.slope, found.noise):.2g} %{of}"
    over = f"per step of {STEP:g} of the variables' ranges"
    if found.significant and share * found.slope >= NEGLIGIBLE:
        sentence = f"not stationary: {name} could still {better} by about {seen} {over}"
    elif share * math.hypot(found.slope, found.noise) < NEGLIGIBLE:
        sentence = f"stationary: {name} would {better} by less than {100.0 * NEGLIGIBLE:g} %{of} {over}"
    else:
        sentence = f"stationary as far as the run can tell: a gain of up to {unseen} {over} would not be seen"
    if whole * margins >= NEGLIGIBLE:
        sentence += f"; the margins kept to the limits cost about {100.0 * whole * margins:.2g} %{of}"
    return sentence
