"""From a window of raw observations to fitted local GPs, with every rescue of the numerics ladder."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.models.data import Data, Scaling, merge
from lcbo.models.fit import MapFit
from lcbo.models.gp import Hyperparameters, LocalGP
from lcbo.models.lattice import LatticeFit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """Local GPs in standardised outputs together with the scaling back to the user's."""

    gp: LocalGP
    scaling: Scaling


class Surrogate:
    """Builds models window after window and carries the hyperparameters from one to the next.

    Args:
        start: hyperparameters before the first fit; kept for ever when ``fit`` is ``None``.
        fit: how to learn them, or ``None`` to hold them.
        standardise: z-score every output over the window.
        average_repeats: treat the mean of repeats as one observation with unreduced noise.
        noise_var: per output the known noise variance in user units, or ``None``.
    """

    def __init__(
        self,
        start: Hyperparameters,
        fit: MapFit | LatticeFit | None,
        *,
        standardise: bool = True,
        average_repeats: bool = False,
        noise_var: tuple[float | None, ...] | None = None,
    ) -> None:
        self.start = self.hyper = start
        self.fit = fit
        self.standardise = standardise
        self.average_repeats = average_repeats
        self.noise_var = noise_var or (None,) * len(start.outputscale)
        self.rescues = 0
        self._fitted = False

    def build(self, u: Array, y: Array, refit: bool, pooled=None) -> Model:
        """Return the model of one window.

        Args:
            u: ``n x d`` points, repeats allowed.
            y: ``n x B`` outputs in user units, NaN where missing.
            refit: learn the hyperparameters anew; the first build always does.
        """
        scaling = Scaling.of(y) if self.standardise else Scaling.identity(y.shape[1])
        data = merge(u, (y - scaling.mean) / scaling.std)
        if pooled is not None:
            data = replace(data, scatter=torch.from_numpy(pooled[0] / scaling.std**2), dof=torch.from_numpy(pooled[1]))
        if self.average_repeats:
            data = replace(data, count=(data.count > 0.0).to(data.count.dtype), scatter=0.0 * data.scatter, dof=0.0 * data.dof)
        if self.fit is not None and (refit or not self._fitted):
            self.hyper = self._learn(data, scaling)
            self._fitted = True
        return Model(self._factorise(data), scaling)

    def _learn(self, data: Data, scaling: Scaling) -> Hyperparameters:
        if isinstance(self.fit, LatticeFit):
            known = [
                None if v is None else float(v / s**2) for v, s in zip(self.noise_var, scaling.std, strict=True)
            ]
            return self.fit(data, self.start.kernel, known, self.hyper if self._fitted else None)
        assert self.fit is not None
        return self.fit(data, self.hyper)

    def _factorise(self, data: Data) -> LocalGP:
        """Walk the ladder: as fitted, with a raised noise floor, with the starting hyperparameters."""
        floor = 1e-6 * (self.hyper.outputscale + self.hyper.noise_var)
        rungs = (
            self.hyper,
            replace(self.hyper, noise_var=torch.maximum(self.hyper.noise_var, floor)),
            replace(self.start, noise_var=torch.maximum(self.start.noise_var, floor.new_tensor(1e-2))),
        )
        for number, hyper in enumerate(rungs):
            try:
                gp = LocalGP(data, hyper)
            except ModelError:
                self.rescues += 1
                continue
            if number:
                self.hyper = hyper
                warnings.warn("a local model needed a rescue", NumericalRescueWarning, stacklevel=2)
            return gp
        raise ModelError(f"no rescue gave a positive definite model on {len(data.x)} points")
