"""Options of the global methods with their defaults: the paper's Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lcbo.steps.schedules import Growth, Schedule


@dataclass(frozen=True)
class GlobalOptions:
    """What `cei` and `epbo` share; the defaults are the paper's.

    Attributes:
        optimizer: ``adam`` (projected, from uniform starts) or ``lbfgs`` (from the best of many Sobol points
            and of a cloud around the best observed point).
        optimizer_options: ``starts``, ``steps``, and ``rate`` of ``adam`` or ``raw`` of ``lbfgs``.
        kernel: ``rbf`` or ``matern52``.
        ard: one lengthscale per variable.
        fit: ``map`` or ``fixed``.
        lengthscale_prior: ``paper``, Gamma(3, 3), or ``dimension``, BoTorch's
            LogNormal(sqrt 2 + ln(d) / 2, sqrt 3), whose lengthscales grow with the dimension.
        learn_noise: let the fit learn the noise variance too.
        fit_every: iterations between fits.
        hyperparameters: ``lengthscale``, ``outputscale``, ``noise_var`` and prior ``mean``, each a number
            or one per output; where a fit starts, or where ``fixed`` stays.
        standardize: z-score outputs over all data.
        transforms: ``zscore``, or before it ``bilog`` of the constraints, or ``original``: that and a
            Gaussian copula of the objective, as in the SCBO paper.
    """

    optimizer: str = "adam"  # paper, Table 1
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)
    kernel: str = "rbf"  # paper, appendix "Algorithm Setup"
    ard: bool = False  # paper is silent; authors' code
    fit: str = "map"
    lengthscale_prior: str = "paper"
    learn_noise: bool = False  # paper: the noise is the constant 0.01
    fit_every: int = 5  # paper, appendix "Algorithm Setup"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    standardize: bool = True
    transforms: str = "zscore"  # paper, appendix "Algorithm Setup"


@dataclass(frozen=True)
class EpboOptions(GlobalOptions):
    """Options of `epbo`.

    Attributes:
        beta: standard deviations of the confidence bounds.
        rho: penalty factor; a number or a function of k, the evaluations after the initial design.
    """

    beta: float = 2.0  # paper, Table 1; read as 2 sigma (facts.md, section 3)
    rho: Schedule = field(default=Growth(0.0, log=10.0))  # paper, Table 1
