"""SCBO: constrained Thompson sampling in a trust region (Eriksson and Poloczek, 2021)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.thompson import masked, picks, sobol
from lcbo.methods.base.transforms import TRANSFORMS
from lcbo.methods.protocol import Array, Setup
from lcbo.methods.regions.base import LEAST_GAIN, TrustRegionMethod
from lcbo.methods.regions.options import ScboOptions
from lcbo.models.builder import GrowingBuilder, Model
from lcbo.scaling import Scaling
from lcbo.terms import Terms


class Scbo(TrustRegionMethod):
    """Every draw of all outputs picks its best feasible candidate, else the one it violates least."""

    options: ScboOptions
    least_gain = LEAST_GAIN

    def __init__(self, setup: Setup, options: ScboOptions, builder: GrowingBuilder | None = None) -> None:
        super().__init__(setup, options, TRANSFORMS[options.transforms], builder)
        share = options.perturbation
        self.perturbation = min(1.0, 20.0 / setup.dim) if share is None else share

    def center(self, y: Array) -> int:
        """Return the best feasible point, else the one of least violation."""
        return self.setup.terms.best(y)

    def succeeded(self, y: Array, fresh: NDArray[np.bool_]) -> bool:
        """Return whether fresh points improve: the best feasible value, or else the least violation.

        A value improves by more than a thousandth of the best; the first feasible point is a success.
        """
        violation = self.setup.terms.total(y, Scaling.of(y).std)
        value = np.where(violation == 0.0, y[:, 0], np.inf)
        best, least = value[~fresh].min(initial=np.inf), violation[~fresh].min(initial=np.inf)
        if np.isfinite(best):
            return bool(value[fresh].min() < best - self.least_gain * abs(best))
        return bool(violation[fresh].min() < least)

    def choose(
        self, model: Model, terms: Terms, center: Tensor, count: int, rng: np.random.Generator
    ) -> Tensor:
        """Return one candidate per joint draw of all outputs."""
        box = self.box(model, terms, center, rng)
        z = masked(sobol(box, max(self.options.n_candidates, count), rng), center, self.perturbation, rng)
        z = self._allowed(z, center)
        draws = self.sampler(model.gp, z, count, rng)
        violation = terms.violation(draws, axis=-2).sum(-2)
        return z[picks(draws[:, 0], violation)]

    def box(self, model: Model, terms: Terms, center: Tensor, rng: np.random.Generator) -> Box:  # noqa: ARG002
        """Return where candidates are drawn: a cube of the region's length."""
        return Box.around(center, 0.5 * self.region.length)
