"""LCBO: alternate exploration of the gradients at x_k with a step on the model, Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from lcbo.acquisition.explore import EXPLORERS, Box
from lcbo.methods.design import best_index, initial_design, term_values
from lcbo.methods.history import FAILED, PENDING, TOLD, History
from lcbo.methods.lcbo_options import LcboOptions
from lcbo.methods.protocol import Array, Belief, Method, Proposal, Setup
from lcbo.models.fit import MapFit
from lcbo.models.gp import Hyperparameters
from lcbo.models.lattice import LatticeFit
from lcbo.models.surrogate import Model, Surrogate
from lcbo.random import generator
from lcbo.steps.linearised import linearised_step
from lcbo.steps.penalty import penalty_gradient, projected_step
from lcbo.steps.schedules import at


X: dict = {}


class Lcbo(Method):
    """The state machine: initial design, then batches of repeats at x_k and exploration points."""

    def __init__(self, setup: Setup, options: LcboOptions) -> None:
        self.setup, self.options = setup, options
        self.history = History(setup.dim, setup.n_outputs)
        self.explorer = EXPLORERS[options.explorer](**options.explorer_options)
        self.surrogate = _surrogate(setup, options)
        self.surrogate.exact = X.get('exact', True)
        self.equality = np.array([t.equality for t in setup.terms], dtype=bool)
        self.queue = [(u, "init") for u in initial_design(setup)]
        self.batch: list[int] = []
        self.iteration = 0
        self.x: Array | None = None
        self.radius = options.radius[0]
        self.last_step = np.zeros(setup.dim)
        self.model: Model | None = None

    def include(self, u: Array, y: Array) -> int:
        key = self.history.add(u)
        self.history.settle(key, y)
        return key

    def ask(self, n: int | None = None) -> list[Proposal]:
        if not self.queue and self._may_step(eager=n is not None):
            self._advance()
        wanted = len(self.queue) if n is None else n
        out = [self._propose(*self.queue.pop(0)) for _ in range(min(wanted, len(self.queue)))]
        if n is not None and len(out) < n:
            out += [self._propose(u, "explore") for u in self._more(n - len(out))]
        return out

    def tell(self, key: int, y: Array | None) -> None:
        if y is not None:
            if not hasattr(self, 'groups'): self.groups = {}; self.pool=np.zeros((2,len(y)))
            b = self.history.u[key].tobytes()
            if b in self.groups:
                n, m = self.groups[b]
                self.pool[0] += (y-m)**2*n/(n+1); self.pool[1] += 1
                self.groups[b] = (n+1, m+(y-m)/(n+1))
            else: self.groups[b] = (1, y)
        self.history.settle(key, y)

    def _propose(self, u: Array, role: str) -> Proposal:
        key = self.history.add(u)
        self.batch.append(key)
        return Proposal(key, u, role, self.iteration)

    def _may_step(self, eager: bool) -> bool:
        status = self.history.status[self.batch]
        if not (status == PENDING).any():
            return True
        told = (status == TOLD).sum()
        return eager and not self.options.wait_for_all and bool(2 * told >= len(self.batch))

    def _advance(self) -> None:
        """Finish iteration k: fit, step to x_{k+1}, queue its batch."""
        keys = self.history.recent(self._window())
        if len(keys) == 0:
            rng = generator(self.setup.seed, "redesign", self.history.size)
            self.queue = [(u, "init") for u in rng.random((max(self.setup.n_init, 1), self.setup.dim))]
            self.batch = []
            return
        if self.x is None:
            keys_all = self.history.recent(None)
            self.x = self.history.u[keys_all[best_index(self.history.y[keys_all], self.setup.terms)]].copy()
            self.model = self._build(keys, refit=True)
        else:
            refit = self.iteration % self.options.fit_every == 0
            self.model = self._build(keys, refit)
            self._step()
        self.iteration += 1
        self.batch = []
        repeats = int(at(self.options.repeats, self.iteration))
        if self.options.fit == "lattice" and self.iteration <= 1: repeats += 4
        explore = int(at(self.options.explore, self.iteration))
        self.queue = [(self.x, "iterate")] * repeats
        aware = repeats if self.options.condition_on_repeats else 0
        self.queue += [(z, "explore") for z in self._explore(explore, aware)]

    def _build(self, keys: np.ndarray, refit: bool) -> Model:
        return self.surrogate.build(self.history.u[keys], self.history.y[keys], refit, self._pooled() if self.options.fit=="lattice" else None)

    def _pooled(self):
        if not hasattr(self, 'groups'): self.groups = {}; self.seen = 0
        return self.pool

    def _window(self) -> int | None:
        if self.options.window is None:
            return None
        size = int(np.ceil(self.options.window * self.setup.dim))
        if self.options.window_limit is not None:
            size = min(size, self.options.window_limit)
        return max(size, 2)

    def _step(self) -> None:
        assert self.x is not None and self.model is not None
        iterate = [k for k in self.batch if (self.history.u[k] == self.x).all()]
        if iterate and (self.history.status[iterate] == FAILED).all():
            self.x = self.x - 0.5 * self.last_step  # halfway back towards the last good point
            self.last_step = 0.5 * self.last_step
            return
        options, k = self.options, self.iteration
        post = self.model.gp.posterior(torch.from_numpy(self.x))
        mean, gradient = post.mean.numpy(), post.gradient.numpy()
        scaling, terms = self.model.scaling, self.setup.terms
        rows = [t.row for t in terms]
        sign = np.array([t.sign for t in terms])
        values = term_values(mean * scaling.std + scaling.mean, terms) / scaling.std[rows]
        slopes = sign[:, None] * gradient[rows]
        if options.step == "penalty":
            direction = penalty_gradient(gradient[0], values, slopes, self.equality, at(options.rho, k))
            moved = projected_step(self.x, direction, at(options.eta, k), options.normalise)
            self.last_step, self.x = moved - self.x, moved
            return
        spread = np.sqrt(post.var.numpy())[rows]
        values = values + np.where(self.equality, 0.0, options.margin * spread)
        if X.get("q") and hasattr(self, "forecast") and iterate:
            told = [k for k in iterate if self.history.status[k] == TOLD]
            y = self.history.y[told].mean(0)
            f_mean, f_reach, f_noise = self.forecast
            use = [0, *rows] if X.get("qf", True) else rows
            err = np.abs(y - f_mean) - X.get("qs", 2.0) * f_noise / np.sqrt(1)
            q = float((np.maximum(err, 0)/np.maximum(f_reach, 1e-300))[use].max())
            self.q = q
            if q > X["q"]: self.radius = max(self.radius * X.get("shrink", 0.7), options.radius[1])
        step = linearised_step(self.x, gradient[0], values, slopes, self.equality, self.radius)
        if X.get("q"):
            n = self.model.gp.hyper.noise_var.numpy()
            self.forecast = ((mean + gradient @ step) * scaling.std + scaling.mean, np.linalg.norm(gradient, axis=1)*np.linalg.norm(step) * scaling.std, np.sqrt(n + post.var.numpy()) * scaling.std)
        self._adapt_radius(step)
        self.last_step, self.x = step, self.x + step

    def _adapt_radius(self, step: Array) -> None:
        size = np.linalg.norm(step) * np.linalg.norm(self.last_step)
        cosine = float(step @ self.last_step / size) if size > 0.0 else 0.0
        _, least, most = self.options.radius
        if self.setup.budget is not None:
            spent = min(self.history.size / self.setup.budget, 1.0)
            most = min(most, max(0.02, 0.5 * np.sqrt(1.0 - spent)))
        self.radius = float(np.clip(self.radius * np.exp(0.3 * cosine), least, most))

    def _explore(self, count: int, aware: int) -> Array:
        assert self.x is not None and self.model is not None
        x = torch.from_numpy(self.x)
        pending = self.history.u[self.history.pending(max(self.history.size - 4096, 0))]
        known = np.concatenate([pending, np.repeat(self.x[None], aware, 0)])
        gp = self.model.gp.conditioned(torch.from_numpy(known))
        delta = 1.0 if self.options.delta is None else self.options.delta
        if X.get("kappa"): delta = float(np.clip(X["kappa"] * self.radius, X.get("dmin", 0.005), delta))
        box = Box.around(x, delta)
        rng = generator(self.setup.seed, "explore", self.history.size)
        return self.explorer(gp, x, count, box, rng).numpy()

    def _more(self, count: int) -> Array:
        if self.x is None or self.model is None:
            rng = generator(self.setup.seed, "redesign", self.history.size)
            return rng.random((count, self.setup.dim))
        return self._explore(count, 0)

    def recommend(self) -> Array | None:
        return None if self.x is None else self.x

    def belief(self, u: Array) -> Belief | None:
        if self.model is None:
            return None
        post, scale = self.model.gp.posterior(torch.from_numpy(u)), self.model.scaling
        std = scale.std
        return Belief(
            u,
            post.mean.numpy() * std + scale.mean,
            post.var.sqrt().numpy() * std,
            post.gradient.numpy() * std[:, None],
            post.gradient_cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0).sqrt().numpy() * std[:, None],
            std,
        )

    def info(self) -> Mapping[str, float]:
        return {"iteration": self.iteration, "step": self.radius, "rescues": self.surrogate.rescues}


def _surrogate(setup: Setup, options: LcboOptions) -> Surrogate:
    given = {"lengthscale": 1.0, "outputscale": 1.0, "noise_var": 0.01, "mean": 0.0, **options.hyperparameters}

    def per_output(name: str) -> Tensor:
        return torch.as_tensor(np.asarray(given[name], dtype=np.float64)).expand(setup.n_outputs).clone()

    length = torch.as_tensor(np.asarray(given["lengthscale"], dtype=np.float64))
    if length.ndim < 2:
        length = length.expand(setup.n_outputs)[:, None]
    if options.ard:
        length = length.expand(setup.n_outputs, setup.dim)
    start = Hyperparameters(
        length.clone(), per_output("outputscale"), per_output("noise_var"), per_output("mean"), options.kernel
    )
    fit = {"lattice": LatticeFit(**X.get("lat", {})), "map": MapFit(), "fixed": None}[options.fit]
    return Surrogate(
        start,
        fit,
        standardise=options.standardise,
        average_repeats=options.average_repeats,
        noise_var=setup.noise_var,
    )
