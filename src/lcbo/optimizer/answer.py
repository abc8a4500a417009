"""What a run answers: the design, how feasible it is and how stationary.

Which point is the answer depends on what is known of the noise:

- deterministic: the best feasible point observed, what was seen there is the truth;
- noise known: the point the model recommends, with the model's values. The best *observed* value of a
  noisy run is optimistically biased, so it only stands beside it (``x_observed``);
- noise unknown: as noisy, unless the model reproduces the best observed point almost exactly (all outputs
  within 1 % of their scale, both in error and in standard deviation). Then the noise is negligible,
  observed values can be trusted, and the best observed feasible point is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr

from lcbo.errors import ModelError
from lcbo.methods.protocol import Belief, Method
from lcbo.optimizer.describe import versions
from lcbo.optimizer.kkt import Kkt, kkt
from lcbo.optimizer.log import Log
from lcbo.optimizer.result import Result, Snapshot
from lcbo.optimizer.sensitivity import explain
from lcbo.problem import Problem
from lcbo.types import Evaluation

_NEGLIGIBLE = 1e-2  # of an output's scale: error and standard deviation of a model without noise


def snapshot(log: Log, info: Mapping[str, float]) -> Snapshot:
    """Return the best observed point so far, without asking the model: cheap enough for every callback."""
    seen = log.incumbent()
    result = Snapshot()
    result.x = None if seen is None else seen.x.copy()
    result.fun = math.nan if seen is None else seen.outcomes[log.problem.objective.name]
    result.constr = {} if seen is None else _constrained(log.problem, seen.outcomes)
    result.success = log.best is not None
    result.latest = log.evaluations[-1] if log.evaluations else None
    result.info = dict(info)
    result.nfev = len(log.evaluations) - log.n_data
    result.nit = int(info.get("iteration", 0))
    result.nfail = log.n_failed
    return result


def answer(problem: Problem, method: Method, log: Log, *, reason: str, min_pof: float) -> Result:
    """Return the answer of a run, chosen as the module docstring says."""
    seen = snapshot(log, method.info())
    result = Result()
    result.x = result.x_observed = seen.x
    result.fun = result.fun_observed = seen.fun
    result.constr = result.constr_observed = seen.constr
    result.success, result.pof = seen.success, float(seen.success)
    result.nfev, result.nit, result.nfail = seen.nfev, seen.nit, seen.nfail

    incumbent = log.incumbent()
    belief = None if incumbent is None else _belief(method, incumbent)
    recommended = _belief(method)
    result.x_recommended = None if recommended is None else problem.space.from_unit(recommended.u)
    by_model = recommended is not None and not _trusts_observed(problem, log, belief)
    if by_model and recommended is not None:
        belief = recommended
        outcomes = problem.from_rows(belief.mean)
        result.x, result.fun = result.x_recommended, outcomes[problem.objective.name]
        result.constr = _constrained(problem, outcomes)
        result.pof = feasibility(problem, belief)
        result.success = result.pof >= min_pof
    _explain(result, log, belief)
    result.reason = reason
    result.message = _message(result, by_model)
    result.history = log.history()
    result.versions = versions()
    return result


def feasibility(problem: Problem, belief: Belief) -> float:
    """Return the joint probability of feasibility, the outputs being independent.

    It is the product of ``Phi((ub - mean) / std) - Phi((lb - mean) / std)`` over the constrained outcomes.
    """
    probability = 1.0
    lows, highs = problem.terms.intervals(len(belief.mean))
    for low, high, mean, std in zip(lows, highs, belief.mean, belief.std, strict=True):
        if std > 0.0:
            probability *= float(ndtr((high - mean) / std) - ndtr((low - mean) / std))
        else:
            probability *= float(low <= mean <= high)
    return probability


def stationarity(log: Log, belief: Belief) -> Kkt:
    """Return multipliers and KKT residuals at the point of a belief, in the units of the run.

    A method's own scale is that of its local data and shrinks as the run converges; the standard deviation
    over the whole run makes residuals of early and late iterations comparable.
    """
    return kkt(belief, log.problem.terms, np.array(list(log.scale().values())))


def _explain(result: Result, log: Log, belief: Belief | None) -> None:
    """Fill the fields on slopes, multipliers and stationarity; empty without a model."""
    result.multipliers, result.multiplier_errors, result.kkt = {}, {}, {}
    result.sensitivities, result.stationarity = None, ""
    if belief is None:
        return
    at, found = stationarity(log, belief), explain(log, belief)
    result.kkt = {"r_s": at.r_s, "r_f": at.r_f, "spread_s": at.spread_s, "spread_f": at.spread_f}
    result.sensitivities, result.stationarity = found.sensitivities, found.sentence
    result.multipliers = found.sensitivities.multipliers
    result.multiplier_errors = found.sensitivities.multiplier_errors


def _trusts_observed(problem: Problem, log: Log, belief: Belief | None) -> bool:
    """Return whether the best observed point is the answer rather than the model's."""
    if problem.deterministic:
        return True
    known = any(problem.noise.get(name, 0.0) > 0.0 for name in problem.outcomes)
    if known or belief is None or log.best is None:
        return False
    error = np.abs(problem.to_rows(log.best.outcomes) - belief.mean)
    return bool(np.all(np.maximum(error, belief.std) <= _NEGLIGIBLE * belief.scale))


def _belief(method: Method, seen: Evaluation | None = None) -> Belief | None:
    """Return the belief at an evaluation or at the recommended point, ``None`` where there is no model.

    A model that cannot be built must not cost the user the answer.
    """
    try:
        u = method.recommend() if seen is None else seen.u.copy()
        return None if u is None else method.belief(u)
    except ModelError:
        return None


def _constrained(problem: Problem, outcomes: Mapping[str, float]) -> dict[str, float]:
    return {name: outcomes.get(name, math.nan) for name in problem.outcomes[1:]}


def _message(result: Result, by_model: bool) -> str:
    """Return one sentence on the answer and one on why the run stopped."""
    if result.x is None:
        found = "no evaluation has succeeded yet"
    elif by_model:
        found = f"recommended by the model, feasible with probability {result.pof:.3g}"
    elif result.success:
        found = "best feasible point observed"
    else:
        found = "nothing feasible was observed; this is the least infeasible point"
    why = result.reason[:1].upper() + result.reason[1:]
    return f"{found}. {why}".rstrip(". ") + "."
