"""The stepped cantilever beam with 25 segments."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from lcbo import checks
from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, stored_answer
from lcbo.problems.structures.mechanics import SteppedCantilever, smooth_max
from lcbo.types import Array

Aggregate = Literal["lse", "none"]
Scale = Literal["natural", "authors"]

BEAM = SteppedCantilever(length=100.0, segments=25, modulus=2.9e7, load=500.0)  # in, psi, lb
STRESS_LIMIT = 40_000.0  # psi
TIP_LIMIT = 2.5  # in
SIDE = (0.5, 5.0)  # in


class Beam50(Benchmark):
    """Smallest stepped cantilever under stress and deflection limits; d = 50 sides in [0.5, 5] in.

    x = (w_1, h_1, w_2, h_2, ...), segment 1 at the clamp; the formulas are in the module `mechanics`.

        min  volume                                                            (in^3)
        s.t. g_stress = LSE_alpha over the 25 segments of sigma_i / 40000 - 1 <= 0
             g_disp   = tip / 2.5 - 1 <= 0

    In the logarithms of x every quantity is a sum of exponentials of linear functions, so the problem is
    convex and its only local minimum is global. After Thanedar and Vanderplaats (J. Struct. Eng. 121,
    1995), there with 5 segments. Noise level 0.1 means 10 in^3 on the volume and 0.1 on each constraint.

    Outcomes: ``volume`` (in^3), ``g_stress``, ``g_disp``, ``max_stress`` (psi), ``tip`` (in); with
    ``aggregate="none"`` also ``stress_1..25`` (psi), which then replace ``g_stress``.

    Args:
        aggregate: ``"lse"`` for one smoothed stress constraint, ``"none"`` for all 25.
        alpha: Sharpness of the smooth maximum; ignored without aggregation.
        scale: ``"authors"`` minimizes ``scaled_volume`` = volume / 100, noise sd 0.1 on it.
    """

    def __init__(
        self, *, aggregate: Aggregate = "lse", alpha: float = 20.0, scale: Scale = "natural"
    ) -> None:
        checks.choice("aggregate", aggregate, get_args(Aggregate))
        checks.choice("scale", scale, get_args(Scale))
        checks.positive("alpha", checks.number("alpha", alpha))
        self.aggregate, self.alpha, self.scale = aggregate, float(alpha), scale
        self.stress_names = [f"stress_{i + 1}" for i in range(BEAM.segments)]
        objective, unit = ("volume", 1.0) if scale == "natural" else ("scaled_volume", 0.01)
        if aggregate == "lse":
            limits = [Constraint("g_stress", ub=0.0)]
            spread = {"g_stress": 1.0}
        else:
            limits = [Constraint(name, ub=STRESS_LIMIT) for name in self.stress_names]
            spread = dict.fromkeys(self.stress_names, STRESS_LIMIT)
        super().__init__(
            np.tile(SIDE, (2 * BEAM.segments, 1)),
            [*limits, Constraint("g_disp", ub=0.0)],
            objective,
            best_known=stored_answer("beam50", "exact" if aggregate == "none" else f"lse{alpha:g}", unit),
            noise_scale={objective: 100.0 * unit, **spread, "g_disp": 1.0},
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Volume, constraints and the physical maxima of ``n x 50`` designs."""
        width, height = X[:, 0::2], X[:, 1::2]
        volume = BEAM.volume(width, height)
        stress = BEAM.stress(width, height)
        tip = BEAM.deflection(width, height)
        outcomes = {"volume": volume}
        if self.scale == "authors":
            outcomes["scaled_volume"] = volume / 100.0
        if self.aggregate == "lse":
            outcomes["g_stress"] = smooth_max(stress / STRESS_LIMIT - 1.0, self.alpha)
        else:
            outcomes |= dict(zip(self.stress_names, stress.T, strict=True))
        return outcomes | {"g_disp": tip / TIP_LIMIT - 1.0, "max_stress": stress.max(axis=1), "tip": tip}
