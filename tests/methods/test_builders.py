"""What the options of a model make of its builder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from lcbo.methods.base.builders import growing_builder, window_builder
from lcbo.methods.protocol import Setup
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.map import LogNormal, MapFit, RestartedFit
from lcbo.models.fits.newton import NewtonFit
from lcbo.models.options import LearnedModelOptions, ModelOptions
from lcbo.terms import Terms

SETUP = Setup(4, 2, Terms(), (0.1, None), None, 3, np.zeros((0, 4)), 0)


@dataclass(frozen=True)
class LatticeOptions(LearnedModelOptions):
    FITS: ClassVar[tuple[str, ...]] = ("lattice", "map", "fixed")

    fit: str = "lattice"


def test_plain_options_give_the_warm_fit() -> None:
    builder = growing_builder(SETUP, ModelOptions(kernel="matern52", standardize=False))
    assert type(builder.fit) is NewtonFit
    assert builder.start.kernel == "matern52"
    assert builder.start.lengthscale.tolist() == [[1.0], [1.0]]
    assert not builder.standardize
    assert growing_builder(SETUP, ModelOptions(fit="fixed")).fit is None


def test_many_or_noisy_hyperparameters_are_fitted_from_two_starts() -> None:
    builder = growing_builder(SETUP, LearnedModelOptions(ard=True), "dimension")
    assert isinstance(builder.fit, RestartedFit)
    assert isinstance(builder.fit.lengthscale_prior, LogNormal)
    assert builder.fit.noise_prior is None
    assert builder.start.lengthscale.shape == (2, 4)
    assert growing_builder(SETUP, LearnedModelOptions(learn_noise=True)).fit.noise_prior is not None


@pytest.mark.parametrize(("fit", "kind"), [("lattice", LatticeFit), ("map", MapFit), ("fixed", type(None))])
def test_windows_have_three_fits(fit: str, kind: type) -> None:
    options = LatticeOptions(fit=fit, hyperparameters={"noise_var": [0.1, 0.2]})
    builder = window_builder(SETUP, options, "matern52", average_repeats=True)
    assert isinstance(builder.fit, kind)
    assert builder.kernel == builder.start.kernel == "matern52"
    assert builder.start.noise_var.tolist() == [0.1, 0.2]
    assert (builder.noise_var, builder.average_repeats) == ((0.1, None), True)
