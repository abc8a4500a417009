"""From a window of raw observations to fitted local GPs, with every rescue of the numerics ladder."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import torch

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.models.data import Data, merge
from lcbo.models.fit import MapFit
from lcbo.models.gp import BatchedGP, Hyperparameters
from lcbo.models.lattice import LatticeFit
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array


@dataclass(frozen=True)
class Model:
    """Local GPs in standardized outputs together with the scaling back to the user's."""

    gp: BatchedGP
    scaling: Scaling


class Surrogate:
    """Builds models window after window and carries the hyperparameters from one to the next.

    Args:
        start: hyperparameters before the first fit; kept for ever when ``fit`` is ``None``.
        fit: how to learn them, or ``None`` to hold them.
        standardize: z-score every output over the window.
        average_repeats: treat the mean of repeats as one observation with unreduced noise.
        noise_var: per output the known noise variance in user units, or ``None``.
    """

    def __init__(
        self,
        start: Hyperparameters,
        fit: MapFit | LatticeFit | None,
        *,
        standardize: bool,
        average_repeats: bool,
        noise_var: tuple[float | None, ...],
    ) -> None:
        self.start = self.hyper = start
        self.kernel = start.kernel
        self.fit = fit
        self.standardize = standardize
        self.average_repeats = average_repeats
        self.noise_var = noise_var
        self.rescues = 0
        self._fitted = False

    def build(self, u: Array, y: Array, repeats: Repeats, refit: bool) -> Model:
        """Return the model of one window.

        Args:
            u: ``n x d`` points, repeats allowed.
            y: ``n x B`` outputs in user units, NaN where missing.
            repeats: what the whole run knows about the noise; the lattice fit uses it.
            refit: learn the hyperparameters anew; the first build always does.
        """
        scaling = Scaling.of(y) if self.standardize else Scaling.identity(y.shape[1])
        data = merge(u, scaling.apply(y))
        if self.average_repeats:
            data = replace(
                data,
                count=(data.count > 0.0).to(data.count.dtype),
                scatter=torch.zeros_like(data.scatter),
                dof=torch.zeros_like(data.dof),
            )
        if refit or not self._fitted:
            self.hyper = self._learn(data, scaling, repeats)
            self._fitted = True
        return Model(self._factorize(data), scaling)

    def resume(self, hyper: Hyperparameters, kernel: str) -> None:
        """Go on with hyperparameters that were fitted before; ``kernel`` is for the fits to come."""
        self.hyper, self.kernel, self._fitted = hyper, kernel, True

    def _learn(self, data: Data, scaling: Scaling, repeats: Repeats) -> Hyperparameters:
        if self.fit is None:
            return self.hyper
        if isinstance(self.fit, MapFit):
            return self.fit(data, self.hyper)
        scatter, dof = (torch.from_numpy(a) for a in repeats.scatter(scaling.std))
        data = replace(data, scatter=scatter, dof=dof)
        least = [(v or 0.0) / s / s for v, s in zip(self.noise_var, scaling.std.tolist(), strict=True)]
        return self.fit(data, self.kernel, least, self.hyper if self._fitted else None)

    def _factorize(self, data: Data) -> BatchedGP:
        """Walk the ladder: as fitted, with a raised noise floor, with the starting hyperparameters."""
        floor = 1e-6 * (self.hyper.outputscale + self.hyper.noise_var)
        rungs = (
            self.hyper,
            replace(self.hyper, noise_var=torch.maximum(self.hyper.noise_var, floor)),
            replace(self.start, noise_var=torch.maximum(self.start.noise_var, floor.new_tensor(1e-2))),
        )
        for number, hyper in enumerate(rungs):
            try:
                gp = BatchedGP(data, hyper)
            except ModelError:
                self.rescues += 1
                continue
            if number:
                warnings.warn("a local model needed a rescue", NumericalRescueWarning, stacklevel=2)
            return gp
        raise ModelError(f"no rescue gave a positive definite model on {len(data.x)} points")
