"""The window of recent evaluations, the model of it, and what that says at the iterate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.methods.base.archive import Archive
from lcbo.methods.base.recommend import standardized_terms
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.protocol import Setup
from lcbo.models.fit import LogNormal, MapFit
from lcbo.models.gp import Hyperparameters, Posterior
from lcbo.models.lattice import LatticeFit
from lcbo.models.repeats import Repeats
from lcbo.models.surrogate import Model, Surrogate
from lcbo.steps.step import LocalPosterior
from lcbo.terms import Terms
from lcbo.types import Array


class Window:
    """The ``per_variable * d`` most recent evaluations, at most ``limit`` and at least 2 of them.

    Attributes:
        size: how many, or ``None`` for all.
    """

    def __init__(self, dim: int, per_variable: float | None, limit: int | None) -> None:
        self.size: int | None = None
        if per_variable is not None:
            size = math.ceil(per_variable * dim)
            self.size = max(size if limit is None else min(size, limit), 2)

    def __call__(self, archive: Archive) -> NDArray[np.intp]:
        """Return the ids of the evaluations in the window, oldest first."""
        return archive.recent(self.size)


class LocalModel:
    """Gaussian processes of the window, one per output.

    Two are kept apart, because looking at the answer must not change a run: the model an iteration steps and
    explores with, and the one with everything told so far, hyperparameters as last fitted.

    Attributes:
        now: the model of the iteration; ``None`` before the first.
        repeats: what the whole run knows about the noise.
        uncertainty: the worst output's ``sqrt(tr S / (|g|^2 + tr S))`` at the latest step, g and S the
            posterior mean and covariance of its gradient: 0 is certain, 1 knows nothing.
    """

    def __init__(
        self, archive: Archive, window: Window, builder: Surrogate, repeats: Repeats, fit_every: int
    ) -> None:
        self.builder = builder
        self.repeats = repeats
        self.now: Model | None = None
        self.uncertainty: float | None = None
        self._archive = archive
        self._window = window
        self._fit_every = fit_every
        self._ids: list[int] = []
        self._told = 0
        self._answer: tuple[int, Model] | None = None

    def tell(self, u: Array, y: Array) -> None:
        """Take note of one evaluation."""
        self.repeats.add(u, y)
        self._told += 1

    def build(self, ids: NDArray[np.intp], kernel: str, iteration: int) -> None:
        """Model the evaluations ``ids``; every so many iterations learn the hyperparameters of ``kernel``."""
        self.builder.kernel = kernel
        self.now = self._built(ids, refit=iteration % self._fit_every == 0)
        self._ids = ids.tolist()

    @property
    def answer(self) -> Model | None:
        """The model with everything told so far, or ``None`` before the first."""
        if self.now is None:
            return None
        if self._answer is None or self._answer[0] != self._told:
            self._answer = self._told, self._built(self._window(self._archive), refit=False)
        return self._answer[1]

    def at(self, u: Array, terms: Terms) -> LocalPosterior:
        """Return what the iteration's model says at the iterate."""
        assert self.now is not None
        post = self.now.gp.posterior(torch.from_numpy(u))
        self.uncertainty = _uncertainty(post)
        gradient = post.gradient.numpy()
        return LocalPosterior(
            u=u,
            objective=gradient[0],
            values=standardized_terms(self.now, post.mean.numpy(), terms),
            slopes=terms.sign[:, None] * gradient[terms.rows],
            deviations=np.sqrt(post.var.numpy())[terms.rows],
            equality=terms.equality,
        )

    def info(self) -> dict[str, float]:
        """Return the numerical rescues so far, and the gradient's uncertainty once there was a step."""
        numbers: dict[str, float] = {"rescues": self.builder.rescues}
        if self.uncertainty is not None:
            numbers["gradient_uncertainty"] = self.uncertainty
        return numbers

    def state(self) -> dict[str, Any]:
        """Return which evaluations the iteration's model has, and its hyperparameters."""
        return {
            "ids": self._ids,
            "kernel": self.builder.kernel,
            "hyperparameters": self.builder.hyper.stored(),
            "rescues": self.builder.rescues,
            "uncertainty": self.uncertainty,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Build the model a state was taken with; the evaluations have been told."""
        self._ids = list(state["ids"])
        if self._ids:
            self.builder.resume(Hyperparameters.of(state["hyperparameters"]), state["kernel"])
            self.now = self._built(np.array(self._ids), refit=False)
        self.builder.rescues = state["rescues"]
        self.uncertainty = state["uncertainty"]

    def _built(self, ids: NDArray[np.intp], refit: bool) -> Model:
        return self.builder.build(self._archive.u[ids], self._archive.y[ids], self.repeats, refit)


def _uncertainty(post: Posterior) -> float:
    """Part of the worst output's expected squared gradient norm that is posterior variance, as a root."""
    unknown = post.gradient_cov.diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0.0)
    known = post.gradient.square().sum(-1)
    return float((unknown / (unknown + known).clamp_min(1e-300)).max().sqrt())


def make_builder(setup: Setup, options: LcboOptions, kernel: str) -> Surrogate:
    """Return the builder the options describe; each hyperparameter is one number or one per output."""
    start = Hyperparameters.start(setup.n_outputs, kernel, options.hyperparameters)
    if options.ard:
        start = replace(start, lengthscale=start.lengthscale.expand(-1, setup.dim).clone())
    noise_prior = LogNormal(-4.0, 3.0) if options.learn_noise else None
    fits: dict[str, MapFit | LatticeFit | None] = {
        "lattice": LatticeFit(),
        "map": MapFit(noise_prior=noise_prior),
        "fixed": None,
    }
    return Surrogate(
        start,
        fits[options.fit],
        standardize=options.standardize,
        average_repeats=options.average_repeats,
        noise_var=setup.noise_var,
    )
