"""The current model of a run as a model of BoTorch: `model_view`."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model as BotorchModel
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from torch import Tensor

from lcbo.errors import ArgumentError
from lcbo.models.border import to_array, to_tensor
from lcbo.models.gp import BatchedGP
from lcbo.optimizer.optimizer import Optimizer


def model_view(optimizer: Optimizer) -> ModelView:
    """Return what the model of a run says now; later tells do not change the view.

    Args:
        optimizer: a run whose method has a model and has built one.
    """
    found = optimizer.surrogate()
    if found is None:
        expected = "a run with a model: a method that has one, and its initial design told"
        came = f"{optimizer.method} after {optimizer.n_ended} evaluations"
        raise ArgumentError("optimizer", expected, came)
    model, frame = found
    problem = optimizer.problem
    if problem.space.followers is not None:
        raise ArgumentError("optimizer", "a run without known equalities", problem.known.names)
    sign = np.ones(len(problem.outcomes))
    sign[0] = problem.objective.sign
    return ModelView(
        model.gp.followed(),
        frame,
        free=problem.free,
        log=problem.space.log[problem.free],
        low=problem.space.low,
        width=problem.space.high - problem.space.low,
        shift=sign * model.scaling.mean,
        scale=sign * model.scaling.std,
    )


class ModelView(BotorchModel):
    """One output per outcome of the problem, in the user's units; so are the points, of all variables.

    It is local: far from the evaluations of its window it falls back to a constant. BoTorch keeps standard
    deviations above 1e-6 in some places, so outcomes should not be measured in numbers that small.
    """

    def __init__(self, gp: BatchedGP, frame: Any, **units: Any) -> None:
        super().__init__()
        self._gp, self._frame, self._units = gp, frame, units

    @property
    def num_outputs(self) -> int:
        """Number of outcomes."""
        return len(self._units["scale"])

    @property
    def batch_shape(self) -> torch.Size:
        """No batch: one model."""
        return torch.Size()

    @property
    def train_inputs(self) -> None:
        """The evaluations are in the model's own coordinates and are not shown."""
        return None

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """Return the joint posterior at ``b x q x d`` points, which autograd can follow."""
        if output_indices is not None:
            part = self.subset_output(output_indices)
            return part.posterior(X, None, observation_noise, posterior_transform)
        mean, cov = self._gp.joint(self._local(X))
        if observation_noise is True:
            noise = self._gp.hyper.noise_var[:, None, None]
            cov = cov + noise * torch.eye(cov.shape[-1], dtype=cov.dtype, device=cov.device)
        shift, scale = (to_tensor(self._units[name], X) for name in ("shift", "scale"))
        mean, cov = shift[:, None] + scale[:, None] * mean, scale.square()[:, None, None] * cov
        each = [MultivariateNormal(mean[..., i, :], cov[..., i, :, :]) for i in range(len(scale))]
        whole = each[0] if len(each) == 1 else MultitaskMultivariateNormal.from_independent_mvns(each)
        variance = cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0).mT
        posterior = _Posterior(whole, variance)
        return posterior if posterior_transform is None else posterior_transform(posterior)

    def subset_output(self, idcs: list[int]) -> ModelView:
        """Return the view of some outcomes alone."""
        rows = np.array(idcs, dtype=np.intp)
        part = copy(self)
        part._gp = self._gp.outputs(rows)
        part._units = self._units | {name: self._units[name][rows] for name in ("shift", "scale")}
        return part

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> ModelView:  # noqa: ARG002
        """Return the view given further observations, ``n x d`` points and ``n x m`` outcomes.

        Hyperparameters and scaling stay; a batch of sets of observations is not supported.
        """
        if X.ndim != 2 or Y.shape != (len(X), self.num_outputs):
            expected = f"points n x d and outcomes n x {self.num_outputs}"
            raise ArgumentError("X and Y", expected, f"{tuple(X.shape)} and {tuple(Y.shape)}")
        shift, scale = (to_tensor(self._units[name], X) for name in ("shift", "scale"))
        told = copy(self)
        told._gp = self._gp.observed(self._local(X), ((Y - shift) / scale).mT)
        return told

    def _local(self, X: Tensor) -> Tensor:
        """Return points as the model sees them."""
        low, width = (to_tensor(self._units[name], X) for name in ("low", "width"))
        free, log = (torch.as_tensor(self._units[name], device=X.device) for name in ("free", "log"))
        scaled = X[..., free]
        if log.any():
            scaled = torch.where(log, torch.where(log, scaled, 1.0).log(), scaled)
        u = (scaled - low) / width
        if self._frame is None:
            return u
        local: Tensor = _InFrame.apply(u, self._frame)
        return local


class _InFrame(torch.autograd.Function):
    """The coordinates of a frame, which NumPy computes, and their slope for autograd."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, frame: Any) -> Tensor:
        points = to_array(u.detach())
        ctx.save_for_backward(to_tensor(frame.warp.slope(points) / frame.width, u))
        return to_tensor(frame.local(points), u)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return grads[0] * slope, None


class _Posterior(GPyTorchPosterior):
    """Variances as the model has them: GPyTorch would raise small ones to 1e-10 in the outcome's units."""

    def __init__(self, distribution: Any, variance: Tensor) -> None:
        super().__init__(distribution)
        self._exact = variance

    @property
    def variance(self) -> Tensor:
        """Variances, ``b x q x m``."""
        return self._exact
