"""What every benchmark adds to a `Problem`: known answers, noise-free truth, batches and noisy views."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lcbo import checks
from lcbo.errors import ArgumentError
from lcbo.problem import Constraint, Objective, Problem
from lcbo.problems.figures import draw
from lcbo.random import generator
from lcbo.types import Array

_SLACK = 1e-9  # of the range: a point mapped from the unit cube may leave its bounds by rounding


@dataclass(frozen=True)
class BestKnown:
    """The best objective value known, where it is attained and how far it can be trusted.

    Attributes:
        value: Objective at ``x``, feasible within the constraints' tolerances.
        x: The point, or None where only the value is published.
        how: ``"closed form"``, ``"convex program"``, ``"multistart"``, ``"published"`` and so on.
        reference: Where the value comes from.
    """

    value: float
    x: Array | None = field(repr=False)
    how: str
    reference: str


class Benchmark(Problem):
    """A problem that carries its own function and what is known about its answer.

    A subclass implements `outcomes_at`. The outcomes may contain more names than the objective and the
    constraints use (physical quantities beside normalized ones).

    Args:
        bounds: ``d x 2`` lower and upper bounds.
        constraints: Constraints on named outcomes.
        objective: Name of the minimized outcome, or an `Objective`.
        best_known: The best known answer, or None.
        noise_scale: What noise level 1 means for each outcome, in the outcome's own units.
        noise_level: Default level of `noisy`.
    """

    def __init__(
        self,
        bounds: Array,
        constraints: Sequence[Constraint],
        objective: str | Objective,
        *,
        best_known: BestKnown | None,
        noise_scale: Mapping[str, float],
        noise_level: float = 0.1,
    ) -> None:
        super().__init__(bounds, tuple(constraints), objective, fun=self.evaluate, deterministic=True)
        self.best_known = best_known
        self.noise_scale = dict(noise_scale)
        self.noise_level = noise_level

    @abstractmethod
    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Every outcome of ``n x d`` valid points as arrays of length ``n``; no checks."""

    def evaluate(self, x: npt.ArrayLike) -> dict[str, float]:
        """Noise-free outcomes of one point by name, those without a constraint too.

        Raises:
            ArgumentError: If ``x`` has the wrong length, is not finite or lies outside the bounds.
        """
        outcomes = self.outcomes_at(self._checked_point(x)[None, :])
        return {name: float(values[0]) for name, values in outcomes.items()}

    def evaluate_batch(self, X: npt.ArrayLike) -> dict[str, Array]:
        """Noise-free outcomes of ``n x d`` points: arrays of length ``n``, checked as in `evaluate`."""
        points = _numbers("X", X)
        if points.ndim != 2 or points.shape[1] != self.n_variables:
            raise ArgumentError("X", f"an n x {self.n_variables} array", f"shape {points.shape}")
        return self.outcomes_at(self._checked("X", points))

    def noisy(self, rng: int = 0, sd: float | Mapping[str, float] | None = None) -> NoisyView:
        """The same problem observed with Gaussian noise from a stream of its own.

        Args:
            rng: Seed of the noise stream.
            sd: A level multiplied with `noise_scale` (None: `noise_level`), or standard deviations by
                outcome name in the outcomes' own units.
        """
        return NoisyView(self, checks.integer("rng", rng, 0), self.noise_sd(sd))

    def noise_sd(self, sd: float | Mapping[str, float] | None = None) -> dict[str, float]:
        """Standard deviation each outcome gets in `noisy`, by name."""
        if isinstance(sd, Mapping):
            unknown = sorted(set(sd) - set(self.outcomes))
            if unknown:
                raise ArgumentError("sd", f"names out of {list(self.outcomes)}", unknown)
            spread = {name: float(sd.get(name, 0.0)) for name in self.outcomes}
        else:
            level = self.noise_level if sd is None else float(sd)
            spread = {name: level * self.noise_scale[name] for name in self.outcomes}
        if not all(np.isfinite(value) and value >= 0.0 for value in spread.values()):
            raise ArgumentError("sd", "finite non-negative standard deviations", spread)
        return spread

    def violation(self, x: npt.ArrayLike) -> float:
        """Largest noise-free constraint violation at ``x``, in the outcomes' units; 0 when feasible."""
        outcomes = self.evaluate(x)
        return max((c.violation(outcomes[c.name]) for c in self.constraints), default=0.0)

    def plot(self, x: npt.ArrayLike, path: str | Path | None = None) -> Any:
        """Draw a design: its shape where it has one, else a plane through ``x`` in two variables.

        Args:
            x: The design.
            path: File to write (``.png`` or ``.svg``), or None.

        Returns:
            The matplotlib ``Figure``.
        """
        return draw(self, self._checked_point(x), path)

    def _checked_point(self, x: npt.ArrayLike) -> Array:
        point = _numbers("x", x)
        if point.shape != (self.n_variables,):
            raise ArgumentError("x", f"{self.n_variables} numbers", f"an array of shape {point.shape}")
        checked: Array = self._checked("x", point[None, :])[0]
        return checked

    def _checked(self, argument: str, points: Array) -> Array:
        finite = np.isfinite(points)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise ArgumentError(argument, "finite numbers", f"{points[row, column]} at index {column}")
        slack = _SLACK * (self.ub - self.lb)
        outside = (points < self.lb - slack) | (points > self.ub + slack)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            within = f"values within the bounds, [{self.lb[column]}, {self.ub[column]}] at index {column}"
            raise ArgumentError(argument, within, points[row, column])
        return np.clip(points, self.lb, self.ub)


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

    def restated(self, other: Problem) -> Self:
        """The view with other variables and conditions, and the truth likewise: it knows the bounds too."""
        twin = super().restated(other)
        twin.truth = self.truth.restated(other)
        return twin

    def continue_after(self, n_ended: int) -> None:
        """Go on with the noise of evaluation number ``n_ended``."""
        self.count = n_ended

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        self._copies += 1
        state.update(_stream=f"{self._stream}/{self._copies}", count=0, _copies=0)
        return state


def _numbers(argument: str, values: npt.ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(argument, "an array of real numbers", repr(values)) from None


@cache
def _answers(problem: str) -> dict[str, dict[str, Any]]:
    text = files("lcbo.problems").joinpath("data", f"{problem}.json").read_text(encoding="utf-8")
    answers: dict[str, dict[str, Any]] = json.loads(text)
    return answers


def stored_answer(problem: str, variant: str, factor: float = 1.0) -> BestKnown | None:
    """Return a stored answer with its value multiplied by ``factor``, ``None`` where there is none.

    The answers that were computed once stand in ``data/{problem}.json``, by variant.
    """
    entry = _answers(problem).get(variant)
    if entry is None:
        return None
    x = None if entry["x"] is None else np.array(entry["x"], dtype=np.float64)
    return BestKnown(factor * entry["value"], x, entry["how"], entry["reference"])
