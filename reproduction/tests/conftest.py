"""Hand-made result files: a run is its curve, everything else has plain defaults."""

import json
from pathlib import Path
from typing import Any

import pytest

from reproduction.harness.results import Results, read_results
from reproduction.harness.runner import Places

TASKS = {
    "synthetic-25": ("gp_sample", {"d": 25}, True),
    "synthetic-50": ("gp_sample", {"d": 50}, True),
    "synthetic-100": ("gp_sample", {"d": 100}, True),
    "truss-case1": ("truss25", {}, False),
    "truss-node1": ("truss25", {"load": "node1"}, False),
    "beam": ("beam50", {}, False),
    "halfcheetah": ("halfcheetah", {}, False),
}


class Lab:
    """Writes specs and results into a folder and reads them back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wanted: dict[str, dict[tuple[str, str], int]] = {}
        self.runs: dict[tuple[str, str, str, int], dict[str, Any]] = {}

    def run(
        self, spec: str, task: str, label: str, seed: int, best: list[float | None], **facts: Any
    ) -> None:
        """Add a finished run with its best feasible value at 10, 20, ... evaluations."""
        marks = [10 * (i + 1) for i in range(len(best))]
        finite = [mark for mark, value in zip(marks, best, strict=True) if value is not None]
        problem, variant, _ = TASKS[task]
        self.runs[spec, task, label, seed] = {
            "task": task,
            "label": label,
            "seed": seed,
            "method": label,
            "options": {},
            "truth": False,
            "problem": {"name": problem, "variant": variant, "noise": 0.0},
            "evaluations": marks,
            "best": best,
            "iteration": list(range(len(best))),
            "recommended": best,
            "recommended_violation": [0.0] * len(best),
            "final": best[-1],
            "first_feasible": finite[0] if finite else None,
            "iterations": len(best) - 1,
            "events": [],
            "seconds": 1.5,
            "versions": {"lcbo": "0.1.0", "python": "3.11"},
            "machine": "a machine, 2 cores",
            "commit": "abc123",
        } | facts
        self.want(spec, task, label, seed + 1)

    def want(self, spec: str, task: str, label: str, seeds: int) -> None:
        """Make a spec ask for runs."""
        cells = self.wanted.setdefault(spec, {})
        cells[task, label] = max(seeds, cells.get((task, label), 0))

    def write(self) -> list[Places]:
        """Write the specs and all results; a task's budget is that of its longest run."""
        for (spec, task, label, seed), kept in self.runs.items():
            path = self.folder / "results" / spec / task / label / f"{seed}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(kept | {"budget": self._budget(spec, task)}))
        return [self._spec(spec) for spec in self.wanted]

    def read(self) -> Results:
        """Return all that was added."""
        return read_results(self.write())

    def _budget(self, spec: str, task: str) -> int:
        lengths = [run["evaluations"][-1] for key, run in self.runs.items() if key[:2] == (spec, task)]
        return max(lengths, default=10)

    def _spec(self, spec: str) -> Places:
        cells = self.wanted[spec]
        tasks, labels = dict.fromkeys(task for task, _ in cells), dict.fromkeys(label for _, label in cells)
        lines = ["budget = 10"]
        for task in tasks:
            problem, variant, seeded = TASKS[task]
            inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in variant.items())
            lines += ["[[task]]", f'name = "{task}"', f'problem = "{problem}"', f"variant = {{ {inline} }}"]
            lines += [f"function_seed = {str(seeded).lower()}", f"budget = {self._budget(spec, task)}"]
        for label in labels:
            on = [task for task, other in cells if other == label]
            seeds = max(cells[task, label] for task in on)
            lines += ["[[entry]]", f'label = "{label}"', f"seeds = {seeds}", f"tasks = {json.dumps(on)}"]
        path = self.folder / f"{spec}.toml"
        path.write_text("\n".join(lines))
        return Places.of(path)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
