"""One run of an experiment: durable while it runs, one compact result when it is done."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.compare.comparison import run_to_end, write_result
from lcbo.compare.score import best_feasible, checkpoints, first_feasible, rounded
from lcbo.loop.minimize import begun_or_continued
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.describe import describe_value, versions
from reproduction.harness.spec import Cell
from reproduction.harness.truth import Truth


def run_cell(cell: Cell, store: Path, result: Path, device: str = "cpu") -> dict[str, Any]:
    """Run or finish one cell and return what it wrote to ``result``.

    The run goes on from ``store`` if that exists. The function is evaluated without noise once per point;
    the noise of evaluation i is that of the problem's noisy view, whatever the method.

    Args:
        cell: the run.
        store: its file while it runs.
        result: the file of its result.
        device: where its models compute.
    """
    truth = Truth(cell.task.benchmark(cell.seed), cell.task.noise, cell.seed)
    store.parent.mkdir(parents=True, exist_ok=True)
    options = cell.options(truth.benchmark)
    with begun_or_continued(
        truth.problem,
        store,
        method=cell.entry.method,
        budget=cell.budget,
        rng=cell.seed,
        options=options,
        device=device,
    ) as optimizer:
        kept = run_to_end(optimizer, at_checkpoint=_recommended)
        summary = {**_summary(cell, optimizer, truth, kept), "machine": machine(device)}
    write_result(result, summary)
    return summary


def _recommended(optimizer: Optimizer) -> list[float] | None:
    point = optimizer.recommend()
    return None if point is None else list(map(float, point))


def _summary(cell: Cell, optimizer: Optimizer, truth: Truth, kept: dict[str, Any]) -> dict[str, Any]:
    """Return the compact result of a finished run, scored without noise."""
    seen = optimizer.log.evaluations
    best = best_feasible(truth.benchmark, [truth.exact(o.x) for o in seen])
    marks = checkpoints(cell.budget)
    marks = marks[marks <= len(seen)]
    advised = [_score(truth, kept["checkpoints"].get(str(mark))) for mark in marks]
    return {
        **description(cell),
        "evaluations": marks.tolist(),
        "best": rounded(best[marks - 1]),
        "iteration": [seen[mark - 1].iteration for mark in marks],
        "recommended": rounded([value for value, _ in advised]),
        "recommended_violation": rounded([error for _, error in advised]),
        "final": rounded(best[-1:])[0],
        "first_feasible": first_feasible(best),
        "iterations": seen[-1].iteration,
        "events": optimizer.diagnostics(),
        "seconds": round(kept["seconds"], 1),
        "versions": versions(),
        "commit": commit(),
    }


def _score(truth: Truth, x: list[float] | None) -> tuple[float, float]:
    """Return signed value and largest violation of a point without noise; NaN without a point."""
    if x is None:
        return math.nan, math.nan
    problem, outcomes = truth.benchmark, truth.exact(np.array(x))
    worst = max((c.violation(outcomes[c.name]) for c in problem.constraints), default=0.0)
    return problem.objective.sign * outcomes[problem.objective.name], worst


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


def commit() -> str | None:
    """Return the commit of the code that runs, ``-dirty`` if it was edited since, ``None`` without one."""
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty"]
    command = ["git", "-C", str(Path(__file__).parent), *describe]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def machine(device: str = "cpu") -> str:
    """Return the processor's name, the number of cores, and the accelerator that had the models."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    words = f"{name}, {os.cpu_count()} cores"
    if device == "cpu":
        return words
    import torch  # pages and status need none

    return f"{words}, {torch.cuda.get_device_name(device)}"
