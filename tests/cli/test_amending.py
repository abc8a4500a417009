import json
import time

import pandas as pd
import pytest

import lcbo as library


@pytest.fixture
def run(folder):
    """Six points told by hand, of which the last two are the only ones with a mass."""
    problem = library.Problem({"t": (0, 1), "w": (0, 1)}, ["c <= 0"], "f", deterministic=True)
    with library.Optimizer(problem, "sobol", budget=9, store=folder / "run.db") as optimizer:
        for c in optimizer.ask(6):
            also = {"mass": float(c.id)} if c.id > 3 else None
            optimizer.tell(c.id, {"f": float(c.id), "c": 2.5 - c.id}, also=also)
        optimizer.ask(1)
    return "run.db"


@pytest.mark.parametrize(
    ("options", "said", "best"),
    [
        (
            ["--correct", 4, "f=-1", "c=-2"],
            ["evaluation 4, f: 4 corrected to -1", "c: -1.5 corrected to -2"],
            "-1",
        ),
        (["--correct", 3, "f=nan"], ["evaluation 3, f: 3 corrected to none"], "4"),
        (["--withdraw", 3, "--withdraw", 4], ["evaluation 3 withdrawn (f 3, c -0.5)", "evaluation 4"], "5"),
        (["--limit", "c <= -1"], ["limit c <= 0 changed to c <= -1"], "4"),
        (["--constrain", "mass>=4.5"], ["limit 4.5 <= mass added"], "5"),
        (["--bound", "t=-1:2"], ["t in [-1, 2], before [0, 1]"], "3"),
    ],
)
def test_change_is_said_and_shown_by_status(lcbo, run, options, said, best):
    before = time.time()
    done = lcbo("amend", run, *options, "--reason", "a typing error")
    text = lcbo("status", run).stdout
    for words in said:
        assert words in done.stdout
        assert words in " ".join(text.split())
    assert "best before: f = 3" in done.stderr
    assert f"best now: f = {best}," in done.stderr
    assert "(a typing error)" in text
    assert time.strftime("%Y-%m-%d", time.gmtime(before)) in text
    assert f"f = {best}, feasible" in text
    [entry] = json.loads(lcbo("status", run, "--json").stdout)["amendments"]
    assert before - 1.0 <= entry["time"] <= time.time()
    assert entry["reason"] == "a typing error"
    assert entry["changes"][0]["kind"] == options[0].removeprefix("--")


def test_run_goes_on_and_everything_is_right_afterwards(lcbo, run, folder):
    lcbo("amend", run, "--fix", "w=0.5", "--limit", "c <= 3", "--reason", "<b>plates</b>")
    lcbo("amend", run, "--withdraw", 0)
    lines = lcbo("ask", run, "-n", "2").stdout.splitlines()
    assert all(json.loads(line)["x"]["w"] == 0.5 for line in lines)
    first = json.loads(lines[0])
    assert first["id"] == 7  # 6 was pending outside the bounds
    lcbo("tell", run, 7, "f=0.25", "c=1", "--also", "mass=3")
    assert json.loads(lcbo("best", run, "--json").stdout)["fun"] == 0.25
    lcbo("export", run, "run.csv")
    table = pd.read_csv("run.csv")
    assert table.id.tolist() == [1, 2, 3, 4, 5, 7]
    assert table.mass.tolist()[3:] == [4.0, 5.0, 3.0]
    lcbo("report", run, "-o", "run.html")
    page = (folder / "run.html").read_text()
    assert "Amendments" in page
    assert "w fixed at 0.5" in page
    assert "&lt;b&gt;plates" in page
    lcbo("plot", run, "-o", "run.png")


def test_command_is_resumed_with_the_new_limit(lcbo):
    lcbo("run", "program.toml", "--method", "sobol", "--budget", 6, code=(0, 3))
    lcbo("amend", "program.db", "--constrain", "other<=2", "--limit", "strength>=0.4", "--bound", "t=0.1:0.9")
    done = lcbo("resume", "program.db", "--budget", 9, code=(0, 3))
    assert "other <= 2" in done.stdout
    assert "0.4 <= strength" in done.stdout
    again = lcbo("run", "program.toml", "--method", "sobol", "--budget", 11, code=(0, 3))
    assert "other <= 2" in again.stdout
    assert library.open_run("program.db").history.other.eq(1).all()


def test_dry_run_changes_nothing(lcbo, run):
    done = lcbo("amend", run, "--withdraw", 0, "--dry-run")
    assert done.stdout == "Would change:\n  evaluation 0 withdrawn (f 0, c 2.5)\n"
    assert json.loads(lcbo("status", run, "--json").stdout)["amendments"] == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 1, "something to change"),
        (["--correct", "7"], 2, "expected ID NAME=NUMBER; got '7'"),
        (["--correct", "f=3"], 2, "expected ID NAME=NUMBER; got 'f=3'"),
        (["--correct", "0", "f=three"], 2, "expected NAME=NUMBER"),
        (["--correct", "6", "f=3"], 1, "6, which is pending"),
        (["--withdraw", "x"], 2, "integer"),
        (["--withdraw", "99"], 1, "got 99"),
        (["--limit", "nonsense"], 1, "limits: expected a text such as"),
        (["--constrain", "height <= 3"], 1, "recorded: f, c, mass"),
        (["--bound", "t=1"], 2, "expected NAME=LOW:HIGH"),
        (["--bound", "t=2:1"], 1, "low <= high"),
        (["--bound", "t"], 2, "expected"),
        (["--fix", "t=inf"], 1, "within its bounds"),
        (["--fix", "t=0.5", "--fix", "w=0.5"], 1, "only fixed variables"),
    ],
)
def test_wrong_change_is_one_line(lcbo, run, options, code, words):
    done = lcbo("amend", run, *options, code=code)
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert library.open_run(run).amendments == []


def test_run_in_use_is_not_amended(lcbo, run):
    with library.Optimizer.open(run):
        assert "is writing to this run" in lcbo("amend", run, "--withdraw", 0, code=1).stderr
