"""Every option of the LCBO family with its default, and the three presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lcbo.steps.schedules import Power, Schedule


@dataclass(frozen=True)
class Regime:
    """What the default does at one noise level, as the repeats of the first iterate show it.

    Attributes:
        kernel: ``rbf`` or ``matern52``.
        explore: exploration points per iteration.
        delta: half-width of the exploration box.
    """

    kernel: str
    explore: int
    delta: float


# Without noise: few points per step, close by, and a kernel that keeps rough spots local.
QUIET = Regime("matern52", 3, 0.1)
# With noise: more points per step, farther away where the signal is larger, and a smooth kernel.
NOISY = Regime("rbf", 4, 0.2)
REGIMES = (QUIET, NOISY)
NOISE_THRESHOLD = 1e-3  # repeat variance over design variance beyond which a run counts as noisy


@dataclass(frozen=True)
class LcboOptions:
    """Settings of one LCBO run; the defaults are those of ``lcbo``.

    Attributes:
        repeats: evaluations at the iterate per iteration, ``b1``; a number or a function of k.
        noise_probes: extra repeats at the first iterate when the noise is unknown, at most a 25th of the
            budget.
        explore: exploration points per iteration, ``b2``; a number or a function of k. ``auto``: what
            the regime says (`QUIET`, `NOISY`).
        window: the model sees the ``window * d`` most recent points; ``None`` all.
        window_limit: and never more than this many.
        delta: half-width of the local exploration box in the unit cube; ``None`` the whole cube; ``auto``
            what the regime says.
        explorer: ``fast``, ``paper``, ``sequential``, or ``axes`` for batches of hundreds.
        explorer_options: settings of the explorer (starts, steps, rate, temperature, ...).
        condition_on_repeats: exploration knows that the iterate is evaluated in the same batch.
        step: ``linearized`` or ``penalty``.
        rho: penalty factor of the penalty step.
        eta: length of the penalty step.
        normalize: divide the penalty gradient by its Euclidean norm.
        radius: first radius of the linearized step and its bounds ``(start, least, most)``.
        margin: posterior standard deviations kept from an inequality by the linearized step.
        kernel: ``rbf`` or ``matern52``, or ``auto``: what the regime says.
        ard: one lengthscale per variable (with ``fit="map"``).
        fit: ``lattice``, ``map`` (the paper's priors) or ``fixed``.
        learn_noise: let ``fit="map"`` learn the noise variance too.
        fit_every: iterations between fits.
        hyperparameters: ``lengthscale``, ``outputscale``, ``noise_var`` and prior ``mean``, each a number
            or one per output; where a fit starts, or where ``fixed`` stays.
        standardize: z-score outputs over the window.
        average_repeats: the mean of repeats is one observation with unreduced noise (authors' code).
        wait_for_all: a step needs the whole batch; otherwise half of it, when more work is asked for.
    """

    repeats: Schedule = 1
    noise_probes: int = 4
    explore: Schedule | str = "auto"
    window: float | None = 3.0
    window_limit: int | None = 300
    delta: float | str | None = "auto"
    explorer: str = "fast"
    explorer_options: Mapping[str, Any] = field(default_factory=dict)
    condition_on_repeats: bool = True
    step: str = "linearized"
    rho: Schedule = field(default=Power(10.0, 0.25))  # paper, Table 1
    eta: Schedule = 0.25  # paper, Table 1
    normalize: bool = True
    radius: tuple[float, float, float] = (0.1, 0.02, 0.5)
    margin: float = 1.0
    kernel: str = "auto"
    ard: bool = False
    fit: str = "lattice"
    learn_noise: bool = False
    fit_every: int = 3
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    standardize: bool = True
    average_repeats: bool = False
    wait_for_all: bool = False


def paper_preset(dim: int) -> dict[str, Any]:
    """Algorithm 1 with Table 1; batches and step for an unknown problem as the truss's and the beam's."""
    return {
        "repeats": 2,
        "explore": 5,
        "noise_probes": 0,
        "window": 2.0,
        "window_limit": None,
        "explorer": "paper",
        "condition_on_repeats": False,
        "step": "penalty",
        "kernel": "rbf",
        "delta": 0.1,
        "eta": 0.25 if dim <= 25 else 0.5,
        "fit": "map",
        "fit_every": 5,
        "hyperparameters": {"lengthscale": 1.0, "outputscale": 0.69, "noise_var": 0.01},
        "wait_for_all": True,
    }


def theory_preset(dim: int) -> dict[str, Any]:
    """The theorem's schedules: growing batches, no window, box, normalization or standardization.

    The step needs ``eta = Power(1 / (2 L), -1/2)`` with the problem's smoothness L, and the true
    hyperparameters; both are given as options.
    """
    return {
        **paper_preset(dim),
        "repeats": Power(1.0, 1.0),
        "explore": Power(float(dim), 2.0),
        "window": None,
        "delta": None,
        "explorer": "axes",
        "rho": Power(1.0, 0.25),
        "eta": Power(0.5, -0.5),
        "normalize": False,
        "fit": "fixed",
        "standardize": False,
        "hyperparameters": {"lengthscale": 1.0, "outputscale": 1.0, "noise_var": 0.01},
    }
