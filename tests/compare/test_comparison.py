"""A comparison of a user's problem and of a benchmark: runs, interruption, table and figure."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import lcbo
from lcbo.cli.arguments import read_task
from lcbo.compare.comparison import Comparison
from lcbo.compare.figure import draw_figure
from lcbo.compare.runner import Progress, compare
from lcbo.compare.score import Score, best_feasible, score_table
from lcbo.errors import ArgumentError
from lcbo.evaluation.processes import members
from lcbo.evaluation.processes import table as process_table
from lcbo.store.store import tells_in

INF = math.inf
SIMULATOR = """
import json, sys, time
time.sleep({pause})
a, b = map(float, sys.argv[1:])
print(json.dumps({{"lift": a + b, "drag": a * a + b * b}}))
"""
FILE = """
objective = {{ name = "lift", maximize = true }}
constraints = ["drag <= {limit}"]

[variables]
a = [-1, 1]
b = [-1, 1]

[command]
run = "{python} {script} {{{{ a }}}} {{{{ b }}}}"
"""


@pytest.fixture
def problem_file(tmp_path):
    def write(limit=1.0, pause=0.0):
        script = tmp_path / "simulate.py"
        script.write_text(SIMULATOR.format(pause=pause))
        path = tmp_path / "wing.toml"
        path.write_text(FILE.format(python=sys.executable, limit=limit, script=script))
        return path

    return write


def begin(path, out, budget=6):
    return Comparison.begin(out, read_task(str(path), None, None, None), budget=budget)


def test_users_problem_is_scored_as_observed(problem_file, tmp_path):
    comparison = begin(problem_file(), tmp_path / "out")
    comparison.run("sobol", 3)
    (score,) = comparison.scores()["sobol"]
    stored = lcbo.open_run(comparison.folder / "runs/sobol/3.db")
    seen = [o.outcomes for o in stored.log.evaluations]
    assert np.allclose(score.best, best_feasible(comparison.problem, seen), rtol=1e-6)
    assert len(score.best) == 6
    assert score.seconds > 0.0


def test_benchmark_is_scored_without_noise(tmp_path):
    task = read_task("gp_sample", ["d=3"], 0.1, None)
    comparison = Comparison.begin(tmp_path, task, budget=12, noise=0.1)
    comparison.run("sobol", 1)
    (score,) = comparison.scores()["sobol"]
    stored = lcbo.open_run(tmp_path / "runs/sobol/1.db")
    seen = stored.log.evaluations
    truth = lcbo.problems.make("gp_sample", d=3)
    exact = [truth.evaluate(o.x) for o in seen]
    assert exact[0]["f"] != seen[0].outcomes["f"]
    assert np.allclose(score.best, best_feasible(truth, exact), rtol=1e-6)


@pytest.mark.slow
def test_more_seeds_and_methods_add_runs_and_finished_runs_stay(problem_file, tmp_path):
    comparison = begin(problem_file(), tmp_path / "out")
    first = compare(comparison.plan(["sobol"], 1), jobs=1, poll=0.02)
    assert [run.name for run in first.done] == ["wing/sobol/0"]
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").rglob("0.*")}
    again = begin(problem_file(), tmp_path / "out").plan(["sobol", "cobyla"], 2)
    assert len(Progress(again).missing) == 3
    progress = compare(again, jobs=2, poll=0.02)
    assert len(progress.done) == 4
    assert all(path.stat().st_mtime_ns == then for path, then in files.items())
    assert {method: len(runs) for method, runs in comparison.scores().items()} == {"cobyla": 2, "sobol": 2}


def test_interrupted_comparison_goes_on_where_it_was(problem_file, tmp_path):
    path, out = problem_file(pause=0.05), tmp_path / "out"
    command = [sys.executable, "-c", "from lcbo.cli import app; app()", "compare", str(path)]
    command += ["--methods", "sobol", "--seeds", "1", "--budget", "12", "--out", str(out)]
    runner = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True)
    store, deadline = out / "runs/sobol/0.db", time.monotonic() + 60.0
    while not store.exists() or tells_in(store) < 3:
        assert runner.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    started = members(runner.pid)
    assert started
    os.kill(runner.pid, signal.SIGINT)
    _, errors = runner.communicate(timeout=30)
    assert runner.returncode == 130
    assert "the same command goes on" in errors
    assert not [p for p in process_table() if p.pid in started]  # the runs and their simulators
    assert 3 <= tells_in(store) < 12
    comparison = begin(problem_file(), out, budget=12)
    comparison.run("sobol", 0)
    whole = begin(problem_file(), tmp_path / "whole", budget=12)
    whole.run("sobol", 0)
    results = [json.loads((c.folder / "runs/sobol/0.json").read_text()) for c in (comparison, whole)]
    assert results[0]["best"] == results[1]["best"]


def test_another_comparison_in_the_folder_is_refused(problem_file, tmp_path):
    out = tmp_path / "out"
    begin(problem_file(), out)
    begin(problem_file(), out)
    with pytest.raises(ArgumentError, match="budget: it has 6; now it is 7"):
        begin(problem_file(), out, budget=7)
    with pytest.raises(ArgumentError, match=r'"ub": 1.0}\]; now it is '):
        begin(problem_file(limit=2.0), out)
    path = problem_file()
    for old, new in (("simulate.py", "other.py"), ('"lift"', '"push"')):
        path.write_text(problem_file().read_text().replace(old, new))
        with pytest.raises(ArgumentError, match=r"command|objective.name"):
            begin(path, out)
    Comparison.begin(tmp_path / "named", read_task("gp_sample", ["d=3"], None, None), budget=9)
    with pytest.raises(ArgumentError, match="variant"):
        Comparison.begin(tmp_path / "named", read_task("gp_sample", ["d=3", "seed=1"], None, None), budget=9)


def test_problem_without_a_command_is_refused(problem_file, tmp_path):
    path = problem_file()
    path.write_text(path.read_text().split("[command]")[0])
    with pytest.raises(ArgumentError, match=r"a table \[command\]"):
        begin(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_simulator_that_always_fails_is_a_failed_run(problem_file, tmp_path):
    comparison = begin(problem_file(), tmp_path / "out", budget=12)
    (tmp_path / "simulate.py").write_text("raise SystemExit(3)")
    progress = compare(comparison.plan(["sobol"], 1), jobs=1, poll=0.02)
    assert "all 10 evaluations failed" in progress.failed["wing/sobol/0"]
    assert comparison.scores() == {}


def score(*best):
    return Score(np.array(best), 1.0)


def test_table_counts_runs_without_a_feasible_point_as_the_worst(tmp_path):
    none = score(INF, INF)
    scores = {"bad": [none] * 3, "good": [score(5.0, 3.0), score(9.0, 1.0), none]}
    table = score_table(scores, -1.0)
    good, bad = table.astype(object).where(table.notna(), None).to_dict("records")
    assert list(good.values()) == ["good", -3.0, None, -2.0, 3, 2, 1.0, 1.0]
    assert (bad["feasible"], bad["median"], bad["first_feasible"]) == (0, None, None)
    assert score_table(scores, 1.0)["lower_quartile"][0] == 2.0
    table.to_csv(tmp_path / "table.csv", index=False)
    with (tmp_path / "table.csv").open() as file:
        assert [row["median"] for row in csv.DictReader(file)] == ["-3.0", ""]


def test_figure_shows_methods_without_any_feasible_point(problem_file, tmp_path, monkeypatch):
    comparison = begin(problem_file(), tmp_path / "out", budget=3)
    none = score(INF, INF, INF)
    scores = {"lcbo": [score(INF, -4.0, -5.0), none], "sobol": [none]}
    monkeypatch.setattr(Comparison, "scores", lambda _: scores)
    draw_figure(comparison, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5_000
    monkeypatch.setattr(Comparison, "scores", lambda _: {"sobol": scores["sobol"]})
    draw_figure(comparison, tmp_path / "empty.png")


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"best": [1', '{"best": ["x"], "seconds": 1}', '{"best": 3}']
)
def test_damaged_files_are_named(problem_file, tmp_path, text):
    comparison = begin(problem_file(), tmp_path / "out", budget=4)
    result = comparison.folder / "runs/sobol/0.json"
    result.parent.mkdir(parents=True)
    result.write_text(text)
    with pytest.raises(ArgumentError, match=r"runs/sobol/0\.json: expected a result written by lcbo compare"):
        comparison.scores()
    (comparison.folder / "comparison.json").write_text(text)
    with pytest.raises(ArgumentError, match=r"comparison\.json: expected a file written by lcbo compare"):
        begin(problem_file(), tmp_path / "out", budget=4)
