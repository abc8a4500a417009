"""CEI: constrained expected improvement (Gardner et al. 2014), in logarithms."""

from __future__ import annotations

from lcbo.acquisition.improvement import LogConstrainedImprovement
from lcbo.acquisition.maximize import AcquisitionFunction
from lcbo.methods.search.base import GlobalSearch
from lcbo.models.moments import Predictor
from lcbo.terms import Terms


class Cei(GlobalSearch):
    """Improves on the best feasible value observed; until there is one, seeks feasibility alone."""

    def acquisition(self, predictor: Predictor, terms: Terms, best: float | None) -> AcquisitionFunction:
        """Return log CEI, or the log probability of feasibility while nothing feasible was observed."""
        return LogConstrainedImprovement(predictor, terms, best)
