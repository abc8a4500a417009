"""The theorem's error functions as numbers: what b evaluations leave unknown of a value and of a gradient.

    e(b) = kappa0 sigma^2 / (sigma^2 + b kappa0)      b repeats at one point, kappa0 = k(0, 0)
    E(b) = inf over Z of b points of  tr cov(grad f(0) | f(Z) + noise)          (paper, error function)

The infimum is searched for by descending jointly in all points, from repeats chosen greedily on the axes,
from central differences and, for small b, from greedy points along eigenvectors and from random ones. What
is found is an upper bound of E(b), which is what the theorem needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.explore import AxisExplorer, FastExplorer, adam
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.information import GradientInformation
from lcbo.optimizer.plan.describe import versions
from lcbo.random import generator
from reproduction.harness.cell import machine

REACHES = tuple(np.geomspace(0.05, 3.0, 24).tolist())
KERNELS = ("rbf", "matern52")


@dataclass(frozen=True)
class Grid:
    """Where the error functions are computed.

    Attributes:
        dims: dimensions of E.
        most: the largest b; all powers of two up to it.
        many_starts: the largest b with all starts.
        steps: of the descent.
        sigma: noise standard deviation.
    """

    dims: tuple[int, ...] = (2, 4, 8, 16)
    most: int = 1024
    many_starts: int = 128
    steps: int = 150
    sigma: float = 0.1

    @property
    def batches(self) -> list[int]:
        """1, 2, 4, ... up to ``most``."""
        return [2**i for i in range(self.most.bit_length())]


FULL = Grid()
QUICK = Grid(dims=(2, 4), most=64, many_starts=8, steps=20)


def value_error(b: int, sigma: float, outputscale: float = 1.0) -> float:
    """``e(b)`` in closed form."""
    return outputscale * sigma**2 / (sigma**2 + b * outputscale)


def model_value_error(b: int, sigma: float, outputscale: float = 1.0) -> float:
    """``e(b)`` as the model has it: the variance of the value at a point observed b times."""
    hyper = Hyperparameters.start(1, "rbf", {"outputscale": outputscale, "noise_var": sigma**2})
    gp = BatchedGP(merge(np.zeros((b, 1)), np.zeros((b, 1))), hyper)
    return float(gp.posterior(torch.zeros(1, dtype=torch.float64)).var)


@torch.inference_mode()
def gradient_error(dim: int, b: int, kernel: str, grid: Grid) -> float:
    """The least trace found over designs of b points, lengthscale and outputscale 1."""
    hyper = Hyperparameters.start(1, kernel, {"noise_var": grid.sigma**2})
    gp = BatchedGP(merge(np.zeros((0, dim)), np.zeros((0, 1))), hyper)
    x = torch.zeros(dim, dtype=torch.float64)
    box, rng = Box(x - 4.0, x + 4.0), generator(b, "error function", dim)
    designs = [AxisExplorer(REACHES)(gp, x, b, box, rng), _differences(b, hyper, dim)]
    if b <= grid.many_starts:
        designs += [FastExplorer()(gp, x, b, box, rng), torch.from_numpy(rng.standard_normal((b, dim)))]
    least = [gradient_trace(z, hyper) for z in designs]
    for z in designs:
        # repeats move alike and would stay together: a little noise lets them part
        start = z + 0.02 * torch.from_numpy(rng.standard_normal(z.shape))
        moved, _ = adam(GradientInformation(gp, x), start[None], box, grid.steps, 0.02, 1.0)
        least.append(gradient_trace(moved[0], hyper))
    return min(least)


def _differences(b: int, hyper: Hyperparameters, dim: int) -> Tensor:
    """Repeats at ``+- h e_i`` in turn, with the best h; forward differences while ``b <= d``."""
    eye = torch.eye(dim, dtype=torch.float64)
    turn = torch.cat([eye, -eye])[torch.arange(b) % (2 * dim)]
    best: float = min(REACHES, key=lambda h: gradient_trace(h * turn, hyper))
    return best * turn


def gradient_trace(z: Tensor, hyper: Hyperparameters) -> float:
    """Trace of the gradient's covariance at the origin after observing ``b x d`` points; repeats merge."""
    data = merge(z.numpy(), np.zeros((len(z), 1)))
    posterior = BatchedGP(data, hyper).posterior(z.new_zeros(z.shape[1]))
    return float(posterior.gradient_cov[0].diagonal().sum())


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares exponent of ``y ~ x^slope``."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def batch_slope(table: Mapping[str, Any], kernel: str, dim: int) -> float:
    """Exponent of E in b where every axis has two points on either side and more, ``b >= 4 d``."""
    pairs = [(b, e) for b, e in zip(table["b"], table["E"][kernel][str(dim)], strict=True) if b >= 4 * dim]
    return slope([b for b, _ in pairs], [e for _, e in pairs])


def dimension_slope(table: Mapping[str, Any], kernel: str, share: int | None = None) -> float:
    """Exponent of E in d at the largest b, or at ``b = share * d``."""
    rows = {int(name): row for name, row in table["E"][kernel].items()}
    ends = [row[-1 if share is None else table["b"].index(share * dim)] for dim, row in rows.items()]
    return slope(list(rows), ends)


def tabulate(grid: Grid) -> dict[str, Any]:
    """Compute both error functions on the grid."""
    start = time.process_time()
    values = {
        kernel: {str(d): [gradient_error(d, b, kernel, grid) for b in grid.batches] for d in grid.dims}
        for kernel in KERNELS
    }
    return {
        "sigma": grid.sigma,
        "b": grid.batches,
        "e": [value_error(b, grid.sigma) for b in grid.batches],
        "e_model": [model_value_error(b, grid.sigma) for b in grid.batches],
        "E": {
            k: {d: [float(f"{v:.5g}") for v in row] for d, row in rows.items()} for k, rows in values.items()
        },
        "seconds": round(time.process_time() - start, 1),
        "versions": versions(),
        "machine": machine(),
    }


def run_tables(folder: Path, grid: Grid) -> dict[str, Any]:
    """Return the table in ``folder``, computed if it is not there yet."""
    path = folder / "error-functions.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(tabulate(grid), separators=(",", ":")) + "\n")
    table: dict[str, Any] = json.loads(path.read_text())
    return table
