"""What the optimizer itself costs: seconds per 1000 evaluations of a free function, per ask, and over time.

Three outputs (or 61, all constraints active), one thread, processor time; the function's own time is not
counted. The limits are those the project set itself.

Run: python benchmarks/overhead.py                       everything (several minutes)
     python benchmarks/overhead.py run --dims 25 50 --methods lcbo
     python benchmarks/overhead.py many                  120 variables with 60 constraints
     python benchmarks/overhead.py growth                evaluation 5000 against evaluation 500
     python benchmarks/overhead.py import                start-up time, and that it stays light
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import lcbo
from lcbo import Candidate, Optimizer

METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "lcbo": ("lcbo", {}),
    "lcbo-paper (2,5)": ("lcbo-paper", {"repeats": 2, "explore": 5}),
    "lcbo-paper (1,1)": ("lcbo-paper", {"repeats": 1, "explore": 1}),
}
LIMITS = {
    ("lcbo", 25): 5.0,
    ("lcbo", 50): 12.0,
    ("lcbo", 100): 30.0,
    ("lcbo-paper (2,5)", 25): 40.0,
    ("lcbo-paper (2,5)", 50): 60.0,
    ("lcbo-paper (2,5)", 100): 120.0,
    ("lcbo-paper (1,1)", 50): 150.0,
}
MANY_LIMITS = {"lcbo": 30.0}
GROWTH_LIMIT, MEMORY_LIMIT = 1.2, 20.0  # ratio, MB


class Free:
    """A quadratic on a ball and a half-space, noisy so that a run never comes to rest."""

    n_constraints = 2

    def __init__(self, dim: int, noise: float) -> None:
        self.center = 0.5 + 0.3 * np.cos(np.arange(dim))
        self.noise, self.rng, self.seconds = noise, np.random.default_rng(0), 0.0

    def __call__(self, x: np.ndarray) -> tuple[float, list[float]]:
        """Return the objective and two constraints."""
        start = time.process_time()
        away = x - self.center
        f, g, h = self.noise * self.rng.standard_normal(3)
        f += away @ away
        g += np.mean(x) - 0.45
        h += np.sum((x - 0.5) ** 2) - 0.05 * len(x)
        self.seconds += time.process_time() - start
        return float(f), [float(g), float(h)]


class Disks:
    """A linear objective over as many disks as there are pairs of variables: every one is active."""

    def __init__(self, dim: int, noise: float) -> None:
        self.slope = 1.0 + 0.5 * np.cos(np.arange(dim))
        self.noise, self.rng, self.seconds = noise, np.random.default_rng(0), 0.0
        self.n_constraints = dim // 2

    def __call__(self, x: np.ndarray) -> tuple[float, list[float]]:
        """Return the objective and the constraints."""
        start = time.process_time()
        y = self.noise * self.rng.standard_normal(1 + self.n_constraints)
        y[0] -= self.slope @ x
        y[1:] += np.square(x).reshape(-1, 2).sum(1) - 0.5
        self.seconds += time.process_time() - start
        return float(y[0]), y[1:].tolist()


class Clock:
    """Processor time of every ask, and of everything between two asks."""

    def __init__(self) -> None:
        self.asks: list[float] = []
        self.begun: list[tuple[int, float]] = []  # evaluations so far, and when the ask began

    def __enter__(self) -> Clock:
        clock, plain = self, Optimizer.ask

        def timed(optimizer: Optimizer, n: int | None = None) -> list[Candidate]:
            start = time.process_time()
            clock.begun.append((optimizer.n_asked, start))
            candidates = plain(optimizer, n)
            clock.asks.append(time.process_time() - start)
            return candidates

        self._patch = mock.patch.object(Optimizer, "ask", timed)
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()

    def per_iteration(self, around: int, reach: int) -> float:
        """Median seconds between asks made within ``reach`` evaluations of ``around``."""
        pairs = zip(self.begun[:-1], self.begun[1:], strict=True)
        return statistics.median(b - a for (n, a), (_, b) in pairs if abs(n - around) <= reach)


def minimize(
    label: str, fun: Free | Disks, dim: int, budget: int, callback: Any = None
) -> tuple[float, Clock]:
    """Run one method; return the optimizer's seconds and the clock."""
    method, options = METHODS[label]
    with Clock() as clock:
        start = time.process_time()
        lcbo.minimize(
            fun,
            [(0.0, 1.0)] * dim,
            [f"g{i} <= 0" for i in range(fun.n_constraints)],
            budget=budget,
            method=method,
            options=options,
            callback=callback,
            progress=False,
        )
        total = time.process_time() - start
    return total - fun.seconds, clock


