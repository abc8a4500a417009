"""Options of the models, described and checked once for all methods. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from lcbo.checks import choice, integer, mapping, truth
from lcbo.errors import ArgumentError
from lcbo.text import shown

# Of outputs; their code would load SciPy to list the methods.
TRANSFORMS = ("zscore", "bilog", "original", "scaled-bilog")
LENGTHSCALE_PRIORS = ("paper", "dimension", "flat")
RANGES = {  # of hyperparameters, beyond which squares and quotients leave what a float can hold
    "lengthscale": (1e-6, 1e6),
    "outputscale": (1e-30, 1e30),
    "noise_var": (1e-30, 1e30),
    "mean": (-1e30, 1e30),
}


@dataclass(frozen=True)
class ModelOptions:
    """What every method with a model lets its user choose; the defaults are the paper's.

    Attributes:
        kernel: ``rbf`` or ``matern52``.
        fit: ``map`` (maximum a posteriori with the paper's priors) or ``fixed``.
        fit_every: iterations between fits.
        hyperparameters: ``lengthscale``, ``outputscale``, ``noise_var`` and prior ``mean``, each a number
            or one per output; where a fit starts, or where ``fixed`` stays.
        standardize: z-score outputs over the data of the model.
    """

    KERNELS: ClassVar[tuple[str, ...]] = ("rbf", "matern52")
    FITS: ClassVar[tuple[str, ...]] = ("map", "fixed")

    kernel: str = "rbf"  # paper, appendix "Algorithm Setup"
    fit: str = "map"  # paper, appendix "Algorithm Setup"
    fit_every: int = 5  # paper, appendix "Algorithm Setup"
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    standardize: bool = True  # paper, appendix "Algorithm Setup"

    def __post_init__(self) -> None:
        choice("options, kernel", self.kernel, self.KERNELS)
        choice("options, fit", self.fit, self.FITS)
        integer("options, fit_every", self.fit_every)
        truth("options, standardize", self.standardize)
        _check_hyperparameters(self.hyperparameters)

    def check_sizes(self, n_outputs: int, dim: int) -> None:
        """Raise unless every hyperparameter is one number or one per output (of a lengthscale: d each)."""
        for name, value in self.hyperparameters.items():
            shapes = [(), (1,), (n_outputs,)]
            shapes += [(n, m) for n in (1, n_outputs) for m in (1, dim)] if name == "lengthscale" else []
            if np.shape(value) not in shapes:
                expected = f"one number or one for each of {n_outputs} outputs"
                raise ArgumentError(f"options, hyperparameters, {name}", expected, repr(value))


@dataclass(frozen=True)
class LearnedModelOptions(ModelOptions):
    """Options of models whose fit can learn more than the paper's.

    Attributes:
        ard: one lengthscale per variable (with ``fit="map"``).
        learn_noise: let ``fit="map"`` learn the noise variance too.
    """

    ard: bool = False  # paper is silent; authors' code
    learn_noise: bool = False  # paper: the noise is the constant 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        truth("options, ard", self.ard)
        truth("options, learn_noise", self.learn_noise)


def _check_hyperparameters(given: Any) -> None:
    for name, value in mapping("options, hyperparameters", given).items():
        choice("options, hyperparameters", name, RANGES)
        try:
            numbers = np.asarray(value)
        except ValueError:  # rows of different lengths
            numbers = np.array(np.nan)
        if numbers.dtype.kind not in "fiu":  # texts, truth values, objects
            numbers = np.array(np.nan)
        least, most = RANGES[name]
        small = (numbers == 0.0) & (name == "noise_var")
        if not np.all(small | ((numbers >= least) & (numbers <= most))):
            zero = "0 or " if name == "noise_var" else ""
            expected = f"{zero}numbers from {least:g} to {most:g}, one or one per output"
            raise ArgumentError(f"options, hyperparameters, {name}", expected, shown(value))
