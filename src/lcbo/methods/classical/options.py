"""Options of the classical peers: `cobyqa`, `cobyla`, `cmaes` and `sobol`."""

from __future__ import annotations

from dataclasses import dataclass

from lcbo.checks import above_zero, integer, number, truth
from lcbo.errors import ArgumentError


@dataclass(frozen=True)
class CobyqaOptions:
    """Settings of SciPy's COBYQA; lengths are in the unit cube.

    Attributes:
        radius: first trust-region radius, ``initial_tr_radius``.
        final_radius: radius at which a run has converged, ``final_tr_radius``.
        scale: divide every output by its standard deviation over the initial design.
    """

    radius: float = 0.1  # SciPy: "one tenth of the greatest expected change to the variables"
    final_radius: float = 1e-6  # SciPy's default
    scale: bool = True

    def __post_init__(self) -> None:
        _check_radii(self.radius, self.final_radius, most=None)
        truth("options, scale", self.scale)


@dataclass(frozen=True)
class CobylaOptions:
    """Settings of SciPy's COBYLA; lengths are in the unit cube.

    Attributes:
        radius: size of the first simplex, ``rhobeg``; at most 0.5, so that the simplex fits into the cube.
        final_radius: radius at which a run has converged, ``tol``.
        scale: divide every output by its standard deviation over the initial design.
    """

    radius: float = 0.1
    final_radius: float = 1e-4  # SciPy's default
    scale: bool = True

    def __post_init__(self) -> None:
        _check_radii(self.radius, self.final_radius, most=0.5)
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
            integer("options, popsize", self.popsize, 2)
        number("options, feasible_tail", self.feasible_tail, 0.0, 1.0)


@dataclass(frozen=True)
class SobolOptions:
    """There is nothing to set."""


def _check_radii(first: float, final: float, most: float | None) -> None:
    above_zero("options, radius", first, most)
    if above_zero("options, final_radius", final) > first:
        raise ArgumentError("options, final_radius", f"a number of at most radius={first!r}", repr(final))
