"""Driver scripts written for Dakota and for NOMAD run unchanged."""

import sys

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Command, EvaluationError, OutcomeError, Problem

BOUNDS = {"width": (0.5, 2.0), "height": (0.5, 2.0)}
LIMITS = ["bending <= 1.0", "ratio >= 0.2"]

# Called as `driver params.in results.out`, as Dakota's manual describes its standard format.
DAKOTA = """
import sys

lines = [line.split() for line in open(sys.argv[1])]
count, word = int(lines[0][0]), lines[0][1]
assert word == "variables"
x = {name: float(value) for value, name in lines[1 : 1 + count]}
functions, word = int(lines[1 + count][0]), lines[1 + count][1]
assert word == "functions"
wanted = [int(value) for value, _ in lines[2 + count : 2 + count + functions]]
assert wanted == [1] * functions
rest = {name: value for value, name in lines[2 + count + functions :]}
assert rest["derivative_variables"] == str(count) and rest["analysis_components"] == "0"
with open(sys.argv[2], "w") as out:
    if x["width"] > 1.9:
        print("FAIL", file=out)
        sys.exit()
    area = x["width"] * x["height"]
    values = [area, 1.0 / (area * x["height"]), x["width"] / x["height"]]
    for value, label in zip(values, ["mass", "c1", "c2"]):
        print(f"{value:24.16e} {label}", file=out)
print("chatter on stdout")
"""

# Called as `bb x.txt`, prints the objective and the constraints.
NOMAD = """
import sys

width, height = map(float, open(sys.argv[1]).read().split())
if width > 1.9:
    sys.exit(1)
area = width * height
print("solving")
print(area, 1.0 / (area * height), width / height)
"""
DRIVERS = {"dakota": DAKOTA, "nomad": NOMAD}


def problem(tmp_path, format, script, limits=LIMITS):
    (tmp_path / "driver.py").write_text(script)
    command = Command([sys.executable, "driver.py"], files=["driver.py"], format=format, folder=tmp_path)
    return Problem(BOUNDS, limits, "mass", fun=command, deterministic=True)


@pytest.mark.parametrize("format", DRIVERS)
def test_driver_runs_unchanged(tmp_path, format):
    stated = problem(tmp_path, format, DRIVERS[format])
    x = np.array([0.1 + 0.7, 1 / 0.9])  # numbers with all their digits
    area = x[0] * x[1]
    found = stated.evaluate(x)
    assert found == pytest.approx(
        {"mass": area, "bending": 1 / (area * x[1]), "ratio": x[0] / x[1]}, rel=1e-15
    )
    with pytest.raises(EvaluationError, match="FAIL" if format == "dakota" else "exit code 1"):
        stated.evaluate(np.array([1.95, 1.0]))


@pytest.mark.parametrize("format", DRIVERS)
def test_driver_is_optimized(tmp_path, format):
    stated = problem(tmp_path, format, DRIVERS[format])
    result = lcbo.minimize(stated, budget=12, method="cobyqa", progress=False)
    assert result.success
    own = lcbo.minimize(
        lambda x: (x[0] * x[1], [1.0 / (x[0] * x[1] ** 2), x[0] / x[1]]) if x[0] <= 1.9 else None,
        BOUNDS,
        LIMITS,
        "mass",
        budget=12,
        method="cobyqa",
        deterministic=True,
        progress=False,
    )
    np.testing.assert_allclose(result.history.X, own.history.X)


def test_shell_line_gets_the_files_and_evaluations_are_numbered(tmp_path):
    command = Command(
        "cat params.in > seen; cp seen ../seen; echo 1D+0 > results.out; true",
        format="dakota",
        folder=tmp_path,
    )
    stated = Problem({"a b": (0.0, 1.0)}, objective="f", fun=command)
    assert stated.evaluate(np.array([0.25])) == {"f": 1.0}
    lines = (tmp_path / "evaluations" / "seen").read_text().splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        ["1", "variables"],
        ["2.5000000000000000e-01", "a b"],
        ["1", "functions"],
        ["1", "ASV_1:f"],
        ["1", "derivative_variables"],
        ["1", "DVV_1:a b"],
        ["0", "analysis_components"],
        ["1", "eval_id"],
    ]


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("print(1.0)", EvaluationError, "3 numbers"),
        ("print()", EvaluationError, "nothing"),
        ("print(1, 2, 'x')", EvaluationError, "'ratio'"),
        ("print(1, 2, 3, 4)", OutcomeError, "nothing more"),
        ("print(1, 2, 'nan')", EvaluationError, "nan"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path, line, error, words):
    with pytest.raises(error, match=words):
        problem(tmp_path, "nomad", line).evaluate(np.ones(2))


@pytest.mark.parametrize("field", [{"patterns": {"f": "(.*)"}}, {"parameters": "p.json"}])
def test_own_files_exclude_others(field):
    with pytest.raises(ArgumentError, match=next(iter(field))):
        Command("true", format="dakota", **field)
    with pytest.raises(ArgumentError, match="json or dakota or nomad"):
        Command("true", format="xml")


def test_format_is_part_of_the_recipe(tmp_path):
    stated = problem(tmp_path, "dakota", DAKOTA)
    assert stated.source["command"]["format"] == "dakota"
