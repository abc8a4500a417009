"""Quiet or noisy, and how many evaluations an iteration makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.protocol import Setup
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.steps.schedules import at


@dataclass(frozen=True)
class Regime:
    """Settings for one noise level.

    Attributes:
        kernel: ``rbf`` or ``matern52``.
        explore: exploration points per iteration.
        delta: half-width of the exploration box.
    """

    kernel: str
    explore: int
    delta: float


# Without noise: few points per step, close by, and a kernel that keeps rough spots local.
QUIET = Regime("matern52", 3, 0.1)
# With noise: more points per step, farther away where the signal is larger, and a smooth kernel.
NOISY = Regime("rbf", 4, 0.2)
REGIMES = (QUIET, NOISY)
PROBES_SHARE = 25  # noise probes cost at most a 25th of the budget
NOISE_THRESHOLD = 1e-3  # repeat variance over design variance beyond which a run counts as noisy


class NoiseRegime:
    """The regime a run is in; what the user chose by an option goes before what the regime says."""

    def __init__(self, options: LcboOptions) -> None:
        self._options = options
        self.now = QUIET

    @property
    def kernel(self) -> str:
        """Kernel of the next fit."""
        return self.now.kernel if self._options.kernel == "auto" else self._options.kernel

    @property
    def delta(self) -> float:
        """Half-width of the exploration box; 1 covers the cube."""
        delta = self._options.delta
        return 1.0 if delta is None else self.now.delta if isinstance(delta, str) else float(delta)

    def decide(self, archive: Archive, repeats: Repeats) -> None:
        """Compare the scatter of repeats with that of everything evaluated so far."""
        scatter, dof = repeats.scatter(Scaling.of(archive.y[archive.recent(None)]).std)
        noisy = any(s / max(n, 1.0) > NOISE_THRESHOLD for s, n in zip(scatter, dof, strict=True))
        self.now = NOISY if noisy else QUIET

    def state(self) -> dict[str, Any]:
        """Return which regime it is."""
        return {"index": REGIMES.index(self.now)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.now = REGIMES[state["index"]]


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
        """Return ``b1`` and ``b2``; at the first iterate further repeats tell how noisy each output is."""
        explore, most = self._options.explore, setup.budget
        repeats = int(at(self._options.repeats, k, "options, repeats"))
        if k == 1 and None in setup.noise_var:
            repeats += _within(None if most is None else most // PROBES_SHARE, self._options.noise_probes)
        if isinstance(explore, str):
            return _within(most, repeats), self._regime.now.explore
        return _within(most, repeats), _within(most, int(at(explore, k, "options, explore")))


def _within(most: int | None, count: int) -> int:
    return count if most is None else min(count, most)
