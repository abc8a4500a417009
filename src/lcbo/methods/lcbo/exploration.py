"""Exploration around the iterate: the points that teach most about the gradients there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.random import Generator
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from lcbo.acquisition.box import Box
from lcbo.acquisition.explore import EXPLORERS, Explorer
from lcbo.checks import MOST_POINTS, above_zero, choice, integer
from lcbo.errors import ArgumentError, ModelError, NumericalRescueWarning
from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.local_model import LocalModel
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.protocol import Setup
from lcbo.models.border import to_array, to_tensor
from lcbo.random import generator
from lcbo.steps.inward import inward
from lcbo.steps.linearized import audible_lengths
from lcbo.steps.step import LocalPosterior, Step
from lcbo.types import Array

SIGNAL = 4.0  # a probe's change of an output, in standard deviations of its noise
NEAREST, FARTHEST = 0.1, 0.3  # the box without noise is at most, with noise or kinks at most this wide
SAME = 1e-3  # of the distance from the iterate: points closer together teach the same
TRIES = 20  # to find a point that has not been evaluated
PENDING_REACH = 4096  # how many of the latest proposals may still be pending


class Exploration:
    """Chooses ``Z_2`` in the local box, given the window and all that is pending or planned."""

    def __init__(
        self,
        explorer: Explorer,
        model: LocalModel,
        step: Step,
        archive: Archive,
        setup: Setup,
        options: LcboOptions,
    ) -> None:
        self.explorer = explorer
        self._model = model
        self._step = step
        self._archive = archive
        self._setup = setup
        self._options = options

    def __call__(self, iterate: Array, k: int, count: int, planned: Sequence[Array]) -> Array:
        """Return ``count x d`` points around the iterate of iteration ``k``.

        Those ``planned`` in its batch count as known.
        """
        model = self._model
        assert model.now is not None, "there is an iterate only after a model"
        size, frame = self._archive.size, model.frame
        pending = self._archive.u[self._archive.pending(max(size - PENDING_REACH, 0))]
        known = np.concatenate([pending, np.array(planned).reshape(-1, len(iterate))])
        z = frame.warp.bent(iterate)
        local = model.at(z) if self._options.inward or self._options.delta == "auto" else None
        delta = self._reach(iterate, self._delta(local, k))
        place = model.now.gp.u
        box = Box(
            *(to_tensor(frame.placed(np.clip(z + side * delta, 0.0, 1.0)), place) for side in (-1.0, 1.0))
        )
        rng = generator(self._setup.seed, "explore", size)
        here = to_tensor(frame.local(iterate), place)
        try:
            gp = model.least_known(self.explorer.most_outputs, here)
            gp = model.builder.conditioned(gp, to_tensor(frame.local(known), place))
            chosen = self.explorer(gp, here, count, box, rng)
        except (ModelError, LinAlgError) as error:  # of hyperparameters that leave nothing to learn
            warnings.warn(f"uniform exploration: {error}", NumericalRescueWarning, stacklevel=2)
            chosen = box.draw(rng, count)
        points = frame.working(to_array(chosen))
        if local is not None and self._options.inward:
            points = self._turned(local, points, frame.warp.bent(known))
        if self._setup.deterministic:
            points = self._distinct(points, known, z, delta, rng)
        return self._setup.snapped(frame.warp.straight(points))

    def _distinct(self, points: Array, known: Array, z: Array, delta: float | Array, rng: Generator) -> Array:
        """Return the points with uniform ones of the box for those that would be evaluated again.

        With few variables the best probes are often corners of the box, the same for every iteration that
        has not moved. Where the integers nearby have all been evaluated, the box grows.
        """
        straight, distinct = self._model.frame.warp.straight, list[Array]()
        taken = known
        for point in points:
            for tries in range(TRIES):
                u = self._setup.snapped(straight(point))
                if not (self._archive.holds(u) or (taken == u).all(1).any()):
                    break
                wide = delta if self._setup.grid is None else delta * (1.0 + tries)
                point = np.clip(z + wide * rng.uniform(-1.0, 1.0, len(z)), 0.0, 1.0)
            distinct.append(point)
            taken = np.concatenate([taken, [u]])
        return np.array(distinct)

    def _reach(self, u: Array, delta: float) -> float | Array:
        """Return the half-width of the box; that of an integer reaches its neighbors on both sides."""
        grid, bent = self._setup.grid, self._model.frame.warp.bent
        if grid is None:
            return delta
        gaps = [abs(bent(grid.shifted(u, np.full(len(u), side))) - bent(u)) for side in (1.0, -1.0)]
        return np.where(grid.mask, np.maximum(delta, np.maximum(*gaps)), delta)

    def _turned(self, local: LocalPosterior, points: Array, known: Array) -> Array:
        """Return the points, ``count x d`` of the working cube, on the feasible side.

        Different points, or the same one asked for again, may be turned to one and the same: a point that
        would repeat one that is known or turned already stays where it is.
        """
        taken = known
        for point in points:
            turned = inward(local, point, self._step)
            again = np.linalg.norm(taken - turned, axis=1) <= SAME * np.linalg.norm(turned - local.u)
            taken = np.concatenate([taken, [point if again.any() else turned]])
        return taken[len(known) :]

    def _delta(self, local: LocalPosterior | None, k: int) -> float:
        """Half-width of the box."""
        delta = self._options.delta
        if delta is None or not isinstance(delta, str):
            return 1.0 if delta is None else float(delta)
        assert local is not None
        length = self._step.info(max(k, 1))["step"]
        if self._step.rough:
            return FARTHEST
        return half_width(length, SIGNAL * audible_lengths(local, length))


def half_width(length: float, audible: Array) -> float:
    """Half-width of the box: the length of a step, or where the signals stand out of the noise.

    The gradient's error from points at a distance h is the noise over h: without noise probes may be as close
    as the steps are, with noise they must be as far as the curvature allows. What is left of the objective's
    slope along the limits is as uncertain as all outputs together, whose errors, each over the output's own
    slope, add up in squares. So a small box grows until their root mean square is heard, a large one only
    as far as half of them need.

    Args:
        length: of a step.
        audible: distances at which the objective and each near term stand out; 0 without noise.
    """
    together = float(np.sqrt(np.mean(np.square(np.minimum(audible, 1.0)))))
    return max(min(max(length, together), NEAREST), min(float(np.median(audible)), FARTHEST))


def make_explorer(name: str, options: Mapping[str, Any]) -> Explorer:
    """Return the explorer of a name with its settings, each checked against the type of its default."""
    kind = EXPLORERS[choice("options, explorer", name, EXPLORERS)]
    defaults = {f.name: f.default for f in fields(kind)}
    unknown = sorted(set(options) - set(defaults))
    if unknown:
        expected = f"settings of the explorer {name!r}: {', '.join(defaults)}"
        raise ArgumentError("options, explorer_options", expected, unknown)
    given = {key: _setting(f"options, explorer_options, {key}", value, defaults[key])
             for key, value in options.items()}  # fmt: skip
    return kind(**given)


def _setting(argument: str, value: Any, default: Any) -> Any:
    if isinstance(default, int):
        return integer(argument, value, 1 if argument.endswith("starts") else 0, MOST_POINTS)
    if isinstance(default, float):
        return above_zero(argument, value)
    if not isinstance(value, list | tuple) or not value:
        raise ArgumentError(argument, "a list of numbers above 0", repr(value))
    return tuple(above_zero(argument, entry) for entry in value)
