"""A benchmark as an experiment uses it: noisy for the method, noise-free for the scores."""

from __future__ import annotations

from lcbo.problems import Benchmark, NoisyView
from lcbo.types import Array


class Truth:
    """A benchmark that evaluates every point once, and the view of it that a method gets.

    Attributes:
        benchmark: the noise-free problem.
        problem: what the method sees; the noise of evaluation i is the same for every method.
    """

    def __init__(self, benchmark: Benchmark, noise: float, seed: int) -> None:
        self.benchmark = benchmark
        self.problem: Benchmark | NoisyView = benchmark
        if noise > 0.0:
            self.problem = benchmark.noisy(rng=seed, sd=noise)
        self.problem.fun = self._observe
        self._seen: dict[bytes, dict[str, float]] = {}

    def exact(self, x: Array) -> dict[str, float]:
        """Return the noise-free outcomes of a point; an expensive benchmark is not asked twice."""
        key = x.tobytes()
        if key not in self._seen:
            self._seen[key] = self.benchmark.evaluate(x)
        return self._seen[key]

    def _observe(self, x: Array) -> dict[str, float]:
        exact = self.exact(x)
        return self.problem.observed(exact) if isinstance(self.problem, NoisyView) else exact
