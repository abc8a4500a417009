"""What a notebook shows of a problem, a result and a stored run, and what a log gets to hear."""

import logging
import pickle
from html.parser import HTMLParser

import pytest

import lcbo
from lcbo import Problem

BOX = {"width": (0.0, 1.0), "<b>bold</b>": (0.0, 2.0), "gauge": (5.0, 5.0)}


def simulate(x):
    if x[0] > 0.9:
        raise RuntimeError("diverged")
    return {"mass": float(x.sum()), "stress": float(1.0 - x[0])}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def result(path):
    return lcbo.minimize(simulate, BOX, ["stress <= 0.7"], "mass", budget=20, method="sobol", store=path)


def words(html):
    """Return the text of a piece of HTML, which must be closed and without scripts."""
    found = []
    parser = HTMLParser()
    parser.handle_data = found.append
    parser.feed(html.replace("<wbr>", ""))
    assert "<script" not in html
    assert html.count("<div") == html.count("</div")
    return " ".join(" ".join(found).split())


def test_result_shows_answer_slacks_and_a_chart(result):
    html = result._repr_html_()
    text = words(html)
    assert f"mass = {result.fun:.6g}" in text.replace(" . ", ". ")
    assert "stress <= 0.7" in text
    assert "<svg" in html
    assert "<b>bold</b>" not in html
    assert "&lt;b&gt;bold" in html


def test_slack_is_the_distance_to_the_limit(result):
    assert result.slack == {"stress <= 0.7": pytest.approx(0.7 - result.constr["stress"])}
    assert pickle.loads(pickle.dumps(result)).slack == result.slack


def test_stored_run_shows_where_it_stands(result, path):
    text = words(lcbo.open_run(path)._repr_html_())
    assert f"sobol, 20 of 20 evaluations, {result.nfail} failed" in text


def test_problem_shows_its_box():
    text = words(Problem(BOX, ["stress <= 0.7"], "mass")._repr_html_())
    assert text.endswith("constraint stress <= 0.7")
    assert "Minimize mass over 3 variables subject to stress <= 0.7." in text
    assert "gauge fixed at 5" in text


def test_long_tables_are_folded():
    html = Problem([(0, 1)] * 200, [f"c{i} <= 0" for i in range(40)], "f")._repr_html_()
    assert "190 more" in html
    assert "30 more" in html


def test_run_without_a_success_and_an_empty_one_are_shown(path):
    problem = Problem([(0, 1)], ["c <= 0"], "f")
    with lcbo.Optimizer(problem, "sobol", store=path) as optimizer:
        assert "no result" in words(optimizer.result()._repr_html_())
        for candidate in optimizer.ask(3):
            optimizer.tell(candidate.id, failed="x")
        assert "0 of open" not in words(lcbo.open_run(path)._repr_html_())


def test_what_cannot_be_shown_is_printed():
    broken = lcbo.Result()
    assert broken._repr_html_().startswith("<pre>")


def test_plain_reprs_are_one_line(path):
    problem = Problem([(0, 1)] * 2, ["c <= 0"], "f", fun=simulate)
    assert repr(problem) == "<Problem: minimize f over 2 variables, 1 constraint, with its function>"
    with lcbo.Optimizer(problem, "sobol", budget=9, store=path) as optimizer:
        optimizer.ask(2)
        assert repr(optimizer) == f"<Optimizer sobol: 0 of 9 evaluations, kept in {path}>"
    assert repr(lcbo.problems.make("hs71")).startswith("<")
    assert "\n" not in repr(lcbo.problems.make("hs71"))


def test_log_says_what_happens_to_whoever_listens(caplog, path):
    with caplog.at_level(logging.DEBUG, logger="lcbo"):
        lcbo.minimize(simulate, BOX, ["stress <= 0.7"], "mass", budget=20, method="sobol", store=path)
    by_level = {
        level: [r.getMessage() for r in caplog.records if r.levelno == level] for level in (10, 20, 30)
    }
    assert any(message.endswith("diverged") for message in by_level[logging.WARNING])
    for begins in ("<Problem: minimize mass", "candidate 0 took", "stopped: ", f"{path}: opened for writing"):
        assert any(message.startswith(begins) for message in by_level[logging.INFO]), begins
    assert any(message.startswith("asked None: candidates 0 to") for message in by_level[logging.DEBUG])
    assert all(record.name.startswith("lcbo.") for record in caplog.records)


def test_log_is_silent_by_default(capfd):
    handlers = logging.getLogger("lcbo").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)
    lcbo.minimize(simulate, BOX, ["stress <= 0.7"], "mass", budget=20, method="sobol", progress=False)
    assert capfd.readouterr() == ("", "")
