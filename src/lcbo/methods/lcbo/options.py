"""Every option of the LCBO family with its default and its range, and the presets of the family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from lcbo.checks import (
    MOST_POINTS,
    above_zero,
    choice,
    integer,
    is_number,
    mapping,
    number,
    probability,
    truth,
)
from lcbo.errors import ArgumentError
from lcbo.models.options import LearnedModelOptions
from lcbo.steps.schedules import Power, Schedule, at


@dataclass(frozen=True)
class LcboOptions(LearnedModelOptions):
    """Settings of one LCBO run; the defaults are those of ``lcbo``.

    Attributes:
        kernel: ``rbf`` or ``matern52``, or ``auto``: what the evidence says; ``matern52`` where the frame
            does not adapt.
        adapt_frame: learn by the evidence whether to bend the variables, and let the model's coordinates
            shrink with its window; with ``fit="lattice"`` alone.
        fit: ``lattice``, ``map`` (the paper's priors), ``adam`` (50 steps towards that, authors' code) or
            ``fixed``.
        fit_every: iterations between fits; more where noise makes an ``auto`` window longer, or so long that
            little of it is new.
        standardize: z-score outputs over the window.
        reset_between_fits: iterations that learn no hyperparameters have those a fit starts from, and every
            fit starts there (authors' code).
        average_repeats: the mean of repeats is one observation with unreduced noise (authors' code).
        repeats: evaluations at the iterate per iteration, ``b1``; a number or a function of k. A single one
            is left out where there is no noise and the point has been evaluated.
        noise_probes: extra repeats at the first iterate when the noise is unknown, at most a 25th of the
            budget.
        explore: exploration points per iteration, ``b2``; a number or a function of k, and never more than
            the budget. ``auto``: 1, with noise one for every six variables, up to 4.
        window: the model sees the ``window * d`` most recent points; ``None`` all; ``auto`` 3, with noise
            up to 12, but fewer of dozens of outputs, and at least 12 points.
        window_limit: and never more than this many.
        delta: half-width of the local exploration box; ``None`` the whole cube; ``auto`` the length of a
            step, and as far as the noise asks for.
        explorer: ``fast``, ``paper``, ``sequential``, or ``axes`` for batches of hundreds.
        explorer_options: settings of the explorer (starts, steps, rate, temperature, ...).
        inward: turn exploration points to the feasible side of the linearized inequalities.
        scout: evaluations per variable of a global search before the first descent, where there is noise
            and variables are few; it goes on beside the descent as noise asks for. 0: none at all.
        avoid_failures: keep steps and probes from where evaluations failed.
        restart: where nothing more is to be found, begin again elsewhere.
        condition_on_repeats: exploration knows that the iterate is evaluated in the same batch.
        step: ``linearized`` or ``penalty``.
        radius: first radius of the linearized step and its bounds ``(start, least, most)``.
        landing: wanted probability that a linearized step lands inside all inequalities near it.
        rho: penalty factor of the penalty step; a number or a function of k.
        eta: length of the penalty step; a number or a function of k.
        normalize: divide the penalty gradient by its Euclidean norm.
        wait_for_all: a step needs the whole batch; otherwise half of it, when more work is asked for.
    """

    KERNELS: ClassVar[tuple[str, ...]] = (*LearnedModelOptions.KERNELS, "auto")
    FITS: ClassVar[tuple[str, ...]] = (*LearnedModelOptions.FITS, "lattice", "adam")
    STEPS: ClassVar[tuple[str, ...]] = ("linearized", "penalty")

    kernel: str = "auto"
    fit: str = "lattice"
    fit_every: int = 3
    adapt_frame: bool = True
    reset_between_fits: bool = False
    average_repeats: bool = False
    repeats: Schedule = 1
    noise_probes: int = 4
    explore: Schedule | str = "auto"
    window: float | str | None = "auto"
    window_limit: int | None = 600
    delta: float | str | None = "auto"
    explorer: str = "fast"
    explorer_options: Mapping[str, Any] = field(default_factory=dict)
    inward: bool = True
    scout: float = 2.0
    avoid_failures: bool = True
    restart: bool = True
    condition_on_repeats: bool = True
    step: str = "linearized"
    radius: tuple[float, float, float] = (0.1, 1e-6, 0.5)
    landing: float = 0.5
    rho: Schedule = field(default=Power(10.0, 0.25))  # paper, Table 1
    eta: Schedule = 0.25  # paper, Table 1
    normalize: bool = True
    wait_for_all: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (
            "reset_between_fits",
            "average_repeats",
            "adapt_frame",
            "inward",
            "avoid_failures",
            "restart",
            "condition_on_repeats",
            "normalize",
            "wait_for_all",
        ):
            truth(f"options, {name}", getattr(self, name))
        for name in ("repeats", "rho", "eta"):
            at(getattr(self, name), 1, f"options, {name}")
        b2 = 1.0 if _is_auto(self.explore) else at(cast(Schedule, self.explore), 1, "options, explore")
        if max(at(self.repeats, 1), b2) < 1.0:
            expected = "at least one evaluation per iteration, at the iterate or around it"
            raise ArgumentError("options, repeats", expected, f"{self.repeats!r}, explore={self.explore!r}")
        integer("options, noise_probes", self.noise_probes, 0, MOST_POINTS)
        if self.window is not None and not _is_auto(self.window):
            above_zero("options, window", self.window)
        if self.window_limit is not None:
            integer("options, window_limit", self.window_limit, 2)
        if self.delta is not None and not _is_auto(self.delta):
            above_zero("options, delta", self.delta)
        number("options, scout", self.scout, least=0.0)
        mapping("options, explorer_options", self.explorer_options)
        choice("options, step", self.step, self.STEPS)
        _check_radius(self.radius)
        probability("options, landing", self.landing)


def paper_preset(dim: int) -> dict[str, Any]:
    """Algorithm 1 with Table 1; batches and step for an unknown problem as the truss's and the beam's."""
    return {
        "repeats": 2,
        "explore": 5,
        "noise_probes": 0,
        "adapt_frame": False,
        "inward": False,
        "scout": 0.0,
        "avoid_failures": False,
        "restart": False,
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


def authors_preset(dim: int) -> dict[str, Any]:
    """What the authors' published code does where it differs from the paper's text (docs/readings.md)."""
    return {
        **paper_preset(dim),
        "fit": "adam",
        "explorer": "sequential",
        "average_repeats": True,
        "reset_between_fits": True,
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


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check_radius(radius: Any) -> None:
    three = isinstance(radius, list | tuple) and len(radius) == 3 and all(is_number(r) for r in radius)
    if not three or not 0.0 < radius[1] <= radius[0] <= radius[2] < float("inf"):
        expected = "three numbers (start, least, most), 0 < least <= start <= most"
        raise ArgumentError("options, radius", expected, repr(radius))
