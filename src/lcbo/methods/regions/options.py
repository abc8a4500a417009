"""Every option of the two trust-region baselines with its default, which is the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lcbo.checks import MOST_POINTS, above_zero, choice, integer, is_number, number
from lcbo.errors import ArgumentError
from lcbo.models.options import LENGTHSCALE_PRIORS, TRANSFORMS, LearnedModelOptions, ModelOptions


@dataclass(frozen=True)
class RegionOptions(ModelOptions):
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
    """

    batch: int | None = None  # paper, Table 1: ceil(d / 2)
    n_candidates: int = 5000  # paper, Table 1
    length: tuple[float, float, float] = (0.8, 2.0**-7, 1.6)  # paper, Table 1
    success_tolerance: int | None = None  # paper, Table 1: max(3, ceil(d / 10))
    failure_tolerance: int | None = None  # paper, Table 1: ceil(d / batch)
    sampler: str = "pathwise"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("options, sampler", self.sampler, ("pathwise", "exact"))
        integer("options, n_candidates", self.n_candidates, most=MOST_POINTS)
        for option in ("batch", "success_tolerance", "failure_tolerance"):
            if getattr(self, option) is not None:
                integer(f"options, {option}", getattr(self, option), most=MOST_POINTS)
        given = self.length
        three = isinstance(given, Sequence) and len(given) == 3 and all(map(is_number, given))
        if not three or not 0.0 < given[1] <= given[0] <= given[2]:
            raise ArgumentError(
                "options, length", "(first, least, most) with 0 < least <= first <= most", repr(given)
            )


@dataclass(frozen=True)
class ScboOptions(RegionOptions):
    """Settings of one SCBO run; the defaults are the paper's Table 1.

    Attributes:
        perturbation: probability with which a candidate moves a coordinate away from the center, at least
            one always; ``None``: ``min(1, 20 / d)``.
        transforms: ``zscore``, or before it ``bilog`` of the constraints, or ``original``: that and a
            Gaussian copula of the objective, as in the SCBO paper; ``scaled-bilog`` is ``bilog`` in units of
            the median distance from the threshold.
    """

    perturbation: float | None = None  # paper, Table 1: min(1, 20 / d)
    transforms: str = "zscore"  # paper, appendix "Algorithm Setup"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("options, transforms", self.transforms, TRANSFORMS)
        if self.perturbation is not None:
            above_zero("options, perturbation", self.perturbation, most=1.0)


@dataclass(frozen=True)
class HdsafeboOptions(RegionOptions):
    """Settings of one HDsafeBO run; the defaults are the paper's Table 1.

    Attributes:
        beta: a candidate is kept while ``mean - beta * std`` of every constraint is feasible. The bound
            that takes effect in the published code is 4.
        unsafe_center: where the region is centered while no point is safe: the least ``violation`` or,
            as in the published code, the least ``objective``.
    """

    beta: float = 2.0  # paper, Table 1
    unsafe_center: str = "violation"  # paper, "Initialization and Protocol"

    def __post_init__(self) -> None:
        super().__post_init__()
        number("options, beta", self.beta, least=0.0)
        choice("options, unsafe_center", self.unsafe_center, ("violation", "objective"))


@dataclass(frozen=True)
class FurboOptions(ScboOptions, LearnedModelOptions):
    """Settings of one FuRBO run; the defaults are those of the authors' code, the batch is SCBO's.

    Attributes:
        length: first radius of the ball of inspectors and its bounds ``(first, least, most)``, in the unit
            cube; below the least the search begins again and forgets all data.
        inspectors_per_dim: points per dimension by which the model finds the region.
        inspected_share: the share of them, the best, that the region is the smallest box around.
        lengthscale_prior: ``paper``, Gamma(3, 3), ``dimension``, BoTorch's, or ``flat``.
    """

    kernel: str = "matern52"
    fit_every: int = 1
    ard: bool = True
    learn_noise: bool = True
    n_candidates: int = 2000
    length: tuple[float, float, float] = (1.0, 2.0**-7, 1.0)
    success_tolerance: int | None = 2
    failure_tolerance: int | None = 3
    inspectors_per_dim: int = 1000
    inspected_share: float = 0.1
    lengthscale_prior: str = "flat"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("options, inspectors_per_dim", self.inspectors_per_dim, most=MOST_POINTS)
        above_zero("options, inspected_share", self.inspected_share, most=1.0)
        choice("options, lengthscale_prior", self.lengthscale_prior, LENGTHSCALE_PRIORS)
