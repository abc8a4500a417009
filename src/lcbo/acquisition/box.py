"""The local box in which points are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lcbo.models.border import to_tensor


@dataclass(frozen=True)
class Box:
    """A local box already intersected with the unit cube; corners are ``d`` vectors."""

    low: Tensor
    high: Tensor

    @staticmethod
    def around(u: Tensor, delta: float) -> Box:
        """Return ``[u - delta, u + delta]`` within ``[0, 1]^d``."""
        return Box((u - delta).clamp(0.0, 1.0), (u + delta).clamp(0.0, 1.0))

    def clip(self, z: Tensor) -> Tensor:
        """Project points onto the box."""
        return torch.minimum(torch.maximum(z, self.low), self.high)

    def draw(self, rng: np.random.Generator, *shape: int) -> Tensor:
        """Uniform points, ``*shape x d``."""
        return self.stretch(to_tensor(rng.random((*shape, len(self.low))), self.low))

    def stretch(self, unit: Tensor) -> Tensor:
        """Points of the unit cube moved to where they are in the box, ``... x d``."""
        return self.low + unit * (self.high - self.low)


def reflected(z: Tensor) -> Tensor:
    """Points outside the unit cube mirrored at its faces, as often as it takes; those inside stay."""
    return torch.where((z >= 0.0) & (z <= 1.0), z, 1.0 - (1.0 - torch.remainder(z, 2.0)).abs())


def within_ball(center: Tensor, radius: float, direction: Tensor, reach: Tensor) -> Tensor:
    """Points ``center + radius * reach * direction / |direction|``, mirrored into the cube: ``p x d``.

    Args:
        center: ``d``.
        radius: of the ball.
        direction: ``p x d``, of any length.
        reach: ``p``, distances in radii.
    """
    length = direction.norm(dim=-1).clamp_min(1e-300)
    return reflected(center + (radius * reach / length)[:, None] * direction)
