"""LogCEI as a careful user of BoTorch runs it: a learned model of all data, noisy improvement."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from lcbo.acquisition.improvement import LogConstrainedImprovement
from lcbo.acquisition.maximize import AcquisitionFunction
from lcbo.acquisition.noisy_improvement import (
    DRAWN_COUNT,
    Incumbents,
    LogNoisyImprovement,
    incumbents,
    normal_numbers,
)
from lcbo.methods.protocol import Array, Setup
from lcbo.methods.search.base import GlobalSearch
from lcbo.methods.search.options import LogceiOptions
from lcbo.models.border import to_array
from lcbo.models.builder import Model
from lcbo.models.gp import BatchedGP
from lcbo.models.moments import DrawnPredictor, Inverse, Predictor
from lcbo.random import generator
from lcbo.terms import Terms


class LogCei(GlobalSearch):
    """Improves on an incumbent that is drawn, too; while none is plausible, seeks feasibility alone."""

    def __init__(self, setup: Setup, options: LogceiOptions) -> None:
        super().__init__(setup, options)
        self.options = options
        self._candidates = Incumbents([], math.inf)
        self._baseline: Tensor | None = None

    def acquisition(self, predictor: Predictor, terms: Terms, best: float | None) -> AcquisitionFunction:
        """Return the logarithm of constrained improvement, or of the probability of feasibility."""
        return LogConstrainedImprovement(predictor, terms, best)

    def _patience(self) -> int:
        return max(self._fit_every, math.ceil(self.options.fit_growth * self._builder.n_fitted))

    def _near(self, model: Model, terms: Terms) -> Array:
        gp = model.gp
        mean, noise = to_array(gp.mean(gp.u)).T, np.sqrt(to_array(gp.hyper.noise_var))
        self._candidates = incumbents(mean, noise, terms, self.options.n_incumbents)
        self._baseline = gp.u[self._candidates.ids]
        if not self._candidates.ids:
            return super()._near(model, terms)
        return to_array(self._baseline[0]).copy()

    def _objective(
        self,
        gp: BatchedGP,
        inverse: Inverse,
        terms: Terms,
        best: float | None,  # noqa: ARG002  (that of the observations)
    ) -> AcquisitionFunction:
        if self._baseline is None or not self._candidates.ids:
            return super()._objective(gp, inverse, terms, None)
        rng = generator(self.setup.seed, "draws", self.archive.size)
        sizes = self.setup.n_outputs, len(self._baseline), self.options.n_draws
        given = self._builder.conditioned(gp, self._baseline, DRAWN_COUNT)
        predictor = DrawnPredictor(given, inverse, normal_numbers(*sizes, rng))
        return LogNoisyImprovement(predictor, terms, self._candidates.fallback)
