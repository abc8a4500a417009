"""Options of the global methods with their defaults: the paper's Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lcbo.checks import MOST_POINTS, above_zero, choice, integer, mapping, number, truth
from lcbo.models.options import LENGTHSCALE_PRIORS, TRANSFORMS, LearnedModelOptions
from lcbo.steps.schedules import Growth, Schedule, at

# The settings of the maximizers, whose module would load SciPy to list the methods.
OPTIMIZERS = {"adam": ("starts", "steps", "rate"), "lbfgs": ("starts", "steps", "raw", "least_gain")}


@dataclass(frozen=True)
class GlobalOptions(LearnedModelOptions):
    """What `cei` and `epbo` share; the defaults are the paper's.

    Attributes:
        optimizer: ``adam`` (projected, from uniform starts) or ``lbfgs`` (from the best of many Sobol points
            and of a cloud around the best observed point).
        optimizer_options: ``starts``, ``steps``, and ``rate`` of ``adam`` or ``raw`` and
            ``least_gain`` of ``lbfgs``: a path ends with a step that gains less than this share of its value
            (or of 1).
        lengthscale_prior: ``paper``, Gamma(3, 3), ``dimension``, BoTorch's
            LogNormal(sqrt 2 + ln(d) / 2, sqrt 3), whose lengthscales grow with the dimension, or ``flat``.
        transforms: ``zscore``, or before it ``bilog`` of the constraints, or ``original``: that and a
            Gaussian copula of the objective, as in the SCBO paper; ``scaled-bilog`` is ``bilog`` in units of
            the median distance from the threshold.
    """

    optimizer: str = "adam"  # paper, Table 1
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)
    lengthscale_prior: str = "paper"
    transforms: str = "zscore"  # paper, appendix "Algorithm Setup"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = OPTIMIZERS[choice("options, optimizer", self.optimizer, OPTIMIZERS)]
        for name, value in mapping("options, optimizer_options", self.optimizer_options).items():
            choice("options, optimizer_options", name, known)
            argument = f"options, optimizer_options, {name}"
            if name == "rate":
                above_zero(argument, value)
            elif name == "least_gain":
                number(argument, value, least=0.0)
            else:
                integer(argument, value, least=2 if name == "raw" else 1, most=MOST_POINTS)
        choice("options, lengthscale_prior", self.lengthscale_prior, LENGTHSCALE_PRIORS)
        choice("options, transforms", self.transforms, TRANSFORMS)


@dataclass(frozen=True)
class CeiOptions(GlobalOptions):
    """Options of `cei`.

    Attributes:
        log: climb the logarithm of the acquisition. Both have the same maximizer, but far from good points
            the acquisition itself and its slope are 0 in floating point, and a climb stays where it starts.
    """

    log: bool = True  # paper is silent; Gardner et al. have no logarithm

    def __post_init__(self) -> None:
        super().__post_init__()
        truth("options, log", self.log)


@dataclass(frozen=True)
class EpboOptions(GlobalOptions):
    """Options of `epbo`.

    Attributes:
        beta: standard deviations of the confidence bounds.
        rho: penalty factor; a number or a function of k, the evaluations after the initial design.
    """

    beta: float = 2.0  # paper, Table 1; read as two standard deviations
    rho: Schedule = field(default=Growth(0.0, log=10.0))  # paper, Table 1

    def __post_init__(self) -> None:
        super().__post_init__()
        number("options, beta", self.beta, least=0.0)
        at(self.rho, 1, "options, rho")


@dataclass(frozen=True)
class LogceiOptions(GlobalOptions):
    """Options of `logcei`; the model and the search are those of a BoTorch user today.

    Attributes:
        fit_growth: a fit waits until there are this much more data than at the last one, as a share.
        n_draws: joint draws of the incumbents' outputs over which the improvement is averaged.
        n_incumbents: most points that may be the best one so far.
    """

    kernel: str = "matern52"
    fit_every: int = 1
    ard: bool = True
    learn_noise: bool = True
    optimizer: str = "lbfgs"
    optimizer_options: Mapping[str, Any] = field(
        default_factory=lambda: {"starts": 8, "steps": 30, "least_gain": 1e-4}
    )
    lengthscale_prior: str = "dimension"  # BoTorch's since 0.12
    transforms: str = "scaled-bilog"  # SCBO's paper, freed of units
    fit_growth: float = 0.1  # ours: a fit of many points costs far more than an ask
    n_draws: int = 16
    n_incumbents: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        number("options, fit_growth", self.fit_growth, least=0.0)
        integer("options, n_draws", self.n_draws, most=MOST_POINTS)
        integer("options, n_incumbents", self.n_incumbents, most=1000)
