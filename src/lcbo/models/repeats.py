"""What exact repeats say about the noise, pooled over a whole run."""

from __future__ import annotations

import numpy as np

from lcbo.types import Array

KNOWN_NOISE_DOF = 4.0  # a stated noise level weighs as much as this many repeats
MOST_DOF = 4.0  # and all repeats together weigh no more: the nugget must also absorb the model's misfit


class Repeats:
    """Within-group scatter of every output, updated observation by observation.

    A window of a few hundred points holds few repeats; the run as a whole holds enough to tell a
    noisy output from a rough one.

    Args:
        noise_var: per output the known noise variance in user units, or ``None``.
    """

    def __init__(self, noise_var: tuple[float | None, ...]) -> None:
        known = np.array([v is not None for v in noise_var])
        self.dof: Array = np.where(known, KNOWN_NOISE_DOF, 0.0)
        # The root of the sum of squares neither over- nor underflows with the outputs' units.
        self.root_scatter: Array = np.sqrt(self.dof * np.array([v or 0.0 for v in noise_var]))
        self._groups: dict[bytes, tuple[Array, Array]] = {}

    def add(self, u: Array, y: Array) -> None:
        """Take one observation; NaN outputs are skipped.

        Args:
            u: ``d`` point; only exact repeats pool.
            y: ``B`` outputs in user units.
        """
        seen, point = ~np.isnan(y), u.tobytes()
        if point not in self._groups:
            self._groups[point] = (seen.astype(np.float64), np.where(seen, y, 0.0))
            return
        count, mean = self._groups[point]
        step = np.where(seen, y - mean, 0.0)
        again = seen & (count > 0.0)
        weight = np.sqrt(count / (count + 1.0))
        self.root_scatter = np.where(again, np.hypot(self.root_scatter, weight * step), self.root_scatter)
        self.dof = self.dof + again
        count = count + seen
        self._groups[point] = (count, mean + step / np.maximum(count, 1.0))

    @property
    def deviation(self) -> Array:
        """Standard deviation of every output, ``B``; NaN where nothing was repeated and nothing is stated."""
        known = self.dof > 0.0
        return np.where(known, self.root_scatter / np.sqrt(np.maximum(self.dof, 1.0)), np.nan)

    def scatter(self, scale: Array) -> tuple[Array, Array]:
        """Scatter of standardized outputs and its degrees of freedom, tempered to at most ``MOST_DOF``.

        A nugget pinned to the pure noise leaves a stationary model no room for misfit: it then invents
        steep gradients, and a run follows them.

        Args:
            scale: ``B`` standard deviations the outputs are divided by.
        """
        weight = MOST_DOF / np.maximum(self.dof, MOST_DOF)
        return weight * np.square(self.root_scatter / scale), weight * self.dof
