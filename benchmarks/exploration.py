"""Trace reduction and time of the three ways to explore, on random instances.

Run: python benchmarks/exploration.py [--instances 30] [--seed 0]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from lcbo.acquisition.box import Box
from lcbo.acquisition.explore import FastExplorer, PaperExplorer, SequentialExplorer
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.information import GradientInformation

EXPLORERS = {"paper": PaperExplorer(), "sequential": SequentialExplorer(), "fast": FastExplorer()}


def instance(dim: int, rng: np.random.Generator) -> tuple[BatchedGP, torch.Tensor, Box]:
    """A random local model: d uniform points and d points in the box, three isotropic outputs."""
    x = torch.from_numpy(rng.random(dim))
    box = Box.around(x, 0.1)
    points = np.concatenate([rng.random((dim, dim)), box.draw(rng, dim).numpy()])
    hyper = Hyperparameters(
        lengthscale=torch.from_numpy(np.exp(rng.uniform(np.log(0.5), np.log(3.0), (3, 1)))),
        outputscale=torch.ones(3, dtype=torch.float64),
        noise_var=torch.from_numpy(np.exp(rng.uniform(np.log(1e-4), np.log(1e-1), 3))),
        mean=torch.zeros(3, dtype=torch.float64),
    )
    return BatchedGP(merge(points, rng.standard_normal((len(points), 3))), hyper), x, box


def main() -> None:
    """Print reductions relative to ``paper`` and times relative to ``paper``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=30)
    parser.add_argument("--batch", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    ratio: dict[tuple[str, int], list[float]] = {}
    seconds: dict[tuple[str, int], list[float]] = {}
    for number in range(args.instances):
        dim = (25, 50, 100)[number % 3]
        gp, x, box = instance(dim, np.random.default_rng([args.seed, number]))
        information = GradientInformation(gp, x)
        before, gain = information.trace, {}
        for name, explorer in EXPLORERS.items():
            start = time.perf_counter()
            z = explorer(gp, x, args.batch, box, np.random.default_rng([args.seed, number, 1]))
            elapsed = time.perf_counter() - start
            gain[name] = float(before.max() - (before - information.joint(z[None])[0]).max())
            seconds.setdefault((name, dim), []).append(elapsed)
            seconds.setdefault((name, 0), []).append(elapsed)
        for name in EXPLORERS:
            ratio.setdefault((name, dim), []).append(gain[name] / gain["paper"])
            ratio.setdefault((name, 0), []).append(gain[name] / gain["paper"])
    print(f"{args.instances} instances, batch {args.batch}, one thread: reduction of the worst trace")
    print(f"{'way':<12}{'d':>5}{'median/paper':>14}{'min/paper':>12}{'time ms':>10}{'time/paper':>12}")
    for dim in (25, 50, 100, 0):
        for name in EXPLORERS:
            if (name, dim) not in ratio:
                continue
            took = statistics.median(seconds[name, dim])
            relative = took / statistics.median(seconds["paper", dim])
            label = str(dim) if dim else "all"
            print(
                f"{name:<12}{label:>5}{statistics.median(ratio[name, dim]):>14.4f}"
                f"{min(ratio[name, dim]):>12.4f}{1e3 * took:>10.1f}{relative:>12.4f}"
            )


if __name__ == "__main__":
    main()
