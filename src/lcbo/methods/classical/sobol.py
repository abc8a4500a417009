"""Sobol: a scrambled low-discrepancy sequence, blind to all outcomes; what every method has to beat."""

from __future__ import annotations

from scipy.stats import qmc

from lcbo.methods.base.model_free import ModelFree
from lcbo.methods.classical.options import SobolOptions
from lcbo.methods.protocol import Array, Setup
from lcbo.random import generator

_BLOCK = 256  # a power of two keeps the sequence balanced


class Sobol(ModelFree):
    """The initial design, then one scrambled Sobol sequence, as many points at a time as are wanted."""

    def __init__(self, setup: Setup, options: SobolOptions) -> None:  # noqa: ARG002  (has no options)
        super().__init__(setup)
        self._sequence = qmc.Sobol(setup.dim, scramble=True, rng=generator(setup.seed, "sobol"))
        self._drawn: list[Array] = []

    def next_batch(self) -> list[Array]:
        """Return the next point of the sequence."""
        return self.further(1)

    def further(self, count: int) -> list[Array]:
        """Return the next ``count`` points of the sequence."""
        while len(self._drawn) < count:
            self._drawn += list(self._allowed(self._sequence.random(_BLOCK)))
        points, self._drawn = self._drawn[:count], self._drawn[count:]
        return points

    def _allowed(self, points: Array) -> Array:
        """Return those points that known conditions allow; where that is none, random ones in their place."""
        domain = self.setup.domain
        if domain is None:
            return points
        met = domain.contains(points)
        rng = generator(self.setup.seed, "sobol", self._sequence.num_generated)
        return points[met] if met.any() else domain.sample(rng, _BLOCK)
