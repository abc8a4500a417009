"""Is an answer feasible as often as it says? Stated probabilities against true frequencies.

Every run is noisy; its answer is judged without noise. A run is made once up to its confirmation and then
confirmed for each confidence, so that all of them answer from the same data. The answer of the model alone,
before the confirmation, is judged too. Runs that are in the results file are not made again.

Run: python benchmarks/calibration.py results.jsonl [--seeds 0-2] [--groups truss25 quadratic] [--method lcbo]
     python benchmarks/calibration.py results.jsonl --seeds "" --picture docs/images/calibration.png
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from quality import AUTHORS, seeds_of
from suite_problems import Posed

import lcbo
from lcbo.methods import registry
from lcbo.random import generator
from lcbo.store.store import Store

NOISES = (0.1, 0.01)
CONFIDENCES = (0.9, 0.99)
BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
ENOUGH = 20  # runs in a bin that is judged
DRAWN = 5  # runs in a bin that is drawn
QUADRATIC_SD = 0.02

Row = dict[str, Any]
Posing = Callable[[float, int], tuple[lcbo.Problem, lcbo.Problem]]  # noise and seed to truth and what is seen


@dataclass(frozen=True)
class Group:
    """Runs that are judged together: a problem, what is seen of it, the noise levels and the budget."""

    pose: Posing
    budget: int
    noises: Sequence[float] = NOISES


def benchmark(name: str, authors: bool, **variant: Any) -> Posing:
    """Return a problem of the library, its noise in the authors' units or in those of the suite."""

    def pose(noise: float, seed: int) -> tuple[lcbo.Problem, lcbo.Problem]:
        truth = lcbo.problems.make(name, **variant)
        sd = noise if authors else {key: noise * size for key, size in Posed(truth).scale.items()}
        return truth, truth.noisy(seed, sd)

    return pose


class Quadratic:
    """``sum (x - 0.7)^2`` under ``mean(x) <= 0.5`` in ten variables, both seen with noise."""

    def __init__(self, seed: int) -> None:
        self.seed, self.count = seed, 0

    def __call__(self, x: np.ndarray) -> dict[str, float]:
        """Return the next noisy observation."""
        noise = generator(self.seed, "noise", self.count).standard_normal(2)
        self.count += 1
        return {
            name: value + QUADRATIC_SD * z for (name, value), z in zip(exact(x).items(), noise, strict=True)
        }


def exact(x: np.ndarray) -> dict[str, float]:
    """Return the quadratic and the mean without noise."""
    return {"f": float(np.sum((x - 0.7) ** 2)), "m": float(np.mean(x))}


def quadratic(known: bool) -> Posing:
    """Return the quadratic, its noise stated or not."""

    def pose(noise: float, seed: int) -> tuple[lcbo.Problem, lcbo.Problem]:
        box, limit = [(0.0, 1.0)] * 10, "m <= 0.5"
        stated = noise if known else None
        return (
            lcbo.Problem(box, limit, "f", fun=exact),
            lcbo.Problem(box, limit, "f", fun=Quadratic(seed), noise=stated),
        )

    return pose


GROUPS = {
    "truss25-authors": Group(benchmark("truss25", True, load="node1", alpha=20.0, **AUTHORS), 1000),
    "beam50-authors": Group(benchmark("beam50", True, **AUTHORS), 1000),
    "truss25": Group(benchmark("truss25", False), 1000),
    "beam50": Group(benchmark("beam50", False), 1000),
    "speed_reducer": Group(benchmark("speed_reducer", False), 280),
    "welded_beam": Group(benchmark("welded_beam", False), 160),
    "gp25": Group(benchmark("gp_sample", False, d=25, seed=0), 1000),
    "gp50": Group(benchmark("gp_sample", False, d=50, seed=0), 1000),
    "quadratic": Group(quadratic(False), 150, (QUADRATIC_SD,)),
    "quadratic-known": Group(quadratic(True), 150, (QUADRATIC_SD,)),
}


def judged(truth: lcbo.Problem, optimizer: lcbo.Optimizer, confidence: float) -> Row:
    """Return what an answer says of itself and what is true."""
    result = optimizer.result(confidence=confidence)
    rows = np.array([truth.to_rows(truth.evaluate(x)) for x in [result.x, *result.history.X]])
    feasible = truth.terms.feasible(rows, optimizer.log.allowed)
    best = np.where(feasible[1:], rows[1:, 0], np.inf).min()
    return {
        "confidence": confidence,
        "rule": result.rule,
        "stated": result.pof,
        "success": bool(result.success),
        "feasible": bool(feasible[0]),
        "loss": float((rows[0, 0] - best) / abs(best)) if np.isfinite(best) else None,
    }


def go_on(optimizer: lcbo.Optimizer, seen: lcbo.Problem, stop: int) -> None:
    """Evaluate until so many candidates were asked for."""
    while optimizer.n_asked < stop:
        for candidate in optimizer.ask():
            optimizer.tell(candidate.id, seen.evaluate(candidate.x))


