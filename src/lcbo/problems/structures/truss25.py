"""The 25-bar space truss with 25 independent areas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from lcbo import checks
from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, stored_answer
from lcbo.problems.structures.mechanics import Truss, smooth_max
from lcbo.types import Array

Load = Literal["case1", "node1"]
Aggregate = Literal["lse", "none"]
Scale = Literal["natural", "authors"]

NODES = (
    (-37.5, 0.0, 200.0),
    (37.5, 0.0, 200.0),
    (-37.5, 37.5, 100.0),
    (37.5, 37.5, 100.0),
    (37.5, -37.5, 100.0),
    (-37.5, -37.5, 100.0),
    (-100.0, 100.0, 0.0),
    (100.0, 100.0, 0.0),
    (100.0, -100.0, 0.0),
    (-100.0, -100.0, 0.0),
)  # fmt: skip
BARS = (
    (1, 2),
    (1, 4), (2, 3), (1, 5), (2, 6),
    (2, 4), (2, 5), (1, 3), (1, 6),
    (3, 6), (4, 5),
    (3, 4), (5, 6),
    (3, 10), (6, 7), (4, 9), (5, 8),
    (3, 8), (4, 7), (6, 9), (5, 10),
    (3, 7), (4, 8), (5, 9), (6, 10),
)  # fmt: skip
SUPPORTS = (7, 8, 9, 10)
LOADS: Mapping[str, Mapping[int, tuple[float, float, float]]] = {
    "case1": {
        1: (1000.0, -10000.0, -10000.0),
        2: (0.0, -10000.0, -10000.0),
        3: (500.0, 0.0, 0.0),
        6: (600.0, 0.0, 0.0),
    },
    "node1": {1: (1000.0, 10000.0, -5000.0)},
}
MODULUS = 1.0e7  # psi
DENSITY = 0.1  # lb / in^3
STRESS_LIMIT = 40_000.0  # psi
DISPLACEMENT_LIMIT = 0.35  # in
AREA = (0.01, 5.0)  # in^2
TRUSS = Truss(NODES, BARS, SUPPORTS, MODULUS)


class Truss25(Benchmark):
    """Lightest 25-bar truss under stress and displacement limits; d = 25 areas in [0.01, 5] in^2.

        min  0.1 sum_i L_i A_i                                                (lb)
        s.t. g_stress = LSE_alpha over the 25 bars of |sigma| / 40000 - 1 <= 0
             g_disp   = LSE_alpha over the 18 free displacements of |u| / 0.35 - 1 <= 0

    with LSE the smooth maximum of the module `mechanics`; it never underestimates the true maximum.
    Geometry, material and load case 1: the classic benchmark (Schmit and Fleury; Camp and Bichon,
    J. Struct. Eng. 130, 2004), there with 8 groups of equal bars. Noise level 0.1 means 10 lb on the
    weight and 0.1 on each aggregated constraint.

    Outcomes: ``weight`` (lb), ``g_stress``, ``g_disp``, ``max_stress`` (psi), ``max_disp`` (in); and, with
    ``aggregate="none"``, signed ``stress_1..25`` and ``disp_1x..6z`` in place of the two ``g``.

    Args:
        load: ``"case1"``, or ``"node1"`` (the paper's authors' code: only node 1 is loaded).
        aggregate: ``"lse"`` for the two smoothed constraints, ``"none"`` for all 25 stresses and 18
            displacements, each limited on both sides.
        alpha: Sharpness of the smooth maximum; ignored without aggregation.
        scale: ``"authors"`` minimizes ``scaled_weight`` = weight / 100, noise sd 0.1 on it.
    """

    def __init__(
        self,
        *,
        load: Load = "case1",
        aggregate: Aggregate = "lse",
        alpha: float = 20.0,
        scale: Scale = "natural",
    ) -> None:
        checks.choice("load", load, get_args(Load))
        checks.choice("aggregate", aggregate, get_args(Aggregate))
        checks.choice("scale", scale, get_args(Scale))
        checks.positive("alpha", checks.number("alpha", alpha))
        self.load, self.aggregate, self.alpha, self.scale = load, aggregate, float(alpha), scale
        self.force = TRUSS.load_vector(LOADS[load])
        self.stress_names = [f"stress_{i + 1}" for i in range(len(BARS))]
        self.disp_names = [f"disp_{node + 1}{axis}" for node in TRUSS.free_nodes for axis in "xyz"]
        if aggregate == "lse":
            spread = {"g_stress": 1.0, "g_disp": 1.0}
            limits = [Constraint(name, ub=0.0) for name in spread]
        else:
            spread = dict.fromkeys(self.stress_names, STRESS_LIMIT)
            spread |= dict.fromkeys(self.disp_names, DISPLACEMENT_LIMIT)
            limits = [Constraint(name, lb=-size, ub=size) for name, size in spread.items()]
        objective, unit = ("weight", 1.0) if scale == "natural" else ("scaled_weight", 0.01)
        detail = "exact" if aggregate == "none" else f"lse{alpha:g}"
        super().__init__(
            np.tile(AREA, (len(BARS), 1)),
            limits,
            objective,
            best_known=stored_answer("truss25", f"{load}_{detail}", unit),
            noise_scale={objective: 100.0 * unit, **spread},
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Weight, constraints and the physical maxima of ``n x 25`` designs."""
        response = TRUSS.respond(X, self.force)
        weight = DENSITY * X @ TRUSS.lengths
        stress, disp = np.abs(response.stress), np.abs(response.displacement)
        outcomes = {"weight": weight}
        if self.scale == "authors":
            outcomes["scaled_weight"] = weight / 100.0
        if self.aggregate == "lse":
            outcomes["g_stress"] = smooth_max(stress / STRESS_LIMIT - 1.0, self.alpha)
            outcomes["g_disp"] = smooth_max(disp / DISPLACEMENT_LIMIT - 1.0, self.alpha)
        else:
            outcomes |= dict(zip(self.stress_names, response.stress.T, strict=True))
            outcomes |= dict(zip(self.disp_names, response.displacement.T, strict=True))
        return outcomes | {"max_stress": stress.max(axis=1), "max_disp": disp.max(axis=1)}
