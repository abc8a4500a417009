"""Thompson sampling on a finite set: candidates in a box, and the candidate each draw picks."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from lcbo.acquisition.box import Box
from lcbo.models.border import to_tensor


def sobol(box: Box, count: int, rng: np.random.Generator) -> Tensor:
    """Scrambled Sobol points of a box, drawn on the CPU whatever the device: ``count x d``."""
    engine = SobolEngine(len(box.low), scramble=True, seed=int(rng.integers(2**31)))  # type: ignore[no-untyped-call]
    return box.stretch(to_tensor(engine.draw(count, dtype=torch.float64), box.low))


def masked(points: Tensor, center: Tensor, probability: float, rng: np.random.Generator) -> Tensor:
    """Points that keep each coordinate with a probability, and at least one; the others are the center's.

    Args:
        points: ``p x d``.
        center: ``d``.
        probability: of each coordinate.
        rng: decides.
    """
    if probability >= 1.0:
        return points
    keep = rng.random(points.shape) < probability
    none = np.flatnonzero(~keep.any(1))
    keep[none, rng.integers(points.shape[1], size=len(none))] = True
    return torch.where(to_tensor(keep, points), points, center)


def picks(objective: Tensor, violation: Tensor | None = None) -> list[int]:
    """The candidate every draw picks, no candidate twice.

    A draw picks its least objective among the candidates it believes feasible; where none is left, the
    least violation.

    Args:
        objective: ``count x p`` draws.
        violation: ``count x p`` total violations of the same draws, 0 where feasible; ``None``: all are.
    """
    chosen: list[int] = []
    for draw in range(len(objective)):
        score = objective[draw].clone()
        if violation is not None:
            feasible = violation[draw] == 0.0
            feasible[chosen] = False
            score = torch.where(feasible, score, torch.inf) if feasible.any() else violation[draw].clone()
        score[chosen] = torch.inf
        chosen.append(int(score.argmin()))
    return chosen
