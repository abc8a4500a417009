import json
import math
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request

import pandas as pd
import pytest

import lcbo as library


@pytest.fixture
def run(folder):
    """A run of the laboratory with a failure whose reason would like to steer the terminal."""
    problem = library.Problem([(0.0, 1.0)] * 3, ["c <= 0", "d >= -9"], "f", deterministic=True)
    with library.Optimizer(problem, "sobol", budget=6, store=folder / "run.db") as optimizer:
        for c in optimizer.ask(5):
            if c.id == 2:
                optimizer.tell(c.id, failed="\x1b[31mdiverged [bold]")
            elif c.id != 4:
                optimizer.tell(c.id, {"f": float(c.id), "c": 0.5 - c.id, "d": float(c.x[0])})
    return "run.db"


def test_status_is_one_screen(lcbo, run):
    text = lcbo("status", run).stdout
    assert len(text.splitlines()) < 24
    for words in (
        "minimize f over 3 variables subject to c <= 0 and -9 <= d",
        "4 of 6 evaluations, 1 pending, 1 failed",
        "f = 1, feasible as observed (candidate 1)",
        "writing     nobody",
        "candidate 2: \N{REPLACEMENT CHARACTER}[31mdiverged [bold]",
        "pending     4",
        "lcbo ask run.db",
    ):
        assert words in text, words


def test_status_as_json(lcbo, run):
    at = json.loads(lcbo("status", run, "--json").stdout)
    assert (at["ended"], at["failed"], at["pending"], at["budget"]) == (4, 1, [4], 6)
    assert at["feasible"]
    assert at["best"]["id"] == 1


def test_status_of_an_empty_run_and_of_an_infeasible_one(lcbo):
    problem = library.Problem([(0.0, 1.0)], ["c <= 0"], "f")
    with library.Optimizer(problem, "sobol", store="new.db") as optimizer:
        assert "nothing evaluated yet" in lcbo("status", "new.db").stdout
        [c] = optimizer.ask(1)
        optimizer.tell(c.id, {"f": 1.0, "c": 3.0})
        text = lcbo("status", "new.db").stdout
    assert "nothing feasible yet; least violation" in text
    assert "alive" in text


def test_best_shows_design_and_slack(lcbo, run):
    text = lcbo("best", run).stdout
    assert "f = 1 after 4 evaluations" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    stored = library.open_run(run)
    x = stored.result().x
    assert [float(rows[f"x{i}"][1]) for i in (1, 2, 3)] == pytest.approx(x, rel=1e-5)
    assert rows["c"] == ["c", "<=", "0", "-0.5", "0.5", "holds"]


def test_best_as_json_is_valid_and_complete(lcbo, run):
    best = json.loads(lcbo("best", run, "--json").stdout)
    assert best["outcomes"] == {"f": 1.0, "c": -0.5, "d": best["x"]["x1"]}
    assert best["slack"]["c <= 0"] == 0.5
    assert best["success"] is True


def test_best_of_nothing_is_null_not_nan(lcbo):
    library.Optimizer(library.Problem([(0.0, 1.0)], ["c <= 0"], "f"), store="new.db").close()
    done = lcbo("best", "new.db", "--json", code=3)
    best = json.loads(done.stdout, parse_constant=lambda text: pytest.fail(text))
    assert best["x"] is None
    assert best["fun"] is None
    assert "no evaluation has succeeded yet" in lcbo("best", "new.db", code=3).stdout


def test_export_writes_the_history(lcbo, run):
    assert "4 evaluations written to out.csv" in lcbo("export", run, "out.csv").stderr
    table = pd.read_csv("out.csv", index_col="id")
    assert table.loc[1, "f"] == 1.0
    assert math.isnan(table.loc[2, "f"])
    assert ".csv, .json or .parquet" in lcbo("export", run, "out.xls", code=1).stderr


