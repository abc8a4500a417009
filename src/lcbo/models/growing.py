"""The model of methods that keep all data: between fits its Cholesky factor grows by block rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.models.data import merge
from lcbo.models.fit import MapFit
from lcbo.models.gp import BatchedGP, Hyperparameters
from lcbo.models.newton import NewtonFit
from lcbo.models.surrogate import Model
from lcbo.scaling import Scaling
from lcbo.types import Array

Keys = NDArray[np.intp]

# The paper's priors. On hundreds of points the density is sharp: 1e-6 of it is about 1e-3 nats.
WARM_FIT = NewtonFit(tolerance=1e-6)


class GrowingModel:
    """All outputs on all data, z-scored, with hyperparameters learned when asked.

    The points known at the last fit are the *base*; their factor ``L`` is computed once per fit, in
    O(n^3). Points told later are one block row below it, in O(n^2) per point:

        L' = [[L, 0], [W^T, chol(K_new - W^T W)]],   W = L^-1 k(X, X_new)

    Standardization moves y alone, which costs two triangular solves. The model is a function of base,
    hyperparameters and data, not of the updates in between, so a restored model equals the one before to
    the last bit.

    Args:
        start: hyperparameters before the first fit; kept for ever when ``fit`` is ``None``.
        fit: how to learn them, from where they are, or ``None`` to hold them.
        standardize: z-score every output over all data.

    Attributes:
        hyper: the hyperparameters as last fitted.
    """

    def __init__(
        self, start: Hyperparameters, fit: MapFit | None = WARM_FIT, *, standardize: bool = True
    ) -> None:
        self.hyper = start
        self.fit = fit
        self.standardize = standardize
        self._base_keys: Keys | None = None
        self._base: BatchedGP | None = None

    def update(self, ids: Keys, u: Array, y: Array, *, refit: bool) -> Model:
        """Return the model of the data.

        Args:
            ids: ``n`` ascending; what was known at the last fit must still be there, unchanged.
            u: ``n x d`` points, repeats allowed.
            y: ``n x B`` outputs in user units, NaN where missing.
            refit: learn the hyperparameters anew and make all these points the base; the first update
                always does.
        """
        scaling = Scaling.of(y) if self.standardize else Scaling.identity(y.shape[1])
        scaled = scaling.apply(y)
        if refit or self._base_keys is None:
            if self.fit is not None:
                self.hyper = self.fit(merge(u, scaled), self.hyper)
            self._base_keys, self._base = ids, None
        inside = np.isin(ids, self._base_keys, assume_unique=True)
        old, new = merge(u[inside], scaled[inside]), merge(u[~inside], scaled[~inside])
        if self._base is None:
            self._base = BatchedGP(old, self.hyper)
        gp = self._base.conditioned(new.x, new.count)
        return Model(gp.with_targets(torch.cat([old.y, new.y], -1)), scaling)

    @property
    def base(self) -> BatchedGP:
        """The model of the points known at the last fit: the leading block of every model since."""
        assert self._base is not None
        return self._base

    def state(self) -> dict[str, Any] | None:
        """Return hyperparameters and base as JSON values, ``None`` before the first update."""
        if self._base_keys is None:
            return None
        size = int(self._base_keys[-1]) + 1
        absent = np.setdiff1d(np.arange(size), self._base_keys).tolist()
        return {"hyperparameters": self.hyper.stored(), "size": size, "absent": absent}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from a state; the next update builds the base anew from its data."""
        if state is not None:
            self.hyper = Hyperparameters.of(state["hyperparameters"])
            self._base_keys = np.setdiff1d(np.arange(state["size"]), state["absent"])
            self._base = None
