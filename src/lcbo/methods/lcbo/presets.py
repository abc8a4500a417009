"""The presets: which options of `LcboOptions` each named member of the family replaces, for d variables."""

from __future__ import annotations

from typing import Any

from lcbo.steps.schedules import Power


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
