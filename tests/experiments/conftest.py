"""Hand-made result files: a run is its curve, everything else has plain defaults."""

import json
from pathlib import Path
from typing import Any

import pytest

from lcbo.experiments.results import Results, read_results
from lcbo.experiments.runner import Places

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

    def run(
        self, spec: str, task: str, label: str, seed: int, best: list[float | None], **facts: Any
    ) -> None:
        """Add a finished run with its best feasible value at 10, 20, ... evaluations."""
        marks = [10 * (i + 1) for i in range(len(best))]
        finite = [mark for mark, value in zip(marks, best, strict=True) if value is not None]
        kept = {
            "method": label,
            "budget": marks[-1],
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
        } | facts
        path = self.folder / "results" / spec / task / label / f"{seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept))
        self.want(spec, task, label, seed + 1)

    def want(self, spec: str, task: str, label: str, seeds: int) -> None:
        """Make a spec ask for runs."""
        cells = self.wanted.setdefault(spec, {})
        cells[task, label] = max(seeds, cells.get((task, label), 0))

    def read(self) -> Results:
        """Return all that was added."""
        return read_results([self.places(spec) for spec in self.wanted])

    def places(self, spec: str) -> Places:
        """Write a spec's TOML file and return its places."""
        cells = self.wanted[spec]
        tasks, labels = dict.fromkeys(task for task, _ in cells), dict.fromkeys(label for _, label in cells)
        lines = ["budget = 1000"]
        for task in tasks:
            problem, variant, seeded = TASKS[task]
            inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in variant.items())
            lines += ["[[task]]", f'name = "{task}"', f'problem = "{problem}"', f"variant = {{ {inline} }}"]
            lines += [f"function_seed = {str(seeded).lower()}"]
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
