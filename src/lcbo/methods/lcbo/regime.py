"""What a run adapts to: noise and kinks, with the size of its batches, and failures at the iterate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lcbo.checks import MOST_POINTS
from lcbo.methods.base.archive import FAILED, Archive
from lcbo.methods.lcbo.frame import UNIFORM_SPREAD
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.protocol import Setup
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.steps.schedules import at
from lcbo.steps.step import Iterate
from lcbo.types import Array

PROBES_SHARE = 25  # noise probes cost at most a 25th of the budget
QUIET_WINDOW = 3.0  # evaluations per variable where there is no noise
NOISY_WINDOW = 12.0  # where noise is clear
KINKED_WINDOW = 8.0  # where limits have kinks
MOST_PROBES = 4.0  # before a step, where noise is clear
VARIABLES_PER_PROBE = 6.0  # so many variables ask for one of them
CLEARLY_NOISY = 0.03  # noise over the scatter of the window, in standard deviations


def noise_of(y: Array, repeats: Repeats) -> float:
    """Return the noise of the noisiest output over its scatter in ``n x B`` observations, in deviations."""
    scatter, dof = repeats.scatter(Scaling.of(y).std)
    return math.sqrt(float(np.max(scatter / np.maximum(dof, 1.0), initial=0.0)))


class NoiseRegime:
    """How noisy a run is, from 0 to 1, and what follows from it where the user did not choose.

    Noise asks for more points per step and for more of them in the model. Without it few are enough, and
    older ones only remember what was far away, but for limits with kinks: a model has to average over them.
    """

    def __init__(self) -> None:
        self.level = 0.0
        self.rough = False  # the limits have kinks, which a model has to be wide to see beyond

    @property
    def noisy(self) -> bool:
        """Whether there is any noise."""
        return self.level > 0.0

    @property
    def window(self) -> float:
        """Evaluations per variable in the window."""
        if self.rough:
            return KINKED_WINDOW
        return QUIET_WINDOW + (NOISY_WINDOW - QUIET_WINDOW) * self.level

    @property
    def trust(self) -> float:
        """How far second derivatives are to be trusted, 0 to 1.

        From noisy values they are mostly the way a stationary model goes back to its mean.
        """
        return 0.0 if self.rough else 1.0 - self.level

    def plane(self, dim: int) -> float:
        """Deviation of the slopes of a plane beside the processes in so many variables; 0 for none.

        All variables' slopes together could explain the scatter of an outcome. Without a plane a process
        that takes an outcome for noise pulls its slopes to zero.
        """
        return 1.0 / (UNIFORM_SPREAD * math.sqrt(dim)) if self.noisy else 0.0

    def explore(self, dim: int) -> int:
        """Exploration points per iteration in so many variables.

        A step in few variables needs few averages: what more of them cost is better spent on more steps.
        """
        most = min(max(dim / VARIABLES_PER_PROBE, 1.0), MOST_PROBES)
        return round(1.0 + (most - 1.0) * self.level)

    def decide(self, y: Array, repeats: Repeats) -> None:
        """Compare the scatter of repeats with that of the window's outputs, ``n x B``.

        What is nearly quiet over the whole cube may be mostly noise over a small window.
        """
        self.level = min(noise_of(y, repeats) / CLEARLY_NOISY, 1.0)

    def state(self) -> dict[str, Any]:
        """Return the level, and whether there are kinks."""
        return {"level": self.level, "rough": self.rough}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; run files of before knew two regimes, quiet and noisy."""
        self.level = float(state["level"] if "level" in state else state["index"])
        self.rough = state.get("rough", False)


class BatchSizes:
    """``b1`` and ``b2`` of iteration k.

    Neither is ever larger than the whole budget: points beyond it could never be evaluated, and choosing
    them takes time. A batch that is merely longer than what is left of the budget is chosen in full, so
    that a run whose budget is raised later goes on with the rest of it.
    """

    def __init__(self, options: LcboOptions, regime: NoiseRegime) -> None:
        self._options = options
        self._regime = regime

    def __call__(self, k: int, setup: Setup) -> tuple[int, int]:
        """Return ``b1`` and ``b2``; at the first iterate further repeats tell how noisy each output is.

        Where both schedules have come down to 0, the iterate is evaluated: an empty batch would end the run.
        """
        explore, most = self._options.explore, MOST_POINTS if setup.budget is None else setup.budget
        repeats = int(at(self._options.repeats, k, "options, repeats"))
        if k == 1 and None in setup.noise_var:
            repeats += min(most // PROBES_SHARE, self._options.noise_probes)
        if isinstance(explore, str):
            return min(most, repeats), self._regime.explore(setup.dim)
        around = min(most, int(at(explore, k, "options, explore")))
        return (min(most, repeats) if repeats or around else 1), around


def is_lost(iterate: Iterate, archive: Archive, batch: Sequence[int]) -> bool:
    """Whether all evaluations of an iterate, among ``batch``, failed, while there is a good one behind it."""
    here = [id for id in batch if np.array_equal(archive.u[id], iterate.u)]
    return bool(here) and bool((archive.status[here] == FAILED).all()) and bool(iterate.step.any())


def retreat(iterate: Iterate) -> Iterate:
    """Return halfway to the last good iterate."""
    back = 0.5 * iterate.step
    return Iterate(iterate.u - back, back)
