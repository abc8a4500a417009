"""What SCBO and HDsafeBO share: batches from a box whose length follows successes and failures."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lcbo.methods.base.archive import PENDING
from lcbo.methods.base.batches import ModelBatches
from lcbo.methods.base.builders import growing_builder
from lcbo.methods.base.transforms import TRANSFORMS, Transform
from lcbo.methods.protocol import Array, Call, Proposal, Setup
from lcbo.methods.regions.options import RegionOptions
from lcbo.models.border import to_array, to_tensor
from lcbo.models.builder import GrowingBuilder, Model
from lcbo.models.draws import SAMPLERS
from lcbo.random import generator
from lcbo.steps.trust_region import Region, RegionEvent, Rules
from lcbo.terms import Terms

LEAST_GAIN = 1e-3  # of the best value: a smaller improvement is no success


class TrustRegionMethod(ModelBatches):
    """The state machine: initial design, then batches chosen in the region around the best point.

    A batch is judged when all of it is told. Points asked for beyond it are judged with the first batch that
    ends after them. A restart keeps all data and needs no new design: the region returns to its first length
    around the best point known. A method that `forgets` begins with a new design instead and looks at nothing
    from before; only its answer is still that of all data. Where data are kept, successes after a restart are
    judged against what came after it: the best of all data would call every step of a new region a failure.

    Attributes:
        region: the trust region now.
        diagnostics: what happened to it after every batch.
    """

    forgets = False  # whether a restart drops all data

    def __init__(
        self,
        setup: Setup,
        options: RegionOptions,
        transform: Transform = TRANSFORMS["zscore"],
        builder: GrowingBuilder | None = None,
    ) -> None:
        super().__init__(setup, builder or growing_builder(setup, options), transform)
        self.options = options
        wanted = math.ceil(setup.dim / 2) if options.batch is None else options.batch
        self.batch_size = wanted if setup.budget is None else min(wanted, setup.budget)
        self.rules = Rules.of(
            options.length, setup.dim, self.batch_size, options.success_tolerance, options.failure_tolerance
        )
        self.region = Region(self.rules.first)
        self.diagnostics: list[RegionEvent] = []
        self.sampler = SAMPLERS[options.sampler]
        self._starts = [0]  # first id of every descent
        self._fresh = True  # no batch was chosen since the last design
        self._unjudged: list[int] = []
        self._since = 0  # id of the first evaluation after the last restart

    @abstractmethod
    def center(self, y: Array) -> int:
        """Return which of ``n x B`` outputs is that of the region's center."""

    @abstractmethod
    def succeeded(self, y: Array, fresh: NDArray[np.bool_]) -> bool:
        """Return whether the ``fresh`` rows of ``n x B`` outputs are a success over the others."""

    @abstractmethod
    def choose(
        self, model: Model, terms: Terms, center: Tensor, count: int, rng: np.random.Generator
    ) -> Tensor:
        """Return ``count x d`` points of the region around ``center``."""

    def _beyond(self, count: int) -> Array:
        return self._uniform(count) if self._fresh else self._chosen(count)

    @property
    def _fitted(self) -> bool:
        return self.iteration > 0

    def info(self) -> Mapping[str, float]:
        """Return iteration, rescues of the model, length of the region as ``step``, restarts and counters."""
        return {
            "iteration": self.iteration,
            "rescues": self._builder.rescues,
            "step": self.region.length,
            "restarts": self.region.restarts,
            "successes": self.region.successes,
            "failures": self.region.failures,
        }

    def state(self) -> dict[str, Any]:
        """Return region, diagnostics, hyperparameters and what of the batch is still to be asked for."""
        return {
            **self._queue_state(),
            "region": asdict(self.region),
            "events": [asdict(event) for event in self.diagnostics],
            "model": self._builder.state(),
            "batch": self._open_ids,
            "unjudged": self._unjudged,
            "since": self._since,
            "included": self.archive.n_included,
            **({"starts": self._starts, "fresh": self._fresh} if self.forgets else {}),
        }

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state: enter the evaluations; the model is built when it is needed."""
        self._restore_queue(state, calls)
        self.region = Region(**state["region"])
        self.diagnostics = [RegionEvent(**event) for event in state["events"]]
        self._builder.restore(state["model"])
        self._open_ids, self._unjudged = list(state["batch"]), list(state["unjudged"])
        self.archive.n_included = state["included"]
        self._since = state.get("since", 0)  # run files of before judge against all data
        self._starts = list(state.get("starts", [0]))
        self._fresh = state.get("fresh", self.iteration == 0)

    def descents(self) -> Sequence[int]:
        """Return the id of the first evaluation of each descent."""
        return self._starts

    def _propose(self, u: Array, role: str) -> Proposal:
        proposal = super()._propose(u, role)
        self._unjudged.append(proposal.id)
        return proposal

    def _advance(self) -> None:
        """Judge the batch that has ended, fit, and queue the next one."""
        self._open_ids = []
        ids = self._known()
        if len(ids) == 0:
            self._queue_another_design()
            return
        ended = [id for id in self._unjudged if self.archive.status[id] != PENDING]
        self._unjudged = [id for id in self._unjudged if self.archive.status[id] == PENDING]
        began, self._fresh = self._fresh, False
        if began:
            self._record("start", self.region.length)
        else:
            judged = ids[(ids >= self._since) | np.isin(ids, ended)]
            fresh = np.isin(judged, ended)
            success = bool(fresh.any()) and self.succeeded(self.archive.y[judged], fresh)
            self.region, changes = self.region.judged(success, self.rules)
            for kind, length in changes:
                self._record(kind, length)
                if kind == "restart":
                    self._since = self.archive.size
            if self.forgets and changes[-1][0] == "restart":
                self._begin_again()
                return
        if began or self.iteration % self.options.fit_every == 0:
            self._model(refit=True)
        self.iteration += 1
        self._queue = [(u, "explore") for u in self._chosen(self.batch_size)]

    def _allowed(self, z: Tensor, center: Tensor) -> Tensor:
        """Candidates, ``p x d``, those that break a known condition moved towards the center."""
        domain = self.setup.domain
        return z if domain is None else to_tensor(domain.pulled(to_array(z), to_array(center)), z)

    def _begin_again(self) -> None:
        """Drop all data, points that are out included, and queue a new design."""
        self._starts, self._fresh = [*self._starts, self.archive.size], True
        self._queue_another_design()

    def _known(self) -> NDArray[np.intp]:
        """Ids of what the search may look at."""
        return self.archive.recent(None, self._starts[-1])

    def _record(self, kind: str, length: float) -> None:
        evaluations = int((self.archive.status != PENDING).sum()) - self.archive.n_included
        self.diagnostics.append(RegionEvent(kind, length, self.iteration, evaluations))

    def _chosen(self, count: int) -> Array:
        """Points of the region around the best point, by the model of all that is told."""
        ids = self._known()
        u, y = self.archive.u[ids], self.archive.y[ids]
        model, _, terms = self._model()
        rng = generator(self.setup.seed, "thompson", self.archive.size)
        center = to_tensor(u[self.center(y)], model.gp.u)
        return to_array(self.choose(model, terms.scaled(model.scaling), center, count, rng))
