"""A benchmark seen through measurement noise, with the truth still at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lcbo.problem import Problem
from lcbo.random import generator
from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problems.base import Benchmark


class NoisyView(Problem):
    """A benchmark whose `evaluate` adds independent Gaussian noise to objective and constraints.

    Evaluation number i (`count`, from 0) draws its noise from the generator (seed, "noise", i), so a run
    that is resumed goes on with the same noise (`continue_after`). Outcomes that neither the objective
    nor a constraint uses are left out, since they would reveal the noise.

    A pickled copy (a process pool, Dask) gets a stream of its own, numbered by how many copies were made
    before it; workers therefore never repeat each other's noise.

    Args:
        truth: The benchmark behind the view; ``view.truth.evaluate(x)`` is noise-free.
        seed: Seed of the noise.
        sd: Standard deviation of every outcome, by name, in the outcome's own units.
    """

    def __init__(self, truth: Benchmark, seed: int, sd: Mapping[str, float]) -> None:
        super().__init__(truth.bounds, truth.constraints, truth.objective, fun=self._observe)
        self.truth = truth
        self.seed = seed
        self.sd = dict(sd)
        self.count = 0
        self._stream = "noise"
        self._copies = 0
        if truth.source is not None:
            self.source = {**truth.source, "noise": {"rng": seed, "sd": self.sd}}

    def _observe(self, x: Array) -> dict[str, float]:
        return self.observed(self.truth.evaluate(x))

    def observed(self, values: Mapping[str, float]) -> dict[str, float]:
        """The next noisy observation of a point whose noise-free outcomes are known."""
        draws = generator(self.seed, self._stream, self.count).standard_normal(len(self.sd))
        self.count += 1
        return {
            name: values[name] + spread * float(draw)
            for (name, spread), draw in zip(self.sd.items(), draws, strict=True)
        }

    def continue_after(self, n_ended: int) -> None:
        """Go on with the noise of evaluation number ``n_ended``."""
        self.count = n_ended

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        self._copies += 1
        state.update(_stream=f"{self._stream}/{self._copies}", count=0, _copies=0)
        return state
