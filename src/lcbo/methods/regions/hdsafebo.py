"""HDsafeBO without its embedding: Thompson sampling on an optimistic safe set (Wei et al., 2025)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.safe_set import optimistic
from lcbo.acquisition.thompson import picks, sobol
from lcbo.methods.protocol import Array
from lcbo.methods.regions.base import LEAST_GAIN, TrustRegionMethod
from lcbo.methods.regions.options import HdsafeboOptions
from lcbo.models.builder import Model
from lcbo.terms import Terms


class HdSafeBo(TrustRegionMethod):
    """Draws of the objective pick among candidates that no constraint rules out at ``beta`` deviations."""

    options: HdsafeboOptions

    def center(self, y: Array) -> int:
        """Return the best safe point, else the one of least violation or objective."""
        if self.options.unsafe_center == "violation" or self.setup.terms.feasible(y).any():
            return self.setup.terms.best(y)
        return int(np.where(np.isnan(y[:, 0]), np.inf, y[:, 0]).argmin())

    def succeeded(self, y: Array, fresh: NDArray[np.bool_]) -> bool:
        """Return whether all fresh points are safe and the best value improves by more than a thousandth."""
        safe = self.setup.terms.feasible(y)
        best = np.where(safe, y[:, 0], np.inf)[~fresh].min(initial=np.inf)
        if not safe[fresh].all():
            return False
        return not np.isfinite(best) or bool(y[fresh, 0].min() < best - LEAST_GAIN * abs(best))

    def choose(
        self, model: Model, terms: Terms, center: Tensor, count: int, rng: np.random.Generator
    ) -> Tensor:
        """Return one candidate of the optimistic safe set per draw of the objective.

        While fewer than ``count`` candidates survive, they are drawn anew in a box of half the sides; the
        region itself keeps its length. The last box, of the least length, accepts all.
        """
        length = self.region.length
        while True:
            z = sobol(Box.around(center, 0.5 * length), max(self.options.n_candidates, count), rng)
            z = self._allowed(z, center)
            safe = optimistic(model.gp, z, terms, self.options.beta)
            if int(safe.sum()) >= count:
                z = z[safe]
                break
            if 0.5 * length < self.rules.least:
                break
            length *= 0.5
        return z[picks(self.sampler(model.gp.outputs(slice(0, 1)), z, count, rng)[:, 0])]
