"""Global Bayesian optimization: a model of all data, one point at a time where an acquisition is largest."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from lcbo.acquisition.maximize import MAXIMIZERS, AcquisitionFunction, Maximizer
from lcbo.errors import ArgumentError
from lcbo.methods.base.model_based import ModelBased
from lcbo.methods.base.transforms import TRANSFORMS
from lcbo.methods.protocol import Array, Call, Proposal, Setup
from lcbo.methods.search.options import GlobalOptions
from lcbo.models.fit import Gamma, LogNormal, MapFit, Prior, RestartedFit
from lcbo.models.gp import BatchedGP, Hyperparameters
from lcbo.models.growing import WARM_FIT, GrowingModel
from lcbo.models.moments import Predictor, inverse_covariance
from lcbo.models.options import ModelOptions
from lcbo.random import generator
from lcbo.scaling import Scaling
from lcbo.terms import Terms

T = TypeVar("T")


class GlobalSearch(ModelBased):
    """The state machine: initial design, then one evaluation per iteration.

    Further points asked for while evaluations are out condition the model on the pending ones (outcomes
    equal to the mean), so that every worker gets a point of its own.
    """

    def __init__(self, setup: Setup, options: GlobalOptions) -> None:
        transform = _chosen("transforms", TRANSFORMS, options.transforms)
        super().__init__(setup, _growing(setup, options), transform)
        self._fit_every = options.fit_every
        self._maximizer = _maximizer(options)
        self._fitted_at: int | None = None
        self._told = 0
        self._inverse: tuple[BatchedGP, Tensor | None] | None = None

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

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        super().tell(id, y)
        self._told += y is not None

    @property
    def _fitted(self) -> bool:
        return self._fitted_at is not None

    def info(self) -> Mapping[str, float]:
        """Return the iteration: how many points the acquisition has chosen."""
        return {"iteration": self.iteration}

    def state(self) -> dict[str, Any]:
        """Return iteration, hyperparameters and what of the design is still to be asked for."""
        return {
            **self._queue_state(),
            "fitted_at": self._fitted_at,
            "model": self._growing.state(),
        }

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state; the next ask builds the model, which is a function of state and data."""
        self._restore_queue(state, calls)
        self._fitted_at = state["fitted_at"]
        self._growing.restore(state["model"])

    def _pending(self) -> Array:
        return self.archive.u[self.archive.pending(0)]

    def _informed(self, idle: bool) -> bool:
        """Whether a model makes sense: half of the initial design is in, or no more of it will come."""
        return self._told > 0 and (idle or 2 * self._told >= self.setup.n_init)

    def _propose(self, u: Array, role: str) -> Proposal:
        return Proposal(self.archive.add(u), u, role, self.iteration)

    def _search(self, count: int) -> list[Proposal]:
        """Points where the acquisition is largest, each chosen with all earlier ones pending."""
        if count <= 0:
            return []
        due = self._fitted_at is None or self.iteration - self._fitted_at >= self._fit_every
        model, y, terms = self._model(refit=due)
        if due:
            self._fitted_at = self.iteration
        ids = self.archive.recent(None)
        near = self.archive.u[ids[self.setup.terms.best(self.archive.y[ids])]]
        feasible = terms.total(y, Scaling.of(y).std) == 0.0
        values = (y[feasible, 0] - model.scaling.mean[0]) / model.scaling.std[0]
        best = float(values.min()) if feasible.any() else None
        scaled = terms.scaled(model.scaling)
        gp = model.gp.conditioned(torch.from_numpy(self._pending()))
        inverse = self._base_inverse()
        proposals = []
        for left in range(count, 0, -1):
            self.iteration += 1
            rng = generator(self.setup.seed, "acquisition", self.archive.size)
            u = self._maximizer(self.acquisition(Predictor(gp, inverse), scaled, best), near[None], rng)
            proposals.append(self._propose(u, "explore"))
            if left > 1:
                gp = gp.conditioned(torch.from_numpy(u)[None])
        return proposals

    def _base_inverse(self) -> Tensor | None:
        """Inverse covariance of the points known at the last fit, computed once per fit."""
        base = self._growing.base
        if self._inverse is None or self._inverse[0] is not base:
            self._inverse = base, inverse_covariance(base)
        return self._inverse[1]


def _chosen(option: str, choices: Mapping[str, T], given: str) -> T:
    if given not in choices:
        raise ArgumentError("options", f"{option!r} to be {' or '.join(map(repr, choices))}", repr(given))
    return choices[given]


def _maximizer(options: GlobalOptions) -> Maximizer:
    kind, given = _chosen("optimizer", MAXIMIZERS, options.optimizer), options.optimizer_options
    known = [f.name for f in fields(kind)]
    if unknown := sorted(set(given) - set(known)):
        raise ArgumentError("options", f"'optimizer_options' out of {', '.join(known)}", unknown)
    return kind(**given)


def _growing(setup: Setup, options: GlobalOptions) -> GrowingModel:
    """The model settings the options describe."""
    _chosen("kernel", dict.fromkeys(ModelOptions.KERNELS), options.kernel)
    scaled = LogNormal(math.sqrt(2.0) + 0.5 * math.log(setup.dim), math.sqrt(3.0))
    priors: dict[str, tuple[Prior, float]] = {  # each with where a fit starts: its mean, or its mode
        "paper": (Gamma(3.0, 3.0), 1.0),
        "dimension": (scaled, math.exp(scaled.mean - scaled.std**2)),
    }
    prior, length = _chosen("lengthscale_prior", priors, options.lengthscale_prior)
    given = {"lengthscale": length, **options.hyperparameters}
    start = Hyperparameters.start(setup.n_outputs, options.kernel, given)
    if options.ard:
        start = replace(start, lengthscale=start.lengthscale.expand(-1, setup.dim).clone())
    several_modes = RestartedFit(
        lengthscale_prior=prior,
        noise_prior=LogNormal(-4.0, 1.0) if options.learn_noise else None,  # BoTorch's
        tolerance=WARM_FIT.tolerance,
        fresh=start,
    )
    few = not (options.ard or options.learn_noise)
    fits: dict[str, MapFit | None] = {
        "map": replace(WARM_FIT, lengthscale_prior=prior) if few else several_modes,
        "fixed": None,
    }
    return GrowingModel(start, _chosen("fit", fits, options.fit), standardize=options.standardize)
