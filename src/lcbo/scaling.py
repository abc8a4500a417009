"""Standardized outputs and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcbo.types import Array


@dataclass(frozen=True)
class Scaling:
    """Per-output standardization ``(y - mean) / std``; identity when outputs keep their units."""

    mean: Array
    std: Array

    @staticmethod
    def identity(n_outputs: int) -> Scaling:
        """Return the scaling that changes nothing."""
        return Scaling(np.zeros(n_outputs), np.ones(n_outputs))

    @staticmethod
    def of(y: Array) -> Scaling:
        """Z-score of every output over the rows where it is known.

        A constant (or never seen) output gets std 1 in units of its own magnitude, so scaling an
        output by a power of two scales ``mean`` and ``std`` exactly.

        Args:
            y: ``n x B`` with NaN where an outcome is missing.
        """
        if not len(y):
            return Scaling.identity(y.shape[1])
        known = ~np.isnan(y)
        count = np.maximum(known.sum(0), 1)
        mean = np.where(known, y, 0.0).sum(0) / count
        centered = np.where(known, y - mean, 0.0)
        # Dividing by the largest deviation first keeps 1e200 from overflowing when squared.
        reach = np.abs(centered).max(0)
        safe = np.where(reach > 0.0, reach, 1.0)
        std = safe * np.sqrt(np.square(centered / safe).sum(0) / count)
        level = np.abs(np.where(known, y, 0.0)).max(0)
        constant = std <= 1e-12 * level
        return Scaling(mean, np.where(constant, np.where(level > 0.0, level, 1.0), std))

    def apply(self, y: Array) -> Array:
        """Standardize outputs: ``... x B`` in, ``... x B`` out."""
        standardized: Array = (y - self.mean) / self.std
        return standardized

    def undo(self, y: Array) -> Array:
        """Return standardized outputs, ``... x B``, in the user's units."""
        restored: Array = y * self.std + self.mean
        return restored
