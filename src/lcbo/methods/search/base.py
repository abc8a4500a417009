"""Global Bayesian optimization: a model of all data, one point at a time where an acquisition is largest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from lcbo.acquisition.maximize import MAXIMIZERS, AcquisitionFunction
from lcbo.methods.base.archive import TOLD
from lcbo.methods.base.builders import growing_builder
from lcbo.methods.base.model_based import ModelBased
from lcbo.methods.base.transforms import TRANSFORMS
from lcbo.methods.protocol import Array, Call, Proposal, Setup
from lcbo.methods.search.options import GlobalOptions
from lcbo.models.border import to_tensor
from lcbo.models.builder import Model
from lcbo.models.gp import BatchedGP
from lcbo.models.moments import Inverse, Predictor, inverse_covariance
from lcbo.random import generator
from lcbo.terms import Terms


class GlobalSearch(ModelBased):
    """The state machine: initial design, then one evaluation per iteration.

    Further points asked for while evaluations are out condition the model on the pending ones (outcomes
    equal to the mean), so that every worker gets a point of its own.
    """

    def __init__(self, setup: Setup, options: GlobalOptions) -> None:
        builder = growing_builder(setup, options, options.lengthscale_prior)
        super().__init__(setup, builder, TRANSFORMS[options.transforms])
        self._fit_every = options.fit_every
        self._maximizer = MAXIMIZERS[options.optimizer](**options.optimizer_options)
        self._fitted_at: int | None = None
        self._inverse: tuple[BatchedGP, Inverse] | None = None

    @abstractmethod
    def acquisition(self, predictor: Predictor, terms: Terms, best: float | None) -> AcquisitionFunction:
        """Return what the next point maximizes.

        Args:
            predictor: of the model, conditioned on what is pending.
            terms: the constraints in the model's units.
            best: least objective among points *observed* feasible, in the model's units; ``None`` if none is.
        """

    @torch.inference_mode()
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without blocking; see the protocol."""
        idle = len(self._pending()) == 0
        if not self._queue and idle and self._told == 0:
            self._queue_another_design()
        points, further = self._take(n if n is not None else len(self._queue) or int(idle), most)
        proposals = [self._propose(u, role) for u, role in points]
        if further > 0 and not self._informed(idle):
            return proposals + [self._propose(u, "explore") for u in self._uniform(further)]
        return proposals + self._search(further)

    @property
    def _told(self) -> int:
        return int((self.archive.status == TOLD).sum())

    @property
    def _fitted(self) -> bool:
        return self._fitted_at is not None

    def info(self) -> Mapping[str, float]:
        """Return the iteration, how many points the acquisition has chosen, and the rescues of the model."""
        return {"iteration": self.iteration, "rescues": self._builder.rescues}

    def state(self) -> dict[str, Any]:
        """Return iteration, hyperparameters and what of the design is still to be asked for."""
        return {
            **self._queue_state(),
            "fitted_at": self._fitted_at,
            "model": self._builder.state(),
        }

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state; the next ask builds the model, which is a function of state and data."""
        self._restore_queue(state, calls)
        self._fitted_at = state["fitted_at"]
        self._builder.restore(state["model"])

    def _pending(self) -> Array:
        return self.archive.u[self.archive.pending(0)]

    def _informed(self, idle: bool) -> bool:
        """Whether a model makes sense: half of the initial design is in, or no more of it will come."""
        return self._told > 0 and (idle or 2 * self._told >= self.setup.n_init)

    def _search(self, count: int) -> list[Proposal]:
        """Points where the acquisition is largest, each chosen with all earlier ones pending."""
        return [self._propose(u, "explore") for u in self.points(count, self._pending())]

    def points(self, count: int, pending: Array) -> Iterator[Array]:
        """Yield points where the acquisition is largest, each chosen with all earlier ones pending.

        Args:
            count: how many; a point is to be proposed before the next one is asked for.
            pending: ``p x d``, points whose outcomes are still to come.
        """
        if count <= 0:
            return
        due = self._fitted_at is None or self.iteration - self._fitted_at >= self._patience()
        model, y, terms = self._model(refit=due)
        if due:
            self._fitted_at = self.iteration
        feasible = terms.feasible(y)
        best = float(model.scaling.apply(y)[feasible, 0].min()) if feasible.any() else None
        scaled = terms.scaled(model.scaling)
        near = self._near(model, scaled)
        gp = self._builder.conditioned(model.gp, to_tensor(pending, model.gp.u))
        inverse = self._base_inverse()
        for left in range(count, 0, -1):
            self.iteration += 1
            rng = generator(self.setup.seed, "acquisition", self.archive.size)
            acquisition = self._objective(gp, inverse, scaled, best)
            u = self._maximizer(acquisition, near[None], rng, self.setup.domain)
            if self.setup.grid is not None and self.setup.deterministic:
                u = self._another(u)
            yield u
            if left > 1:
                gp = self._builder.conditioned(gp, to_tensor(u[None], gp.u))

    def _patience(self) -> int:
        """Iterations between the last fit and the next."""
        return self._fit_every

    def _near(self, model: Model, terms: Terms) -> Array:  # noqa: ARG002  (for incumbents of the model)
        """The point, ``d``, around which a maximizer may search as well."""
        best: Array = self.archive.u[self.best()]
        return best

    def _objective(
        self, gp: BatchedGP, inverse: Inverse, terms: Terms, best: float | None
    ) -> AcquisitionFunction:
        """What the next point maximizes, by the model given what is pending; see `acquisition`."""
        return self.acquisition(Predictor(gp, inverse), terms, best)

    def _another(self, u: Array) -> Array:
        """Return a point, or a uniform one where it would round to one that has been evaluated."""
        return self._uniform(1)[0] if self.archive.holds(self.setup.snapped(u)) else u

    def _base_inverse(self) -> Inverse:
        """Inverse covariance of the points known at the last fit, computed once per fit."""
        base = self._builder.base
        if self._inverse is None or self._inverse[0] is not base:
            self._inverse = base, inverse_covariance(base)
        return self._inverse[1]
