"""CEI: constrained expected improvement (Gardner et al. 2014), in logarithms or plain."""

from __future__ import annotations

from lcbo.acquisition.improvement import ConstrainedImprovement, LogConstrainedImprovement
from lcbo.acquisition.maximize import AcquisitionFunction
from lcbo.methods.protocol import Setup
from lcbo.methods.search.base import GlobalSearch
from lcbo.methods.search.options import CeiOptions
from lcbo.models.moments import Predictor
from lcbo.terms import Terms


class Cei(GlobalSearch):
    """Improves on the best feasible value observed; until there is one, seeks feasibility alone."""

    def __init__(self, setup: Setup, options: CeiOptions) -> None:
        super().__init__(setup, options)
        self._kind = LogConstrainedImprovement if options.log else ConstrainedImprovement

    def acquisition(self, predictor: Predictor, terms: Terms, best: float | None) -> AcquisitionFunction:
        """Return (log) CEI, or the (log) probability of feasibility while nothing feasible was observed."""
        return self._kind(predictor, terms, best)
