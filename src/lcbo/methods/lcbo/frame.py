"""The coordinates a run works in: the unit cube bent where the outputs ask for it, and a zoom for the model.

Near the lower bound of an area a response goes like 1/x, farther up it is flat: no stationary kernel and no
ball of one radius fits both. In ``z = u^(1/p)`` they do. Box, step and radius live in the *working cube* of
all z; the model sees the *frame*, the working cube moved and scaled so that its window has unit size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcbo.types import Array

SHIFT = 1e-3  # keeps the slope of a bent variable finite at its bound
UNIFORM_SPREAD = 0.29  # of a coordinate over the unit cube, 1 / sqrt(12): the zoom of such a window is 1
LEAST_WIDTH = 1e-9


@dataclass(frozen=True)
class Warp:
    """Bends variables of the unit cube onto themselves: ``z = u^(1/p)`` with ``p = exp(|log_power|)``.

    Attributes:
        log_power: ``d``; positive stretches the lower end, negative the upper, 0 leaves the variable alone.
    """

    log_power: Array

    @staticmethod
    def alike(power: float, dim: int) -> Warp:
        """Return the warp of one power for every variable; below 1 it is of the upper end."""
        return Warp(np.full(dim, np.log(power)))

    def bent(self, u: Array) -> Array:
        """Return points of the unit cube, ``... x d``, in the working cube."""
        if not self.log_power.any():
            return u
        q, low, high = self._curve()
        z = np.clip(((self._turned(u) + SHIFT) ** q - low) / (high - low), 0.0, 1.0)
        return np.where(self.log_power == 0.0, u, self._turned(z))

    def straight(self, z: Array) -> Array:
        """Return points of the working cube in the unit cube."""
        if not self.log_power.any():
            return z
        q, low, high = self._curve()
        u = np.clip((low + self._turned(z) * (high - low)) ** (1.0 / q) - SHIFT, 0.0, 1.0)
        at_bound = (z == 0.0) | (z == 1.0)  # must not be left by rounding
        return np.where(at_bound | (self.log_power == 0.0), z, self._turned(u))

    def slope(self, u: Array) -> Array:
        """Return ``dz/du`` of every variable at points of the unit cube, ``... x d``."""
        q, low, high = self._curve()
        slope: Array = q * (self._turned(u) + SHIFT) ** (q - 1.0) / (high - low)
        return np.where(self.log_power == 0.0, 1.0, slope)

    def bend(self, u: Array) -> Array:
        """Return ``d2z/du2`` of every variable at points of the unit cube, ``... x d``."""
        q, low, high = self._curve()
        bend: Array = q * (q - 1.0) * (self._turned(u) + SHIFT) ** (q - 2.0) / (high - low)
        return np.where(self.log_power == 0.0, 0.0, np.where(self.log_power < 0.0, -bend, bend))

    def _curve(self) -> tuple[Array, Array, Array]:
        q = np.exp(-np.abs(self.log_power))
        return q, SHIFT**q, (1.0 + SHIFT) ** q

    def _turned(self, u: Array) -> Array:
        return np.where(self.log_power < 0.0, 1.0 - u, u)


@dataclass(frozen=True)
class Frame:
    """Warp, then ``(z - center) / width``.

    A window that has shrunk to a thousandth of the cube looks to the model like one of the whole: the
    priors of its hyperparameters and its arithmetic fit at every scale.
    """

    warp: Warp
    center: Array
    width: float

    @staticmethod
    def whole(dim: int) -> Frame:
        """Return the unit cube as it is."""
        return Frame(Warp(np.zeros(dim)), np.zeros(dim), 1.0)

    @staticmethod
    def around(warp: Warp, u: Array, reach: float = LEAST_WIDTH) -> Frame:
        """Return the frame of a window, ``n x d``: centered, with the spread of uniform points.

        Its width is at least ``reach``, the length of a step: the model is asked that far outside.
        """
        z = warp.bent(u)
        center = z.mean(0)
        spread = float(np.sqrt(np.square(z - center).mean()))
        return Frame(warp, center, min(max(spread / UNIFORM_SPREAD, reach, LEAST_WIDTH), 1.0))

    def local(self, u: Array) -> Array:
        """Return points of the unit cube as the model sees them."""
        return self.placed(self.warp.bent(u))

    def placed(self, z: Array) -> Array:
        """Return points of the working cube as the model sees them."""
        return (z - self.center) / self.width

    def working(self, x: Array) -> Array:
        """Return the model's points in the working cube."""
        return np.clip(x * self.width + self.center, 0.0, 1.0)

    def state(self) -> dict[str, Any]:
        """Return the frame as JSON values."""
        return {
            "log_power": self.warp.log_power.tolist(),
            "center": self.center.tolist(),
            "width": self.width,
        }

    @staticmethod
    def restored(state: Mapping[str, Any]) -> Frame:
        """Return the frame `state` described."""
        return Frame(Warp(np.array(state["log_power"])), np.array(state["center"]), state["width"])
