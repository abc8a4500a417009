"""CEI: constrained expected improvement (Gardner et al. 2014), in logarithms."""

from __future__ import annotations

from lcbo.acquisition.conditions import Conditions
from lcbo.acquisition.improvement import LogConstrainedImprovement
from lcbo.acquisition.maximise import Objective
from lcbo.acquisition.moments import Predictor
from lcbo.methods.design import total_violation
from lcbo.methods.global_search import GlobalSearch
from lcbo.models.surrogate import Model


class Cei(GlobalSearch):
    """Improves on the best feasible value observed; until there is one, seeks feasibility alone."""

    def acquisition(self, model: Model, predictor: Predictor) -> Objective:
        """Return log CEI, or the log probability of feasibility while nothing feasible was observed."""
        conditions = Conditions.of(self.setup.terms, model.scaling)
        best = self._best_feasible()
        if best is not None:
            best = (best - float(model.scaling.mean[0])) / float(model.scaling.std[0])
        return LogConstrainedImprovement(predictor, conditions, best)

    def _best_feasible(self) -> float | None:
        """Least observed objective among points observed feasible, in user units.

        Noise included: under noise it is an optimistic target, as in the paper.
        """
        y = self.history.y[self.history.recent(None)]
        feasible = total_violation(y, self.setup.terms) == 0.0
        return float(y[feasible, 0].min()) if feasible.any() else None