@pytest.mark.parametrize(("out", "magic"), [("run.png", b"\x89PNG"), ("x.svg", b"<?xml")])
def test_plot_writes_a_picture(lcbo, run, folder, out, magic):
    lcbo("plot", run, *([] if out == "run.png" else ["-o", out]))
    assert (folder / out).read_bytes().startswith(magic)


def test_plot_of_an_empty_run_and_of_an_unknown_format(lcbo, run):
    library.Optimizer(library.Problem([(0.0, 1.0)], objective="$f_"), store="new.db").close()
    lcbo("plot", "new.db")
    assert "path: expected a file ending in" in lcbo("plot", run, "-o", "x.abc", code=1).stderr


def test_report_writes_a_page(lcbo, run, folder):
    assert "written to run.html" in lcbo("report", run).stderr
    assert (folder / "run.html").read_text().startswith("<!DOCTYPE html>")
    lcbo("report", run, "-o", "other.html")
    assert (folder / "other.html").exists()
    done = lcbo("report", run, "-o", "no/such/folder.html", code=1)
    assert done.stderr == "lcbo: no/such/folder.html: No such file or directory\n"


def test_export_as_json_keeps_every_digit(lcbo, run, folder):
    lcbo("export", run, "history.json")
    rows = json.loads((folder / "history.json").read_text())
    log = library.open_run(run).log
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert [[row[f"x{i}"] for i in (1, 2, 3)] for row in rows] == [e.x.tolist() for e in log.evaluations]
    assert rows[2]["f"] is None
    assert rows[2]["failed"].endswith("diverged [bold]")
    assert (rows[1]["f"], rows[1]["feasible"], rows[0]["best_feasible"]) == (1.0, True, None)


def test_status_of_a_run_with_an_open_budget_advises_what_works(lcbo):
    with library.Optimizer(library.problems.make("pressure_vessel"), "sobol", store="open.db") as optimizer:
        optimizer.ask(1)
    assert "next        lcbo ask open.db" in lcbo("status", "open.db").stdout
    lcbo("ask", "open.db", "-n", 2)


def test_watched_report_is_drawn_again_while_the_run_goes_on(lcbo, folder, monkeypatch):
    problem = library.Problem([(0.0, 1.0)] * 2, [], "f")
    pages = []
    with library.Optimizer(problem, "sobol", budget=3, store="run.db") as optimizer:

        def wait(seconds):
            assert seconds == 0.5
            pages.append((folder / "run.html").read_text())
            for candidate in optimizer.ask(1):
                optimizer.tell(candidate.id, {"f": 1.0})
            if optimizer.exhausted:
                optimizer.close()

        monkeypatch.setattr("time.sleep", wait)
        done = lcbo("report", "run.db", "--watch", "--every", 0.5)
    assert "open it in a browser" in done.stderr
    assert len(pages) == 3
    assert len(set(pages)) == 3
    assert all('<meta http-equiv="refresh" content="1">' in page for page in pages)
    assert "refresh" not in (folder / "run.html").read_text()


