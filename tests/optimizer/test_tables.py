"""Evaluations made before, in every form they may come in."""

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, DataWarning, Optimizer, Problem

BOX = {"a": (0.0, 1.0), "b": (-1.0, 1.0), "gauge": (5.0, 5.0)}
PROBLEM = Problem(BOX, ["c <= 0"], "f", deterministic=True)


def simulate(x):
    if x[0] > 0.9:
        raise RuntimeError("diverged")
    return {"f": float((x[0] - 0.3) ** 2 + x[1] ** 2), "c": float(0.5 - x[0])}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def earlier(path):
    """A run of another seed, with failures."""
    given = {"budget": 30, "rng": 7, "deterministic": True, "store": path, "method": "sobol"}
    result = lcbo.minimize(simulate, BOX, ["c <= 0"], "f", **given)
    assert result.nfail
    return result


def forms(result, path):
    run = lcbo.open_run(path)
    frame = run.history
    return {
        "run file": path,
        "text": str(path),
        "stored run": run,
        "result": result,
        "history": result.history,
        "frame": frame,
        "csv": run.export(path.with_suffix(".csv")),
        "json": run.export(path.with_suffix(".json")),
        "without the fixed one": frame.drop(columns=["gauge"]).sample(frac=1.0, axis=1, random_state=0),
    }


def test_every_form_gives_the_same_data(earlier, path):
    usable = [e for e in lcbo.open_run(path).log.evaluations if e.failed is None]
    for form, data in forms(earlier, path).items():
        log = Optimizer(PROBLEM, "sobol", data=data).log
        assert len(log.evaluations) == log.n_data == len(usable) == 30 - earlier.nfail, form
        for one, other in zip(log.evaluations, usable, strict=True):
            assert one.x.tolist() == other.x.tolist(), form
            assert one.outcomes == other.outcomes, form
            assert one.role == "data"


def test_run_goes_on_from_the_best_of_the_data_and_repeats_nothing(earlier, path):
    """As the first iterate, deterministic: it is known already and not evaluated again."""
    seen = []

    def fun(x):
        seen.append(x.tolist())
        return simulate(x)

    result = lcbo.minimize(fun, BOX, ["c <= 0"], "f", budget=20, rng=1, data=path, deterministic=True)
    assert result.fun <= earlier.fun
    asked = seen + [x.tolist() for x in earlier.history.X]
    assert len({tuple(x) for x in asked}) == len(asked) == 50
    first = np.array(seen[2:5])  # after the two points of the design: around the best of the data
    assert np.abs(first - earlier.x).max() <= 0.25


def test_missing_outcomes_and_other_columns_are_no_trouble(tmp_path):
    (tmp_path / "lab.csv").write_text(
        "a, note, b, c, f, date\n0.5,x,0.25,,1.5,mon\n0.25,y,0.5,-1,NaN,tue\n1,,1,,,\n"
    )
    log = Optimizer(PROBLEM, "sobol", data=tmp_path / "lab.csv").log
    assert [dict(e.outcomes) for e in log.evaluations] == [{"f": 1.5}, {"c": -1.0}]
    assert log.evaluations[0].x.tolist() == [0.5, 0.25, 5.0]


def test_rows_outside_the_bounds_are_named_and_left_out(tmp_path):
    (tmp_path / "lab.csv").write_text("a,b,f,c\n0.5,0,1,1\n1.5,0,1,1\n0.5,-3,1,1\n1.0000000000001,0,2,1\n")
    with pytest.warns(DataWarning, match=r"data: 2 of 4 rows lie outside the bounds and .* \(rows 1, 2\)"):
        log = Optimizer(PROBLEM, "sobol", data=tmp_path / "lab.csv").log
    assert [e.x.tolist() for e in log.evaluations] == [[0.5, 0.0, 5.0], [1.0, 0.0, 5.0]]


def test_an_outcome_without_a_column_is_named(tmp_path):
    (tmp_path / "lab.csv").write_text("a,b,c,price\n0.5,0,1,1\n")
    with pytest.warns(DataWarning, match=r"data: no column for f, .*; there are \['a', 'b', 'c', 'price'\]"):
        log = Optimizer(PROBLEM, "sobol", data=tmp_path / "lab.csv").log
    assert [dict(e.outcomes) for e in log.evaluations] == [{"c": 1.0}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("lab.csv", "a,f\n1,2\n", r"columns for all variables .*none for \['b'\]; there are \['a', 'f'\]"),
        ("lab.csv", "a,b\n1,1\n", r"outcomes out of \['f', 'c'\]; got no outcome"),
        ("lab.csv", "a,b,f,c\n1,1,heavy,0\n", "numbers in the column 'f'; got 'heavy' in row 0"),
        ("lab.csv", "", "a table in "),
        ("lab.json", "{", "a list of objects in "),
        ("lab.json", "[1]", "a list of objects in "),
        ("lab.txt", None, "a file that exists"),
    ],
)
def test_wrong_tables_are_named(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ArgumentError, match="^data: expected .*" + message):
        Optimizer(PROBLEM, "sobol", data=tmp_path / name)


def test_file_that_is_no_run_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(lcbo.StoreError, match="notes.txt"):
        Optimizer(PROBLEM, "sobol", data=tmp_path / "notes.txt")


def test_data_of_data_is_taken_along(earlier, path, tmp_path):
    second = tmp_path / "second.db"
    with Optimizer(PROBLEM, "sobol", data=path, store=second) as optimizer:
        optimizer.tell(optimizer.ask()[0].id, {"f": 1.0, "c": -1.0})
    assert Optimizer(PROBLEM, "sobol", data=second).log.n_data == 31 - earlier.nfail
    with Optimizer.open(second, PROBLEM, data=path) as again:  # the same data as before
        assert again.log.n_data == 30 - earlier.nfail
