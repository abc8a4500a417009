"""How busy workers are kept: 8 processes or 4 of Dask, evaluations of 50 to 500 ms, d = 25, method lcbo.

Every evaluation sleeps for a seeded time, so it takes a slot and no processor. What keeps a slot from being
busy is the optimizer (asking for the next candidate), the loop and the way to the worker and back.

    busy = time spent in evaluations / (slots * time)

over the time in which work is there for every slot: from the moment all slots have begun (the pool is warm)
until the last candidate of the budget begins. What follows is the drain: the budget is spent and slots stay
free for want of work. The busy fraction of the whole run, start and drain included, is printed beside it.

Run: python benchmarks/workers.py                        everything (two minutes)
     python benchmarks/workers.py pool --budget 200
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

import lcbo

DIM, TARGET = 25, 0.90


class Sleeper:
    """A quadratic on a half-space that sleeps 50 to 500 ms, by a seed of the point."""

    def __init__(self, dim: int) -> None:
        self.center = 0.5 + 0.3 * np.cos(np.arange(dim))

    def __call__(self, x: np.ndarray) -> dict[str, float]:
        """Return the outcomes after the sleep."""
        seed = np.frombuffer(x.tobytes(), dtype=np.uint32)
        time.sleep(np.random.default_rng(seed).uniform(0.05, 0.5))
        return {"f": float(np.sum((x - self.center) ** 2)), "c": float(0.4 - x.mean())}


def measure(
    name: str, n: int, budget: int, after: Callable[[int], None] | None = None, **arguments: Any
) -> tuple[float, int]:
    """Run once on ``n`` workers and print a line; returns the busy fraction and the evaluations lost."""
    records = []

    def callback(snapshot: lcbo.Snapshot) -> None:
        assert snapshot.latest is not None
        records.append(snapshot.latest.record)
        if after is not None:
            after(snapshot.nfev)

    began = time.time()
    result = lcbo.minimize(
        Sleeper(DIM),
        [(0.0, 1.0)] * DIM,
        ["c <= 0"],
        "f",
        budget=budget,
        deterministic=True,
        callback=callback,
        progress=False,
        **arguments,
    )
    starts = np.array([record.started for record in records])
    ends = starts + np.array([record.seconds for record in records])
    first, last = np.sort(starts)[n - 1], starts.max()
    inside = np.clip(np.minimum(ends, last) - np.maximum(starts, first), 0.0, None).sum()
    busy = inside / (n * (last - first))
    whole = (ends - starts).sum() / (n * (ends.max() - starts.min()))
    lost = budget - len(set(result.history.id)) + result.nfail
    print(
        f"{name:34} {n:7} {budget:6} {busy:7.1%} {whole:7.1%} {last - first:7.1f} {first - began:6.1f} "
        f"{budget / (ends.max() - starts.min()):7.1f} {lost:5}",
        flush=True,
    )
    return busy, lost


def pool(budget: int) -> tuple[float, int]:
    """Our own worker processes."""
    return measure("8 worker processes", 8, budget, workers=8)


def ahead(budget: int) -> tuple[float, int]:
    """The same with one candidate asked for ahead of time: a freed worker need not wait for an ask."""
    return measure("8 worker processes, 1 ahead", 8, budget, workers=8, slots=9)


def cluster() -> AbstractContextManager[Any]:
    """A Dask cluster of 4 worker processes with one thread each, all on this machine."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0")


def dask(budget: int) -> tuple[float, int]:
    """Dask; its scheduler shares a process with the optimizer here, which costs some of the time."""
    with cluster() as local, local.get_client() as client:
        return measure("Dask, 4 processes", 4, budget, workers=client)


def dask_exact(budget: int) -> tuple[float, int]:
    """Dask without the candidate that waits at the scheduler."""
    with cluster() as local, local.get_client() as client:
        return measure("Dask, 4 processes, none ahead", 4, budget, workers=client, slots=4)


def dask_kill(budget: int) -> tuple[float, int]:
    """Dask with one worker killed in the middle of the run."""
    with cluster() as local, local.get_client() as client:
        pids = list(client.run(os.getpid).values())

        def after(nfev: int) -> None:
            if nfev == budget // 2:
                os.kill(pids[0], signal.SIGKILL)

        return measure("Dask, 4 processes, 1 killed", 4, budget, after, workers=client)


CASES = {"pool": pool, "ahead": ahead, "dask": dask, "dask-exact": dask_exact, "dask-kill": dask_kill}


def main() -> None:
    """Print a table; fail when a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help=f"out of {', '.join(CASES)}; by default all")
    parser.add_argument("--budget", type=int, default=500)
    arguments = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {load}; target: {TARGET:.0%} busy, none lost")
    print(
        f"{'':34} {'workers':>7} {'budget':>6} {'busy':>7} {'whole':>7} {'time s':>7} {'warm s':>6} "
        f"{'eval/s':>7} {'lost':>5}"
    )
    missed = []
    for case in arguments.cases or CASES:
        busy, lost = CASES[case](arguments.budget)
        if lost or (busy < TARGET and case in ("pool", "dask")):  # the others show what a choice costs
            missed.append(case)
    if missed:
        raise SystemExit(f"target missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
