"""The integers of the next iterate: a step moves everything else, and the integers jump from place to place.

A step that rounds to where it began would stall, and one that rounds across a limit would be infeasible. So
integers are held during a step. Before it, the neighbors of the present ones, and those nearest to where a
step would lead if they were continuous, are compared by the model: each with the best that the other
variables can do there. The run jumps where that promises more than staying.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.local_model import LocalModel
from lcbo.problem.space import Grid
from lcbo.steps.linearized import convex_part, linearized_step
from lcbo.steps.step import Iterate, LocalPosterior
from lcbo.types import Array

WEIGHT = 1e2  # of a violation against the objective, both as distances
GAIN = 1e-3  # of an output's deviation in the window: what a jump has to promise
REACH = 0.2  # that the other variables move along with a jump, at most: they follow the integers far
MOST = 10  # integers whose neighbors are compared, those that a continuous step would move most
ROUNDS = 3  # neighbors of neighbors
KNOWN = 5  # evaluations per variable with the same integers, after which only the best is returned to


class Integers:
    """Chooses the integers of the next iterate.

    Attributes:
        mask: which coordinates are integers.
    """

    def __init__(self, grid: Grid, model: LocalModel, archive: Archive) -> None:
        self._grid, self.mask = grid, grid.mask
        self._model = model
        self._archive = archive

    def jump(self, u: Array, local: LocalPosterior, radius: float, best: Array) -> Array | None:
        """Return a point of the unit cube with other integers than the iterate ``u``, ``None`` to stay.

        Args:
            u: the iterate, a point that can be evaluated.
            local: posterior there.
            radius: of the next step.
            best: best point evaluated.
        """
        grid, warp, length = self._grid, self._model.frame.warp, max(radius, REACH)
        relaxed = linearized_step(local, np.zeros(len(local.values)), length)
        order = np.argsort(np.where(grid.mask, -abs(relaxed), np.inf), kind="stable")
        moving = order[: min(MOST, int(grid.mask.sum()))]
        seen = {u[grid.mask].tobytes()}
        staying, landed = self._landing(u, length)
        merit, found = staying - GAIN, u
        around = [grid.snap(warp.straight(local.u + relaxed)), *self._neighbors(u, moving)]
        for _ in range(ROUNDS):
            before = found
            for place in around:
                at = np.where(grid.mask, place, u)
                key = at[grid.mask].tobytes()
                if key in seen or not self._open(at, best):
                    continue
                seen.add(key)
                value, point = self._landing(at, length)
                if value < merit:
                    merit, found, landed = value, at, point
            if found is before:
                break
            around = self._neighbors(found, moving)
        return None if found is u else landed

    def back(self, iterate: Iterate, halfway: Iterate) -> Iterate:
        """Return the way back from an iterate that failed; integers go all of it: half may round to none."""
        u = self._grid.snap(np.where(self.mask, iterate.u - iterate.step, halfway.u))
        return Iterate(u, np.where(self.mask, 0.0, halfway.step))

    def _neighbors(self, u: Array, moving: NDArray[np.intp]) -> list[Array]:
        """Return the points one integer away, upwards and downwards, for each of some coordinates."""
        steps = np.eye(len(u))[moving]
        return [self._grid.shifted(u, side * step) for step in steps for side in (1.0, -1.0)]

    def _open(self, u: Array, best: Array) -> bool:
        """Whether the integers of a point are the best known or not yet well known."""
        mask, told = self._grid.mask, self._archive.u[self._archive.recent(None)]
        count = int((told[:, mask] == u[mask]).all(1).sum())
        return count < KNOWN * len(u) or bool((best[mask] == u[mask]).all())

    def _landing(self, u: Array, length: float) -> tuple[float, Array]:
        """Return what the model promises after a step with the integers of ``u``, and where it leads."""
        warp, mask = self._model.frame.warp, self._grid.mask
        local = replace(self._model.at(warp.bent(u)), held=mask)
        step = linearized_step(local, np.zeros(len(local.values)), length)
        value = local.value + float(local.objective @ step)
        if local.hessian is not None:
            value += 0.5 * float(step @ convex_part(local.hessian) @ step)
        after = local.values + local.slopes @ step
        norms = np.maximum(np.linalg.norm(local.slopes, axis=1), 1e-300)
        beyond = np.where(local.equality, abs(after), np.maximum(after, 0.0)) / norms
        merit = value + WEIGHT * float(np.linalg.norm(local.objective)) * float(beyond.sum())
        return merit, np.where(mask, u, warp.straight(local.u + step))
