"""Exploration around the iterate: the points that teach most about the gradients there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from lcbo.acquisition.explore import EXPLORERS, Box, Explorer
from lcbo.checks import above_zero, choice, integer
from lcbo.errors import ArgumentError
from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.local_model import LocalModel
from lcbo.methods.lcbo.regime import NoiseRegime
from lcbo.random import generator
from lcbo.types import Array

PENDING_REACH = 4096  # how many of the latest proposals may still be pending


class Exploration:
    """Chooses ``Z_2`` in the local box, given the window and all that is pending or planned."""

    def __init__(
        self, explorer: Explorer, model: LocalModel, regime: NoiseRegime, archive: Archive, seed: int
    ) -> None:
        self.explorer = explorer
        self._model = model
        self._regime = regime
        self._archive = archive
        self._seed = seed

    def __call__(self, iterate: Array, count: int, planned: Sequence[Array]) -> Array:
        """Return ``count x d`` points around the iterate; those ``planned`` in its batch count as known."""
        assert self._model.now is not None, "there is an iterate only after a model"
        size = self._archive.size
        pending = self._archive.u[self._archive.pending(max(size - PENDING_REACH, 0))]
        known = np.concatenate([pending, np.array(planned).reshape(-1, len(iterate))])
        gp = self._model.now.gp.conditioned(torch.from_numpy(known))
        u, rng = torch.from_numpy(iterate), generator(self._seed, "explore", size)
        points: Array = self.explorer(gp, u, count, Box.around(u, self._regime.delta), rng).numpy()
        return points


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
        return integer(argument, value, 1 if argument.endswith("starts") else 0)
    if isinstance(default, float):
        return above_zero(argument, value)
    if not isinstance(value, list | tuple) or not value:
        raise ArgumentError(argument, "a list of numbers above 0", repr(value))
    return tuple(above_zero(argument, entry) for entry in value)
