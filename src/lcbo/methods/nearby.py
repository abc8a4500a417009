"""What the evaluations nearest to a point say around it: a model for the answer, not for the next step.

A method's window is short, and where noise hides an outcome its stationary model takes what varies for noise:
it pulls all values to their mean and is sure of that. Here every outcome has a plane beside its process. What
the window's model cannot tell from noise is mostly this plane, and its slopes are as uncertain as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.methods.base.recommend import forecast_of
from lcbo.methods.lcbo.evidence import COARSE
from lcbo.methods.lcbo.frame import UNIFORM_SPREAD, Frame, Warp
from lcbo.methods.protocol import Belief, Forecast
from lcbo.models.border import CPU, to_array, to_tensor
from lcbo.models.builder import WindowBuilder
from lcbo.models.data import evenly, merge
from lcbo.models.fits.trend import PlanedGP, tells_trend, trend_columns
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

NEAREST = 20, 60, 750  # evaluations per variable, at least and at most, that are learned from
TYPICAL = 250  # of them, evenly from near to far, tell coordinates, trend and hyperparameters
KERNEL = "matern52"  # whose error bars hold where a smoother one is sure of itself too soon
LEAST_NOISE = 1e-8  # variance of a standardized outcome: no coordinates shall win by what is below it
STEEPEST = 1.0 / UNIFORM_SPREAD  # slope of a variable that alone explains all the scatter of an outcome


def nearest(u: Array, points: Array, outputs: Array, times: int = 1) -> NDArray[np.intp]:
    """Return the evaluations to learn from, from near to far, or some times as many."""
    each, least, most = NEAREST
    known = np.flatnonzero(~np.isnan(outputs).all(1))
    order = known[np.argsort(np.square(points[known] - u).sum(1), kind="stable")]
    near: NDArray[np.intp] = order[: times * min(max(each * len(u), least), most)]
    return near


def typical(count: int) -> NDArray[np.intp]:
    """Return which of so many evaluations, from near to far, tell what hyperparameters need."""
    return evenly(count, TYPICAL)


class Nearby:
    """A model of the evaluations nearest to a point.

    Args:
        u: ``d``, a point of the unit cube.
        points: ``n x d`` evaluated points, repeats allowed.
        outputs: ``n x B`` in user units, NaN where missing.
        noise_var: per output the known noise variance, or ``None``.
        warp: the coordinates to model in.
    """

    @torch.inference_mode()
    def __init__(
        self, u: Array, points: Array, outputs: Array, noise_var: Sequence[float | None], warp: Warp
    ) -> None:
        near = nearest(u, points, outputs)
        some = near[typical(len(near))]
        self._frame, scaling = Frame.around(warp, points[near]), Scaling.of(outputs[near])
        repeats = Repeats(tuple(noise_var))
        for point, y in zip(points, outputs, strict=True):
            repeats.add(point, y)
        data = merge(self._frame.local(points[some]), scaling.apply(outputs[some]), CPU)
        scatter, dof = (to_tensor(a, data.u) for a in repeats.scatter(scaling.std))
        data = replace(data, scatter=scatter, dof=dof)
        least = [
            max((v or 0.0) / s / s, LEAST_NOISE) for v, s in zip(noise_var, scaling.std.tolist(), strict=True)
        ]
        plane = trend_columns(data.u, 1) if tells_trend(data) else None
        hyper = COARSE.posterior(data, KERNEL, least, None, plane).hyper
        builder = WindowBuilder(
            hyper, None, standardize=True, average_repeats=False, noise_var=tuple(noise_var)
        )
        self._model = builder.build(self._frame.local(points[near]), outputs[near], repeats, refit=False)
        self._gp = PlanedGP(self._model.gp, STEEPEST)
        self._left_out = self._gp.leave_one_out()

    @property
    def noise(self) -> Array:
        """Standard deviations of one observation as learned, ``B``, in user units."""
        noise: Array = self._model.scaling.std * np.sqrt(to_array(self._model.gp.hyper.noise_var))
        return noise

    @torch.inference_mode()
    def forecast(self, u: Array) -> Forecast:
        """Return what is believed at few points of the unit cube, ``k x d``, together."""
        mean, cov = map(to_array, self._gp.joint(to_tensor(self._frame.local(u), self._gp.gp.u)))
        var = cov.diagonal(axis1=1, axis2=2).T.clip(0.0)
        return forecast_of(self._model, self._left_out, mean.T, var, cov)

    @torch.inference_mode()
    def forecast_each(self, u: Array) -> Forecast:
        """Return what is believed at each of many points of the unit cube, ``k x d``."""
        mean, var = map(to_array, self._gp.predict(to_tensor(self._frame.local(u), self._gp.gp.u)))
        return forecast_of(self._model, self._left_out, mean.T, var.T)

    @torch.inference_mode()
    def belief(self, u: Array) -> Belief:
        """Return what is believed at one point of the unit cube, slopes included."""
        at, scale = to_tensor(self._frame.local(u), self._gp.gp.u), self._model.scaling.std
        mean, var = map(to_array, self._gp.predict(at[None]))
        slope, slope_cov = map(to_array, self._gp.gradient(at))
        turn = scale[:, None] * self._frame.warp.slope(u) / self._frame.width
        return Belief(
            u=u,
            mean=self._model.scaling.undo(mean[:, 0]),
            std=scale * np.sqrt(var[:, 0]),
            gradient=slope * turn,
            gradient_std=np.sqrt(slope_cov.diagonal(axis1=1, axis2=2).clip(0.0)) * turn,
            scale=scale,
        )
