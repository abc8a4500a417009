"""What the evaluations say of the problem: warp and kernel by their evidence, and whether it is rugged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from lcbo.methods.lcbo.frame import Frame, Warp
from lcbo.models.border import CPU, to_array, to_tensor
from lcbo.models.data import merge
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.fits.trend import trend_columns
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

POWERS = (1.0 / 3.0, 1.0 / 2.0, 1.0 / 1.5, 1.0, 1.5, 2.0, 3.0)  # below 1: the upper end
DECISIVE = 5.0  # nats that a change has to gain
LEAST_NOISE = 1e-3  # variance: how much better than to a few per cent an outcome is modeled does not matter
WORST = 3.0  # power of the mean over outcomes: the larger, the more the worst modeled decide
COARSE = LatticeFit(step=0.8, length_span=(-3, 4), scale_span=(-4, 15), noise_span=(-29, 0), least_ratio=-33)
RUGGED = 0.3  # lengthscale over sqrt(d)
MOSTLY_NOISE = 0.2  # of the variance that a plane and a bowl leave
SPREAD_POINTS = 3, 200  # evaluations per variable, and at least, evenly over the run, that tell it
KERNELS = ("rbf", "matern52")


@dataclass(frozen=True)
class Choice:
    """One candidate: the same power for every variable, and a kernel."""

    power: int  # index in POWERS
    kernel: str

    def warp(self, dim: int) -> Warp:
        """Return the warp of the power."""
        return Warp.alike(POWERS[self.power], dim)

    def in_words(self) -> str | None:
        """Return what the power says of the outcomes, ``None`` where the variables are not bent."""
        power = max(POWERS[self.power], 1.0 / POWERS[self.power])
        if power == 1.0:
            return None
        end = "lower" if POWERS[self.power] > 1.0 else "upper"
        root = {2.0: "square root", 3.0: "cube root"}.get(power, f"power 1/{power:g}")
        return (
            f"the outcomes respond ever more strongly towards the {end} bounds of the variables: they are "
            f"modeled by the {root} of the distance from there"
        )


PLAIN = Choice(POWERS.index(1.0), "matern52")


def together(evidence: Array, count: Array) -> float:
    """Return one evidence for all outcomes, in nats; for equals it is their sum.

    What an outcome of ``n`` observations leaves unexplained has a variance of about ``exp(-2 evidence / n)``.
    A sum of nats would let a linear objective, known to a per cent either way, outvote constraints that only
    one candidate models at all. The variances are averaged instead, by a mean that the largest decide.

    Args:
        evidence: ``B``, of every outcome.
        count: ``B``, observations of every outcome.
    """
    seen = count > 0
    if not seen.any():
        return 0.0
    unexplained = -2.0 * evidence[seen] / count[seen]  # logarithms
    worst = unexplained.max()
    mean = worst + np.log(np.exp(WORST * (unexplained - worst)).mean()) / WORST
    return float(-0.5 * count[seen].sum() * mean)


def chosen(
    u: Array,
    y: Array,
    repeats: Repeats,
    now: Choice,
    *,
    first: bool,
    kernels: Sequence[str],
    device: torch.device,
) -> Choice:
    """Return the candidate with the largest evidence, or ``now`` where none is decisively better.

    Args:
        u: ``n x d`` recent points of the unit cube.
        y: ``n x B`` their outputs, NaN where missing.
        repeats: what the whole run knows about the noise.
        now: what is in use.
        first: compare all powers; later only the neighbors of the present one.
        kernels: to choose from.
        device: where to compute.
    """
    scaling = Scaling.of(y)
    scaled = scaling.apply(y)
    scatter, dof = repeats.scatter(scaling.std)

    def evidence(choice: Choice) -> float:
        warp = choice.warp(u.shape[1])
        data = merge(Frame.around(warp, u).local(u), scaled, device)
        data = replace(data, scatter=to_tensor(scatter, data.u), dof=to_tensor(dof, data.u))
        found = COARSE.posterior(data, choice.kernel, [LEAST_NOISE] * y.shape[1], None).evidence
        return together(to_array(found), np.isfinite(y).sum(0))

    others = [i for i in range(len(POWERS)) if i != now.power and (first or abs(i - now.power) == 1)]
    candidates = [Choice(i, now.kernel) for i in others]
    candidates += [Choice(now.power, kernel) for kernel in kernels if kernel != now.kernel]
    scores = [evidence(choice) for choice in candidates]
    best = int(np.argmax(scores)) if scores else 0
    return candidates[best] if scores and scores[best] >= evidence(now) + DECISIVE else now


def is_rugged(u: Array, objective: Array) -> bool:
    """Whether an objective is seen to have room for several valleys in the cube.

    A plane and a bowl have one, whatever noise adds. What they leave unexplained must be more than noise, and
    change over much less than the distance between two points of the cube, about ``sqrt(d / 6)``.

    Args:
        u: ``n x d`` points of the unit cube in the order of evaluation, ``n`` well above ``d``.
        objective: ``n``, NaN where missing.
    """
    known = ~np.isnan(objective)
    u, objective = u[known], objective[known]
    columns = np.column_stack([np.ones(len(u)), u, np.square(u).sum(1)])
    left = objective - columns @ np.linalg.lstsq(columns, objective, rcond=None)[0]
    some = slice(None, None, math.ceil(len(u) / max(SPREAD_POINTS[0] * u.shape[1], SPREAD_POINTS[1])))
    data = merge(u[some], left[some, None] / max(left.std(), 1e-300), CPU)
    trend = torch.cat([trend_columns(data.u, 1), data.u.square().sum(1, keepdim=True)], 1)
    hyper = COARSE.posterior(data, "rbf", [0.0], None, trend).hyper
    short = float(hyper.lengthscale) < RUGGED * math.sqrt(u.shape[1])
    return short and float(hyper.noise_var) < MOSTLY_NOISE
