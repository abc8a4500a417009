"""What a run answers: the design, how feasible it is and how stationary.

Which point is the answer depends on the noise. It is as stated; where nothing is stated, repeats of a point
show it; where nothing was repeated, there is none if the model reproduces the best observed point almost
exactly (all outputs within 1 % of their scale, both in error and in standard deviation), or, for a method
without a model, the plane of its neighbors does (within 0.1 %).

- Without noise: the best feasible point observed, what was seen there is the truth.
- With noise: the best point that is feasible with the confidence asked for, by the confirmation where there
  was one and by the model otherwise (`lcbo.methods.decision`; without a model by repeated values or by
  neighbors, `lcbo.methods.neighbors`), with the values believed there. The best
  *observed* value of a noisy run is optimistically biased, so it only stands beside it (``x_observed``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lcbo.errors import ModelError
from lcbo.methods.decision import (
    Demand,
    Prospects,
    noise_shown,
    prospects_of,
    prospects_of_values,
    reproduces,
)
from lcbo.methods.neighbors import no_noise_nearby, prospects_of_neighbors
from lcbo.methods.protocol import Belief, Method
from lcbo.models.repeats import Repeats
from lcbo.optimizer.kkt import Kkt, kkt
from lcbo.optimizer.log import Log
from lcbo.optimizer.plan.describe import versions
from lcbo.optimizer.result import Result, Snapshot
from lcbo.optimizer.sensitivity import explain
from lcbo.problem import Problem
from lcbo.types import Array, Evaluation

_RULES = {
    "confirmed": "decided by repeated evaluations",
    "model": "decided by the model",
    "values": "decided by observed values and their noise",
    "neighbors": "decided by neighboring values, as nothing tells how noisy they are",
}


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


def answer(problem: Problem, method: Method, log: Log, *, reason: str, demand: Demand) -> Result:
    """Return the answer of a run, chosen as the module docstring says."""
    seen = snapshot(log, method.info())
    result = Result()
    result.x = result.x_observed = seen.x
    result.fun = result.fun_observed = seen.fun
    result.constr = result.constr_observed = seen.constr
    result.success, result.pof = seen.success, float(seen.success)
    result.nfev, result.nit, result.nfail = seen.nfev, seen.nit, seen.nfail
    result.confidence = demand.confidence
    result.feasibility_tol = dict(zip(problem.outcomes[1:], log.allowed[1:].tolist(), strict=True))

    incumbent = log.incumbent()
    belief = None if incumbent is None else _belief(method, incumbent)
    recommended = _belief(method)
    result.x_recommended = None if recommended is None else problem.space.from_unit(recommended.u)
    noisy = incumbent is not None and _is_noisy(problem, log, belief)
    prospects = _prospects(problem, method, log, demand) if noisy else None
    result.rule = "observed" if prospects is None else prospects.rule
    if prospects is not None:
        best, result.pof, result.success = demand.choose(prospects, _scale(log))
        outcomes = problem.from_rows(_values(log, prospects, best))
        result.x, result.fun = problem.space.from_unit(prospects.u[best]), outcomes[problem.objective.name]
        result.constr = _constrained(problem, outcomes)
        belief = _belief(method, prospects.u[best])
    elif noisy and problem.constraints:
        result.success, result.pof = False, math.nan
    seen_at = {c: result.constr.get(c.name, math.nan) for c in problem.constraints}
    result.slack = {str(c): float(c.slack(value)) for c, value in seen_at.items()}
    _explain(result, log, belief)
    result.reason = reason
    result.message = _message(result, noisy, seen.success)
    result.history = log.history()
    result.basins = log.basins(method.descents())
    result.remarks = list(method.remarks())
    result.versions = versions()
    return result


def stationarity(log: Log, belief: Belief) -> Kkt:
    """Return multipliers and KKT residuals at the point of a belief, in the units of the run.

    A method's own scale is that of its local data and shrinks as the run converges; the standard deviation
    over the whole run makes residuals of early and late iterations comparable.
    """
    domain = log.problem.domain
    walls = None if domain is None else domain.touching(belief.u)
    return kkt(belief, log.problem.terms, np.array(list(log.scale().values())), walls)


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


def _is_noisy(problem: Problem, log: Log, belief: Belief | None) -> bool:
    """Return whether the run has noise; ``belief`` is that at the best point observed."""
    shown = noise_shown(problem.noise_var, _repeats(log), _scale(log), log.feasibility_tol)
    if shown is not None:
        return shown
    if belief is None:
        seen = log.incumbent()
        assert seen is not None
        points, rows = _complete(log)
        return not no_noise_nearby(seen.u, problem.to_rows(seen.outcomes), points, rows, _scale(log))
    return log.best is None or not reproduces(belief, problem.to_rows(log.best.outcomes))


def _prospects(problem: Problem, method: Method, log: Log, demand: Demand) -> Prospects | None:
    """Return what is believed of the candidates for the answer, ``None`` where nothing but values is known.

    A model that cannot be built must not cost the user the answer.
    """
    try:
        found = method.prospects()
        found = prospects_of(method, demand) if found is None else found
    except ModelError:
        found = None
    if found is not None:
        return found
    stated = [math.nan if v is None else math.sqrt(v) for v in problem.noise_var]
    noise = np.where(np.isnan(stated), _repeats(log).deviation, stated)
    points, rows = _complete(log)
    if np.isnan(noise).any():
        return prospects_of_neighbors(points, rows, problem.terms, _scale(log))
    return prospects_of_values(points, rows, noise) if len(points) else None


def _values(log: Log, prospects: Prospects, best: int) -> Array:
    """Return the outputs at the answer: as believed, or as observed where a plane was all there was."""
    if prospects.rule != "neighbors":
        believed: Array = prospects.expected[best]
        return believed
    points, rows = _complete(log)
    observed: Array = rows[(points == prospects.u[best]).all(1).argmax()]
    return observed


def _complete(log: Log) -> tuple[Array, Array]:
    """Return the points whose outputs are all known, ``n x d``, and these, ``n x B``."""
    complete = ~np.isnan(log.rows).any(1)
    points = np.array([evaluation.u for evaluation in log.evaluations])
    return points[complete], log.rows[complete]


def _repeats(log: Log) -> Repeats:
    repeats = Repeats((None,) * len(log.problem.outcomes))
    for evaluation, row in zip(log.evaluations, log.rows, strict=True):
        repeats.add(evaluation.u, row)
    return repeats


def _scale(log: Log) -> Array:
    return np.array(list(log.scale().values()))


def _belief(method: Method, seen: Evaluation | Array | None = None) -> Belief | None:
    """Return the belief at a point or at the recommended one, ``None`` where there is no model.

    A model that cannot be built must not cost the user the answer.
    """
    try:
        u = method.recommend() if seen is None else seen.u.copy() if isinstance(seen, Evaluation) else seen
        return None if u is None else method.belief(u)
    except ModelError:
        return None


def _constrained(problem: Problem, outcomes: Mapping[str, float]) -> dict[str, float]:
    return {name: outcomes.get(name, math.nan) for name in problem.outcomes[1:]}


def _message(result: Result, noisy: bool, feasible: bool) -> str:
    """Return one sentence on the answer, by which rule it was found, and one on why the run stopped."""
    if result.x is None:
        found = "no evaluation has succeeded yet"
    elif result.rule != "observed":
        found = f"{_RULES[result.rule]}: "
        if result.success:
            found += f"feasible with probability {result.pof:.3g}, {result.confidence:.4g} asked for"
        else:
            found += (
                f"feasible with probability {result.pof:.3g} only, {result.confidence:.4g} asked for; "
                "no point is surer"
            )
    else:
        found = (
            "best feasible point observed"
            if feasible
            else "nothing feasible was observed; this is the least infeasible point"
        )
        found += "; nothing tells how noisy the values are" if noisy else ", the values having no noise"
    if noisy and result.x is not None and result.rule in ("observed", "neighbors"):
        found += "; a repeated evaluation, a stated noise or deterministic=True would tell"
    why = result.reason[:1].upper() + result.reason[1:]
    return f"{found}. {why}".rstrip(". ") + "."
