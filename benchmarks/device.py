"""Seconds per ask on the CPU and on a GPU, and how far the two models are apart on the same data.

The first ask after the design fits the model and is the warm-up; the median of the next ones is printed.
Their outcomes are told in between, which is not timed. The models are compared after the design, at points
around it: differences of means are relative to the outputs' scale, those of variances to the variance, those
of gradients to the largest component of the gradient.

Run: python benchmarks/device.py                  both devices, or the CPU alone where torch finds no GPU
     python benchmarks/device.py --asks 3 --threads 1
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np
import torch

from lcbo.methods import registry
from lcbo.methods.protocol import Belief, Method, Setup
from lcbo.terms import Term, Terms

TERMS = Terms((Term(1, 1.0, 0.0), Term(2, 1.0, 0.0)))
CASES = {"lcbo": (1000, 300), "scbo": (100, 1000)}  # variables and points told: 300 is the window of lcbo
N_POINTS = 20


@dataclass(frozen=True)
class Timing:
    """Seconds of the first ask and median of the others, and the beliefs after the design."""

    first: float
    median: float
    beliefs: list[Belief]


def outputs(u: np.ndarray) -> np.ndarray:
    """A bowl, a ball and a half-space around points that no variable shares."""
    center = 0.5 + 0.3 * np.cos(np.arange(len(u)))
    bowl = np.mean((u - center) ** 2 * (1.0 + np.arange(len(u)) % 3))
    return np.array([bowl, np.mean((u - 0.5) ** 2) - 0.08, np.mean(u * np.sin(np.arange(len(u)))) - 0.01])


def tell(method: Method, batch: list[np.ndarray], first: int) -> None:
    """Report the outputs of proposals with consecutive ids."""
    for offset, u in enumerate(batch):
        method.tell(first + offset, outputs(u))


def measure(name: str, device: str, asks: int) -> Timing:
    """Time the asks of one method on one device."""
    dim, points = CASES[name]
    setup = Setup(dim, 3, TERMS, (0.0, 0.0, 0.0), None, points, np.zeros((0, dim)), 0, device)
    method = registry.make(name, setup, {})
    batch = method.ask()
    tell(method, [p.u for p in batch], batch[0].id)
    near = np.array([p.u for p in batch[:N_POINTS]])
    seconds, beliefs = [], []
    for number in range(asks + 1):
        start = time.perf_counter()
        batch = method.ask()
        seconds.append(time.perf_counter() - start)
        if number == 0:
            shifts = np.random.default_rng(1).uniform(-0.05, 0.05, near.shape)
            found = [method.belief(u) for u in (near + shifts).clip(0.0, 1.0)]
            beliefs = [belief for belief in found if belief is not None]
        tell(method, [p.u for p in batch], batch[0].id)
    return Timing(seconds[0], statistics.median(seconds[1:]), beliefs)


def differences(mine: list[Belief], other: list[Belief]) -> dict[str, float]:
    """Largest relative difference of mean, variance and gradient over all points and outputs."""
    worst = {"mean": 0.0, "variance": 0.0, "gradient": 0.0}
    for a, b in zip(mine, other, strict=True):
        found = {
            "mean": np.abs(a.mean - b.mean) / b.scale,
            "variance": np.abs(a.std**2 - b.std**2) / b.std**2,
            "gradient": np.abs(a.gradient - b.gradient).max(1) / np.abs(b.gradient).max(1),
        }
        worst = {key: max(value, float(found[key].max())) for key, value in worst.items()}
    return worst


def main() -> None:
    """Print a line per method and device, and the differences between devices."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--asks", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--methods", nargs="*", default=list(CASES))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    names = {"cpu": f"{given.threads} threads"}
    if "cuda" in devices:
        names["cuda"] = torch.cuda.get_device_name()
        torch.linalg.cholesky(torch.eye(8, dtype=torch.float64, device="cuda"))  # loads the libraries
    for name in given.methods:
        dim, points = CASES[name]
        print(f"{name}, d = {dim}, 2 constraints, {points} points")
        timings = {device: measure(name, device, given.asks) for device in devices}
        for device, timing in timings.items():
            print(
                f"  {device:5s} {timing.median:8.3f} s per ask, first {timing.first:.3f} s ({names[device]})"
            )
        if "cuda" in timings:
            apart = differences(timings["cuda"].beliefs, timings["cpu"].beliefs)
            print("  apart " + ", ".join(f"{key} {value:.1e}" for key, value in apart.items()))


if __name__ == "__main__":
    main()