def answers(name: str, noise: float, seed: int, method: str) -> list[Row]:
    """Run one seed up to its confirmation, then with it for each confidence, and return all answers."""
    group = GROUPS[name]
    truth, seen = group.pose(noise, seed)
    kept = int(registry.spec(method).confirm * group.budget)
    with tempfile.TemporaryDirectory() as folder:
        begun = Path(folder) / "run.db"
        with lcbo.Optimizer(seen, method, budget=group.budget, rng=seed, store=begun) as optimizer:
            go_on(optimizer, seen, group.budget - kept)
            found = [judged(truth, optimizer, confidence) for confidence in CONFIDENCES]
        for confidence in CONFIDENCES if kept else ():
            copy = Path(folder) / f"{confidence}.db"
            shutil.copy(begun, copy)
            store = Store.open(copy)
            store.set_meta(confidence=confidence)
            store.close()
            with lcbo.Optimizer.open(copy, seen) as optimizer:
                go_on(optimizer, seen, group.budget)
                found.append(judged(truth, optimizer, confidence))
    return [{"group": name, "noise": noise, "seed": seed, "method": method, **row} for row in found]


def key(row: Row) -> tuple[Any, ...]:
    """Return which run a row belongs to."""
    return row["group"], row["noise"], row["seed"], row["method"]


def read(path: Path) -> list[Row]:
    """Return the rows of a results file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_groups(rows: Sequence[Row]) -> None:
    """Print the share of truly feasible answers and the loss by group, and over all of them."""
    for kind in sorted({(row["method"], row["rule"], row["confidence"]) for row in rows}):
        mine = [row for row in rows if (row["method"], row["rule"], row["confidence"]) == kind]
        print(f"\n{kind[0]}, decided by {kind[1]}, confidence {kind[2]:g}")
        print(f"  {'group':<18}{'noise':>6}{'runs':>6}{'stated':>8}{'success':>9}{'feasible':>10}{'loss':>9}")
        for name, noise in sorted({(row["group"], row["noise"]) for row in mine}):
            _print_line(name, f"{noise:g}", [r for r in mine if (r["group"], r["noise"]) == (name, noise)])
        _print_line("all", "", mine)


def _print_line(name: str, noise: str, rows: Sequence[Row]) -> None:
    stated, success, feasible = (
        np.mean([row[field] for row in rows]) for field in ("stated", "success", "feasible")
    )
    losses = [row["loss"] for row in rows if row["loss"] is not None]
    loss = f"{np.median(losses):9.2%}" if losses else f"{'':>9}"
    print(f"  {name:<18}{noise:>6}{len(rows):>6}{stated:>8.2f}{success:>9.2f}{feasible:>10.2f}{loss}")


def bins(rows: Sequence[Row]) -> list[tuple[float, float, float, int]]:
    """Return mean stated probability, true frequency, its standard error and the runs of every bin."""
    stated, feasible = (
        np.array([row[field] for row in rows], dtype=float) for field in ("stated", "feasible")
    )
    place = np.clip(np.searchsorted(BINS, stated, side="right") - 1, 0, len(BINS) - 2)
    found = []
    for b in range(len(BINS) - 1):
        here = place == b
        n = int(here.sum())
        if n:
            expected = float(stated[here].mean())
            error = float(np.sqrt(max(expected * (1.0 - expected), 0.25 / n) / n))
            found.append((expected, float(feasible[here].mean()), error, n))
    return found


def print_bins(rows: Sequence[Row]) -> None:
    """Print stated against true frequency; a bin fails beyond 0.1 and two standard errors."""
    for kind in sorted({(row["method"], row["rule"]) for row in rows}):
        print(f"\n{kind[0]}, decided by {kind[1]}: stated probability and true frequency")
        for stated, true, error, n in bins([r for r in rows if (r["method"], r["rule"]) == kind]):
            off = abs(stated - true) - 2.0 * error
            verdict = "" if n < ENOUGH else "pass" if off <= 0.1 else "FAIL"
            print(f"  {stated:.3f}  {true:.3f} +- {error:.3f}  {n:4d} runs  {verdict}")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw stated against true frequency, with one standard error, in bins of some runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, zorder=0)
    least = 0.5
    for kind, mark in zip(sorted({(row["method"], row["rule"]) for row in rows}), "os^vD", strict=False):
        mine = bins([row for row in rows if (row["method"], row["rule"]) == kind])
        points = np.array([point for point in mine if point[3] >= DRAWN]).reshape(-1, 4)
        name = f"{kind[0]}, " + ("confirmed" if kind[1] == "confirmed" else f"by the {kind[1]}")
        name += f" ({', '.join(str(int(n)) for n in points[:, 3])} runs)"
        least = min(least, points[:, :2].min(initial=1.0) - 0.1)
        axes.errorbar(points[:, 0], points[:, 1], points[:, 2], fmt=mark, ms=5, capsize=2, label=name)
    axes.set(xlabel="stated probability of feasibility", ylabel="truly feasible answers")
    axes.set(xlim=(least, 1.01), ylim=(least, 1.03))
    figure.legend(loc="outside upper left", frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Make the runs that are missing, then print the tables."""
    import torch

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="file of the answers, one JSON object per line")
    parser.add_argument("--seeds", default="0-2", help="such as 0-4 or 0,3,7-9; empty: run nothing")
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--method", default="lcbo")
    parser.add_argument("--picture", type=Path, help="file of the picture")
    args = parser.parse_args()
    torch.set_num_threads(1)
    done = {key(row) for row in read(args.results)}
    for seed in seeds_of(args.seeds) if args.seeds else ():
        for name in args.groups:
            for noise in GROUPS[name].noises:
                if (name, noise, seed, args.method) not in done:
                    with args.results.open("a") as file:
                        rows = answers(name, noise, seed, args.method)
                        file.writelines(json.dumps(row) + "\n" for row in rows)
    rows = read(args.results)
    print_groups(rows)
    print_bins(rows)
    if args.picture is not None:
        draw(rows, args.picture)


if __name__ == "__main__":
    main()
