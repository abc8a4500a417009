"""Methods without a model: the shared initial design first, then whatever a rule asks for.

What a rule sees of the outputs is scaled: the objective and the terms over the standard deviation each output
has in the initial design, so that units do not matter. Where an outcome is missing or an evaluation failed,
it sees the worst value of the run so far: bad enough to turn away, and not so bad as to ruin a rule that
interpolates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from lcbo.methods.base.archive import TOLD
from lcbo.methods.base.queued import QueuedMethod
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.scaling import Scaling


class ModelFree(QueuedMethod):
    """Initial design, then the batches of `next_batch`, each once the one before has been told."""

    role = "explore"  # of the proposals after the initial design
    scaled = True  # whether the rule sees scaled outputs

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.restarts = 0  # how often the rule has begun anew
        self.batch: list[int] = []  # ids of the proposals since the last batch was made
        self._scale: Array | None = None

    @abstractmethod
    def next_batch(self) -> list[Array]:
        """Return the next points of the unit cube; everything asked for so far has been told."""

    def further(self, count: int) -> list[Array]:  # noqa: ARG002  (for methods that can always say more)
        """Return up to ``count`` points more while the batch is out."""
        return []

    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without waiting for outcomes; see the protocol."""
        if not self._queue and not len(self.archive.pending(0)):
            self._refill()
        points, further = self._take(n, most)
        if further:
            points += [(u, self.role) for u in self.further(further)]
        proposals = [self._propose(u, role) for u, role in points]
        self.batch += [proposal.id for proposal in proposals]
        return proposals

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        self.archive.settle(id, y)

    def info(self) -> Mapping[str, float]:
        """Return the number of the batch and of restarts."""
        return {"iteration": self.iteration, "restarts": self.restarts}

    def _refill(self) -> None:
        if len(self.archive.recent(None)) == 0:
            self._queue_another_design()
            return
        self._fix_scale()
        points = self.next_batch()
        self._queue, self.batch = [(u, self.role) for u in points], []
        self.iteration += 1

    @property
    def scale(self) -> Array:
        """Standard deviation of every output over the initial design, for the whole run."""
        self._fix_scale()
        assert self._scale is not None
        return self._scale

    def _fix_scale(self) -> None:
        """Let what is told by now, the initial design, decide the scale once and for all."""
        if self._scale is None:
            told = self.archive.y[self.archive.recent(None)]
            self._scale = Scaling.of(told).std if self.scaled else np.ones(self.setup.n_outputs)

    def values(self, id: int) -> tuple[float, Array]:
        """Return the scaled objective and terms of an ended proposal, the worst so far where missing."""
        y = self.archive.y[id] if self.archive.status[id] == TOLD else np.full(self.setup.n_outputs, np.nan)
        objective, terms = self._scaled(y)
        if np.isnan(objective) or np.isnan(terms).any():
            objectives, rows = self._scaled(self.archive.y[self.archive.recent(None)])
            equality = self.setup.terms.equality
            terms = np.where(np.isnan(terms), _worst(np.where(equality, np.abs(rows), rows)), terms)
            objective = _worst(objectives[:, None])[0] if np.isnan(objective) else objective
        return float(objective), terms

    def _scaled(self, y: Array) -> tuple[Array, Array]:
        terms = self.setup.terms.values(y) / self.scale[self.setup.terms.rows]
        return y[..., 0] / self.scale[0], terms


def _worst(values: Array) -> Array:
    """Largest known value of every column of ``n x T``; 0 where there is none."""
    known = np.where(np.isnan(values), -np.inf, values).max(0, initial=-np.inf)
    return np.where(np.isinf(known), 0.0, known)
