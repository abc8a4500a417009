"""The constants of the paper's theorem, estimated on one draw of a within-model problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from lcbo.problems.gp_sample import FourierSample, GPSample
from lcbo.random import generator
from lcbo.types import Array

POINTS = 1024  # uniform points the search for each supremum starts from
STARTS = 4  # of them are climbed from


@dataclass(frozen=True)
class Smoothness:
    """Suprema over the cube that bound how fast the penalized objective bends.

    Attributes:
        bound_c: ``B_c``, of ``|c|``.
        bound_grad_c: ``B_grad_c``, of ``|grad c|``.
        lipschitz_grad_f: ``L_grad_f``, of ``|hess f|``.
        lipschitz_grad_c: ``L_grad_c``, of ``|hess c|``.
    """

    bound_c: float
    bound_grad_c: float
    lipschitz_grad_f: float
    lipschitz_grad_c: float

    @property
    def total(self) -> float:
        """``L_m = L_grad_f + B_c L_grad_c + B_grad_c^2``          (paper, appendix)."""
        return self.lipschitz_grad_f + self.bound_c * self.lipschitz_grad_c + self.bound_grad_c**2


def smoothness(problem: GPSample) -> Smoothness:
    """Return the suprema found by climbing from the best of many random points.

    The search can only miss some of a supremum, so these are lower estimates. Several constraints are
    taken together as in the appendix: by the root of the sum of squares.
    """
    sample = problem.sample
    sizes: tuple[Callable[[Array], float], ...] = (
        lambda x: float(np.linalg.norm(sample.values(x[None])[0, 1:])),
        lambda x: float(np.linalg.norm(sample.gradients(x)[1:])),
        lambda x: float(_bend(sample, x)[0]),
        lambda x: float(np.linalg.norm(_bend(sample, x)[1:])),
    )
    points = generator(problem.seed, "smoothness").random((POINTS, problem.dim))
    return Smoothness(*(_supremum(size, points) for size in sizes))


def _bend(sample: FourierSample, x: Array) -> Array:
    """Spectral norm of every draw's second derivative."""
    norms: Array = np.abs(np.linalg.eigvalsh(sample.hessians(x))).max(-1)
    return norms


def _supremum(size: Callable[[Array], float], points: Array) -> float:
    best = points[np.argsort([size(x) for x in points])[-STARTS:]]
    bounds = [(0.0, 1.0)] * points.shape[1]

    def falling(x: Array) -> float:
        return -size(x)

    ends = [minimize(falling, x, method="L-BFGS-B", bounds=bounds) for x in best]
    return max(-float(end.fun) for end in ends)
