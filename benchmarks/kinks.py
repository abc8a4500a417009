"""Limits with kinks: problems of the suite whose constraints are told as one outcome, the largest of them.

Many programs report the largest stress and not every stress. The answer is the same, but the one limit has a
kink wherever another stress becomes the largest. Without noise, 20d evaluations, gaps as in docs/suite.md;
a run without a truly feasible point has gap 10.

Run: python benchmarks/kinks.py [--methods lcbo cobyqa slsqp] [--half checking] [--seeds 0-2] [--apart]
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from quality import seeds_of
from suite_problems import HALVES, NEAR_TOL, ROUNDING_TOL, posed
from suite_scores import Yardstick, aligned, mean_and_error

import lcbo
from lcbo.methods import registry
from lcbo.types import Array

PROBLEMS = {
    "tuning": (
        "truss25-case1-none",
        "truss-4x2-s1",
        "beam-5-each",
        "speed_reducer",
        "g01",
        "g10",
        "coco-f9-d10-i2",
        "coco-f47-d10-i3",
        "program-d10-g20-a14-h0-s1",
        "program-d20-g40-a26-h0-s2",
    ),
    "checking": (
        "truss25-node1-none",
        "truss-5x2-s3",
        "beam-8-each",
        "pressure_vessel",
        "g07",
        "g18",
        "coco-f3-d10-i2",
        "coco-f22-d10-i3",
        "program-d12-g24-a12-h0-s11",
        "program-d25-g50-a30-h0-s12",
    ),
}


def run(job: tuple[str, str, int, bool]) -> tuple[float, bool]:
    """Return the log10 gap of a run, and whether the design handed over keeps all limits."""
    import torch

    torch.set_num_threads(1)
    name, method, seed, apart = job
    stated = posed(name)
    truth = stated.truth
    spread = np.array([stated.scale[c.name] for c in truth.constraints])

    def values(x: Array) -> tuple[float, Array]:
        """Objective, and by how much every limit is passed, below 0 where there is room, in spreads."""
        outcomes = truth.evaluate(x)
        room = [c.slack(outcomes[c.name]) for c in truth.constraints]
        return outcomes[truth.objective.name], -np.array(room) / spread

    def simulate(x: Array) -> dict[str, float]:
        f, over = values(x)
        told = {f"over{i}": value for i, value in enumerate(over)} if apart else {"over": over.max()}
        return {"f": f, **told}

    limits = [f"over{i} <= 0" for i in range(len(spread))] if apart else ["over <= 0"]
    bounds = list(zip(truth.lb, truth.ub, strict=True))
    found = lcbo.minimize(
        simulate,
        bounds,
        limits,
        "f",
        budget=20 * len(bounds),
        method=method,
        rng=seed,
        deterministic=True,
        progress=False,
    )
    seen = [values(x) for x in found.history.X]
    best = min((f for f, over in seen if over.max() <= ROUNDING_TOL), default=math.inf)
    kept = found.x is not None and bool(values(found.x)[1].max() <= NEAR_TOL)
    return math.log10(Yardstick([]).gap(name, best)), kept


def main() -> None:
    """Read the command line, make the runs and print a line per problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", choices=registry.names(), default=["lcbo"])
    parser.add_argument("--half", choices=HALVES, default="tuning")
    parser.add_argument("--seeds", type=seeds_of, default=[0, 1, 2], help="such as 0-4 or 0,3,7-9")
    parser.add_argument("--apart", action="store_true", help="tell every constraint by itself instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, one thread each")
    given = parser.parse_args()
    names = PROBLEMS[given.half]
    jobs = [(n, m, s, given.apart) for n in names for m in given.methods for s in given.seeds]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        ended = dict(zip(jobs, pool.map(run, jobs), strict=True))
    rows = [["log10 gap", *given.methods]]
    for name in names:
        cells = [[f"{ended[name, m, s, given.apart][0]:.2f}" for s in given.seeds] for m in given.methods]
        rows.append([name, *map(" ".join, cells)])
    summary: dict[str, list[str]] = {"mean": [], "found": [], "handed over": []}
    for method in given.methods:
        mine = [(name, *one) for (name, by, _, _), one in ended.items() if by == method]
        mean, error = mean_and_error((name, gap) for name, gap, _ in mine)
        summary["mean"].append(f"{mean:.2f} ± {error:.2f}")
        summary["found"].append(f"{sum(gap < 1.0 for _, gap, _ in mine)} of {len(mine)}")
        summary["handed over"].append(f"{sum(kept for _, _, kept in mine)} of {len(mine)}")
    print(aligned(rows + [[word, *cells] for word, cells in summary.items()]))


if __name__ == "__main__":
    main()
