"""EPBO: an exact penalty of optimistic violations (Lu and Paulson 2022)."""

from __future__ import annotations

from collections.abc import Mapping

from lcbo.acquisition.exact_penalty import ExactPenalty
from lcbo.acquisition.maximize import AcquisitionFunction
from lcbo.methods.protocol import Setup
from lcbo.methods.search.base import GlobalSearch
from lcbo.methods.search.options import EpboOptions
from lcbo.models.moments import Predictor
from lcbo.steps.schedules import at
from lcbo.terms import Terms


class Epbo(GlobalSearch):
    """Minimizes the lower confidence bound of f plus a growing penalty of those of the violations."""

    def __init__(self, setup: Setup, options: EpboOptions) -> None:
        super().__init__(setup, options)
        self._beta, self._rho = options.beta, options.rho

    def acquisition(self, predictor: Predictor, terms: Terms, _best: float | None) -> AcquisitionFunction:
        """Return the negative penalized bound with the penalty factor of this iteration."""
        return ExactPenalty(predictor, terms, at(self._rho, self.iteration, "options, rho"), self._beta)

    def info(self) -> Mapping[str, float]:
        """Return iteration and penalty factor."""
        return {**super().info(), "penalty": at(self._rho, max(self.iteration, 1), "options, rho")}
