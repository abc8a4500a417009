"""Hyperparameters of one Gaussian process per output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lcbo.models.border import CPU, to_tensor
from lcbo.models.kernels import CURVATURE

TENSORS = ("lengthscale", "outputscale", "noise_var", "mean")


@dataclass(frozen=True)
class Hyperparameters:
    """Kernel words are BoTorch's; batch dimension ``B`` runs over outputs.

    Attributes:
        lengthscale: ``B x 1`` (isotropic) or ``B x d`` (ARD).
        outputscale: ``B``, a variance.
        noise_var: ``B``.
        mean: ``B`` constant prior means.
        kernel: ``rbf`` or ``matern52``.
        plane: standard deviation of the coefficients of a plane beside the process; 0 is none.
    """

    lengthscale: Tensor
    outputscale: Tensor
    noise_var: Tensor
    mean: Tensor
    kernel: str = "rbf"
    plane: float = 0.0

    @staticmethod
    def start(n_outputs: int, kernel: str = "rbf", given: Mapping[str, Any] | None = None) -> Hyperparameters:
        """Return where a fit starts: ``given`` has one number or one per output for each parameter."""
        values = {"lengthscale": 1.0, "outputscale": 1.0, "noise_var": 0.01, "mean": 0.0, **(given or {})}

        def per_output(name: str) -> Tensor:
            value = np.asarray(values[name], np.float64)
            return to_tensor(np.array(np.broadcast_to(value, (n_outputs, *value.shape[1:])), order="C"), CPU)

        length = per_output("lengthscale")
        return Hyperparameters(
            length if length.ndim == 2 else length[:, None],
            per_output("outputscale"),
            per_output("noise_var"),
            per_output("mean"),
            kernel,
        )

    @staticmethod
    def of(stored: Mapping[str, Any]) -> Hyperparameters:
        """Return the hyperparameters that `stored` described."""
        tensors = {name: to_tensor(np.array(stored[name], np.float64), CPU) for name in TENSORS}
        return Hyperparameters(**tensors, kernel=stored["kernel"], plane=stored.get("plane", 0.0))

    def stored(self) -> dict[str, Any]:
        """Return the values as JSON numbers and lists."""
        return {
            "lengthscale": self.lengthscale.tolist(),
            "outputscale": self.outputscale.tolist(),
            "noise_var": self.noise_var.tolist(),
            "mean": self.mean.tolist(),
            "kernel": self.kernel,
            **({"plane": self.plane} if self.plane else {}),
        }

    def outputs(self, rows: slice | NDArray[np.intp]) -> Hyperparameters:
        """Return the hyperparameters of some outputs alone."""
        return self.each(lambda values: values[rows])

    def to(self, device: torch.device) -> Hyperparameters:
        """Return the hyperparameters on a device; models are where their hyperparameters are."""
        return self.each(lambda values: values.to(device))

    def each(self, change: Callable[[Tensor], Tensor]) -> Hyperparameters:
        """Return the hyperparameters with every tensor changed alike."""
        changed: dict[str, Any] = {name: change(getattr(self, name)) for name in TENSORS}
        return replace(self, **changed)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.lengthscale.device

    @property
    def prior_gradient_var(self) -> Tensor:
        """Prior variance of each gradient component: ``B x 1`` or ``B x d``."""
        return CURVATURE[self.kernel] * self.outputscale[:, None] / self.lengthscale.square() + self.plane**2

    def covariance(self, phi: Tensor, u: Tensor, z: Tensor) -> Tensor:
        """Prior covariance of two point sets, ``B x n x p``, from the profile of their distances."""
        cov = self.outputscale[:, None, None] * phi
        return cov.add_(self.planar(u, z)) if self.plane else cov

    def planar(self, u: Tensor, z: Tensor) -> Tensor:
        """What the plane adds to the prior covariance of two point sets, ``n x p``."""
        return self.plane**2 * (1.0 + u @ z.mT)

    def prior_var(self, z: Tensor) -> Tensor:
        """Prior variance of the noise-free outputs at points ``p x d``: ``B x 1`` or ``B x p``."""
        if not self.plane:
            return self.outputscale[:, None]
        return self.outputscale[:, None] + self.plane**2 * (1.0 + z.square().sum(-1))
