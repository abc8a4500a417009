"""The default fit: isotropic hyperparameters averaged over a lattice, noise included.

One eigendecomposition per lengthscale serves every output, outputscale and noise variance. With
``D = diag(sqrt(r))`` the merged means satisfy ``D y ~ N(0, s D phi D + v I)``, so with
``D phi D = U diag(e) U^T`` and ``z = U^T D y``

    log p = -1/2 sum_i [ln(s e_i + v) + z_i^2 / (s e_i + v)] - dof/2 ln v - scatter / (2 v).

The estimate is the posterior mean of the logarithms over the lattice, not its peak: short windows
make the peak jump between "all noise" and "very short lengthscale"; the mean moves smoothly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lcbo.models.data import Data
from lcbo.models.gp import Hyperparameters
from lcbo.models.kernels import PROFILES, squared_distance


@dataclass(frozen=True)
class LatticeFit:
    """Lattice and priors; lengthscales are in units of ``sqrt(d)``, the diameter of the cube."""

    length_step: float = 0.4
    length_span: tuple[int, int] = (-7, 8)  # lattice indices: sqrt(d) * exp(step * i)
    length_prior: tuple[float, float] = (math.sqrt(2.0), math.sqrt(3.0))  # mean, sd of ln(l / sqrt(d))
    scale_values: tuple[float, ...] = tuple(math.exp(float(i)) for i in range(-3, 13))
    scale_prior: tuple[float, float] = (0.0, 2.0)
    noise_values: tuple[float, ...] = tuple(math.exp(0.75 * i) for i in range(-20, 1))
    noise_prior: tuple[float, float] = (-4.0, 3.0)
    reach: int = 1  # lattice neighbors of the last estimate tried on each side in a local refit

    def __call__(
        self, data: Data, kernel: str, least_noise: list[float], last: Hyperparameters | None
    ) -> Hyperparameters:
        """Posterior mean of the log hyperparameters of every output.

        Args:
            data: standardized, merged observations.
            kernel: ``rbf`` or ``matern52``.
            least_noise: per output the standardized noise variance that is known to be there; what is
                learned beyond it is the misfit of a stationary model.
            last: the previous estimate: only its lattice neighborhood is searched.
        """
        dim = data.u.shape[-1]
        indices = list(range(self.length_span[0], self.length_span[1] + 1))
        lengths = math.sqrt(dim) * torch.exp(self.length_step * data.u.new_tensor(indices))
        batch = len(data.y)
        wanted = data.u.new_ones(batch, len(indices), dtype=torch.bool)
        if last is not None:
            gap = (last.lengthscale.log() - lengths.log()).abs() / self.length_step
            wanted = gap <= self.reach + 0.5
        r2 = squared_distance(data.u, data.u, data.u.new_ones(1, 1))[0]
        r2.fill_diagonal_(0.0)
        scales = data.u.new_tensor(self.scale_values)
        noises = [data.u.new_tensor(self.noise_values).clamp_min(v) for v in least_noise]
        tables: list[list[Tensor]] = [[] for _ in range(batch)]
        used: list[list[int]] = [[] for _ in range(batch)]
        for i in range(len(indices)):
            outputs = wanted[:, i].nonzero().flatten().tolist()
            if not outputs:
                continue
            phi = PROFILES[kernel](r2 / lengths[i].square())[0]
            for members in _same_counts(data, outputs):
                spectrum, rotated = _rotate(phi, data, members)
                for j, z in zip(members, rotated, strict=True):
                    tables[j].append(self._log_likelihood(data, j, spectrum, z, scales, noises[j]))
                    used[j].append(i)
        rows = [
            self._average(torch.stack(tables[j]), lengths[used[j]], dim, scales, noises[j])
            for j in range(batch)
        ]
        length, scale, noise = torch.stack(rows).exp().unbind(-1)
        return Hyperparameters(length[:, None], scale, noise, data.u.new_zeros(batch), kernel)

    @staticmethod
    def _log_likelihood(
        data: Data, j: int, spectrum: Tensor, z: Tensor, scales: Tensor, noises: Tensor
    ) -> Tensor:
        """Log marginal likelihood on the (outputscale, noise) lattice: ``S x V``."""
        level = scales[:, None, None] * spectrum + noises[:, None]
        fit = torch.addcdiv(level.log(), z.square().expand_as(level), level).sum(-1)
        return -0.5 * (fit + data.dof[j] * noises.log() + data.scatter[j] / noises)

    def _average(self, table: Tensor, lengths: Tensor, dim: int, scales: Tensor, noises: Tensor) -> Tensor:
        """Posterior means of ``ln l``, ``ln s`` and ``ln v`` for one output."""
        ln_length, ln_scale, ln_noise = lengths.log(), scales.log(), noises.log()
        log_post = (
            table
            + _log_normal(ln_length - 0.5 * math.log(dim), self.length_prior)[:, None, None]
            + _log_normal(ln_scale, self.scale_prior)[:, None]
            + _log_normal(ln_noise, self.noise_prior)
        )
        weight = torch.softmax(log_post.flatten(), 0).view_as(log_post)
        return torch.stack(
            [
                (weight.sum((1, 2)) * ln_length).sum(),
                (weight.sum((0, 2)) * ln_scale).sum(),
                (weight.sum((0, 1)) * ln_noise).sum(),
            ]
        )


def _log_normal(value: Tensor, prior: tuple[float, float]) -> Tensor:
    return -0.5 * ((value - prior[0]) / prior[1]).square()


def _same_counts(data: Data, outputs: list[int]) -> list[list[int]]:
    """Group outputs that were observed equally often at every point: they share a decomposition."""
    groups: list[list[int]] = []
    for j in outputs:
        for group in groups:
            if torch.equal(data.count[group[0]], data.count[j]):
                group.append(j)
                break
        else:
            groups.append([j])
    return groups


def _rotate(phi: Tensor, data: Data, members: list[int]) -> tuple[Tensor, Tensor]:
    """Eigenvalues of ``D phi D`` over the known points and the rotated data of each member."""
    count = data.count[members[0]]
    y = data.y[members]
    if bool((count == 0.0).any()):
        known = count > 0.0
        phi, y, count = phi[known][:, known], y[:, known], count[known]
    root = count.sqrt()
    spectrum, basis = torch.linalg.eigh(root[:, None] * phi * root)
    return spectrum.clamp_min(0.0), (y * root) @ basis
