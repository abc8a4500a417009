"""Linear-elastic space trusses, many designs at once.

For pin-jointed bars with direction cosines e, the stiffness matrix is linear in the areas,

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
        self._strain = self._strain_rows(axis / self.lengths[:, None])
        self._modulus = modulus
        unit = np.einsum("ij,ik->ijk", self._strain, self._strain) * modulus
        self._unit_stiffness = (unit / self.lengths[:, None, None]).reshape(len(bars), -1)

    def _strain_rows(self, direction: Array) -> Array:
        """Rows b_i: elongation of bar i per unit displacement of each free degree of freedom."""
        place = {node: 3 * k for k, node in enumerate(self.free_nodes)}
        rows = np.zeros((len(self.bars), 3 * len(self.free_nodes)))
        for row, (start, end), cosines in zip(rows, self.bars, direction, strict=True):
            for node, sign in ((int(start), -1.0), (int(end), 1.0)):
                if node in place:
                    row[place[node] : place[node] + 3] += sign * cosines
        return rows

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
        load = np.broadcast_to(force[:, None], (len(areas), size, 1))
        solution: Array = np.linalg.solve(stiffness, load)[:, :, 0]
        return solution
