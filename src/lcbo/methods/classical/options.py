"""Options of the classical peers: `cobyqa`, `cobyla`, `slsqp`, `cmaes` and `sobol`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lcbo.checks import MOST_POINTS, above_zero, integer, number, truth
from lcbo.errors import ArgumentError


@dataclass(frozen=True)
class CobyqaOptions:
    """Settings of SciPy's COBYQA; lengths are in the unit cube.

    Attributes:
        radius: first trust-region radius, ``initial_tr_radius``.
        final_radius: radius at which a run has converged, ``final_tr_radius``.
        scale: divide every output by its standard deviation over the initial design.
    """

    LARGEST: ClassVar[float | None] = None

    radius: float = 0.1  # SciPy: "one tenth of the greatest expected change to the variables"
    final_radius: float = 1e-6  # SciPy's default
    scale: bool = True

    def __post_init__(self) -> None:
        above_zero("options, radius", self.radius, self.LARGEST)
        if above_zero("options, final_radius", self.final_radius) > self.radius:
            expected = f"a number of at most radius={self.radius!r}"
            raise ArgumentError("options, final_radius", expected, repr(self.final_radius))
        truth("options, scale", self.scale)


@dataclass(frozen=True)
class CobylaOptions(CobyqaOptions):
    """Settings of SciPy's COBYLA; lengths are in the unit cube.

    Attributes:
        radius: size of the first simplex, ``rhobeg``; at most 0.5, so that the simplex fits into the cube.
        final_radius: radius at which a run has converged, ``tol``.
    """

    LARGEST: ClassVar[float | None] = 0.5

    final_radius: float = 1e-4  # SciPy's default


@dataclass(frozen=True)
class SlsqpOptions:
    """Settings of SciPy's SLSQP; lengths are in the unit cube.

    Attributes:
        difference: length of the finite differences, at most 0.5; ``None`` takes it from the noise.
        radius: length of a run's first step along the steepest axis, at most.
        margin: by how much a run from a new point tightens the inequalities, in the outputs' scale; the runs
            that follow narrow it down to ``tol``.
        tol: precision at which a run has converged, ``ftol``.
        scale: divide every output by its standard deviation over the initial design.
    """

    difference: float | None = None
    radius: float = 0.1  # as of COBYQA
    margin: float = 0.02
    tol: float = 1e-6  # SciPy's default
    scale: bool = True

    def __post_init__(self) -> None:
        if self.difference is not None:
            above_zero("options, difference", self.difference, 0.5)
        above_zero("options, radius", self.radius)
        number("options, margin", self.margin, 0.0)
        above_zero("options, tol", self.tol)
        truth("options, scale", self.scale)


@dataclass(frozen=True)
class CmaesOptions:
    """Settings of CMA-ES.

    Attributes:
        sigma: first step size, a standard deviation in the unit cube.
        popsize: points per generation; ``None`` means ``4 + floor(3 log d)``, the default of ``cma``.
        feasible_tail: share of the budget at its end that begins with a search for a feasible point, as
            ``find_feasible`` of ``cma``; not with equality constraints.
    """

    sigma: float = 0.2  # cma: the optimum should lie within x0 +- 3 sigma
    popsize: int | None = None
    feasible_tail: float = 0.2

    def __post_init__(self) -> None:
        above_zero("options, sigma", self.sigma)
        if self.popsize is not None:
            integer("options, popsize", self.popsize, 2, MOST_POINTS)
        number("options, feasible_tail", self.feasible_tail, 0.0, 1.0)


@dataclass(frozen=True)
class SobolOptions:
    """There is nothing to set."""
