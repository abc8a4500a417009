"""From told data to models: hyperparameters, standardization, and the one ladder of rescues."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.errors import ModelError, NumericalRescueWarning
from lcbo.models.border import to_tensor
from lcbo.models.data import Data, merge, weights
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.map import MapFit
from lcbo.models.fits.newton import WARM_FIT
from lcbo.models.fits.trend import tells_trend, trend_columns
from lcbo.models.gp import BatchedGP
from lcbo.models.grown import GrownGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

Ids = NDArray[np.intp]

NOISE_FLOOR = 1e-6  # of outputscale and noise together, on the second rung of the ladder
LARGE_NOISE = 1e-2  # on the last rung
FITTED = 400  # points of a longer window, evenly over it, tell the lattice hyperparameters: more cost much


@dataclass(frozen=True)
class Model:
    """GPs in standardized outputs together with the scaling back to the user's."""

    gp: BatchedGP
    scaling: Scaling


class Builder:
    """Carries the hyperparameters from one model to the next and rescues models that are not definite.

    Args:
        start: hyperparameters before the first fit; all models are on their device.
        standardize: z-score every output over the data of a model.

    Attributes:
        hyper: the hyperparameters as last fitted; a rescue does not change them.
        rescues: how often something was not numerically definite so far.
    """

    def __init__(self, start: Hyperparameters, *, standardize: bool) -> None:
        self.start = self.hyper = start
        self.device = start.device
        self.standardize = standardize
        self.rescues = 0

    def conditioned(self, gp: BatchedGP, z: Tensor, count: float | None = None) -> BatchedGP:
        """A model given pending points, ``p x d``; where it would not be definite, they count as noisier.

        Args:
            gp: the model.
            z: the points.
            count: observations of every output at each point; one by default.
        """
        floors = (0.0, NOISE_FLOOR, LARGE_NOISE)
        each = None if count is None else gp.alpha.new_full((len(gp.alpha), len(z)), count)
        rungs = [partial(gp.conditioned, z, each, least_noise=floor) for floor in floors]
        return self._first_definite(rungs, len(gp.u) + len(z))

    def _scaling(self, y: Array) -> Scaling:
        return Scaling.of(y) if self.standardize else Scaling.identity(y.shape[1])

    def _learned(self, fit: Callable[[], Hyperparameters]) -> Hyperparameters:
        """What a fit finds; the hyperparameters as they are where it meets no definite covariance."""
        try:
            return fit()
        except ModelError:
            self.rescues += 1
            warnings.warn("a fit was given up", NumericalRescueWarning, stacklevel=2)
            return self.hyper

    def _rescued(self, build: Callable[[Hyperparameters], BatchedGP], n: int) -> BatchedGP:
        """Walk the ladder: as fitted, with a raised noise floor, with the starting hyperparameters.

        Args:
            build: makes a model of ``n`` points with given hyperparameters.
            n: number of points, for the message.
        """
        floor = NOISE_FLOOR * (self.hyper.outputscale + self.hyper.noise_var)
        rungs = (
            self.hyper,
            replace(self.hyper, noise_var=torch.maximum(self.hyper.noise_var, floor)),
            replace(self.start, noise_var=self.start.noise_var.clamp_min(LARGE_NOISE)),
        )
        return self._first_definite([partial(build, hyper) for hyper in rungs], n)

    def _first_definite(self, rungs: Sequence[Callable[[], BatchedGP]], n: int) -> BatchedGP:
        for number, rung in enumerate(rungs):
            try:
                gp = rung()
            except ModelError:
                self.rescues += 1
                continue
            if number:
                warnings.warn("a model needed a rescue", NumericalRescueWarning, stacklevel=2)
            return gp
        raise ModelError(f"no rescue gave a positive definite model on {n} points")