@pytest.mark.slow
def test_watched_report_changes_before_the_eyes_of_a_browser(folder):
    """Chromium has the page open while the run goes on; what it shows in the end is the end."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser")
    problem = library.Problem([(0.0, 1.0)] * 2, [], "f")
    with library.Optimizer(problem, "sobol", budget=4, store="run.db") as optimizer:
        command = [sys.executable, "-c", "from lcbo.cli import app; app()", "report", "run.db"]
        watch = subprocess.Popen([*command, "--watch", "--every", "1"], stderr=subprocess.DEVNULL)
        page = folder / "run.html"
        while not page.exists():
            assert watch.poll() is None
            time.sleep(0.1)
        profile = f"--user-data-dir={folder / 'profile'}"
        browser = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", profile, "--remote-debugging-port=0",
             page.as_uri()],
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        try:
            assert browser.stderr is not None
            line = next(line for line in browser.stderr if "DevTools listening on" in line)
            port = int(line.rpartition("/devtools")[0].rpartition(":")[2])
            assert wait_for_title(port, "run: report (0 of 4)")
            for candidate in optimizer.ask(2):
                optimizer.tell(candidate.id, {"f": 1.0})
            assert wait_for_title(port, "run: report (2 of 4)")
        finally:
            for process in (browser, watch):
                process.kill()
                process.communicate()


def wait_for_title(port, title, seconds=60.0):
    """Return whether the open page gets a title, as the browser says."""
    deadline, seen = time.monotonic() + seconds, ""
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            seen = [target["title"] for target in json.load(answer) if target["type"] == "page"]
        if title in seen:
            return True
        time.sleep(0.2)
    pytest.fail(f"the browser shows {seen}")


def test_unlock_frees_a_run_of_another_machine_but_not_one_that_lives(lcbo, run):
    assert "belonged to nobody" in lcbo("unlock", run).stderr
    with library.Optimizer.open(run) as optimizer:
        assert "alive" in lcbo("unlock", run, code=1).stderr
        optimizer.tell(4, failed="still possible")
    assert socket.gethostname() not in lcbo("status", run).stdout


@pytest.mark.parametrize("command", ["status", "best", "plot", "report", "unlock", "resume"])
def test_files_that_are_no_runs_are_one_line(lcbo, folder, command):
    assert lcbo(command, "none.db", code=1).stderr.count("\n") == 1
    (folder / "text.db").write_text("hello, this is not a run")
    sqlite3.connect(folder / "empty.db").close()
    for name in ("text.db", "empty.db"):
        done = lcbo(command, name, code=1)
        assert done.stderr.startswith(f"lcbo: {name}: ")
        assert done.stderr.count("\n") == 1


@pytest.fixture
def modeled(folder):
    """A finished run of the default method, whose answer has slopes."""
    library.minimize(
        lambda x: {"f": float(2.0 * x[0] + 3.0 * x[1]), "c": float(1.0 - 4.0 * x[0] - 6.0 * x[1])},
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "fixed": (2.0, 2.0)},
        ["c <= 0"],
        objective="f",
        budget=16,
        deterministic=True,
        store=folder / "run.db",
        progress=False,
    )
    return "run.db"


def test_best_shows_errors_a_sentence_and_slopes_when_asked(lcbo, modeled):
    text = lcbo("best", modeled).stdout
    assert "slope by" not in text
    assert "\N{PLUS-MINUS SIGN}" in text
    assert "per step of 0.1 of the variables' ranges" in text.splitlines()[-1]
    rows = [line.split() for line in lcbo("best", modeled, "--sensitivities").stdout.splitlines()]
    start = next(i for i, row in enumerate(rows) if row[:2] == ["slope", "by"])
    assert rows[start] == ["slope", "by", "f", "c"]
    assert {row[0] for row in rows[start + 1 : start + 3]} == {"a", "b"}


def test_best_as_json_has_slopes_when_asked(lcbo, modeled):
    best = json.loads(lcbo("best", modeled, "--json", "--sensitivities").stdout)
    slopes = best["sensitivities"]
    assert slopes["c"]["b"]["slope"] == pytest.approx(-6.0, rel=0.01)
    assert slopes["f"]["a"]["error"] < 0.1
    assert slopes["f"]["fixed"] == {"slope": None, "error": None}
    assert best["multipliers"]["c"] == pytest.approx(0.5, rel=0.02)
    assert 0.0 < best["multiplier_errors"]["c"] < 0.1
    assert "sensitivities" not in json.loads(lcbo("best", modeled, "--json").stdout)


def test_slopes_of_a_method_without_a_model_are_refused_in_words(lcbo, run):
    assert "sobol has no model, so there are no slopes" in lcbo("best", run, "--sensitivities").stdout
    assert json.loads(lcbo("best", run, "--sensitivities", "--json").stdout)["sensitivities"] is None
