"""What an experiment is: tasks, entries (a method with its options) and seeds, read from a TOML file.

```toml
title = "Optimization progress"
budget = 1000

[[task]]
name = "synthetic-25"                    # in file names, tables and figures
problem = "gp_sample"
variant = { d = 25 }
function_seed = true                     # the run's seed also chooses the function
noise = 0.1                              # level of the benchmark's noise

[[entry]]
label = "lcbo-paper"                     # method = label when not given
seeds = 10
truth = true                             # gets the true hyperparameters of tasks that know them
options = { explore = 5 }
on.beam50 = { repeats = 1, explore = 1 } # more options on one task

[quick]                                  # what `--quick` changes
budget = 60
seeds = 1
```

Options are written as in Python; TOML has no null, so the text ``"none"`` stands for ``None``, and a
schedule is a table such as ``{ Power = [10, 0.25] }`` or ``{ Growth = [5, 0.5, 0] }``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from lcbo.errors import ArgumentError
from lcbo.optimizer.plan.describe import rebuild_value
from lcbo.problems import Benchmark, make

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A problem as an experiment uses it.

    Attributes:
        name: in file names, tables and figures.
        problem: name of the benchmark, with its ``variant``.
        function_seed: whether the run's seed is the problem's ``seed`` too.
        noise: level of the benchmark's noise, 0 for none.
        budget: evaluations, where it differs from the experiment's.
    """

    name: str
    problem: str
    variant: Mapping[str, Any] = field(default_factory=dict)
    function_seed: bool = False
    noise: float = 0.0
    budget: int | None = None

    def benchmark(self, seed: int) -> Benchmark:
        """Return the noise-free problem of one seed."""
        return make(self.problem, **self.variant, **({"seed": seed} if self.function_seed else {}))


@dataclass(frozen=True)
class Entry:
    """A method with its options, under the name it has in the figures.

    Attributes:
        label: in file names, tables and figures.
        method: name of the method.
        options: its options.
        on: by task, more options.
        seeds: seeds 0, 1, ... up to this many are run.
        truth: the method is given the true hyperparameters where the task knows them.
        tasks: names of the tasks it runs on; empty means all.
    """

    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seeds: int = 1
    truth: bool = False
    tasks: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """One run of an experiment."""

    task: Task
    entry: Entry
    seed: int
    budget: int

    @property
    def name(self) -> str:
        """File name of the run, without an ending."""
        return f"{self.task.name}/{self.entry.label}/{self.seed}"

    def options(self, problem: Benchmark) -> dict[str, Any]:
        """Return the options of the run's method on the task's problem."""
        given: dict[str, Any] = {**self.entry.options, **self.entry.on.get(self.task.name, {})}
        truth = getattr(problem, "hyperparameters", None)
        if self.entry.truth and truth is not None:
            given |= {
                "fit": "fixed",
                "standardize": False,
                "hyperparameters": {
                    "lengthscale": truth.lengthscale.tolist(),
                    "outputscale": truth.outputscale.tolist(),
                    "mean": truth.mean.tolist(),
                    "noise_var": truth.noise_var,
                },
            }
        read: dict[str, Any] = rebuild_value(_with_none(given))
        return read


@dataclass(frozen=True)
class Spec:
    """An experiment.

    Attributes:
        name: the file's name without its ending; results lie in a folder of this name.
        title: one line.
        budget: evaluations of a run.
        tasks: the problems.
        entries: the methods.
    """

    name: str
    title: str
    budget: int
    tasks: tuple[Task, ...]
    entries: tuple[Entry, ...]

    def cells(self) -> list[Cell]:
        """Return all runs: first seed 0 of everything, then seed 1, so that a part of it is balanced."""
        cells = [
            Cell(task, entry, seed, task.budget or self.budget)
            for entry in self.entries
            for task in self.tasks
            if not entry.tasks or task.name in entry.tasks
            for seed in range(entry.seeds)
        ]
        return sorted(cells, key=lambda cell: cell.seed)


def read_spec(path: str | Path, *, quick: bool = False) -> Spec:
    """Return the experiment of a TOML file; ``quick`` applies its ``[quick]`` table.

    Raises:
        ArgumentError: if the file is not there, is not TOML or holds something unknown.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise ArgumentError("spec", "a TOML file", f"{path} ({error.strerror})") from None
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError("spec", "a TOML file", f"{path}: {error}") from None
    tasks = [_read(Task, path, row) for row in table.get("task", [])]
    entries = [_read(Entry, path, {"method": row.get("label"), **row}) for row in table.get("entry", [])]
    budget = table.get("budget")
    unknown = sorted(set(table) - {"title", "budget", "task", "entry", "quick"})
    if unknown:
        raise ArgumentError(path.name, "title, budget, task, entry and quick", unknown)
    if not isinstance(budget, int) or budget < 1 or not tasks or not entries:
        raise ArgumentError(path.name, "a budget of at least 1, a task and an entry", table)
    _check_names(path, tasks, entries)
    if quick:
        fast = _read(_Quick, path, table.get("quick", {}))
        budget = min(budget, fast.budget)
        tasks = [replace(t, budget=None) for t in tasks if not fast.tasks or t.name in fast.tasks]
        entries = [replace(e, seeds=min(e.seeds, fast.seeds)) for e in entries]
    return Spec(path.stem, table.get("title", path.stem), budget, tuple(tasks), tuple(entries))


@dataclass(frozen=True)
class _Quick:
    budget: int = 60
    seeds: int = 1
    tasks: Sequence[str] = ()


def _read(kind: type[T], path: Path, row: Mapping[str, Any]) -> T:
    """Return one table of the file as an object."""
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    try:
        return kind(**row)
    except TypeError:
        where = f"{path.name}, {kind.__name__.lower().strip('_')}"
        raise ArgumentError(where, f"keys out of {names}, name or label among them", list(row)) from None


def _check_names(path: Path, tasks: Sequence[Task], entries: Sequence[Entry]) -> None:
    known = [task.name for task in tasks]
    labels = [entry.label for entry in entries]
    for name in (*known, *labels):
        if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name):
            raise ArgumentError(path.name, "names of letters, digits, '.', '_', '+' and '-'", repr(name))
    if len({*known}) < len(known) or len({*labels}) < len(labels):
        raise ArgumentError(path.name, "every task and label once", [*known, *labels])
    for entry in entries:
        unknown = [name for name in (*entry.tasks, *entry.on) if name not in known]
        if unknown:
            raise ArgumentError(f"{path.name}, entry {entry.label!r}", f"tasks out of {known}", unknown)


def _with_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_none(entry) for key, entry in value.items()}
    return None if value == "none" else value
