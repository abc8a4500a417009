"""Mechanics of trusses and beams, many designs at once, and the smooth maximum of their loads.

Space trusses are linear-elastic. For pin-jointed bars with direction cosines e, the stiffness is linear
in the areas,

    K(A) = sum_i (E A_i / L_i) b_i b_i^T,

where b_i holds -e at the first and +e at the second end of bar i, restricted to the free degrees of
freedom. Displacements solve K u = p and axial stresses are sigma_i = (E / L_i) b_i . u.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lcbo.types import Array

_CHUNK = 4096  # designs solved together: bounds the memory of the stacked stiffness matrices


@dataclass(frozen=True)
class TrussResponse:
    """What the load does: ``displacement`` is ``n x dofs`` (in), ``stress`` ``n x bars`` (psi)."""

    displacement: Array
    stress: Array


class Truss:
    """A truss whose bars have given ends and material and whose areas are free.

    Args:
        nodes: ``nodes x 3`` coordinates.
        bars: Pairs of node numbers, counted from 1 as in the literature.
        supports: Numbers of the nodes that cannot move.
        modulus: Young's modulus.
    """

    def __init__(
        self,
        nodes: Sequence[Sequence[float]],
        bars: Sequence[tuple[int, int]],
        supports: Sequence[int],
        modulus: float,
    ) -> None:
        self.nodes: Array = np.asarray(nodes, dtype=np.float64)
        self.bars = np.asarray(bars, dtype=np.intp) - 1
        self.free_nodes = [i for i in range(len(self.nodes)) if i + 1 not in supports]
        axis = self.nodes[self.bars[:, 1]] - self.nodes[self.bars[:, 0]]
        self.lengths: Array = np.linalg.norm(axis, axis=1)
        # Rows b_i: elongation of bar i per unit displacement of each free degree of freedom.
        direction, each = axis / self.lengths[:, None], np.arange(len(bars))
        strain = np.zeros((len(bars), *self.nodes.shape))
        strain[each, self.bars[:, 0]] -= direction
        strain[each, self.bars[:, 1]] += direction
        self._strain = strain[:, self.free_nodes].reshape(len(bars), -1)
        self._modulus = modulus
        unit = np.einsum("ij,ik->ijk", self._strain, self._strain) * modulus
        self._unit_stiffness = (unit / self.lengths[:, None, None]).reshape(len(bars), -1)

    def load_vector(self, loads: Mapping[int, Sequence[float]]) -> Array:
        """Forces on the free degrees of freedom from a map ``node number -> (x, y, z)``."""
        force = np.zeros((len(self.nodes), 3))
        for node, value in loads.items():
            force[node - 1] = value
        return force[self.free_nodes].ravel()

    def respond(self, areas: Array, force: Array) -> TrussResponse:
        """Displacements and stresses of every design under one load.

        Args:
            areas: ``n x bars`` cross sections, all positive.
            force: ``dofs`` load vector from `load_vector`.
        """
        parts = [
            self._displacements(areas[start : start + _CHUNK], force)
            for start in range(0, max(len(areas), 1), _CHUNK)
        ]
        displacement = np.concatenate(parts)
        stress: Array = displacement @ self._strain.T * (self._modulus / self.lengths)
        return TrussResponse(displacement, stress)

    def _displacements(self, areas: Array, force: Array) -> Array:
        size = len(force)
        stiffness = (areas @ self._unit_stiffness).reshape(-1, size, size)
        solution: Array = np.linalg.solve(stiffness, force[:, None])[:, :, 0]
        return solution


@dataclass(frozen=True)
class SteppedCantilever:
    """A cantilever of ``segments`` equal steps, rectangular sections and a tip load, in closed form.

    Euler-Bernoulli theory; segment i spans [a_i, b_i] from the clamp, has width w_i and height h_i:

        volume  = sum (b_i - a_i) w_i h_i
        sigma_i = 6 P (L - a_i) / (w_i h_i^2)                     (largest in the segment: at its clamp side)
        tip     = sum P [(L - a_i)^3 - (L - b_i)^3] / (3 E I_i),  I_i = w_i h_i^3 / 12

    Units are up to the caller (in, lb, psi here).
    """

    length: float
    segments: int
    modulus: float
    load: float

    @property
    def joints(self) -> Array:
        """Distances of the ``segments + 1`` section borders from the clamp."""
        return np.linspace(0.0, self.length, self.segments + 1)

    def volume(self, width: Array, height: Array) -> Array:
        """Volumes of ``n`` designs; ``width`` and ``height`` are ``n x segments``."""
        total: Array = (width * height).sum(axis=1) * (self.length / self.segments)
        return total

    def stress(self, width: Array, height: Array) -> Array:
        """Largest bending stress of every segment, ``n x segments``."""
        lever = self.length - self.joints[:-1]
        peak: Array = 6.0 * self.load * lever / (width * height**2)
        return peak

    def deflection(self, width: Array, height: Array) -> Array:
        """Tip deflections of ``n`` designs."""
        arm = (self.length - self.joints) ** 3
        inertia = width * height**3 / 12.0
        tip: Array = (self.load * (arm[:-1] - arm[1:]) / (3.0 * self.modulus * inertia)).sum(axis=1)
        return tip


def smooth_max(values: Array, alpha: float) -> Array:
    """Upper bound of the row-wise maximum that has continuous derivatives.

        LSE(v) = (1 / alpha) log sum_j exp(alpha v_j),   max v <= LSE(v) <= max v + ln(m) / alpha

    ``values`` are ``n x m``; the larger ``alpha``, the closer to the maximum.
    """
    top = values.max(axis=1)
    spread = np.exp(alpha * (values - top[:, None])).sum(axis=1)
    folded: Array = top + np.log(spread) / alpha
    return folded
