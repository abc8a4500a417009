"""Stepped cantilever with rectangular sections and a tip load, in closed form.

Euler-Bernoulli theory; segment i spans [a_i, b_i] from the clamp, has width w_i and height h_i:

    volume  = sum (b_i - a_i) w_i h_i
    sigma_i = 6 P (L - a_i) / (w_i h_i^2)                     (largest in the segment: at its clamp side)
    tip     = sum P [(L - a_i)^3 - (L - b_i)^3] / (3 E I_i),  I_i = w_i h_i^3 / 12
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcbo.types import Array


@dataclass(frozen=True)
class SteppedCantilever:
    """A cantilever of ``segments`` equal steps; units are up to the caller (in, lb, psi here)."""

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
