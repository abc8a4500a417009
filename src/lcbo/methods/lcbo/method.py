"""LCBO: alternate exploration of the gradients at x_k with a step on the model, Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.acquisition.box import Box
from lcbo.acquisition.explore import EXPLORERS
from lcbo.methods.base.archive import FAILED, PENDING, TOLD
from lcbo.methods.base.queued import QueuedMethod
from lcbo.methods.base.recommend import believed, recommended, standardized_terms
from lcbo.methods.lcbo.options import NOISE_THRESHOLD, NOISY, QUIET, REGIMES, LcboOptions
from lcbo.methods.protocol import Array, Belief, Call, Proposal, Setup
from lcbo.models.border import chosen_device, to_array, to_tensor
from lcbo.models.builder import Model, WindowBuilder
from lcbo.models.fit import LogNormal, MapFit
from lcbo.models.gp import Hyperparameters, Posterior
from lcbo.models.lattice import LatticeFit
from lcbo.models.repeats import Repeats
from lcbo.random import generator
from lcbo.scaling import Scaling
from lcbo.steps.linearized import linearized_step
from lcbo.steps.penalty import penalty_gradient, projected_step
from lcbo.steps.radius import adapted_radius
from lcbo.steps.schedules import at


class Lcbo(QueuedMethod):
    """The state machine: initial design, then batches of repeats at x_k and exploration points."""

    def __init__(self, setup: Setup, options: LcboOptions) -> None:
        super().__init__(setup)
        self.options = options
        self.repeats = Repeats(setup.noise_var)
        self.explorer = EXPLORERS[options.explorer](**options.explorer_options)
        self.surrogate = _surrogate(setup, options)
        self._open_ids: list[int] = []
        self._model: Model | None = None
        self._model_keys: list[int] = []
        self._answer: tuple[int, Model] | None = None
        self._told = 0
        self.regime = QUIET
        self.x: Array | None = None
        self.radius = options.radius[0]
        self.last_step: Array = np.zeros(setup.dim)
        self.uncertainty: float | None = None

    @torch.inference_mode()
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without blocking; see the protocol."""
        if not self._queue and self._may_step(eager=n is not None):
            self._advance()
        points, further = self._take(n, most)
        if further:
            points += [(u, "explore") for u in self._further(further, [u for u, _ in points])]
        return [self._propose(u, role) for u, role in points]

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        self.archive.settle(id, y)
        if y is not None:
            self.repeats.add(self.archive.u[id], y)
            self._told += 1

    @torch.inference_mode()
    def recommend(self) -> Array | None:
        """Return the evaluated point of the window with the best posterior."""
        model = self._current_model()
        return None if model is None else recommended(model, self.setup.terms)

    @torch.inference_mode()
    def belief(self, u: Array) -> Belief | None:
        """Return the model's belief at a point, or ``None`` before the initial design is told."""
        model = self._current_model()
        return None if model is None else believed(model, u)

    def info(self) -> Mapping[str, float]:
        """Return iteration, step length, penalty factor (of the penalty step), rescues so far.

        ``gradient_uncertainty`` is the worst output's ``sqrt(tr S / (|g|^2 + tr S))`` at the latest step,
        g and S the posterior mean and covariance of its gradient: 0 is certain, 1 knows nothing.
        """
        k = max(self.iteration, 1)
        numbers: dict[str, float] = {"iteration": self.iteration, "rescues": self.surrogate.rescues}
        if self.uncertainty is not None:
            numbers["gradient_uncertainty"] = self.uncertainty
        if self.options.step == "penalty":
            return {**numbers, "step": at(self.options.eta, k), "penalty": at(self.options.rho, k)}
        return {**numbers, "step": self.radius}

    def state(self) -> dict[str, Any]:
        """Return x_k, k, radius, hyperparameters and what of the batch is still to be asked for."""
        return {
            **self._queue_state(),
            "x": None if self.x is None else self.x.tolist(),
            "radius": self.radius,
            "last_step": self.last_step.tolist(),
            "regime": REGIMES.index(self.regime),
            "batch": self._open_ids,
            "model_keys": self._model_keys,
            "rescues": self.surrogate.rescues,
            "uncertainty": self.uncertainty,
            "kernel": self.surrogate.kernel,
            "hyperparameters": self.surrogate.hyper.stored(),
        }

    @torch.inference_mode()
    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state: enter the evaluations, then build the model the state was taken with."""
        self.x = None if state["x"] is None else np.array(state["x"])
        self.radius = state["radius"]
        self.last_step = np.array(state["last_step"])
        self.regime = REGIMES[state["regime"]]
        self._open_ids = list(state["batch"])
        self._restore_queue(state, calls)
        self._model_keys = list(state["model_keys"])
        if self._model_keys:
            self.surrogate.resume(Hyperparameters.of(state["hyperparameters"]), state["kernel"])
            self._model = self._build(np.array(self._model_keys), refit=False)
        self.surrogate.rescues = state["rescues"]
        self.uncertainty = state["uncertainty"]

    def _propose(self, u: Array, role: str) -> Proposal:
        id = self.archive.add(u)
        self._open_ids.append(id)
        return Proposal(id, u, role, self.iteration)

    def _may_step(self, eager: bool) -> bool:
        """Whether the batch is complete, or complete enough when more work is asked for."""
        status = self.archive.status[self._open_ids]
        if not (status == PENDING).any():
            return True
        told = int((status == TOLD).sum())
        return eager and not self.options.wait_for_all and 2 * told >= len(self._open_ids)

    def _advance(self) -> None:
        """Finish iteration k: fit, step to x_{k+1}, queue its batch."""
        ids = self.archive.recent(self._window())
        if len(ids) == 0:
            self._queue_another_design()
            self._open_ids = []
            return
        if self.iteration <= 1:
            self._settle_regime()
        model = self._model = self._build(ids, refit=self.iteration % self.options.fit_every == 0)
        self._model_keys = ids.tolist()
        if self.x is None:
            everything = self.archive.recent(None)
            best = self.setup.terms.best(self.archive.y[everything])
            self.x = self.archive.u[everything[best]].copy()
        else:
            self._step(model, self.x)
        self.iteration += 1
        self._open_ids = []
        count = int(at(self.options.repeats, self.iteration))
        repeats = count + (self._probes() if self.iteration == 1 else 0)
        aware = repeats if self.options.condition_on_repeats else 0
        explore = self._explore(self._explore_count(), [self.x] * aware)
        self._queue = [(self.x, "iterate")] * repeats + [(z, "explore") for z in explore]

    def _explore_count(self) -> int:
        explore = self.options.explore
        return self.regime.explore if isinstance(explore, str) else int(at(explore, self.iteration))

    def _probes(self) -> int:
        """Extra repeats at the first iterate: they tell how noisy each output is."""
        if all(v is not None for v in self.setup.noise_var):
            return 0
        affordable = 10**9 if self.setup.budget is None else self.setup.budget // 25
        return min(self.options.noise_probes, affordable)

    def _settle_regime(self) -> None:
        """Decide, once the probes are in, whether this run is quiet or noisy."""
        scale = Scaling.of(self.archive.y[self.archive.recent(None)]).std
        scatter, dof = self.repeats.scatter(scale)
        level = scatter / np.maximum(dof, 1.0)
        self.regime = NOISY if (level > NOISE_THRESHOLD).any() else QUIET
        if self.options.kernel == "auto":
            self.surrogate.kernel = self.regime.kernel

    def _window(self) -> int | None:
        if self.options.window is None:
            return None
        size = int(np.ceil(self.options.window * self.setup.dim))
        if self.options.window_limit is not None:
            size = min(size, self.options.window_limit)
        return max(size, 2)

    def _build(self, ids: NDArray[np.intp], refit: bool) -> Model:
        return self.surrogate.build(self.archive.u[ids], self.archive.y[ids], self.repeats, refit)

    def _current_model(self) -> Model | None:
        """The model with everything told so far, for the answer; hyperparameters as last fitted.

        Kept apart from the model the iteration explores with: looking must not change a run.
        """
        if self._model is None:
            return None
        if self._answer is None or self._answer[0] != self._told:
            self._answer = self._told, self._build(self.archive.recent(self._window()), refit=False)
        return self._answer[1]

    def _step(self, model: Model, x: Array) -> None:
        here = [id for id in self._open_ids if np.array_equal(self.archive.u[id], x)]
        if here and (self.archive.status[here] == FAILED).all() and self.last_step.any():
            # The iterate cannot be evaluated: go back halfway towards the last good one.
            self.last_step = 0.5 * self.last_step
            self.x = x - self.last_step
            return
        post = model.gp.posterior(to_tensor(x, model.gp.u))
        gradient = to_array(post.gradient)
        self.uncertainty = _uncertainty(post)
        values = standardized_terms(model, to_array(post.mean), self.setup.terms)
        slopes = self.setup.terms.sign[:, None] * gradient[self.setup.terms.rows]
        if self.options.step == "penalty":
            rho, eta = (at(s, self.iteration) for s in (self.options.rho, self.options.eta))
            direction = penalty_gradient(gradient[0], values, slopes, self.setup.terms.equality, rho)
            moved = projected_step(x, direction, eta, self.options.normalize)
            self.last_step, self.x = moved - x, moved
            return
        values = values + self._margins(post, slopes)
        step = linearized_step(x, gradient[0], values, slopes, self.setup.terms.equality, self.radius)
        budget = self.setup.budget
        spent = None if budget is None else self.archive.size / budget
        self.radius = adapted_radius(self.radius, step, self.last_step, self.options.radius[1:], spent)
        self.last_step, self.x = step, x + step

    def _margins(self, post: Posterior, slopes: Array) -> Array:
        """Distance kept from each inequality: posterior deviations, and a trace of the radius."""
        spread = np.sqrt(to_array(post.var))[self.setup.terms.rows]
        inside = 1e-3 * self.radius * np.linalg.norm(slopes, axis=1)
        return np.where(self.setup.terms.equality, 0.0, self.options.margin * spread + inside)

    def _explore(self, count: int, planned: list[Array]) -> Array:
        """Points that teach most about the gradients at x_k, given all that is pending or planned."""
        assert self.x is not None
        assert self._model is not None
        pending = self.archive.u[self.archive.pending(max(self.archive.size - 4096, 0))]
        known = np.concatenate([pending, np.array(planned).reshape(-1, self.setup.dim)])
        x = to_tensor(self.x, self._model.gp.u)
        gp = self._model.gp.conditioned(to_tensor(known, x))
        delta = self.regime.delta if self.options.delta == "auto" else self.options.delta
        box = Box.around(x, 1.0 if delta is None else float(delta))
        rng = generator(self.setup.seed, "explore", self.archive.size)
        return to_array(self.explorer(gp, x, count, box, rng))

    def _further(self, count: int, planned: list[Array]) -> Array:
        """Exploration points beyond the batch; uniform ones while the initial design is out."""
        if self.x is None or self._model is None:
            return self._uniform(count)
        return self._explore(count, planned)


def _uncertainty(post: Posterior) -> float:
    """Part of the worst output's expected squared gradient norm that is posterior variance, as a root."""
    unknown = post.gradient_cov.diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0.0)
    known = post.gradient.square().sum(-1)
    return float((unknown / (unknown + known).clamp_min(1e-300)).max().sqrt())


def _surrogate(setup: Setup, options: LcboOptions) -> WindowBuilder:
    """The model settings the options describe; each hyperparameter is one number or one per output."""
    kernel = QUIET.kernel if options.kernel == "auto" else options.kernel
    start = Hyperparameters.start(setup.n_outputs, kernel, options.hyperparameters)
    start = start.to(chosen_device(setup.device))
    if options.ard:
        start = replace(start, lengthscale=start.lengthscale.expand(-1, setup.dim).clone())
    noise_prior = LogNormal(-4.0, 3.0) if options.learn_noise else None
    fits: dict[str, MapFit | LatticeFit | None] = {
        "lattice": LatticeFit(),
        "map": MapFit(noise_prior=noise_prior),
        "fixed": None,
    }
    return WindowBuilder(
        start,
        fits[options.fit],
        standardize=options.standardize,
        average_repeats=options.average_repeats,
        noise_var=setup.noise_var,
    )
