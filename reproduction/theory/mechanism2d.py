"""LCBO and a trust region on the way around a forbidden disc, along whose boundary they have to slide.

    min 10 |(x_1, x_2) - a|^2 + sum_{i > 2} (x_i - 1/2)^2   s.t.   10 (R^2 - |(x_1, x_2) - p|^2) <= 0

with p = (1/2, 1/2), R = 0.33 and a = p + (0.12, 0). The disc is forbidden and holds the free minimum:
downhill leads into it from everywhere. The answer is p + (R, 0), on the other side from where the runs begin;
only along the boundary does the objective fall. All that matters happens in the plane of x_1 and x_2; the
other variables are easy, and are there because two variables alone are easy for every method.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.compare.score import best_feasible, checkpoints, rounded
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.describe import versions
from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, BestKnown
from lcbo.random import generator
from lcbo.types import Array, Candidate
from reproduction.harness.cell import machine

CENTER = np.array([0.5, 0.5])
RADIUS = 0.33
TARGET = np.array([0.62, 0.5])
START = CENTER + 0.38 * np.array([math.cos(math.radians(150)), math.sin(math.radians(150))])
SPREAD = 0.05  # of the initial design around the start
METHODS = ("lcbo", "lcbo-paper", "scbo")


class AroundTheDisc(Benchmark):
    """The problem of the module's docstring in ``d >= 2`` variables; outcomes ``f`` and ``c``."""

    def __init__(self, d: int) -> None:
        answer = np.full(d, 0.5)
        answer[0] = CENTER[0] + RADIUS
        value = 10.0 * (RADIUS - 0.12) ** 2
        super().__init__(
            np.tile((0.0, 1.0), (d, 1)),
            [Constraint("c", ub=0.0)],
            "f",
            best_known=BestKnown(value, answer, "closed form", "nearest point outside the disc"),
            noise_scale={"f": 1.0, "c": 1.0},
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective and constraint of ``n x d`` points."""
        plane, rest = X[:, :2], X[:, 2:]
        return {
            "f": 10.0 * ((plane - TARGET) ** 2).sum(1) + ((rest - 0.5) ** 2).sum(1),
            "c": 10.0 * (RADIUS**2 - ((plane - CENTER) ** 2).sum(1)),
        }


@dataclass(frozen=True)
class Setting:
    """One comparison: dimension, noise standard deviation, evaluations, and seeds 0, 1, ... up to so many."""

    dim: int
    noise: float
    budget: int
    seeds: int = 10

    @property
    def name(self) -> str:
        """Name of its file, without an ending."""
        return f"mechanism-d{self.dim}-{'noisy' if self.noise else 'exact'}"


FULL = tuple(Setting(dim, noise, budget) for dim, budget in ((2, 120), (20, 300)) for noise in (0.1, 0.0))
QUICK = tuple(replace(setting, budget=setting.budget // 4, seeds=1) for setting in FULL)


def initial_points(setting: Setting, seed: int) -> Array:
    """The design all methods share: uniform in a small box at the start, ``max(4, d) x d``."""
    middle = np.full(setting.dim, 0.5)
    middle[:2] = START
    draws = generator(seed, "start").uniform(-SPREAD, SPREAD, (max(4, setting.dim), setting.dim))
    points: Array = middle + draws
    return points


def run(setting: Setting, method: str, seed: int) -> dict[str, Any]:
    """Make one run; kept are its curve, restarts, and iterates and boxes in the plane."""
    truth = AroundTheDisc(setting.dim)
    problem = truth.noisy(rng=seed, sd=setting.noise) if setting.noise else truth
    design = initial_points(setting, seed)
    optimizer = Optimizer(problem, method, budget=setting.budget, x0=design, n_init=len(design), rng=seed)
    asked: list[Candidate] = []
    told: list[Array] = []
    while batch := optimizer.ask():
        for candidate in batch:
            outcomes = problem.evaluate(candidate.x)
            optimizer.tell(candidate.id, outcomes)
            asked.append(candidate)
            told.append(truth.to_rows(outcomes))
    points = np.array([candidate.x for candidate in asked])
    best = best_feasible(truth, map(truth.evaluate, points))
    events = optimizer.diagnostics()
    changes = [(event["kind"], event["evaluations"], event["length"]) for event in events]
    return {
        "method": method,
        "seed": seed,
        "best": rounded(best[checkpoints(setting.budget) - 1]),
        "restarts": [count for kind, count, _ in changes if kind == "restart"],
        "iterates": _iterates(asked),
        "boxes": [
            [kind, count, length, *_plane(points[truth.terms.best(np.array(told[:count]))])]
            for kind, count, length in changes
        ],
    }


def _plane(x: Array) -> list[float]:
    return [round(float(value), 4) for value in x[:2]]


def _iterates(asked: Sequence[Candidate]) -> list[list[float]]:
    """``[evaluation, x_1, x_2]`` of the first evaluation of every iterate."""
    found, last = [], 0
    for number, candidate in enumerate(asked, start=1):
        if candidate.role == "iterate" and candidate.iteration > last:
            found.append([float(number), *_plane(candidate.x)])
            last = candidate.iteration
    return found


def run_settings(folder: Path, settings: Sequence[Setting]) -> dict[str, dict[str, Any]]:
    """Return the comparisons by name, made where they are not in ``folder`` yet."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for setting in settings:
        path = folder / f"{setting.name}.json"
        if not path.exists():
            start = time.process_time()
            runs = [run(setting, method, seed) for method in METHODS for seed in range(setting.seeds)]
            kept = {
                "d": setting.dim,
                "noise": setting.noise,
                "budget": setting.budget,
                "evaluations": checkpoints(setting.budget).tolist(),
                "runs": runs,
                "seconds": round(time.process_time() - start, 1),
                "versions": versions(),
                "machine": machine(),
            }
            path.write_text(json.dumps(kept, separators=(",", ":")) + "\n")
        found[setting.name] = json.loads(path.read_text())
    return found
