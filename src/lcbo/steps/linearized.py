"""The default step: the linearized problem solved in a ball around the iterate.

    minimize  g.s + s'Hs / 2   subject to   c_i + margin_i + a_i.s <= 0 (= 0),   |s| <= r,   0 <= u + s <= 1.

Everything is made scale-free first (s in units of r, each gradient in units of its own norm), so
neither the objective's nor a constraint's units matter. The constraints are elastic: when they cannot be
met inside the ball the step is the one that reduces the violation most. H is the convex part of the
curvature of the objective's model; how the constraints bend is learned from landings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lcbo.steps.elastic import elastic_step
from lcbo.steps.landing import Landing
from lcbo.steps.roughness import Roughness
from lcbo.steps.step import Iterate, LocalPosterior, PosteriorAt, Step, unit
from lcbo.types import Array

WEIGHTS = (1e2, 1e4, 1e6)  # of a violation against the objective, each in radii; the first that suffices
UNPRESSED = 1e-6  # slopes of the objective: a multiplier below is rounding
BALANCED = 30.0  # slopes of the objective: a row pressed harder is still to be reached
FIRM = 1e2  # times that weight is the one of a known condition: what is known gives way last
FAR = 3.0  # radii: a term farther out of reach must not drown the others, only its sign matters
RATE = 0.3  # of the logarithm of the radius per step
LATE = 0.02  # the cap at the end of the budget
STEPS_OVER_NOISE = 0.2  # of the length over which a change stands out of the noise: steps are not shorter
RESOLVED = 0.1  # the radius that uncertain values ask for at most


@dataclass
class Radius:
    """The radius of the next step, in the working cube, controlled by how the last one went.

    Steps that keep their direction lengthen it, steps that turn back shorten it: the angle needs no
    values, which noise blurs. Landings that are visibly wrong shorten it too, and so does a step that
    ends well inside. The remaining budget caps it, so that a run ends with small steps.

    Attributes:
        now: its value.
        least: the floor where values are known exactly.
        most: the cap at the start; it falls with the square root of what is left of the budget.
    """

    now: float
    least: float
    most: float

    def judge(self, error: float, resolution: float, spent: float | None) -> None:
        """Shorten after a landing off by this share of the linear change, then hold within the bounds."""
        self.now *= 0.5 if error > 1.0 else 0.75 if error > 0.5 else 1.0
        self._hold(resolution, spent)

    def adapt(
        self, step: Array, last_step: Array, error: float, resolution: float, spent: float | None
    ) -> None:
        """Follow the angle between two steps, ``exp(0.3 cos)``, and the length of a short one."""
        size, last = float(np.linalg.norm(step)), float(np.linalg.norm(last_step))
        cosine = float(step @ last_step) / (size * last) if size * last > 0.0 else 0.0
        factor = math.exp(RATE * cosine)
        self.now *= factor if error <= 0.5 else min(factor, 1.0)
        self._hold(resolution, spent)
        if size < 0.5 * self.now:
            self.now = max(0.5 * self.now, 2.0 * size)
            self._hold(resolution, spent)

    def _hold(self, resolution: float, spent: float | None) -> None:
        left = 1.0 if spent is None else max(1.0 - spent, 0.0)
        cap = max(min(LATE, self.most), self.most * math.sqrt(left))
        floor = max(self.least, min(resolution, RESOLVED))
        self.now = min(max(self.now, floor), cap)


class LinearizedStep(Step):
    """Solves the linearized problem with the margins that past landings ask for, then adapts the radius.

    Where the limits have kinks, wrong landings do not shorten it.
    """

    def __init__(self, radius: Radius, landing: Landing) -> None:
        self.radius = radius
        self.landing = landing
        self.roughness = Roughness()
        self._first = radius.now

    def __call__(self, local: LocalPosterior, last_step: Array, k: int, spent: float | None) -> Iterate:  # noqa: ARG002
        """Return the next iterate; see `Step`."""
        error = self.landing.observe(local, float(np.linalg.norm(last_step)), self.radius.now)
        if local.exact:
            self.radius.now = self.roughness.observe(self.landing.error, self.radius.now) or self.radius.now
        if self.rough:
            error = 0.0
        audible = float(np.median(audible_lengths(local, self.radius.now)))
        resolution = max(resolved_length(local, self.radius.now), min(STEPS_OVER_NOISE * audible, LATE))
        self.radius.judge(error, resolution, spent)
        step = linearized_step(
            local, self.landing.margin(local, self.radius.now), self.radius.now, self.landing.believed()
        )
        self.landing.expect(local, step)
        self.radius.adapt(step, last_step, error, resolution, spent)
        return Iterate(local.u + step, step)

    @property
    def rough(self) -> bool:
        """Whether the limits have kinks."""
        return self.roughness.found

    def probe_margin(self, local: LocalPosterior, length: float) -> Array:
        """Return what past landings and the uncertainty here ask of a probe of some length."""
        return self.landing.probe_margin(local, length)

    def way_back(
        self, local: LocalPosterior, last_step: Array, at: PosteriorAt, k: int, spent: float | None
    ) -> LocalPosterior | None:
        """Return where the last step came from if it went astray; what it taught is kept."""
        length = float(np.linalg.norm(last_step))
        if length == 0.0 or not local.missed().any():
            return None
        before = at(local.u - last_step)
        if not self.landing.astray(local, before, length):
            return None
        self(local, last_step, k, spent)
        self.landing.expected = None
        return before

    def failed(self) -> None:
        """Forget what was expected at the end of the step, and take shorter ones."""
        self.landing.expected = None
        self.radius.now = max(0.5 * self.radius.now, self.radius.least)

    def jumped(self, length: float) -> None:
        """Forget what was expected, and let the next step reach as far as the jump did."""
        self.landing.expected = None
        self.radius.now = max(self.radius.now, min(length, self.radius.most))

    def restart(self) -> None:
        """Start with the first radius and without landings."""
        self.radius = replace(self.radius, now=self._first)
        self.landing, self.roughness = Landing(self.landing.probability), Roughness()

    def info(self, k: int) -> dict[str, float]:  # noqa: ARG002
        """Return the radius of the next step."""
        return {"step": self.radius.now}

    def state(self) -> dict[str, Any]:
        """Return the radius and what landings taught."""
        return {
            "radius": self.radius.now,
            "landing": self.landing.state(),
            "roughness": self.roughness.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; run files of before know nothing of landings or of kinks."""
        self.radius.now = state["radius"]
        if "landing" in state:
            self.landing.restore(state["landing"])
        if "roughness" in state:
            self.roughness = Roughness.restored(state["roughness"])


