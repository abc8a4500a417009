"""Run files keep known conditions; functions are given again."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import lcbo
from lcbo import Known, Optimizer, Problem, StoreError
from lcbo.cli.main import app
from lcbo.reporting.report import report

SHARES = {name: (0.0, 1.0) for name in "abcd"}
KEPT = [LinearConstraint([1.0, 1.0, 1.0, 1.0], 1.0, 1.0), "a >= 2 * b", "a * c <= 0.2"]


def circle(x):
    return float(x[0] ** 2 + x[2] ** 2)


def problem(known=KEPT):
    return Problem(SHARES, ["g <= 0.4"], "f", known=known, deterministic=True)


def outcomes(x):
    return {"f": float(np.sum((x - 0.4) ** 2)), "g": float(x[0])}


def go_on(optimizer, count):
    """Evaluate so many candidates, or all that are left."""
    points = []
    while len(points) < count and (batch := optimizer.pending or optimizer.ask(1)):
        optimizer.tell(batch[0].id, outcomes(batch[0].x))
        points.append(batch[0].x)
    return points


@pytest.mark.parametrize("method", ["lcbo", "sobol"])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, method):
    path = tmp_path / "run.db"
    whole = go_on(Optimizer(problem(), method, budget=12), 99)
    with Optimizer(problem(), method, budget=12, store=path) as begun:
        first = go_on(begun, 7)
    with Optimizer.open(path) as again:
        assert again.problem.known.names == problem().known.names
        assert again.problem.known.stated == problem().known.stated
        rest = go_on(again, 99)
    np.testing.assert_array_equal(first + rest, whole)


def test_a_function_is_given_again(tmp_path):
    path, known = tmp_path / "run.db", [*KEPT, Known(circle, ub=0.3)]
    with Optimizer(problem(known), budget=10, store=path) as begun:
        first = go_on(begun, 6)
    with pytest.raises(StoreError, match="'circle'.*Python code.*Optimizer.open"):
        Optimizer.open(path)
    with pytest.raises(StoreError, match="other arguments"):
        Optimizer.open(path, problem([*KEPT, Known(circle, ub=0.4)]))
    assert "circle &lt;= 0.3" in report(lcbo.open_run(path))
    with Optimizer.open(path, problem(known)) as again:
        points = first + go_on(again, 99)
    assert max(map(circle, points)) <= 0.3


def test_other_conditions_are_another_run(tmp_path):
    path = tmp_path / "run.db"
    Optimizer(problem(), "sobol", budget=10, store=path).close()
    for other in ((), KEPT[:2], [*KEPT[:2], "a * c <= 0.3"]):
        with pytest.raises(StoreError, match="known"):
            Optimizer.open(path, problem(other))


def test_status_and_report_show_them(tmp_path):
    from typer.testing import CliRunner

    path = tmp_path / "run.db"
    with Optimizer(problem(), "sobol", budget=6, store=path) as begun:
        go_on(begun, 6)
    shown = CliRunner().invoke(app, ["status", str(path)]).output
    assert "a >= 2 * b" in " ".join(shown.split())
    page = report(lcbo.open_run(path))
    assert "a * c &lt;= 0.2" in page
    assert "a + b + c + d == 1" in page
    assert "a >= 2 * b" in problem()._repr_html_().replace("&gt;", ">")
    assert "3 known" in repr(problem())
