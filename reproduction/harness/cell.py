"""One run of an experiment: durable while it runs, one compact result when it is done."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.optimizer.describe import describe_value, versions
from lcbo.optimizer.optimizer import Optimizer
from lcbo.problem import Problem
from lcbo.problems import Benchmark
from lcbo.types import Array
from reproduction.harness.score import (
    best_feasible,
    checkpoints,
    first_feasible,
    rounded,
    true_values,
    violation,
)
from reproduction.harness.spec import Cell


def run_cell(cell: Cell, store: Path, result: Path) -> dict[str, Any]:
    """Run or finish one cell and return what it wrote to ``result``.

    The run goes on from ``store`` if that exists. The function is evaluated without noise once per point;
    the noise of evaluation i is that of the problem's noisy view, whatever the method.
    """
    truth = cell.task.benchmark(cell.seed)
    evaluator = _Evaluator(truth, cell.task.noise, cell.seed)
    problem = truth if evaluator.noisy is None else evaluator.noisy
    store.parent.mkdir(parents=True, exist_ok=True)
    options = cell.options(truth)
    with _optimizer(problem, store, cell, options) as optimizer:
        assert optimizer.store is not None
        kept: dict[str, Any] = optimizer.store.meta().get("experiment", {"recommended": {}, "seconds": 0.0})
        marks = set(checkpoints(cell.budget).tolist())
        start = time.process_time()
        if optimizer.n_ended in marks:  # it may have been killed between the tell and the mark
            _mark(optimizer, kept)
        while batch := optimizer.pending or optimizer.ask():
            for candidate in batch:
                kept["seconds"] += time.process_time() - start
                outcomes = evaluator(candidate.x, optimizer.n_ended)
                start = time.process_time()
                optimizer.tell(candidate.id, outcomes)
                if optimizer.n_ended in marks:
                    _mark(optimizer, kept)
        kept["seconds"] += time.process_time() - start
        summary = _summary(cell, optimizer, evaluator, kept)
    result.parent.mkdir(parents=True, exist_ok=True)
    fresh = result.with_suffix(".tmp")
    fresh.write_text(json.dumps(summary, separators=(",", ":")) + "\n")
    fresh.replace(result)
    return summary


def _optimizer(problem: Problem, store: Path, cell: Cell, options: dict[str, Any]) -> Optimizer:
    """Return the optimizer of a cell: that of the run in its store, or of a new one."""
    method, given = cell.entry.method, {"budget": cell.budget, "rng": cell.seed, "options": options}
    if store.exists():
        return Optimizer.open(store, problem, method=method, **given)
    return Optimizer(problem, method, store=store, **given)


def _mark(optimizer: Optimizer, kept: dict[str, Any]) -> None:
    """Keep the point the method recommends now."""
    assert optimizer.store is not None
    point = optimizer.recommend()
    kept["recommended"][str(optimizer.n_ended)] = None if point is None else point.tolist()
    optimizer.store.set_meta(experiment=kept)


class _Evaluator:
    """Evaluates a benchmark once per point without noise, and adds the noise of its noisy view."""

    def __init__(self, truth: Benchmark, noise: float, seed: int) -> None:
        self.truth = truth
        self.noisy = truth.noisy(rng=seed, sd=noise) if noise > 0.0 else None
        self._seen: dict[bytes, dict[str, float]] = {}

    def __call__(self, x: Array, number: int) -> dict[str, float]:
        """Return what evaluation ``number`` of a run observes at ``x``."""
        exact = self.exact(x)
        if self.noisy is None:
            return {name: exact[name] for name in self.truth.outcomes}
        self.noisy.continue_after(number)
        return self.noisy.observed(exact)

    def exact(self, x: Array) -> dict[str, float]:
        """Return the noise-free outcomes; an expensive benchmark is not asked twice."""
        key = x.tobytes()
        if key not in self._seen:
            self._seen[key] = self.truth.evaluate(x)
        return self._seen[key]


def _summary(cell: Cell, optimizer: Optimizer, evaluator: _Evaluator, kept: dict[str, Any]) -> dict[str, Any]:
    """Return the compact result of a finished run."""
    truth = evaluator.truth
    seen = optimizer.log.evaluations
    exact = _columns(truth, [evaluator.exact(o.x) for o in seen])
    values = true_values(truth, exact)
    best = best_feasible(values)
    marks = checkpoints(cell.budget)
    marks = marks[marks <= len(seen)]
    advised = [kept["recommended"].get(str(mark)) for mark in marks]
    at = _columns(truth, [evaluator.exact(np.array(x)) for x in advised if x is not None])
    objective = truth.objective
    scored = iter(zip(objective.sign * at[objective.name], violation(truth, at), strict=True))
    pairs = [(np.nan, np.nan) if x is None else next(scored) for x in advised]
    return {
        **description(cell),
        "evaluations": marks.tolist(),
        "best": rounded(best[marks - 1]),
        "iteration": [seen[mark - 1].iteration for mark in marks],
        "recommended": rounded([value for value, _ in pairs]),
        "recommended_violation": rounded([error for _, error in pairs]),
        "final": rounded(best[-1:])[0],
        "first_feasible": first_feasible(values),
        "iterations": seen[-1].iteration,
        "events": optimizer.diagnostics(),
        "seconds": round(kept["seconds"], 1),
        "versions": versions(),
        "commit": commit(),
        "machine": machine(),
    }


def description(cell: Cell) -> dict[str, Any]:
    """Return what a result says of how it came about; a result is one of a spec if this is the same."""
    return {
        "task": cell.task.name,
        "label": cell.entry.label,
        "seed": cell.seed,
        "method": cell.entry.method,
        "options": describe_value({**cell.entry.options, **cell.entry.on.get(cell.task.name, {})}),
        "truth": cell.entry.truth,
        "problem": {"name": cell.task.problem, "variant": dict(cell.task.variant), "noise": cell.task.noise},
        "budget": cell.budget,
    }


def _columns(truth: Benchmark, rows: list[dict[str, float]]) -> dict[str, Array]:
    return {name: np.array([row[name] for row in rows]) for name in truth.outcomes}


def commit() -> str | None:
    """Return the commit of the code that runs, ``-dirty`` if it was edited since, ``None`` without one."""
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty"]
    command = ["git", "-C", str(Path(__file__).parent), *describe]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def machine() -> str:
    """Return the processor's name and the number of cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"
