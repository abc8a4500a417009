"""The window of recent evaluations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.basins import Basins
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import QUIET_WINDOW, NoiseRegime

LEAST_WINDOW = 12  # evaluations, for problems of few variables
MOST_NUMBERS = 12e6  # of all outputs' covariances together, for which noise makes the window longer
NEW_SHARE = 1 / 36  # of a window with noise that must be new for every iteration of `fit_every`
LITTLE = 0.1  # level of the noise from which on that is so; below it as much less must be


class Window:
    """The ``window * d`` most recent evaluations of a basin, 2 to ``window_limit`` of them."""

    def __init__(
        self, dim: int, n_outputs: int, options: LcboOptions, regime: NoiseRegime, basins: Basins
    ) -> None:
        self._dim = dim
        self._options = options
        self.regime = regime
        self._basins = basins
        self._affordable = int(math.sqrt(MOST_NUMBERS / n_outputs))

    @property
    def since(self) -> int:
        """Id of the first evaluation of the present basin."""
        return self._basins.starts[-1]

    @property
    def size(self) -> int | None:
        """Its length; ``None`` for all."""
        window = self._options.window
        if window is None:
            return None
        if isinstance(window, str):
            own = self._of(self.regime.window)
            return own if self.regime.rough else max(min(own, self._affordable), self._quiet)
        return self._limited(math.ceil(window * self._dim))

    @property
    def fit_every(self) -> int:
        """Iterations between fits; a window that noise made longer takes as much longer to change.

        Many variables make it so long that the few evaluations of some iterations are next to nothing of it.
        """
        size, pause = self.size, self._options.fit_every
        if size is None or not isinstance(self._options.window, str):
            return pause
        explore = self._options.explore
        batch = 1 + (explore if isinstance(explore, int) else self.regime.explore(self._dim))
        renewed = min(self.regime.level / LITTLE, 1.0) * NEW_SHARE * size / batch
        return round(pause * max(size / self._quiet, renewed))

    @property
    def _quiet(self) -> int:
        """Its own choice where there is no noise."""
        return self._of(QUIET_WINDOW)

    def _of(self, per_variable: float) -> int:
        return self._limited(max(math.ceil(per_variable * self._dim), LEAST_WINDOW))

    def _limited(self, size: int) -> int:
        limit = self._options.window_limit
        return max(size if limit is None else min(size, limit), 2)

    def __call__(self, archive: Archive) -> NDArray[np.intp]:
        """Return the ids of the evaluations in the window, oldest first."""
        return archive.recent(self.size, self.since)
