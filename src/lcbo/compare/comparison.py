"""A comparison in a folder of its own: one problem, several methods, several seeds.

comparison.json         the problem, the budget and how to evaluate
runs/METHOD/SEED.db     a run, durable from its first evaluation; .log is what it printed
runs/METHOD/SEED.json   the score of a finished run
comparison.csv, .png    table and figure of all finished runs
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.compare.runner import PlannedRun, run_in_process
from lcbo.compare.score import Score, best_feasible, checkpoints, rounded
from lcbo.errors import ArgumentError
from lcbo.evaluation.command.command import Command
from lcbo.evaluation.command.problem_file import RunSpec
from lcbo.evaluation.evaluate import Attempt
from lcbo.evaluation.evaluator import InProcess
from lcbo.loop.loop import Loop
from lcbo.loop.minimize import begun_or_continued, make_evaluator
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import MAX_FAILURE_RATE, Stopping
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.describe import describe_value, differences, rebuild_value
from lcbo.problem import Problem
from lcbo.problem.sources import describe_problem, from_recipe
from lcbo.problems import Benchmark, NoisyView

_FILE = "comparison.json"
_FACTS = ("name", "problem", "source", "noise", "budget", "x0", "n_init", "options", "evaluation")
_EVALUATION = ("timeout", "retries", "max_failure_rate")


@dataclass(frozen=True)
class Comparison:
    """The folder of a comparison and what its file says."""

    folder: Path
    facts: dict[str, Any]

    @classmethod
    def begin(cls, folder: Path, task: RunSpec, *, budget: int, noise: float = 0.0) -> Comparison:
        """Make the folder of a comparison, or open the one that is there.

        The options of the task are those of the method it names; other methods have their defaults.

        Raises:
            ArgumentError: the problem cannot be evaluated, or the folder holds another comparison.
        """
        problem = task.problem.truth if isinstance(task.problem, NoisyView) else task.problem
        if problem.fun is None or problem.source is None:
            raise ArgumentError(task.name, "a problem file with a table [command], or a benchmark", "neither")
        method = task.settings.get("method", "lcbo")
        given = {
            "name": task.name,
            "problem": describe_problem(problem),
            "source": describe_value(problem.source),
            "noise": noise,
            "budget": budget,
            "x0": describe_value(task.start),
            "n_init": task.settings.get("n_init"),
            "options": {method: describe_value(task.options)} if task.options else {},
            "evaluation": {name: task.settings[name] for name in _EVALUATION if name in task.settings},
        }
        given = json.loads(json.dumps(given))
        if (folder / _FILE).exists():
            changed = differences(_lasting(cls.open(folder).facts), _lasting(given))
            if changed:
                words = changed[0].replace("the run has", "it has")
                raise ArgumentError(str(folder), "a new folder, or that of this comparison", words)
        write_result(folder / _FILE, given)
        return cls(folder, given)

    @classmethod
    def open(cls, folder: Path) -> Comparison:
        """Return the comparison in a folder."""
        path = folder / _FILE
        try:
            facts = json.loads(path.read_text())
            missing = [key for key in _FACTS if key not in facts]
        except (ValueError, TypeError) as error:
            raise ArgumentError(str(path), "a file written by lcbo compare", error) from None
        if missing or not isinstance(facts["source"], dict):
            raise ArgumentError(str(path), "a file written by lcbo compare", f"one without {missing}")
        return cls(folder, facts)

    @property
    def problem(self) -> Problem:
        """The problem, with its function; noise-free if it is a benchmark."""
        problem = from_recipe(self.facts["source"], self.facts["problem"])
        assert problem is not None
        return problem

    def plan(self, methods: Sequence[str], seeds: int) -> list[PlannedRun]:
        """Return the runs wanted: first seed 0 of every method, then seed 1, so that a part is balanced."""
        return [self._planned(method, seed) for seed in range(seeds) for method in methods]

    def _planned(self, method: str, seed: int) -> PlannedRun:
        files = self.folder / "runs" / method
        command = ("-m", "lcbo.compare.comparison", str(self.folder), method, str(seed))
        store, result = files / f"{seed}.db", files / f"{seed}.json"
        return PlannedRun(self.facts["name"], method, seed, self.facts["budget"], store, result, command)

    def run(self, method: str, seed: int) -> None:
        """Run or finish one run and write its score: without noise for a benchmark, else as observed."""
        facts, planned = self.facts, self._planned(method, seed)
        planned.store.parent.mkdir(parents=True, exist_ok=True)
        problem = self.problem
        if isinstance(problem.fun, Command):  # working directories of different runs do not mix
            workdir = planned.store.with_suffix(".evaluations").absolute()
            problem.fun = replace(problem.fun, workdir=str(workdir))
        observed = problem
        if isinstance(problem, Benchmark) and facts["noise"] > 0.0:
            observed = problem.noisy(rng=seed, sd=facts["noise"])
        with begun_or_continued(
            observed,
            planned.store,
            method=method,
            budget=facts["budget"],
            x0=facts["x0"],
            n_init=facts["n_init"],
            rng=seed,
            options=rebuild_value(facts["options"].get(method, {})),
        ) as optimizer:
            kept = run_to_end(optimizer, **facts["evaluation"])
            seen = optimizer.log.evaluations
        exact = observed is problem
        told = [o.outcomes if exact or o.failed else problem.evaluate(o.x) for o in seen]
        best = rounded(best_feasible(problem, told))
        write_result(planned.result, {"best": best, "seconds": kept["seconds"]})

    def scores(self) -> dict[str, list[Score]]:
        """Return all finished runs in the folder, by method."""
        found: dict[str, list[Score]] = {}
        for path in sorted(self.folder.glob("runs/*/*.json"), key=lambda path: (path.parent, int(path.stem))):
            try:
                kept = json.loads(path.read_text())
                best = np.array([math.inf if value is None else float(value) for value in kept["best"]])
                padded = np.pad(best, (0, self.facts["budget"] - len(best)), mode="edge")
                found.setdefault(path.parent.name, []).append(Score(padded, float(kept["seconds"])))
            except (ValueError, KeyError, TypeError) as error:
                expected = "a result written by lcbo compare (delete the file to make the run again)"
                raise ArgumentError(str(path), expected, f"{type(error).__name__}: {error}") from None
        return found


def _lasting(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that may not change: all but the problem's name, its folder and how to evaluate."""
    source = {key: value for key, value in facts["source"].items() if key != "folder"}
    kept = {key: value for key, value in facts.items() if key not in ("name", "evaluation")}
    return {**kept, "source": source}