def resolved_length(local: LocalPosterior, radius: float) -> float:
    """The length over which objective and near terms change by a standard deviation of their values.

    Their median: steps much shorter than this are led by what the model does not know.
    """
    return float(np.median(_lengths(np.array([local.deviation, *local.deviations]), local, radius)))


def audible_lengths(local: LocalPosterior, radius: float) -> Array:
    """The lengths over which objective and near terms change by a deviation of their noise, at least one."""
    return np.zeros(1) if local.noise is None else _lengths(local.noise, local, radius)


def _lengths(deviations: Array, local: LocalPosterior, radius: float) -> Array:
    slopes = np.array([np.linalg.norm(local.objective), *np.linalg.norm(local.slopes, axis=1)])
    near = np.array([True, *local.near(radius)]) & (slopes > 0.0)
    return deviations[near] / slopes[near] if near.any() else np.zeros(1)


def linearized_step(
    local: LocalPosterior, margin: Array, radius: float, believed: Array | None = None
) -> Array:
    """Return the step ``s``, ``d``, in a ball; ``T`` margins are added to the values of the terms.

    Its elastic weight grows until the step does not raise the violation that the model itself predicts.
    The multipliers of this solution then say how the Lagrangian bends, as far as the terms' second
    derivatives are ``believed``, ``T``, 0 to 1, and the step follows it.
    """
    u, values = local.u, local.values + margin
    norms = np.linalg.norm(local.slopes, axis=1)
    useful = norms > 0.0
    rows, two_sided = local.slopes[useful] / norms[useful, None], local.equality[useful]
    offset = np.clip(values[useful] / (norms[useful] * radius), -FAR, FAR)
    before = float(np.where(two_sided, np.abs(offset), np.maximum(offset, 0.0)).sum())
    length = float(np.linalg.norm(local.objective))
    curvature = None
    if local.hessian is not None and length > 0.0:
        curvature = convex_part(local.hessian) * (radius / length)
    step = np.zeros(len(u))
    room = 1.0 if local.held is None else np.where(local.held, 0.0, 1.0)
    firm = np.ones(len(offset))
    if local.limits is not None:
        known = np.clip(local.limits[0] / radius, -FAR, 0.0)
        rows, offset = np.concatenate([rows, local.limits[1]]), np.concatenate([offset, known])
        two_sided = np.append(two_sided, np.zeros(len(known), dtype=bool))
        firm = np.append(firm, np.full(len(known), FIRM))
    for weight in WEIGHTS:
        box = room * (-u / radius), room * ((1.0 - u) / radius)
        each = weight if local.limits is None else weight * firm
        solution = elastic_step(unit(local.objective), rows, offset, two_sided, *box, each, curvature)
        step = solution.step
        if solution.violation <= before + 1e-9:
            break
    bent = None if believed is None else _lagrangian(local, solution.multipliers, believed)
    if bent is not None:
        curvature = bent * (radius / length)
        second = elastic_step(unit(local.objective), rows, offset, two_sided, *box, each, curvature)
        if second.violation <= max(solution.violation, before) + 1e-9:
            step = second.step
    displacement: Array = np.clip(u + radius * step, 0.0, 1.0) - u
    return displacement


def _lagrangian(local: LocalPosterior, multipliers: Array, believed: Array) -> Array | None:
    """Return the convex part of the Lagrangian's second derivatives, ``d x d``.

    ``None`` where no term bends it: the curvature is that of the objective.

    Args:
        local: posterior at the iterate.
        multipliers: of the terms that have a slope, for slopes of length 1, then those of other rows.
        believed: ``T``, share of the terms' second derivatives.
    """
    if local.hessian is None or local.bends is None:
        return None
    norms, length = np.linalg.norm(local.slopes, axis=1), float(np.linalg.norm(local.objective))
    useful = norms > 0.0
    pressure = np.zeros(len(norms))
    pressure[useful] = multipliers[: int(useful.sum())]
    pressure = np.where(np.abs(pressure) > UNPRESSED, pressure * believed, 0.0)
    if not 0.0 < np.abs(pressure).max(initial=0.0) < BALANCED or length == 0.0:
        return None
    weights = np.divide(pressure * length, norms, out=np.zeros(len(norms)), where=useful)
    return convex_part(local.hessian + local.bends.weighed(weights))


def convex_part(hessian: Array) -> Array:
    """Return a symmetric matrix with its negative eigenvalues at zero."""
    values, vectors = np.linalg.eigh(hessian)
    convex: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return convex
