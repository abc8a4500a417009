"""The slopes of every outcome at one point, from the evaluations near it.

A method's own model is made for its next step: its window is short, bends every outcome alike and pulls
slopes to zero where it takes an outcome for noise. The slopes at the answer are worth more care. The
evaluations nearest to it are modeled once more, each outcome beside a trend, which is a plane or bends along
every variable by itself, and in the coordinates that its own evidence prefers: a weight that is linear in the
areas needs no bending, a deflection that goes like one over them does.

How many evaluations count as near is told by what they predict: twice as many where these predict the nearest
ones better, each left out. A weight that is linear gains by every one of them, a stress does not. With few
variables the near ones are too few to judge it.

Slopes of the limits are shrunk to what they have in common, as far as the evidence says (`beside_trend`): the
multipliers are found by regression on them, and noise in a regressor makes its coefficient too small. Slopes
of the objective, which stand on the other side, are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.methods.lcbo.evidence import COARSE
from lcbo.methods.lcbo.frame import Frame, Warp
from lcbo.methods.nearby import KERNEL, LEAST_NOISE, STEEPEST, nearest, typical
from lcbo.models.border import CPU, to_array, to_tensor
from lcbo.models.builder import WindowBuilder
from lcbo.models.data import Data, merge
from lcbo.models.fits.trend import Trend, beside_trend, tells_trend, trend_columns
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

POWERS = 1.0, 1 / 3, 1 / 2, 2.0, 3.0  # of coordinates, the straight ones first
DECISIVE = 3.0  # nats that anything has to gain over a plane in straight coordinates; bends one each more
JUDGES = 100  # of the nearest points tell which window predicts better; the near one has twice as many
AT_BOUND = 1e-2  # of the cube: a variable so near to its bound is not like others, its slope holds it there


@dataclass(frozen=True)
class Slopes:
    """Posterior of the gradient of every output row at one point, per unit of the cube.

    Attributes:
        u: ``d``, the point of the unit cube.
        mean: ``B x d``, each output in units of its ``scale``.
        cov: ``B x d x d``, likewise; the outputs are independent of each other.
        bends: ``B x d x d``, means of the second derivatives, likewise.
        scale: ``B``, in user units.
    """

    u: Array
    mean: Array
    cov: Array
    bends: Array
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
    repeats = Repeats(tuple(noise_var))
    for point, y in zip(points, outputs, strict=True):
        repeats.add(point, y)
    near, wide = nearest(u, points, outputs), nearest(u, points, outputs, times=2)
    if len(wide) > len(near) and len(np.unique(points[near], axis=0)) >= 2 * JUDGES:
        seen = [_views(u, points[some], outputs[some], noise_var, repeats, JUDGES) for some in (near, wide)]
        best = [max(views, key=_View.foresight) for views in zip(*seen, strict=True)]
    else:
        best = _views(u, points[near], outputs[near], noise_var, repeats, 0)
    found = [view.slopes(u, unit) for view, unit in zip(best, scale.tolist(), strict=True)]
    mean, cov, bends = (np.array(part) for part in zip(*found, strict=True))
    return Slopes(u, mean, cov, bends, scale)


@dataclass(frozen=True)
class _Candidate:
    """Coordinates, order of the trend, hyperparameters and the evidence for them, ``B``."""

    frame: Frame
    order: int
    hyper: Hyperparameters
    evidence: Array


@dataclass(frozen=True)
class _View:
    """The model of one output from the evaluations of a window, in the coordinates its evidence prefers.

    Attributes:
        frame: the coordinates.
        unit: of the output, in user units.
        trend: what it says at the point, beside a trend.
    """

    frame: Frame
    unit: float
    trend: Trend

    def foresight(self) -> float:
        """Return the mean log density of the nearest observations, each as all others predict it."""
        left_out = self.trend.left_out
        assert left_out is not None
        error, var = (to_array(part)[0] for part in (left_out.error, left_out.var + left_out.noise))
        known = ~np.isnan(error)
        if not known.any():
            return -np.inf
        density = -0.5 * (np.square(error[known]) / var[known] + np.log(var[known]))
        return float(density.mean() - np.log(self.unit))

    def slopes(self, u: Array, scale: float) -> tuple[Array, Array, Array]:
        """Return mean and covariance of the slopes at a point and the second derivatives, as in `Slopes`."""
        unit, turn = self.unit / scale, self.frame.warp.slope(u) / self.frame.width
        slope = to_array(self.trend.gradient)
        bends = to_array(self.trend.hessian) * turn * turn[:, None]
        bends += np.diag(slope * self.frame.warp.bend(u) / self.frame.width)
        cov = unit**2 * to_array(self.trend.gradient_cov) * turn * turn[:, None]
        return unit * slope * turn, cov, unit * bends


def _views(
    u: Array,
    points: Array,
    outputs: Array,
    noise_var: Sequence[float | None],
    repeats: Repeats,
    judges: int,
) -> list[_View]:
    """Return the model of every output from the evaluations of a window, which go from near to far.

    So many of the nearest points are left out, to judge the window by.
    """
    some, scaling = typical(len(points)), Scaling.of(outputs)
    scatter, dof = repeats.scatter(scaling.std)
    least = [
        max((v or 0.0) / s / s, LEAST_NOISE) for v, s in zip(noise_var, scaling.std.tolist(), strict=True)
    ]
    many = 2 * (1 + len(u)) <= len(some)
    alike = (u > AT_BOUND) & (u < 1.0 - AT_BOUND) & (np.arange(len(least))[:, None] > 0) & many
    candidates = []
    for power in POWERS:
        frame = Frame.around(Warp.alike(power, len(u)), points)
        data = merge(frame.local(points[some]), scaling.apply(outputs[some]), CPU)
        data = replace(data, scatter=to_tensor(scatter, data.u), dof=to_tensor(dof, data.u))
        at = to_tensor(frame.local(u), data.u)
        for order in (1, 2):
            few = not tells_trend(data, order)
            if few and order == 2:
                continue
            columns = None if few else trend_columns(data.u - at, order)
            fit = COARSE.posterior(data, KERNEL, least, None, columns)
            evidence = to_array(fit.evidence) if few else _evidence(data, fit.hyper, at, order, alike)
            evidence = evidence - (len(u) if order == 2 else 0)
            candidates.append(_Candidate(frame, order, fit.hyper, evidence))
    candidates[0].evidence[:] += DECISIVE
    views = []
    for row, best in enumerate(np.argmax([candidate.evidence for candidate in candidates], axis=0)):
        chosen, rows = candidates[best], np.array([row])
        builder = WindowBuilder(
            chosen.hyper.outputs(rows), None, standardize=True, average_repeats=False, noise_var=(None,)
        )
        model = builder.build(chosen.frame.local(points), outputs[:, rows], repeats, refit=False)
        at = to_tensor(chosen.frame.local(u), model.gp.u)
        trend = beside_trend(model.gp, at, chosen.order, alike[row], STEEPEST, judges)
        views.append(_View(chosen.frame, float(model.scaling.std[0]), trend))
    return views


def _evidence(data: Data, hyper: Hyperparameters, at: Tensor, order: int, alike: NDArray[np.bool_]) -> Array:
    """Return the log likelihood of every output with its trend, and of what its repeats differ by."""
    found = []
    for row, same in enumerate(alike):
        rows = np.array([row])
        gp = BatchedGP(data.outputs(rows), hyper.outputs(rows))
        found.append(beside_trend(gp, at, order, same, STEEPEST).evidence)
    spread = data.dof * hyper.noise_var.log() + data.scatter / hyper.noise_var
    return np.array(found) - 0.5 * to_array(spread)