def run_to_end(
    optimizer: Optimizer,
    *,
    at_checkpoint: Callable[[Optimizer], Any] = lambda _: None,
    timeout: float | None = None,
    retries: int = 0,
    max_failure_rate: float = MAX_FAILURE_RATE,
) -> dict[str, Any]:
    """Evaluate the rest of a stored run with a budget as `minimize` does, and return what is kept of it.

    Returns:
        ``seconds``, the processor time of the method without the evaluations, and ``checkpoints``, what
        ``at_checkpoint`` gave as JSON by number of evaluations (a text). The store keeps both for a run
        that is made in several parts.
    """
    store, budget = optimizer.store, optimizer.budget
    assert store is not None
    assert budget is not None
    kept: dict[str, Any] = store.meta().get("comparison", {"checkpoints": {}, "seconds": 0.0})
    before, marks = kept["seconds"], checkpoints(budget)
    stopping = Stopping(max_failure_rate=max_failure_rate)
    clock = _Clocked(optimizer.problem)
    evaluator = clock if timeout is None else make_evaluator(optimizer.problem, timeout=timeout)

    def keep(_: object = None) -> None:
        if optimizer.n_ended in marks:
            kept["checkpoints"][str(optimizer.n_ended)] = at_checkpoint(optimizer)
            kept["seconds"] = before + time.process_time() - start - clock.seconds
            store.set_meta(comparison=kept)

    start = time.process_time()
    with evaluator, ProgressBar(optimizer, False, stopping) as bar:
        keep()  # it may have been killed between the tell and the checkpoint
        Loop(optimizer, evaluator, retries).run(stopping, keep, bar)
    kept["seconds"] = before + time.process_time() - start - clock.seconds
    return kept


class _Clocked(InProcess):
    """Evaluates in this process and adds up the processor time that takes."""

    seconds = 0.0

    def wait(self, timeout: float | None = None) -> list[Attempt]:
        """Evaluate the next candidate."""
        start = time.process_time()
        finished = super().wait(timeout)
        self.seconds += time.process_time() - start
        return finished


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write the result of a finished run; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    fresh.replace(path)


if __name__ == "__main__":
    run_in_process(lambda: Comparison.open(Path(sys.argv[1])).run(sys.argv[2], int(sys.argv[3])))
