"""How good the answers are: best feasible values on the benchmark lines, any method, seeds and noise.

Every run goes through `lcbo.minimize` and is scored without noise: the outcomes at every evaluated point are
computed anew from the noise-free problem, and the score is the running minimum of the objective over the
points that are truly feasible (the equality lines: whose constraints all hold within 1e-3).

Run: python benchmarks/quality.py [--method lcbo] [--problems truss25 beam50] [--seeds 0-4] [--jobs 2]
     python benchmarks/quality.py --method lcbo-authors --problems truss25-authors beam50-authors
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
from stopwatch import Stopwatch

import lcbo
from lcbo.problems import Benchmark

CHECKPOINTS = (200, 500)


@dataclass(frozen=True)
class Line:
    """One problem with its settings, and by method the largest median ``f`` (or ``|f - f*|``) to reach.

    Attributes:
        problem: name of the problem, with its ``variant``.
        budget: evaluations.
        noise: noise level of the observations.
        targets: by method.
        tol: constraint error up to which an evaluated point counts.
        gap: the target is on ``|f - f*|``, not on ``f``.
        paper: what the paper's Table 1 sets for this problem where the preset's default differs.
    """

    problem: str
    budget: int = 1000
    noise: float = 0.0
    targets: Mapping[str, float] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)
    tol: float = 0.0
    gap: bool = False
    paper: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Benchmark:
        """Return the noise-free problem."""
        return lcbo.problems.make(self.problem, **self.variant)


AUTHORS = {"scale": "authors"}
BEAM = {"repeats": 1, "explore": 1}
LINES = {
    "truss25": Line("truss25", targets={"lcbo": 457.0, "lcbo-paper": 560.0}),
    "beam50": Line("beam50", targets={"lcbo": 160.5, "lcbo-paper": 260.0}, paper=BEAM),
    "truss25-authors": Line(
        "truss25",
        noise=0.1,
        targets={"lcbo": 2.80, "lcbo-authors": 3.35},
        variant={"load": "node1", "alpha": 20.0} | AUTHORS,
    ),
    "beam50-authors": Line(
        "beam50", noise=0.1, targets={"lcbo": 2.15, "lcbo-authors": 3.40}, variant=AUTHORS, paper=BEAM
    ),
    "eq_sphere": Line(
        "eq_sphere", 600, targets={"lcbo": 0.01 * 2.385959}, variant={"d": 30}, tol=1e-3, gap=True
    ),
    "eq_qp": Line("eq_qp", 600, targets={"lcbo": 0.005}, variant={"d": 30}, tol=1e-3, gap=True),
    "hs71": Line("hs71", 200, targets={"lcbo": 0.005 * 17.0140}, tol=1e-3, gap=True),
}


@dataclass(frozen=True)
class Score:
    """One scored run.

    Attributes:
        curve: best feasible value after 1, 2, ... evaluations, infinite before the first.
        error: largest constraint error at the best feasible point, least of all points without one.
        x_value: noise-free objective of ``res.x``.
        x_error: its largest constraint violation, noise-free.
        success: what the answer says of itself.
        seconds: processor time of the optimizer, the problem's own not counted.
    """

    curve: np.ndarray
    error: float
    x_value: float
    x_error: float
    success: bool
    seconds: float


def constraint_error(problem: Benchmark, outcomes: Mapping[str, Any]) -> np.ndarray:
    """Largest error over the constraints: ``|y - eq|`` of an equality, the violation of an inequality."""
    errors = []
    for c in problem.constraints:
        y = np.atleast_1d(outcomes[c.name])
        low, high = c.interval
        errors.append(
            np.abs(y - c.eq) if c.eq is not None else np.maximum(0.0, np.maximum(low - y, y - high))
        )
    return np.max(errors, axis=0) if errors else np.zeros(1)


def run(line: Line, method: str, options: Mapping[str, Any], budget: int, noise: float, seed: int) -> Score:
    """Run one seed and score it."""
    import torch

    torch.set_num_threads(1)
    truth = line.make()
    problem: Any = truth.noisy(rng=seed, sd=noise) if noise > 0.0 else truth
    watch = Stopwatch()
    problem.fun = watch.without(problem.fun)
    result = lcbo.minimize(problem, budget=budget, method=method, rng=seed, options=options, progress=False)
    seconds = watch.seconds
    outcomes = truth.evaluate_batch(result.history.X)
    error, values = constraint_error(truth, outcomes), outcomes[truth.objective.name]
    scored = np.where(error <= line.tol, values, np.inf)
    at_x = truth.evaluate(result.x)
    return Score(
        curve=np.minimum.accumulate(scored),
        error=float(error[scored.argmin()] if np.isfinite(scored).any() else error.min()),
        x_value=at_x[truth.objective.name],
        x_error=float(constraint_error(truth, at_x)[0]),
        success=bool(result.success),
        seconds=seconds,
    )


def table_row(
    name: str, line: Line, scores: Sequence[Score], target: float | None, noise: float
) -> list[str]:
    """The printed cells of one line."""
    optimum = line.make().best_known
    assert optimum is not None
    finals = np.array([s.curve[-1] for s in scores])
    middle = float(np.median(finals))
    best = float(np.median(np.abs(finals - optimum.value))) if line.gap else middle
    budget = len(scores[0].curve)
    at = [np.median([s.curve[n - 1] for s in scores]) if n <= budget else np.nan for n in CHECKPOINTS]
    return [
        name,
        f"{noise:g}",
        str(budget),
        *("" if np.isnan(v) else f"{v:.5g}" for v in at),
        f"{middle:.6g}",
        f"{middle - optimum.value:.3g}",
        f"{np.median([s.error for s in scores]):.2g}" if line.tol else "",
        "" if target is None else f"{'gap' if line.gap else 'f'} <= {target:.3g}",
        "" if target is None else ("pass" if best <= target else "FAIL"),
        f"{np.median([s.x_value for s in scores]):.6g}",
        f"{np.median([s.x_error for s in scores]):.2g}",
        f"{sum(s.success for s in scores)}/{len(scores)}",
        f"{np.median([s.seconds for s in scores]):.1f}",
    ]


HEADER = ["problem", "noise", "evals", *map(str, CHECKPOINTS), "end", "end-f*", "error", "target", ""]
HEADER += ["f(res.x)", "violation", "success", "seconds"]
WIDTHS = [16, 6, 6, 9, 9, 10, 10, 9, 15, 5, 10, 10, 8, 8]


def print_row(cells: Sequence[str]) -> None:
    """Print cells in columns, the first to the left."""
    print(
        "".join(
            f"{c:<{w}}" if i == 0 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, WIDTHS, strict=True))
        )
    )


def seeds_of(text: str) -> list[int]:
    """Read ``0-4`` or ``0,3,7-9``."""
    parts = [part.split("-") for part in text.split(",")]
    return [seed for part in parts for seed in range(int(part[0]), int(part[-1]) + 1)]


def main() -> None:
    """Run the lines over the cores and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", default="lcbo", help="a method")
    parser.add_argument("--problems", nargs="+", choices=list(LINES), default=list(LINES))
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-4"), help="such as 0-4 or 0,3,7-9")
    parser.add_argument("--noise", type=float, help="noise level instead of each line's own")
    parser.add_argument("--budget", type=int, help="evaluations instead of each line's own")
    parser.add_argument("--options", type=json.loads, default={}, help="options of the method as JSON")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, one thread each")
    args = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    submitted: dict[str, list[Future[Score]]] = {}
    print(f"{args.method}{args.options or ''}, seeds {args.seeds}; medians; scored noise-free, reading 10")
    print_row(HEADER)
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        for name in args.problems:
            line = LINES[name]
            budget = args.budget or line.budget
            noise = line.noise if args.noise is None else args.noise
            table = line.paper if args.method in ("lcbo-paper", "lcbo-authors") else {}
            submitted[name] = [
                pool.submit(run, line, args.method, {**table, **args.options}, budget, noise, seed)
                for seed in args.seeds
            ]
        for name, futures in submitted.items():
            report(name, args, [future.result() for future in futures])


def report(name: str, args: argparse.Namespace, scores: Sequence[Score]) -> None:
    """Print one line's row and its finals in order; the target stands only beside its own settings."""
    line = LINES[name]
    noise = line.noise if args.noise is None else args.noise
    own = noise == line.noise and len(scores[0].curve) == line.budget
    print_row(table_row(name, line, scores, line.targets.get(args.method) if own else None, noise))
    print(f"    finals   {listed(s.curve[-1] for s in scores)}")
    print(
        f"    f(res.x) {listed(s.x_value for s in scores)}   violation {listed(s.x_error for s in scores)}",
        flush=True,
    )


def listed(values: Any, form: Callable[[float], str] = "{:.5g}".format) -> str:
    """Sorted values as text."""
    return " ".join(map(form, sorted(values)))


if __name__ == "__main__":
    main()
