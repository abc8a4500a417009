"""Experiments end to end: killed and resumed, complete and skipped."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from lcbo.compare.runner import compare
from lcbo.evaluation.processes import children
from lcbo.evaluation.processes import table as table_of_processes
from lcbo.store.store import tells_in
from reproduction.harness.cell import run_cell
from reproduction.harness.results import read_results
from reproduction.harness.runner import Places

TASKS = """
budget = 20

[[task]]
name = "draw"
problem = "gp_sample"
variant = { d = 3 }
function_seed = true
noise = 0.1

[[task]]
name = "ring"
problem = "eq_sphere"
variant = { d = 3 }
"""

# What may differ between two executions of the same run.
CIRCUMSTANCES = ["seconds", "machine", "versions"]


def table(places: Places) -> pd.DataFrame:
    rows = read_results([places]).table().drop(columns=CIRCUMSTANCES)
    return rows.sort_values(["task", "label", "seed", "evaluations"], ignore_index=True)


def write_spec(folder: Path, entries: dict[str, str]) -> Path:
    """Write a spec with these methods, each with more lines of its table."""
    path = folder / "tiny.toml"
    path.write_text(
        TASKS + "".join(f'\n[[entry]]\nlabel = "{name}"\n{more}\n' for name, more in entries.items())
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "count"),
    [
        ('tasks = ["draw"]', 2),
        ("seeds = 2", 8),
    ],
    ids=["small", "full"],
)
def test_killed_and_resumed_experiment_has_the_table_of_an_uninterrupted_one(tmp_path, more, count):
    spec = write_spec(tmp_path, {"cobyla": more, "lcbo": more})
    whole = Places.of(spec, root=tmp_path / "whole")
    cells = whole.read().cells()
    assert len(cells) == count
    for cell in cells:  # without processes and without interruption
        run_cell(cell, whole.store(cell), whole.result(cell))

    places = Places.of(spec, root=tmp_path / "killed")
    command = [sys.executable, "-c", "from reproduction.command import app; app()", "run", str(spec)]
    command += ["--jobs", "2", "--root", str(tmp_path / "killed")]
    runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120.0
    while not any(places.store(c).exists() and tells_in(places.store(c)) > 3 for c in cells):
        assert runner.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    runs = children(runner.pid)
    assert runs
    runner.kill()
    runner.wait()
    while {process.pid for process in table_of_processes()} & set(runs):  # they end with the runner
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert any(not places.result(c).exists() for c in cells)

    progress = compare(places.planned(cells), jobs=2, poll=0.02)
    assert not progress.failed
    assert len(progress.done) == count
    pd.testing.assert_frame_equal(table(places), table(whole))


def test_only_runs_with_a_model_are_made_on_another_device(tmp_path):
    entries = {"cobyla": 'tasks = ["draw"]', "lcbo": 'tasks = ["draw"]'}
    places = Places.of(write_spec(tmp_path, entries), device="cuda:99")
    progress = compare(places.planned(places.read().cells()), jobs=2, poll=0.02)
    assert [run.name for run in progress.done] == ["draw/cobyla/0"]
    assert "cuda:99" in progress.failed["draw/lcbo/0"]


def test_finished_runs_are_left_alone(tmp_path):
    places = Places.of(write_spec(tmp_path, {"cobyla": "seeds = 2"}))
    cells = places.read().cells()
    for cell in cells:
        places.result(cell).parent.mkdir(parents=True, exist_ok=True)
        places.result(cell).write_text("{}")
    progress = compare(places.planned(cells), jobs=1)
    assert len(progress.done) == 4
    assert not places.work.exists()


@pytest.mark.slow
def test_what_is_not_installed_is_skipped_and_what_breaks_has_failed(tmp_path, monkeypatch):
    only = 'tasks = ["draw"]\n'
    broken = only + "options = { no_such_option = 1 }"
    entries = {"no-such-method": only, "cmaes": only, "lcbo": broken}
    # a package of this name that cannot be imported stands in for one that is not installed
    (tmp_path / "cma.py").write_text("raise ImportError('broken on purpose', name='cma')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    places = Places.of(write_spec(tmp_path, entries))
    progress = compare(places.planned(places.read().cells()), jobs=2, poll=0.02)
    assert set(progress.skipped) == {"draw/no-such-method/0", "draw/cmaes/0"}
    assert "no method 'no-such-method'" in progress.skipped["draw/no-such-method/0"]
    assert "lcbo[cma]" in progress.skipped["draw/cmaes/0"]
    assert set(progress.failed) == {"draw/lcbo/0"}
    assert "no_such_option" in progress.failed["draw/lcbo/0"]
    assert [run.name for run in progress.missing] == ["draw/lcbo/0"]
