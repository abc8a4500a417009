"""How many evaluations an iteration makes: repeats at the iterate, and exploration points around it."""

from __future__ import annotations

from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import NoiseRegime
from lcbo.methods.protocol import Setup
from lcbo.steps.schedules import at

PROBES_SHARE = 25  # noise probes cost at most a 25th of the budget


class BatchSizes:
    """``b1`` and ``b2`` of iteration k.

    Neither is ever larger than the whole budget: points beyond it could never be evaluated, and choosing
    them takes time. A batch that is merely longer than what is left of the budget is chosen in full, so
    that a run whose budget is raised later goes on with the rest of it.
    """

    def __init__(self, options: LcboOptions, regime: NoiseRegime) -> None:
        self._options = options
        self._regime = regime

    def repeats(self, k: int, setup: Setup) -> int:
        """Return ``b1``, at the first iterate with the probes that tell how noisy each output is."""
        count = int(at(self._options.repeats, k, "options, repeats"))
        return _within(setup.budget, count + (self._probes(setup) if k == 1 else 0))

    def explore(self, k: int, setup: Setup) -> int:
        """Return ``b2``."""
        explore = self._options.explore
        if isinstance(explore, str):
            return self._regime.now.explore
        return _within(setup.budget, int(at(explore, k, "options, explore")))

    def _probes(self, setup: Setup) -> int:
        if all(v is not None for v in setup.noise_var):
            return 0
        share = None if setup.budget is None else setup.budget // PROBES_SHARE
        return _within(share, self._options.noise_probes)


def _within(most: int | None, count: int) -> int:
    return count if most is None else min(count, most)