class WindowBuilder(Builder):
    """Builds models window after window.

    Args:
        start: hyperparameters before the first fit; kept for ever when ``fit`` is ``None``.
        fit: how to learn them, or ``None`` to hold them.
        standardize: z-score every output over the window.
        average_repeats: treat the mean of repeats as one observation with unreduced noise.
        noise_var: per output the known noise variance in user units, or ``None``.

    Attributes:
        kernel: of the fits to come.
        plane: deviation of the slopes of a plane beside the processes of the fits to come; 0 for none.
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
        super().__init__(start, standardize=standardize)
        self.kernel = start.kernel
        self.fit = fit
        self.average_repeats = average_repeats
        self.noise_var = noise_var
        self.plane = 0.0
        self._fitted = False
        self._kept: tuple[Data, BatchedGP] | None = None  # the base of the last model and what it is made of

    def build(
        self,
        u: Array,
        y: Array,
        repeats: Repeats,
        refit: bool,
        sem: Array | None = None,
        lasting: NDArray[np.bool_] | None = None,
    ) -> Model:
        """Return the model of one window.

        Args:
            u: ``n x d`` points, repeats allowed.
            y: ``n x B`` outputs in user units, NaN where missing.
            repeats: what the whole run knows about the noise; the lattice fit uses it.
            refit: learn the hyperparameters anew; the first build always does.
            sem: ``n x B`` standard errors of the outputs in user units, NaN where not known.
            lasting: ``n``, which points will be in windows to come too: their part of the factor is kept
                until the next fit.
        """
        scaling = self._scaling(y)
        weight, noise_var = (None, self.noise_var) if sem is None else weights(sem, self.noise_var)
        scaled = scaling.apply(y)
        data = merge(u, scaled, self.device, weight)
        if self.average_repeats:
            data = replace(
                data,
                count=(data.count > 0.0).to(data.count.dtype),
                scatter=torch.zeros_like(data.scatter),
                dof=torch.zeros_like(data.dof),
            )
        if refit or not self._fitted:
            self.hyper = self._learned(lambda: self._fit(data, scaling, repeats, noise_var))
            self._fitted = True
        build = partial(BatchedGP, data)
        if lasting is not None and sem is None:  # weights change with the window
            base, rest = (merge(u[part], scaled[part], self.device) for part in (lasting, ~lasting))
            if len(base.u) + len(rest.u) == len(data.u):  # no point is in both
                build = partial(self._grown, data, base, rest)
        return Model(self._rescued(build, len(data.u)), scaling)

    def _grown(self, data: Data, base: Data, rest: Data, hyper: Hyperparameters) -> BatchedGP:
        """The model of all data, with the factor of the base as it was computed before, if it was."""
        if hyper is not self.hyper:
            return BatchedGP(data, hyper)
        kept = self._kept
        if kept is None or kept[1].hyper is not hyper or not kept[0].same_points(base):
            self._kept = kept = base, BatchedGP(base, hyper)
        gp = GrownGP(kept[1]).conditioned(rest.u, rest.count) if len(rest.u) else kept[1]
        return gp.with_targets(torch.cat([base.y, rest.y], -1))

    def zoom(self, factor: float) -> None:
        """Follow inputs that are this many times larger than at the last fit."""
        self.hyper = replace(self.hyper, lengthscale=self.hyper.lengthscale * factor)

    def reset(self) -> None:
        """Go back to the hyperparameters of the start; a fit in this build starts there."""
        self.hyper = self.start

    def forget(self) -> None:
        """Fit without regard to the last estimate: the inputs are others now."""
        self._fitted = False

    def resume(self, hyper: Hyperparameters, kernel: str) -> None:
        """Go on with hyperparameters that were fitted before; ``kernel`` is for the fits to come."""
        self.hyper, self.kernel, self._fitted = hyper.to(self.device), kernel, True

    def _fit(
        self, data: Data, scaling: Scaling, repeats: Repeats, noise_var: tuple[float | None, ...]
    ) -> Hyperparameters:
        if self.fit is None:
            return self.hyper
        if isinstance(self.fit, MapFit):
            return self.fit(data, self.hyper)
        scatter, dof = (to_tensor(a, data.u) for a in repeats.scatter(scaling.std))
        data = replace(data.thinned(FITTED), scatter=scatter, dof=dof)
        least = [(v or 0.0) / s / s for v, s in zip(noise_var, scaling.std.tolist(), strict=True)]
        beside = self.plane > 0.0 and tells_trend(data)
        columns = trend_columns(data.u, 1) if beside else None
        last = self.hyper if self._fitted else None
        hyper = self.fit.posterior(data, self.kernel, least, last, columns).hyper
        return replace(hyper, plane=self.plane if beside else 0.0)


class GrowingBuilder(Builder):
    """Builds models of all data; between fits their Cholesky factor grows by block rows.

    The points known at the last fit are the *base*; their factor ``L`` is computed once per fit, in
    O(n^3). Points told later are one block row below it, in O(n^2) per point:

        L' = [[L, 0], [W^T, chol(K_new - W^T W)]],   W = L^-1 k(U, U_new)

    Standardization moves y alone, which costs two triangular solves. The model is a function of base,
    hyperparameters and data, not of the updates in between, so a restored model equals the one before to
    the last bit.

    Args:
        start: hyperparameters before the first fit; kept for ever when ``fit`` is ``None``.
        fit: how to learn them, from where they are, or ``None`` to hold them.
        standardize: z-score every output over all data.
    """

    def __init__(
        self, start: Hyperparameters, fit: MapFit | None = WARM_FIT, *, standardize: bool = True
    ) -> None:
        super().__init__(start, standardize=standardize)
        self.fit = fit
        self._base_ids: Ids | None = None
        self._fitted_base: BatchedGP | None = None  # with the hyperparameters as fitted
        self._base: BatchedGP | None = None  # of the latest model, which may be a rescued one

    def build(self, ids: Ids, u: Array, y: Array, *, refit: bool) -> Model:
        """Return the model of the data.

        Args:
            ids: ``n`` ascending; what was known at the last fit must still be there, unchanged.
            u: ``n x d`` points, repeats allowed.
            y: ``n x B`` outputs in user units, NaN where missing.
            refit: learn the hyperparameters anew and make all these points the base; the first build
                always does.
        """
        scaling = self._scaling(y)
        scaled = scaling.apply(y)
        if refit or self._base_ids is None:
            if self.fit is not None:
                fit, everything = self.fit, merge(u, scaled, self.device)
                self.hyper = self._learned(lambda: fit(everything, self.hyper))
            self._base_ids, self._fitted_base = ids, None
        inside = np.isin(ids, self._base_ids, assume_unique=True)
        old, new = (merge(u[part], scaled[part], self.device) for part in (inside, ~inside))
        gp = self._rescued(lambda hyper: self._grown(hyper, old, new), len(old.u) + len(new.u))
        return Model(gp.with_targets(torch.cat([old.y, new.y], -1)), scaling)

    @property
    def n_fitted(self) -> int:
        """Number of observations at the last fit, 0 before the first."""
        return 0 if self._base_ids is None else len(self._base_ids)

    @property
    def base(self) -> BatchedGP:
        """The model of the points known at the last fit: the leading block of the latest model."""
        assert self._base is not None
        return self._base

    def state(self) -> dict[str, Any] | None:
        """Return hyperparameters, base and rescues as JSON values, ``None`` before the first build."""
        if self._base_ids is None:
            return None
        size = int(self._base_ids[-1]) + 1
        absent = np.setdiff1d(np.arange(size), self._base_ids).tolist()
        return {
            "hyperparameters": self.hyper.stored(),
            "size": size,
            "absent": absent,
            "rescues": self.rescues,
        }

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from a state; the next build computes the base anew from its data."""
        if state is not None:
            self.hyper = Hyperparameters.of(state["hyperparameters"]).to(self.device)
            self._base_ids = np.setdiff1d(np.arange(state["size"]), state["absent"])
            self._fitted_base = None
            self.rescues = state.get("rescues", 0)  # run files of before have none

    def _grown(self, hyper: Hyperparameters, old: Data, new: Data) -> BatchedGP:
        fitted = hyper is self.hyper
        base = self._fitted_base if fitted and self._fitted_base is not None else BatchedGP(old, hyper)
        if fitted:
            self._fitted_base = base
        gp = base.conditioned(new.u, new.count)
        self._base = base
        return gp