def heading(outputs: str, args: argparse.Namespace) -> None:
    """Print what is measured and the head of its table."""
    print(f"{args.evaluations} evaluations, {outputs} outputs, one thread, noise {args.noise:g}")
    print(
        f"{'method':<18}{'d':>5}{'s / 1000':>11}{'limit':>8}{'':>6}{'ask ms':>10}{'slowest':>10}{'asks':>7}"
    )


def measure(label: str, fun: Free | Disks, dim: int, limit: float | None, args: argparse.Namespace) -> None:
    """Print seconds per 1000 evaluations and per ask."""
    minimize(label, Free(5, args.noise), 5, 30)  # imports and first calls
    seconds, clock = minimize(label, fun, dim, args.evaluations)
    each = 1000.0 * seconds / args.evaluations
    verdict = "" if limit is None else ("pass" if each <= limit else "FAIL")
    median, slowest = 1e3 * statistics.median(clock.asks), 1e3 * max(clock.asks)
    print(
        f"{label:<18}{dim:>5}{each:>11.2f}{'' if limit is None else f'{limit:g}':>8}{verdict:>6}"
        f"{median:>10.2f}{slowest:>10.1f}{len(clock.asks):>7}",
        flush=True,
    )


def run_part(args: argparse.Namespace) -> None:
    """Measure every method at every dimension, with two constraints."""
    heading("three", args)
    for label in args.methods:
        for dim in args.dims:
            if label == "lcbo-paper (1,1)" and dim != 50 and len(args.dims) > 1:
                continue  # the line speaks of d = 50 alone
            measure(label, Free(dim, args.noise), dim, LIMITS.get((label, dim)), args)


def many_part(args: argparse.Namespace) -> None:
    """Measure the default with 60 active constraints."""
    heading("61", args)
    for label, limit in MANY_LIMITS.items():
        measure(label, Disks(120, args.noise), 120, limit, args)


def resident() -> float:
    """Memory held now, in MB; where the system does not tell, the most held so far."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def growth_part(args: argparse.Namespace) -> None:
    """Print time per iteration and memory around evaluation 5000 beside evaluation 500 of one run."""
    print(f"growth over one run of 5200 evaluations, noise {args.noise:g}")
    print(
        f"{'method':<18}{'d':>5}{'ms@500':>9}{'@5000':>9}{'ratio':>8}{'limit':>7}{'':>6}{'MB':>8}{'limit':>7}"
    )
    for label in args.methods:
        memory: dict[int, float] = {}

        def remember(snapshot: lcbo.Snapshot, memory: dict[int, float] = memory) -> None:
            if snapshot.nfev in (500, 5000):
                memory[snapshot.nfev] = resident()

        _, clock = minimize(label, Free(args.growth_dim, args.noise), args.growth_dim, 5200, remember)
        early, late = clock.per_iteration(500, 200), clock.per_iteration(5000, 200)
        grown = memory[5000] - memory[500]
        print(
            f"{label:<18}{args.growth_dim:>5}{1e3 * early:>9.2f}{1e3 * late:>9.2f}{late / early:>8.2f}"
            f"{GROWTH_LIMIT:>7}{'pass' if late <= GROWTH_LIMIT * early else 'FAIL':>6}{grown:>8.1f}"
            f"{MEMORY_LIMIT:>7}{'pass' if grown <= MEMORY_LIMIT else 'FAIL':>6}",
            flush=True,
        )


def import_part(_: argparse.Namespace) -> None:
    """Print start-up times and the heavy packages that were imported, if any."""
    heavy = ("torch", "botorch", "gpytorch", "scipy", "pandas", "matplotlib")
    says = f"import sys; sys.stderr.write(' '.join(n for n in {heavy} if n in sys.modules))"
    starts = {
        "python": "pass",
        "import lcbo": "import lcbo",
        "lcbo --help": "from lcbo.cli import app; app(['--help'], standalone_mode=False)",
    }
    print(f"{'start-up':<18}{'seconds':>9}   imports")
    for label, code in starts.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", f"{code}\n{says}"], capture_output=True, text=True, check=True
            )
            times.append(time.perf_counter() - start)
        print(f"{label:<18}{statistics.median(times):>9.2f}   {done.stderr or 'none of ' + ', '.join(heavy)}")


PARTS = {"run": run_part, "many": many_part, "growth": growth_part, "import": import_part}


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all of them")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--dims", nargs="+", type=int, default=[25, 50, 100, 200, 500])
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=0.01, help="sd of the noise on every outcome")
    parser.add_argument("--growth-dim", type=int, default=25)
    args = parser.parse_args()
    for part in args.parts or PARTS:
        PARTS[part](args)
        print()


if __name__ == "__main__":
    main()
