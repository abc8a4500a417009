"""What methods share that model all their data and go on when a batch has ended."""

from __future__ import annotations

from abc import abstractmethod

import torch

from lcbo.methods.base.archive import PENDING
from lcbo.methods.base.model_based import ModelBased
from lcbo.methods.base.transforms import Transform
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.models.builder import GrowingBuilder


class ModelBatches(ModelBased):
    """Asks for what its queue holds, and fills it anew when all of that has ended."""

    def __init__(self, setup: Setup, builder: GrowingBuilder, transform: Transform) -> None:
        super().__init__(setup, builder, transform)
        self._open_ids: list[int] = []  # of the queue, asked for

    @abstractmethod
    def _advance(self) -> None:
        """Queue what comes after what has ended."""

    @abstractmethod
    def _beyond(self, count: int) -> Array:
        """Return further points, ``count x d``, where more is asked for than the queue holds."""

    @torch.inference_mode()
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without blocking; see the protocol."""
        if not self._queue and not (self.archive.status[self._open_ids] == PENDING).any():
            self._advance()
        points, further = self._take(n, most)
        proposals = [self._propose(u, role) for u, role in points]
        self._open_ids += [proposal.id for proposal in proposals]
        if further:
            proposals += [self._propose(u, "explore") for u in self._beyond(further)]
        return proposals
