"""An experiment as runs of `lcbo.compare`: where its files lie, and the process that does one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lcbo.compare.runner import PlannedRun, run_in_process
from lcbo.methods import registry
from reproduction.harness.cell import run_cell
from reproduction.harness.spec import Cell, Spec, read_spec

RESULTS = "results"


@dataclass(frozen=True)
class Places:
    """Where an experiment lies.

    Attributes:
        spec: the TOML file.
        results: folder of the finished runs, one JSON file each; kept in the repository.
        work: folder of the runs in progress and their logs; not kept.
        quick: whether the ``[quick]`` table of the spec applies.
        device: where the models compute.
    """

    spec: Path
    results: Path
    work: Path
    quick: bool = False
    device: str = "cpu"

    @classmethod
    def of(
        cls, spec: str | Path, *, root: str | Path | None = None, quick: bool = False, device: str = "cpu"
    ) -> Places:
        """Return the usual places: ``results/`` and ``work/`` beside the spec, or under ``root``."""
        path = Path(spec)
        root = path.parent if root is None else Path(root)
        return cls(path, root / RESULTS / path.stem, root / "work" / path.stem, quick, device)

    def read(self) -> Spec:
        """Return the experiment."""
        return read_spec(self.spec, quick=self.quick)

    def result(self, cell: Cell) -> Path:
        """Return the file of a finished run."""
        return self.results / f"{cell.name}.json"

    def store(self, cell: Cell) -> Path:
        """Return the file of a run in progress."""
        return self.work / f"{cell.name}.db"

    def planned(self, cells: Sequence[Cell]) -> list[PlannedRun]:
        """Return the cells as runs for `lcbo.compare.runner.compare`."""
        return [self._planned(cell) for cell in cells]

    def _planned(self, cell: Cell) -> PlannedRun:
        store, result = self.store(cell), self.result(cell)
        files = str(store), str(result)
        command = ["-m", "reproduction.harness.runner", str(self.spec), cell.name, *files, self.device]
        return PlannedRun(
            task=cell.task.name,
            label=cell.entry.label,
            seed=cell.seed,
            budget=cell.budget,
            store=store,
            result=result,
            command=(*command, *["--quick"] * self.quick),
        )


def main(arguments: Sequence[str]) -> None:
    """Run one cell in its own process: ``SPEC CELL STORE RESULT DEVICE [--quick]``."""
    spec, name, store, result, device, *rest = arguments
    cell = {cell.name: cell for cell in read_spec(spec, quick="--quick" in rest).cells()}[name]

    def work() -> None:
        if cell.entry.method not in registry.names():
            raise ImportError(f"there is no method {cell.entry.method!r}")  # skipped, as is a missing extra
        modeled = registry.has_model(registry.spec(cell.entry.method))
        run_cell(cell, Path(store), Path(result), device if modeled else "cpu")

    run_in_process(work)


if __name__ == "__main__":
    main(sys.argv[1:])
