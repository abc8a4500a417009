import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import lcbo
from lcbo.optimizer.log import EvaluationTable
from lcbo.reporting import figures
from lcbo.reporting.format import with_error
from lcbo.reporting.report import report, write_report

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)


class Page(HTMLParser):
    """Checks that elements nest and collects them, their attributes and the text."""

    VOID = ("meta", "wbr", "br", "path", "rect")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += f"{data} "

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def read(path: Path) -> Page:
    run = lcbo.open_run(path)
    html = report(run)
    page = Page(html)
    assert not {"script", "img", "iframe", "link", "object"} & {tag for tag, _ in page.elements}
    for _, attributes in page.elements:
        assert not {"src", "href", "onerror", "onclick", "onload"} & set(attributes)
    assert not re.search(r"https?:|url\(|@import", html)
    return page


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run with a model, a failure with a traceback, records of times and hostile names."""
    path = tmp_path_factory.mktemp("run") / "beam.db"
    problem = lcbo.Problem(
        {HOSTILE: (0.0, 1.0), "b": (0.0, 2.0), "c & d": (-1.0, 1.0), "fixed": (3.0, 3.0)},
        [lcbo.Constraint(f"room {HOSTILE}", ub=0.0), lcbo.Constraint("mass", lb=0.2, ub=4.0)],
        "cost",
    )
    with lcbo.Optimizer(problem, budget=30, store=path) as optimizer:
        while candidates := optimizer.ask():
            for c in candidates:
                record = lcbo.Record(worker=f"node-{c.id % 2} {HOSTILE}", started=0.0, seconds=60.0 + c.id)
                if c.id in (3, 11):
                    record = lcbo.Record(seconds=1.0, traceback=f"Traceback:\n  {HOSTILE}")
                    optimizer.tell(c.id, failed=f"diverged {HOSTILE}", record=record)
                    continue
                x = c.x
                outcomes = {"cost": float(x @ x), "mass": float(x.sum() - 3.0)}
                optimizer.tell(c.id, outcomes | {f"room {HOSTILE}": 0.4 - float(x[0])}, record=record)
    return path


def test_page_shows_answer_progress_failures_times_and_settings(finished):
    page = read(finished)
    run = lcbo.open_run(finished)
    result = run.result()
    assert f"{result.fun:.6g}" in page.text
    for value in result.x:
        assert f"{value:.6g}".replace("-", "\N{MINUS SIGN}") in page.text
    for title in (
        "Answer",
        "Constraints over time",
        "Design space",
        "What moves what at the answer",
        "Method over time",
        "Step size",
        "Failures",
        "Evaluation times",
        "Problem",
        "Settings",
        "Go on from here",
    ):
        assert title in page.text, title
    assert result.stationarity[1:] in page.text
    assert "Slopes per unit of the variable, with standard errors" in page.text
    found = result.sensitivities
    assert with_error(found.slopes[0, 1], found.errors[0, 1]) in page.text
    assert with_error(result.multipliers["mass"], result.multiplier_errors["mass"]) in page.text
    assert "2 of 30 evaluations failed" in page.text
    assert f"Traceback:\n  {HOSTILE}" in page.text
    assert f"torch {result.versions['torch']}" in page.text
    assert "lcbo ask" in page.text  # the function is not known, so there is nothing to resume
    assert page.count("svg") >= 8


def test_an_unfinished_run_of_a_known_problem_says_how_to_resume(tmp_path):
    path = tmp_path / "it's mine.db"
    problem = lcbo.problems.make("hs71")
    with lcbo.Optimizer(problem, budget=10, store=path) as optimizer:
        for c in optimizer.ask():
            optimizer.tell(c.id, problem.read(problem.evaluate(c.x)))
    text = read(path).text
    assert "hs71" in text
    assert f"lcbo resume '{tmp_path}/it'\"'\"'s mine.db'" in text
    assert "best known" in text


def test_an_empty_run_has_a_page(tmp_path):
    problem = lcbo.Problem([(0.0, 1.0)] * 2, ["c <= 0"], lcbo.Objective(HOSTILE, maximize=True))
    lcbo.Optimizer(problem, store=tmp_path / "run.db").close()
    page = read(tmp_path / "run.db")
    assert "No evaluation has succeeded yet" in page.text
    assert page.count("svg") == 0


def test_a_run_of_failures_has_a_page(tmp_path):
    problem = lcbo.Problem([(0.0, 1.0)] * 2, ["c <= 0"])
    with lcbo.Optimizer(problem, store=tmp_path / "run.db") as optimizer:
        for c in optimizer.ask(5):
            optimizer.tell(c.id, failed=f"reason\n{c.id % 2}\nfiles: /tmp/{c.id}")  # as a command does
    text = read(tmp_path / "run.db").text
    assert "5 of 5 evaluations failed" in text
    assert re.search(r"reason 0\s+3", text)


def test_a_method_without_a_model_and_many_variables_have_a_page(tmp_path):
    problem = lcbo.Problem([(0.0, 1.0)] * 300, [f"c{i} <= 0" for i in range(30)], "f")
    with lcbo.Optimizer(problem, "sobol", budget=8, store=tmp_path / "run.db") as optimizer:
        for c in optimizer.ask(8):
            told = {f"c{i}": float(c.x[i]) for i in range(30)}
            optimizer.tell(c.id, {"f": float(c.x.sum())} | told)
    page = read(tmp_path / "run.db")
    assert "not feasible" in page.text
    assert "the other 270 variables" in page.text
    assert "8 tightest of 30" in page.text
    assert "multiplier" not in page.text


def test_twenty_thousand_evaluations_stay_a_small_picture():
    n, rng = 20_000, np.random.default_rng(0)
    problem = lcbo.Problem([(0.0, 1.0)] * 3, ["c <= 0"], "f")
    f, c = rng.random(n), rng.random(n) - 0.5
    history = EvaluationTable(
        variables=problem.variables,
        id=np.arange(n),
        X=rng.random((n, 3)),
        outcomes={"f": f, "c": c},
        role=np.where(np.arange(n) % 5 == 0, "iterate", "explore"),
        iteration=np.arange(n) // 5,
        feasible=c <= 0,
        best_feasible=np.minimum.accumulate(np.where(c <= 0, f, np.inf)),
        failed=np.full(n, ""),
    )
    pictures = [
        figures.convergence(problem, history, None, noisy=False),
        figures.violation(problem, history, {"c": 1.0, "f": 1.0}),
        *figures.slacks(history, problem.constraints),
    ]
    for picture in pictures:
        assert 1_000 < len(picture) < 60_000


def test_slack_is_the_distance_to_the_nearer_limit():
    problem = lcbo.Problem([(0.0, 1.0)], ["0 <= c <= 3", "h == 1 +/- 0.5"], "f")
    with lcbo.Optimizer(problem) as optimizer:
        for c, value in zip(optimizer.ask(4), (1.0, 2.5, 4.0, -1.0), strict=True):
            optimizer.tell(c.id, {"f": 0.0, "c": value, "h": value})
        outcomes = optimizer.log.history().outcomes
    slacks = [constraint.slack(outcomes[constraint.name]).tolist() for constraint in problem.constraints]
    assert slacks == [[1.0, 0.5, -1.0, -1.0], [0.5, -1.0, -2.5, -1.5]]


def browse(page: Path, tmp_path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    quiet = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
    return subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            *quiet.split(),
            "--disable-component-update",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            *flags,
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
def test_page_renders_in_a_browser_without_complaint_or_request(finished, tmp_path):
    run = lcbo.open_run(finished)
    page = write_report(run, tmp_path / "report.html")
    done = browse(page, tmp_path)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console
    assert done.stdout.count("<svg") == page.read_text().count("<svg")
    assert "<script" not in done.stdout

    # A copy that measures itself: nothing sticks out of a narrow window, every picture has a size.
    measuring = (
        "<script>const e = document.documentElement;"
        "const pictures = [...document.querySelectorAll('svg')];"
        "const empty = pictures.filter(picture => picture.getBoundingClientRect().height < 40);"
        "document.title = `${e.scrollWidth} of ${e.clientWidth}, ${empty.length} empty`</script></body>"
    )
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    copy = tmp_path / "measured.html"
    copy.write_text(html.replace("</body>", measuring))
    title = re.search(
        r"<title>(\d+) of (\d+), (\d+) empty", browse(copy, tmp_path, "--window-size=500,800").stdout
    )
    assert title is not None
    width, window, empty = map(int, title.groups())
    assert width <= window
    assert empty == 0


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
def test_the_browser_check_notices_a_complaint(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<script>console.error('oops')</script>")
    assert "oops" in browse(page, tmp_path).stderr


def test_an_outcome_that_never_came_is_neither_held_nor_violated(tmp_path):
    problem = lcbo.Problem([(0.0, 1.0)] * 2, ["c <= 0"], "f")
    with lcbo.Optimizer(problem, "sobol", store=tmp_path / "run.db") as optimizer:
        for c in optimizer.ask(2):
            optimizer.tell(c.id, {"f": 1.0}, final=True)
    run = lcbo.open_run(tmp_path / "run.db")
    assert math.isnan(run.result().constr["c"])
    text = read(tmp_path / "run.db").text
    assert re.search(r"c <= 0\s+not known\s+\N{EN DASH}", text)
    assert "violated" not in text


def test_many_constraints_and_long_names_are_folded_and_break_between_words(tmp_path):
    names = [f"stress_in_member_{i}_under_load_case_A" for i in range(40)]
    problem = lcbo.Problem({"a_rather_long_name_of_a_variable": (0, 1)}, [f"{n} <= 1" for n in names], "f")
    with lcbo.Optimizer(problem, "sobol", store=tmp_path / "run.db", budget=4) as optimizer:
        for c in optimizer.ask(4):
            optimizer.tell(c.id, {"f": 1.0, **dict.fromkeys(names, float(c.x[0]))})
    text = report(lcbo.open_run(tmp_path / "run.db"))
    assert "the other 28 constraints" in text
    assert "28 more" in text
    assert "stress_<wbr>in_<wbr>member_<wbr>39_<wbr>under" in text
    assert "overflow-wrap: anywhere" not in text.replace("white-space: pre-wrap; overflow-wrap: anywhere", "")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (465.62, 25.8, "466 \N{PLUS-MINUS SIGN} 26"),
        (-0.012342, 0.00021, "\N{MINUS SIGN}0.01234 \N{PLUS-MINUS SIGN} 0.00021"),
        (1234567.0, 12345.0, "1.235e+06 \N{PLUS-MINUS SIGN} 12000"),
        (2.0, 0.0, "2"),
        (math.nan, math.nan, "\N{EN DASH}"),
        (1e299, 1e298, "1e+299 \N{PLUS-MINUS SIGN} 1e+298"),
        (1e-299, 1e-300, "1e-299 \N{PLUS-MINUS SIGN} 1e-300".replace("-", "\N{MINUS SIGN}")),
    ],
)
def test_a_value_has_the_digits_its_error_leaves(value, error, text):
    assert with_error(value, error) == text
