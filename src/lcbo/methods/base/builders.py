"""From a problem and the options of the model to what builds models."""

from __future__ import annotations

import math
from dataclasses import replace

from lcbo.methods.protocol import Setup
from lcbo.models.border import chosen_device
from lcbo.models.builder import GrowingBuilder, WindowBuilder
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.map import AdamFit, Flat, Gamma, LogNormal, MapFit, Prior, RestartedFit
from lcbo.models.fits.newton import WARM_FIT
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.options import LearnedModelOptions, ModelOptions


def growing_builder(setup: Setup, options: ModelOptions, lengthscale_prior: str = "paper") -> GrowingBuilder:
    """Return the builder of models of all data.

    Args:
        setup: the problem.
        options: of the model.
        lengthscale_prior: ``paper``, Gamma(3, 3), ``dimension``, BoTorch's
            LogNormal(sqrt 2 + ln(d) / 2, sqrt 3), whose lengthscales grow with the dimension, or ``flat``.
    """
    scaled = LogNormal(math.sqrt(2.0) + 0.5 * math.log(setup.dim), math.sqrt(3.0))
    priors: dict[str, tuple[Prior, float]] = {  # each with where a fit starts: its mean, or its mode
        "paper": (Gamma(3.0, 3.0), 1.0),
        "dimension": (scaled, math.exp(scaled.mean - scaled.std**2)),
        "flat": (Flat(), 1.0),
    }
    prior, length = priors[lengthscale_prior]
    start = _start(setup, options, options.kernel, length)
    fit: MapFit = replace(WARM_FIT, lengthscale_prior=prior)
    if isinstance(options, LearnedModelOptions) and (options.ard or options.learn_noise):
        fit = RestartedFit(
            lengthscale_prior=prior,
            noise_prior=LogNormal(-4.0, 1.0) if options.learn_noise else None,  # BoTorch's
            tolerance=WARM_FIT.tolerance,
            fresh=start,
        )
    return GrowingBuilder(start, fit if options.fit == "map" else None, standardize=options.standardize)


def window_builder(
    setup: Setup, options: LearnedModelOptions, kernel: str, *, average_repeats: bool = False
) -> WindowBuilder:
    """Return the builder of models of windows.

    Args:
        setup: the problem.
        options: of the model; its ``fit`` may be ``lattice`` or ``adam`` too.
        kernel: of the first fits, where the option leaves it open.
        average_repeats: treat the mean of repeats as one observation with unreduced noise.
    """
    noise_prior = LogNormal(-4.0, 3.0) if options.learn_noise else None
    fits: dict[str, MapFit | LatticeFit | None] = {
        "lattice": LatticeFit(),
        "map": MapFit(noise_prior=noise_prior),
        "adam": AdamFit(noise_prior=noise_prior),
        "fixed": None,
    }
    return WindowBuilder(
        _start(setup, options, kernel, 1.0),
        fits[options.fit],
        standardize=options.standardize,
        average_repeats=average_repeats,
        noise_var=setup.noise_var,
    )


def _start(setup: Setup, options: ModelOptions, kernel: str, lengthscale: float) -> Hyperparameters:
    given = {"lengthscale": lengthscale, **options.hyperparameters}
    start = Hyperparameters.start(setup.n_outputs, kernel, given).to(chosen_device(setup.device))
    if isinstance(options, LearnedModelOptions) and options.ard:
        start = replace(start, lengthscale=start.lengthscale.expand(-1, setup.dim).clone())
    return start
