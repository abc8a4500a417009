"""The slopes of every outcome at one point, from the evaluations near it.

A method's own model is made for its next step: its window is short, bends every outcome alike and pulls
slopes to zero where it takes an outcome for noise. The slopes at the answer are worth more care. The
evaluations nearest to it are modeled once more, each outcome beside a linear trend and in the coordinates
that its own evidence prefers: a weight that is linear in the areas needs no bending, a deflection that goes
like one over them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.methods.lcbo.evidence import COARSE, POWERS, Choice
from lcbo.methods.lcbo.frame import UNIFORM_SPREAD, Frame
from lcbo.models.border import CPU, to_array, to_tensor
from lcbo.models.builder import WindowBuilder
from lcbo.models.data import Data, merge
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

NEAREST = 20, 60, 750  # evaluations per variable, at least and at most, that the slopes are learned from
TYPICAL = 200  # of them, evenly from near to far, tell coordinates and hyperparameters
TOGETHER = 16  # outputs modeled at once, for the sake of memory
KERNEL = "matern52"  # whose error bars hold where a smoother one is sure of itself too soon
STRAIGHT = Choice(POWERS.index(1.0), KERNEL)
CHOICES = STRAIGHT, *(Choice(POWERS.index(power), KERNEL) for power in (1 / 3, 1 / 2, 2.0, 3.0))
DECISIVE = 3.0  # nats that bent coordinates have to gain over straight ones
LEAST_NOISE = 1e-8  # variance of a standardized outcome: no coordinates shall win by what is below it
STEEPEST = 1.0 / UNIFORM_SPREAD  # slope of a variable that alone explains all the scatter of an outcome


@dataclass(frozen=True)
class Slopes:
    """Posterior of the gradient of every output row at one point, per unit of the cube.

    Attributes:
        u: ``d``, the point of the unit cube.
        mean: ``B x d``, each output in units of its ``scale``.
        cov: ``B x d x d``, likewise; the outputs are independent of each other.
        scale: ``B``, in user units.
    """

    u: Array
    mean: Array
    cov: Array
    scale: Array

    @property
    def std(self) -> Array:
        """Standard deviations of the slopes, ``B x d``, in units of ``scale``."""
        variance: Array = self.cov.diagonal(axis1=1, axis2=2)
        return np.sqrt(np.maximum(variance, 0.0))


@torch.inference_mode()
def local_slopes(
    u: Array, points: Array, outputs: Array, noise_var: Sequence[float | None], scale: Array
) -> Slopes:
    """Return the slopes at ``u`` in units of a scale per output, ``B``.

    Args:
        u: ``d``, a point of the unit cube.
        points: ``n x d`` evaluated points, repeats allowed.
        outputs: ``n x B`` in user units, NaN where missing.
        noise_var: per output the known noise variance, or ``None``.
        scale: ``B``, what the slopes are divided by: squares of user units could overflow.
    """
    near = _nearest(u, points, outputs)
    typical = near[np.unique(np.linspace(0, len(near) - 1, min(TYPICAL, len(near))).round().astype(int))]
    scaling, repeats = Scaling.of(outputs[near]), Repeats(tuple(noise_var))
    for point, y in zip(points, outputs, strict=True):
        repeats.add(point, y)
    scatter, dof = repeats.scatter(scaling.std)
    least = [
        max((v or 0.0) / s / s, LEAST_NOISE) for v, s in zip(noise_var, scaling.std.tolist(), strict=True)
    ]

    def data(frame: Frame) -> Data:
        merged = merge(frame.local(points[typical]), scaling.apply(outputs[typical]), CPU)
        return replace(merged, scatter=to_tensor(scatter, merged.u), dof=to_tensor(dof, merged.u))

    frames = [Frame.around(choice.warp(len(u)), points[near]) for choice in CHOICES]
    fits = [COARSE.posterior(data(frame), KERNEL, least, None) for frame in frames]
    evidence = np.array([to_array(fit.evidence) for fit in fits])
    evidence[0] += DECISIVE
    best = evidence.argmax(0)
    mean, cov = np.zeros((len(best), len(u))), np.zeros((len(best), len(u), len(u)))
    groups = [np.flatnonzero(best == i) for i in range(len(CHOICES))]
    for rows in (part[k : k + TOGETHER] for part in groups for k in range(0, len(part), TOGETHER)):
        i = best[rows[0]]
        frame = frames[i]
        builder = WindowBuilder(
            fits[i].hyper.outputs(rows),
            None,
            standardize=True,
            average_repeats=False,
            noise_var=(None,) * len(rows),
        )
        model = builder.build(frame.local(points[near]), outputs[np.ix_(near, rows)], repeats, refit=False)
        gradient, spread = model.gp.trend_gradient(to_tensor(frame.local(u), model.gp.u), STEEPEST**2)
        unit = (model.scaling.std / scale[rows])[:, None] * frame.warp.slope(u) / frame.width
        mean[rows] = to_array(gradient) * unit
        cov[rows] = to_array(spread) * unit[:, :, None] * unit[:, None, :]
    return Slopes(u, mean, cov, scale)


def _nearest(u: Array, points: Array, outputs: Array) -> NDArray[np.intp]:
    """Return the evaluations to learn from, from near to far."""
    each, least, most = NEAREST
    known = np.flatnonzero(~np.isnan(outputs).all(1))
    order = known[np.argsort(np.square(points[known] - u).sum(1), kind="stable")]
    nearest: NDArray[np.intp] = order[: min(max(each * len(u), least), most)]
    return nearest
