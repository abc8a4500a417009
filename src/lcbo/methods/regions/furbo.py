"""FuRBO: a trust region drawn around what a model believes feasible and good (Ascia et al., 2025)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.inspectors import inspected_box, inspectors
from lcbo.methods.base.builders import growing_builder
from lcbo.methods.protocol import Setup
from lcbo.methods.regions.options import FurboOptions
from lcbo.methods.regions.scbo import Scbo
from lcbo.models.builder import Model
from lcbo.models.fits.map import Flat
from lcbo.terms import Terms

BOUNDS = ((0.005, 4.0), (0.05, 20.0), (1e-8, 1e-3))  # of lengthscales, outputscale and noise; authors' code


class Furbo(Scbo):
    """SCBO in another region: the box of the best inspectors, which the length is the radius of."""

    options: FurboOptions
    forgets = True
    least_gain = 0.0

    def __init__(self, setup: Setup, options: FurboOptions) -> None:
        builder = growing_builder(setup, options, options.lengthscale_prior)
        if builder.fit is not None:  # as in the authors' code, only bounds hold the noise
            flat = None if builder.fit.noise_prior is None else Flat()
            builder.fit = replace(builder.fit, bounds=BOUNDS, noise_prior=flat)
        super().__init__(setup, options, builder)

    def box(self, model: Model, terms: Terms, center: Tensor, rng: np.random.Generator) -> Box:
        """Return the box of the inspectors that the model ranks highest."""
        count = self.options.inspectors_per_dim * self.setup.dim
        points = inspectors(center, self.region.length, count, rng)
        return inspected_box(model.gp, terms, points, self.options.inspected_share)
