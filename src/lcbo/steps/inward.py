"""Probes turned to the feasible side: what they teach is the same, and each may be an answer."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from lcbo.steps.elastic import elastic_step
from lcbo.steps.step import LocalPosterior, Step
from lcbo.types import Array

WEIGHT = 30.0  # of a violation, in lengths of the probe, against its displacement
GUESSES = 15  # at what is active; a few are usual
TINY = 1e-12  # of a length: rounding
SHORTEST = 0.2  # of its length: a probe that would shrink below this stays as it is


def inward(local: LocalPosterior, probe: Array, step: Step) -> Array:
    """Return the point nearest to a probe that the linearized inequalities allow.

    Args:
        local: posterior at the iterate.
        probe: ``d``, in the working cube.
        step: knows how far inside a probe has to stay.
    """
    move = probe - local.u
    length = float(np.linalg.norm(move))
    norms = np.linalg.norm(local.slopes, axis=1)
    rows = (norms > 0.0) & ~local.equality
    if length == 0.0 or not (rows.any() or local.limits is not None):
        return probe
    slopes = local.slopes[rows] / norms[rows, None]
    offset = (local.values + step.probe_margin(local, length))[rows] / (norms[rows] * length)
    if local.limits is not None:
        offset = np.append(offset, local.limits[0] / length)
        slopes = np.concatenate([slopes, local.limits[1]])
    # Where the iterate itself is outside, a probe only has to keep from going farther out.
    offset = np.clip(offset, -3.0, 0.0)
    wanted = move / length
    if not (offset + slopes @ wanted > 0.0).any():
        return probe
    low, high = -local.u / length, (1.0 - local.u) / length
    turned = projected(wanted, slopes, offset, low, high)
    if turned is None:
        one_sided = np.zeros(len(offset), dtype=bool)
        turned = elastic_step(-wanted, slopes, offset, one_sided, low, high, WEIGHT, np.ones(len(move))).step
    if np.linalg.norm(turned) < SHORTEST:
        return probe
    return np.clip(local.u + length * turned, 0.0, 1.0)


def projected(wanted: Array, rows: Array, offset: Array, low: Array, high: Array) -> Array | None:
    """Return the s nearest to ``wanted``, ``d``, with ``offset + rows s <= 0`` and ``low <= s <= high``.

    Newton's method on the multipliers y of the rows, where ``s = clip(wanted - rows' y)``: it guesses which
    rows and bounds are active, and what solves the guess corrects it. The end is exact, so it is the
    elastic solution too. ``None`` where no guess was right, rows depend on each other, or a multiplier is
    larger than the elastic weight.

    Args:
        wanted: of length 1; zero meets all rows and bounds, so the answer is not longer.
        rows: ``T x d``, of length 1.
        offset: ``T``, not above 0.
        low: ``d``.
        high: ``d``.
    """
    pressure = np.zeros(len(offset))
    for _ in range(GUESSES):
        unbound = wanted - pressure @ rows
        s = np.minimum(np.maximum(unbound, low), high)
        missed = offset + rows @ s
        active = pressure + missed > 0.0
        wrong = np.where(active, np.abs(missed), np.abs(pressure))
        if wrong.max() <= TINY:
            return s if pressure.max() <= WEIGHT else None
        free = s == unbound
        inner = rows[active][:, free]
        if not inner.size:
            return None
        target = missed[active] + inner @ (wanted - s)[free]
        _, solved, info = lapack.dposv(inner @ inner.T, target)
        if info or not np.isfinite(solved).all():
            return None
        pressure = np.zeros(len(offset))
        pressure[active] = solved
    return None
