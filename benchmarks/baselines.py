"""What the paper's baselines cost at the paper's settings, and when SCBO's trust region restarts.

``time``: processor seconds of 1000 evaluations on one core, the problem's own time not counted, against the
limits the project set itself; with the best truly feasible value of the design and of the end.
``restarts``: SCBO on the 25-bar truss, both loads, without and with the paper's noise, beside the paper's
"first restart at a median of 350 evaluations (interquartile range 338-383), the second at 747 (657-756)".

Run: python benchmarks/baselines.py time [--methods scbo hdsafebo] [--problems truss25 beam50] [--seeds 0-1]
     python benchmarks/baselines.py restarts [--seeds 0-9] [--jobs 2] [--loads case1 node1] [--noises 0 0.1]
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from quality import seeds_of

import lcbo
from lcbo.methods import registry
from lcbo.methods.regions.base import TrustRegionMethod
from lcbo.optimizer.setup import build_setup

LIMITS = {"scbo": 360.0, "hdsafebo": 360.0, "cei": 900.0, "epbo": 900.0}
PAPER = ((350, 338, 383), (747, 657, 756))  # appendix "Comparative Analysis of Mechanisms": median, quartiles


@dataclass(frozen=True)
class Run:
    """One run, scored without noise.

    Attributes:
        seconds: processor time of the method.
        n_init: size of the initial design.
        curve: best truly feasible value after 1, 2, ... evaluations, infinite before the first.
        restarts: evaluations at each restart of the trust region.
    """

    seconds: float
    n_init: int
    curve: np.ndarray
    restarts: list[int]


def run(
    problem: str,
    variant: Mapping[str, Any],
    noise: float,
    method: str,
    options: Mapping[str, Any],
    budget: int,
    seed: int,
) -> Run:
    """Run one method on one seed."""
    import torch

    torch.set_num_threads(1)
    truth = lcbo.problems.make(problem, **variant)
    observed = truth.noisy(rng=seed, sd=noise) if noise > 0.0 else truth
    setup = build_setup(observed, budget=budget, x0=None, n_init=None, n_data=0, rng=seed)
    runner, points, seconds = registry.make(method, setup, options), [], 0.0
    while len(points) < budget:
        start = time.process_time()
        batch = runner.ask(None, budget - len(points))
        seconds += time.process_time() - start
        for proposal in batch:
            points.append(observed.space.from_unit(proposal.u))
            runner.tell(proposal.key, observed.to_rows(observed.fun(points[-1])))
    outcomes = truth.evaluate_batch(np.array(points))
    feasible = np.ones(budget, dtype=bool)
    for c in truth.constraints:
        low, high = c.interval
        feasible &= (outcomes[c.name] >= low) & (outcomes[c.name] <= high)
    events = runner.events if isinstance(runner, TrustRegionMethod) else []
    return Run(
        seconds,
        setup.n_init,
        np.minimum.accumulate(np.where(feasible, outcomes[truth.objective.name], np.inf)),
        [event.evaluations for event in events if event.kind == "restart"],
    )


def print_times(args: argparse.Namespace) -> None:
    """Time every method that is registered, one run after the other."""
    print(f"{'method':<10}{'problem':<10}{'seed':>5}{'evals':>7}{'seconds':>9}{'limit':>7}      ", end="")
    print(f"{'best of design':>15}{'at 200':>9}{'at 400':>9}{'end':>9}  restarts at")
    for problem in args.problems:
        for method in args.methods:
            if method not in registry.names():
                print(f"{method:<10}{problem:<10} not registered")
                continue
            for seed in args.seeds:
                done = run(problem, {}, args.noise, method, args.options, args.budget, seed)
                verdict = "ok" if done.seconds <= LIMITS[method] else "OVER"
                at = [done.curve[min(n, args.budget) - 1] for n in (done.n_init, 200, 400, args.budget)]
                print(
                    f"{method:<10}{problem:<10}{seed:>5}{args.budget:>7}{done.seconds:>9.1f}"
                    f"{LIMITS[method]:>7.0f} {verdict:<5}{at[0]:>15.5g}"
                    + "".join(f"{value:>9.5g}" for value in at[1:])
                    + f"  {done.restarts}",
                    flush=True,
                )


def quartiles(values: Sequence[float]) -> str:
    """Median and interquartile range as text."""
    if not values:
        return "-"
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.0f} ({low:.0f}-{high:.0f})"


def print_restarts(args: argparse.Namespace) -> None:
    """Count SCBO's restarts on the truss over seeds, loads and noise levels."""
    print(
        f"SCBO {args.options or 'at paper settings'} on truss25, {len(args.seeds)} seeds, {args.budget} evals"
    )
    print(
        f"{'load':<8}{'noise':>6}  {'restarts per run':<24}{'first at':<18}{'second at':<18}{'f at the end'}"
    )
    first, second = (f"{m} ({a}-{b})" for m, a, b in PAPER)
    print(f"{'paper':<8}{'0.1':>6}  {'at least 2':<24}{first:<18}{second:<18}")
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        cells = {
            (load, noise): [
                pool.submit(run, "truss25", {"load": load}, noise, "scbo", args.options, args.budget, seed)
                for seed in args.seeds
            ]
            for noise in args.noises
            for load in args.loads
        }
        for (load, noise), futures in cells.items():
            runs = [future.result() for future in futures]
            counts = " ".join(str(len(r.restarts)) for r in runs)
            nth = [quartiles([r.restarts[i] for r in runs if len(r.restarts) > i]) for i in (0, 1)]
            finals = quartiles([float(r.curve[-1]) for r in runs])
            print(f"{load:<8}{noise:>6g}  {counts:<24}{nth[0]:<18}{nth[1]:<18}{finals}", flush=True)


def main() -> None:
    """Read the arguments and print the table asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["time", "restarts"], nargs="?", default="time")
    parser.add_argument("--methods", nargs="+", choices=list(LIMITS), default=list(LIMITS))
    parser.add_argument("--problems", nargs="+", default=["truss25", "beam50"])
    parser.add_argument("--loads", nargs="+", default=["case1", "node1"])
    parser.add_argument("--noises", nargs="+", type=float, default=[0.0, 0.1])
    parser.add_argument("--noise", type=float, default=0.0, help="of the timed runs")
    parser.add_argument("--seeds", type=seeds_of, help="such as 0-4 or 0,3,7-9")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--options", type=json.loads, default={}, help="options of the method as JSON")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes of the restarts")
    args = parser.parse_args()
    args.seeds = args.seeds or seeds_of("0" if args.what == "time" else "0-9")
    if args.what == "time":
        print_times(args)
    else:
        print_restarts(args)


if __name__ == "__main__":
    main()
