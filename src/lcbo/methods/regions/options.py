"""Every option of the two trust-region baselines with its default, which is the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lcbo.errors import ArgumentError


def _choice(option: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ArgumentError("options", f"{option!r} to be {' or '.join(map(repr, words))}", repr(value))


def _least(option: str, value: float | None, least: float) -> None:
    if value is not None and not value >= least:
        raise ArgumentError("options", f"{option!r} of at least {least:g}", repr(value))


@dataclass(frozen=True)
class RegionOptions:
    """What SCBO and HDsafeBO share.

    Attributes:
        batch: points per iteration; ``None``: half the dimension, rounded up.
        n_candidates: Sobol points in the region among which every batch is chosen.
        length: first length of the region's sides and its bounds ``(first, least, most)``, in the unit
            cube; below the least the region restarts.
        success_tolerance: consecutive successes that double the region; ``None``: ``max(3, d / 10)``.
        failure_tolerance: consecutive failures that halve it; ``None``: ``d / batch``.
        sampler: ``pathwise`` (fast: prior draws by random features, exact correction by the data) or
            ``exact`` (joint draws over all candidates, seconds each).
        kernel: ``rbf`` or ``matern52``, one lengthscale for all variables.
        fit: ``map`` (the paper's priors) or ``fixed``.
        fit_every: iterations between fits.
        hyperparameters: ``lengthscale``, ``outputscale``, ``noise_var`` and prior ``mean``, each a number
            or one per output, for standardized outputs; where a fit starts, or where ``fixed`` stays.
        standardize: z-score outputs over all data.
    """

    batch: int | None = None  # paper, Table 1: ceil(d / 2)
    n_candidates: int = 5000  # paper, Table 1
    length: tuple[float, float, float] = (0.8, 2.0**-7, 1.6)  # paper, Table 1
    success_tolerance: int | None = None  # paper, Table 1: max(3, ceil(d / 10))
    failure_tolerance: int | None = None  # paper, Table 1: ceil(d / batch)
    sampler: str = "pathwise"
    kernel: str = "rbf"  # paper, appendix "Algorithm Setup"
    fit: str = "map"  # paper, appendix "Algorithm Setup"
    fit_every: int = 5  # paper, appendix "Algorithm Setup"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    standardize: bool = True  # paper, appendix "Algorithm Setup"

    def __post_init__(self) -> None:
        _choice("sampler", self.sampler, ("pathwise", "exact"))
        _choice("kernel", self.kernel, ("rbf", "matern52"))
        _choice("fit", self.fit, ("map", "fixed"))
        for option in ("batch", "n_candidates", "success_tolerance", "failure_tolerance", "fit_every"):
            _least(option, getattr(self, option), 1)
        first, least, most = self.length
        if not 0.0 < least <= first <= most:
            raise ArgumentError("options", "'length' as (first, least, most), 0 < least <= first <= most",
                                repr(self.length))  # fmt: skip


@dataclass(frozen=True)
class ScboOptions(RegionOptions):
    """Settings of one SCBO run; the defaults are the paper's Table 1.

    Attributes:
        perturbation: probability with which a candidate moves a coordinate away from the center, at least
            one always; ``None``: ``min(1, 20 / d)``.
        transforms: ``zscore``, or before it ``bilog`` of the constraints, or ``original``: that and a
            Gaussian copula of the objective, as in the SCBO paper.
    """

    perturbation: float | None = None  # paper, Table 1: min(1, 20 / d)
    transforms: str = "zscore"  # paper, appendix "Algorithm Setup"

    def __post_init__(self) -> None:
        super().__post_init__()
        # The names of `TRANSFORMS`, whose module would load SciPy to list the methods.
        _choice("transforms", self.transforms, ("zscore", "bilog", "original"))
        if self.perturbation is not None and not 0.0 < self.perturbation <= 1.0:
            raise ArgumentError("options", "'perturbation' above 0 and up to 1", repr(self.perturbation))


@dataclass(frozen=True)
class HdsafeboOptions(RegionOptions):
    """Settings of one HDsafeBO run; the defaults are the paper's Table 1.

    Attributes:
        beta: a candidate is kept while ``mean - beta * std`` of every constraint is feasible. The bound
            that takes effect in the published code is 4.
    """

    beta: float = 2.0  # paper, Table 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _least("beta", self.beta, 0.0)
