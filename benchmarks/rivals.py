"""Whether bayesqp, furbo and logcei do what their papers promise: evaluations to a goal, and processor time.

`reach` counts the evaluations until a feasible point within 1 % of the optimum was observed, of truss25 until
any feasible one; a run ends there, or after its budget. `time` measures processor seconds of whole runs of 25
variables on one thread, the function's own not counted: the truss with 2 limits, and with all of its 43.
There is no noise. Runs that are stored are not made again.

Run: python benchmarks/rivals.py reach [--methods furbo] [--problems quadratic10] [--seeds 0-4]
     python benchmarks/rivals.py time [--methods bayesqp] [--problems truss25-43] [--evaluations 1000]
     python benchmarks/rivals.py table
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from quality import seeds_of
from scipy.optimize import minimize
from stopwatch import Stopwatch, commit

import lcbo
from lcbo import Constraint
from lcbo.problems import Benchmark
from lcbo.problems.base import BestKnown

STORED = Path(__file__).parent / "results" / "rivals.jsonl"
SHARE = 0.01  # of the optimum's value, which counts as reached
METHODS = ("bayesqp", "furbo", "logcei")
TIME_OPTIONS: Mapping[str, Mapping[str, Any]] = {"furbo": {"batch": 75}}  # 3 d, as its authors
LIMITS = {"bayesqp": 300.0, "furbo": 300.0, "logcei": 900.0}  # seconds of 1000 evaluations of truss25


class Quadratic(Benchmark):
    """A bowl at the origin of 10 variables, of which the mean is at least 1/2, in a ball around the middle.

    Both limits are active at the answer. Its value is of the size of the objective's spread over the cube, as
    that of the speed reducer is.
    """

    def __init__(self) -> None:
        self.weight = np.linspace(1.0, 4.0, 10)
        limits = [Constraint("mean", lb=0.5), Constraint("ball", ub=0.2)]
        names = ("f", "mean", "ball")
        super().__init__(
            np.tile((0.0, 1.0), (10, 1)), limits, "f", best_known=None, noise_scale=dict.fromkeys(names, 1.0)
        )
        found = minimize(
            lambda x: self.evaluate(x)["f"],
            np.full(10, 0.5),
            bounds=self.bounds,
            constraints=[
                {"type": "ineq", "fun": lambda x: self.evaluate(x)["mean"] - 0.5},
                {"type": "ineq", "fun": lambda x: 0.2 - self.evaluate(x)["ball"]},
            ],
            options={"ftol": 1e-12},
        )
        self.best_known = BestKnown(float(found.fun), found.x, "convex", "SLSQP")

    def outcomes_at(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Objective, mean, and squared distance from the middle."""
        return {
            "f": np.square(X) @ self.weight,
            "mean": X.mean(1),
            "ball": np.square(X - 0.5).sum(1),
        }


def _named(name: str, **variant: Any) -> Callable[[], Benchmark]:
    return lambda: lcbo.problems.make(name, **variant)


PROBLEMS: Mapping[str, tuple[Callable[[], Benchmark], int]] = {  # with the budget to reach the goal in
    "speed_reducer": (_named("speed_reducer"), 200),
    "quadratic10": (Quadratic, 200),
    "truss25": (_named("truss25"), 1000),
    "welded_beam": (_named("welded_beam"), 200),
    "g07": (_named("g07"), 200),
}
TIMED: Mapping[str, Callable[[], Benchmark]] = {
    "truss25": _named("truss25"),
    "truss25-43": _named("truss25", aggregate="none"),
}


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        part: ``reach`` or ``time``.
        evaluations: made; where the goal was reached, until then.
        reached: whether it was.
        gap: best feasible value less the optimum, of its size; infinite without a feasible point.
        seconds: processor time without the function's.
        commit: of the code.
    """

    part: str
    method: str
    problem: str
    seed: int
    evaluations: int
    reached: bool
    gap: float
    seconds: float
    commit: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What was run."""
        return self.part, self.method, self.problem, self.seed


def stored() -> dict[tuple[str, str, str, int], Run]:
    """Return the runs on file, the last of each kind."""
    lines = STORED.read_text().splitlines() if STORED.exists() else []
    runs = [Run(**json.loads(line)) for line in lines]
    return {run.key: run for run in runs}


def made(part: str, method: str, problem: str, seed: int, evaluations: int | None) -> Run:
    """Make one run."""
    import torch

    torch.set_num_threads(1)
    make, budget = PROBLEMS[problem] if part == "reach" else (TIMED[problem], evaluations or 1000)
    benchmark = make()
    assert benchmark.best_known is not None
    optimum = benchmark.best_known.value
    goal = np.inf if problem == "truss25" else optimum + SHARE * abs(optimum)
    last = None

    def look(snapshot: lcbo.Snapshot) -> None:
        nonlocal last
        last = snapshot
        if part == "reach" and snapshot.success and snapshot.fun <= goal:
            raise StopIteration

    options = TIME_OPTIONS.get(method, {}) if part == "time" else {}
    watch = Stopwatch()
    benchmark.fun = watch.without(benchmark.fun)
    lcbo.minimize(
        benchmark, budget=budget, method=method, rng=seed, options=options, callback=look, progress=False
    )
    seconds = watch.seconds
    assert last is not None
    gap = (last.fun - optimum) / abs(optimum) if last.success else np.inf
    reached = bool(last.success and last.fun <= goal)
    return Run(part, method, problem, seed, last.nfev, reached, float(gap), round(seconds, 1), commit())


def table(runs: Mapping[tuple[str, str, str, int], Run]) -> None:
    """Print what is stored."""
    print("evaluations to the goal, by seed; > where the budget did not do, with the gap at its end")
    for method in METHODS:
        for problem in PROBLEMS:
            row = sorted(
                (r for r in runs.values() if r.key[:3] == ("reach", method, problem)), key=lambda r: r.seed
            )
            if row:
                cells = [str(r.evaluations) if r.reached else f">{r.evaluations} ({r.gap:.2%})" for r in row]
                middle = statistics.median(r.evaluations if r.reached else np.inf for r in row)
                seconds = statistics.median(r.seconds for r in row)
                print(f"{method:<9}{problem:<15}median {middle:<6g}{seconds:>7.1f} s   {' '.join(cells)}")
    print("\nprocessor seconds, 25 variables")
    for run in runs.values():
        if run.part == "time":
            limit = LIMITS[run.method] if run.problem == "truss25" else None
            beside = "" if limit is None else f"   limit {limit:g}"
            about = f"{run.method:<9}{run.problem:<12}{run.evaluations:>6}{run.seconds:>9.1f} s"
            print(f"{about}   gap {run.gap:.2%}{beside}")


def main() -> None:
    """Make the runs that are not stored, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["reach", "time", "table"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--problems", nargs="+", choices=sorted({*PROBLEMS, *TIMED}))
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-4"), help="of reach: 0-4 or 0,3,7-9")
    parser.add_argument("--evaluations", type=int, help="of time, instead of 1000")
    args = parser.parse_args()
    runs = stored()
    if args.part != "table":
        known = PROBLEMS if args.part == "reach" else TIMED
        for problem in [p for p in args.problems or known if p in known]:
            for method in args.methods:
                for seed in args.seeds if args.part == "reach" else [0]:
                    if (args.part, method, problem, seed) not in runs:
                        run = made(args.part, method, problem, seed, args.evaluations)
                        runs[run.key] = run
                        with STORED.open("a") as file:
                            file.write(json.dumps(asdict(run)) + "\n")
                        print(run, flush=True)
    table(runs)


if __name__ == "__main__":
    main()
