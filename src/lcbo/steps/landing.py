"""Where steps land, compared with where the linearized model said they would.

A linearized constraint is optimistic where the constraint is convex: steps land outside, every time. The
error grows with the square of the step. Per term the run learns that bend from the errors seen, weighed
by how well they can be seen through the noise, and how much the errors scatter around it; a step then
aims as far inside as it expects to be carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from lcbo.steps.step import LocalPosterior
from lcbo.types import Array

GAIN = 0.4  # of the latest landing in the bend, where it is seen clearly
FORGET = 0.3  # of what is known about the variation of the bend, per landing
RECENT = 0.4  # of the latest landing in the scatter
FIRST_BEND = 0.2  # variation of the bend before any landing: this share of the slope over the radius
FIRST_SCATTER = 0.01  # of the linear change
MOST = 0.3  # a margin is never more than this share of the linear change, or than what is unknown
INSIDE = 1e-3  # of the linear change: lands a step just inside an inequality that is known exactly
LATEST = 0.3  # of the latest landing in how far the model's bends are believed
ASTRAY = 1.0  # of the linear change: an error of this size beyond a limit is not stood on
VISIBLE = 2.0  # standard deviations of the value by which an error counts as one


@dataclass
class Landing:
    """What the landings so far taught.

    Attributes:
        probability: wanted, that a step lands inside all inequalities that are near.
        expected: ``1 + T``, objective and terms where the last step was to land, in user units.
        bend: ``T``, expected error of a landing over the squared length of its step, in user units.
        wobble: ``T``, standard deviation of the bend.
        scatter: ``T``, mean square of the errors that the bend does not explain, over the linear change.
        bent: ``T``, by how much the model itself saw the last step bend, in user units; ``None`` unknown.
        agreement: ``2 x T``, recent means of ``e b`` and ``b b`` over ``e e + b b``, of errors e and bends b.
        error: the worst error of a near term at the last landing, as a share of its linear change.
    """

    probability: float
    expected: Array | None = None
    bend: Array = field(default_factory=lambda: np.zeros(0))
    wobble: Array = field(default_factory=lambda: np.zeros(0))
    scatter: Array = field(default_factory=lambda: np.zeros(0))
    bent: Array | None = None
    agreement: Array = field(default_factory=lambda: np.zeros((2, 0)))
    error: float = 0.0

    def observe(self, local: LocalPosterior, length: float, radius: float) -> float:
        """Learn from the posterior where the last step, of a length, landed.

        Returns the worst error of objective and near terms as a share of the linear change, as far as it
        can be told from the uncertainty of the values; 0 where there was nothing to compare.
        """
        scale, slopes = local.scale[1:], np.linalg.norm(local.slopes, axis=1)
        self.error = 0.0
        if len(self.bend) != len(slopes):  # at first, and where a wall of failures, the last term, changes
            kept, size = len(self.bend), len(slopes)
            self.bend = np.append(self.bend, np.zeros(size))[:size]
            self.wobble = np.append(self.wobble, (FIRST_BEND * slopes / radius * scale)[kept:])[:size]
            self.scatter = np.append(self.scatter, np.full(size, FIRST_SCATTER**2))[:size]
            self.agreement = np.concatenate([self.agreement, np.zeros((2, size))], 1)[:, :size]
            self.expected = None
        if self.expected is None or length == 0.0:
            return 0.0
        # In standardized outputs from here on: squares of user units may leave the range of numbers.
        bend, variation = self.bend / scale, np.square(self.wobble / scale)
        var = np.square(local.deviations)
        error = local.values - self.expected[1:] / scale
        if self.bent is not None:
            self._compare(error, self.bent / scale)
        change = slopes * length
        rest = error - bend * length**2
        # A step much shorter than the radius shows no bend; what else it shows must not look like one.
        most = slopes / radius
        surprise = np.minimum(np.maximum(error / length**2 - bend, -most), most)
        noise = var / length**4
        bend = bend + GAIN * variation / (variation + noise + 1e-300) * surprise
        seen = np.maximum(surprise**2 - noise, 0.0)
        variation = (1.0 - FORGET) * variation + FORGET * seen
        self.bend, self.wobble = bend * scale, np.sqrt(np.maximum(variation, 1e-12 * slopes**2)) * scale
        relative = np.minimum(np.maximum(rest**2 - var, 0.0), change**2) / np.maximum(change**2, 1e-300)
        self.scatter = (1.0 - RECENT) * self.scatter + RECENT * relative

        linear = np.array([np.linalg.norm(local.objective) * length, *change])
        missed = np.array([local.value - self.expected[0] / local.scale[0], *rest])
        deviations = np.array([local.deviation, *local.deviations])
        # What is flat has no change to compare with.
        near = np.array([True, *local.near(length)]) & (linear > 0.0)
        errors = np.zeros(len(near))
        errors[near] = _visible(missed, deviations)[near] / linear[near]
        self.error = float(errors[1:].max(initial=0.0))
        return float(errors.max())

    def astray(self, local: LocalPosterior, before: LocalPosterior, length: float) -> bool:
        """Whether the last step, of a length, went through a limit where it should not have.

        Visibly so: some term is violated more than it was before, by an error as large as the change that
        was expected of it, and all violations together have more than doubled.
        """
        sizes = len(local.values), len(before.values)  # they differ where a wall of failures comes or goes
        if self.expected is None or sizes != (len(self.expected) - 1,) * 2:
            return False
        now, then = local.missed(), before.missed()
        unsure = np.hypot(local.deviations, before.deviations)
        change = np.linalg.norm(before.slopes, axis=1) * length
        error = _visible(local.values - self.expected[1:] / local.scale[1:], local.deviations)
        worse = (now - then > VISIBLE * unsure) & (error > ASTRAY * change)
        return bool(worse.any() and now.sum() > 2.0 * then.sum())

    def expect(self, local: LocalPosterior, step: Array) -> None:
        """Take note of where a step should land."""
        value = local.value + local.objective @ step
        if local.hessian is not None:
            value += 0.5 * step @ local.hessian @ step
        self.bent = None if local.bends is None else 0.5 * local.bends.along(step) * local.scale[1:]
        ahead = [value, *(local.values + local.slopes @ step)]
        self.expected = np.array(ahead) * local.scale

    def _compare(self, error: Array, bent: Array) -> None:
        """Take note of how well the model foresaw by how much the linearized terms were missed."""
        size = np.square(error) + np.square(bent)
        seen = np.stack([error * bent, np.square(bent)]) / np.maximum(size, 1e-300)
        self.agreement = (1.0 - LATEST) * self.agreement + LATEST * seen

    def believed(self) -> Array:
        """Return the share of the model's bends that landings confirm, ``T``, 0 to 1.

        It is the slope of the errors over the bends. A model of few points bends where nothing does, and a
        step that follows such bends creeps.
        """
        together, alone = self.agreement
        share: Array = np.clip(together / np.maximum(alone, 1e-12), 0.0, 1.0)
        return share

    def carried(self, local: LocalPosterior, length: float) -> Array:
        """Return how far out a move of some length is carried beyond each linearized term, ``T``.

        It is 0 for an equality, and at least a hair: what is known exactly must not be missed by rounding.
        """
        change = np.linalg.norm(local.slopes, axis=1) * length
        carried = INSIDE * change
        if len(self.bend) == len(change):
            carried = carried + np.maximum(self.bend / local.scale[1:], 0.0) * length**2
        return np.where(local.equality, 0.0, np.minimum(carried, MOST * change))

    def margin(self, local: LocalPosterior, length: float) -> Array:
        """Return what a step of some length must add to each term to land inside, ``T``; 0 for an equality.

        How far it is carried out, then deviations: of the value here and of the landings.
        """
        return self._margin(local, length, self.scatter)

    def probe_margin(self, local: LocalPosterior, length: float) -> Array:
        """Return the same for a probe, without the scatter of the landings.

        A probe is long: the scatter over its length would leave no room to look, and costs one evaluation.
        """
        return self._margin(local, length, np.zeros(len(self.scatter)))

    def _margin(self, local: LocalPosterior, length: float, scatter: Array) -> Array:
        """Return the margin; the more terms are near, the more deviations it takes that all hold together."""
        change = np.linalg.norm(local.slopes, axis=1) * length
        carried = self.carried(local, length)
        if len(scatter) != len(change):
            return carried
        near = int((local.near(length) & ~local.equality).sum())
        factor = max(float(ndtri(self.probability ** (1.0 / max(near, 1)))), 0.0)
        unknown = np.sqrt(np.square(local.deviations) + scatter * np.square(change))
        most = np.maximum(MOST * change, local.deviations)
        return np.where(local.equality, 0.0, np.minimum(carried + factor * unknown, most))

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as JSON values."""
        return {
            "expected": None if self.expected is None else self.expected.tolist(),
            "bend": self.bend.tolist(),
            "wobble": self.wobble.tolist(),
            "scatter": self.scatter.tolist(),
            "bent": None if self.bent is None else self.bent.tolist(),
            "agreement": self.agreement.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; run files of before compared no bends."""
        self.expected = None if state["expected"] is None else np.array(state["expected"])
        self.bend, self.wobble, self.scatter = (
            np.array(state[name], dtype=np.float64) for name in ("bend", "wobble", "scatter")
        )
        if "agreement" in state:
            self.bent = None if state["bent"] is None else np.array(state["bent"])
            self.agreement = np.array(state["agreement"], dtype=np.float64).reshape(2, -1)
        else:  # run files of before
            self.agreement = np.zeros((2, len(self.bend)))


def _visible(error: Array, deviation: Array) -> Array:
    """The part of an error beyond what its own uncertainty explains."""
    part: Array = np.sqrt(np.maximum(np.square(error) - np.square(VISIBLE * deviation), 0.0))
    return part
