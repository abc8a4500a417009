"""The fields of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.optimize import OptimizeResult

from lcbo.optimizer.log import Basin, EvaluationTable
from lcbo.optimizer.sensitivity import Sensitivities
from lcbo.text import Displayed
from lcbo.types import Array, Evaluation


class _Answer(OptimizeResult):
    """A SciPy result that prints with empty mappings left out, which SciPy's own printing trips over."""

    x: Array | None
    fun: float
    constr: dict[str, float]
    success: bool
    nfev: int
    nit: int
    nfail: int

    def __repr__(self) -> str:
        shown = OptimizeResult()
        shown.update({k: v for k, v in self.items() if not isinstance(v, Mapping) or v})
        return repr(shown)


class Snapshot(_Answer):
    """The best observed point so far, as callbacks get it.

    Attributes:
        x: the best feasible point observed, else the least infeasible one; ``None`` before any.
        fun: the objective observed there.
        constr: the constrained outcomes observed there, by name.
        success: whether it was feasible as observed.
        nfev: evaluations of this run, failed ones included.
        nit: iterations of the method.
        nfail: failed evaluations.
        latest: the evaluation that ended last.
        info: what the method finds worth showing (iteration, step size, ...).
    """

    latest: Evaluation | None
    info: dict[str, float]


class Result(Displayed, _Answer):
    """The answer of a run.

    Attributes:
        x: the design, in user units; ``None`` when no evaluation has succeeded.
        fun: its objective, as the model believes or as observed (see `lcbo.optimizer.answer`).
        constr: its constrained outcomes by name, likewise.
        slack: how far every constraint is from its limit at ``x``, by its text; negative where it is broken.
        success: whether it is feasible: as observed, or with the confidence asked for.
        message: what ``x`` is and why the run stopped.
        reason: why the run stopped.
        pof: joint probability that all constraints hold at ``x``; 1 or 0 when ``x`` is taken as observed, NaN
            when too little was evaluated to tell how noisy that is.
        confidence: the joint probability asked for.
        rule: how ``x`` was decided: ``observed`` (without noise), ``confirmed`` (by repeated evaluations),
            ``model``, and by a method without one ``values`` (and their known noise) or ``neighbors`` (noise
            that is not known, from the scatter of nearby evaluations).
        feasibility_tol: by constrained outcome, how far it may be beyond its limit and count as feasible.
        x_observed: the best feasible point observed, else the least infeasible; also ``fun_observed`` and
            ``constr_observed``, biased to the good side when there is noise.
        x_recommended: the point the model believes best at even odds of being feasible, ``None`` without one.
        multipliers: Lagrange multiplier by constrained outcome in user units: by how much the objective
            would improve per unit that the limit is raised; negative where a lower limit binds, 0 where
            a limit leaves room. The standard errors are in ``multiplier_errors``.
        multiplier_errors: standard errors of the multipliers.
        sensitivities: slope of every outcome by variable with its standard error, see `Sensitivities`;
            ``None`` without a model.
        stationarity: a sentence on how much of the objective is still to be gained near ``x``.
        kkt: ``r_s`` (stationarity) and ``r_f`` (feasibility), squared norms in unit-cube units with every
            outcome divided by its standard deviation over the run, and what the posterior variance adds
            to their expectation, ``spread_s`` and ``spread_f``.
        nfev: evaluations of this run, failed ones included.
        nit: iterations of the method.
        nfail: failed evaluations.
        basins: what each descent of the run found, see `Basin`; more than one where the method restarted.
        remarks: what the method learned about the problem, in sentences.
        history: every evaluation as arrays; ``history.to_frame()`` is a pandas DataFrame.
        rng: seed of the run.
        method: name of the method, with its ``options``.
        versions: versions of Python and of the packages the numbers depend on.
    """

    slack: dict[str, float]
    message: str
    reason: str
    pof: float
    confidence: float
    rule: str
    feasibility_tol: dict[str, float]
    x_observed: Array | None
    fun_observed: float
    constr_observed: dict[str, float]
    x_recommended: Array | None
    multipliers: dict[str, float]
    multiplier_errors: dict[str, float]
    sensitivities: Sensitivities | None
    stationarity: str
    kkt: dict[str, float]
    basins: list[Basin]
    remarks: list[str]
    history: EvaluationTable
    rng: int
    method: str
    options: Mapping[str, Any]
    versions: dict[str, str]
