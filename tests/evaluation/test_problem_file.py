import textwrap

import numpy as np
import pytest

import lcbo
from lcbo.evaluation.command.problem_file import read_problem_file

FULL = """
objective = { name = "range", maximize = true }
constraints = [
    "stress <= 140",
    "0.2 <= margin <= 0.6",
    { name = "balance", eq = 1.0, tol = 0.1, confidence = 0.99 },
]
noise = { range = 0.02, stress = 0.0 }

[variables]
angle = [-30, 30]
width = { low = 0.1, high = 2.0, count = 3 }
gauge = { low = 5, high = 5 }

[start]
angle = 0
width = [0.5, 1.0, 1.5]
gauge = 5

[run]
budget = 200
method = "lcbo-paper"
seed = 7
n_init = 12
confidence = 0.95
confirm = 0.1
workers = 4
timeout = 60.5
target = 3.0

[options]
explore = 5
"""


def read(folder, text):
    path = folder / "design.toml"
    path.write_text(textwrap.dedent(text))
    return read_problem_file(path)


def test_a_full_file_says_the_same_as_python(tmp_path):
    task = read(tmp_path, FULL)
    problem = task.problem
    same = lcbo.Problem(
        {"angle": (-30, 30), **{f"width{i}": (0.1, 2.0) for i in (1, 2, 3)}, "gauge": (5, 5)},
        [
            "stress <= 140",
            "0.2 <= margin <= 0.6",
            lcbo.Constraint("balance", eq=1.0, tol=0.1, confidence=0.99),
        ],
        lcbo.Objective("range", maximize=True),
        noise={"range": 0.02, "stress": 0.0},
    )
    assert problem.variables == same.variables
    assert np.array_equal(problem.bounds, same.bounds)
    assert problem.constraints == same.constraints
    assert problem.objective == same.objective
    assert problem.noise == same.noise
    assert problem.fun is None
    assert problem.source is None
    assert task.name == "design"
    assert task.start.tolist() == [0.0, 0.5, 1.0, 1.5, 5.0]


def test_the_command_line_goes_before_the_file(tmp_path):
    task = read(tmp_path, FULL)
    arguments = task.arguments(budget=None, method=None, seed=0, confidence=0.8, options={"explore": 6})
    assert arguments["budget"] == 200
    assert arguments["method"] == "lcbo-paper"
    assert arguments["rng"] == 0
    assert arguments["n_init"] == 12
    assert arguments["options"] == {"explore": 6}
    assert (arguments["confidence"], arguments["confirm"]) == (0.8, 0.1)
    assert task.evaluation(workers=1, timeout=None) == {"workers": 1, "timeout": 60.5, "target": 3.0}


def test_a_command_runs_beside_its_file(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "solve.sh").write_text('echo "{\\"f\\": $1, \\"c\\": 2}"\n')
    monkeypatch.chdir(tmp_path)
    task = read(
        folder,
        """
        objective = "f"
        constraints = ["c <= 3"]
        deterministic = true
        [variables]
        x = [0, 1]
        [command]
        run = ["sh", "solve.sh", "{{ x }}"]
        files = ["solve.sh"]
        """,
    )
    assert task.problem.evaluate(np.array([0.25])) == {"f": 0.25, "c": 2.0}
    assert task.problem.source == {
        "command": {"run": ["sh", "solve.sh", "{{ x }}"], "files": ["solve.sh"]},
        "folder": str(folder),
    }


HEAD = 'objective = "f"\n[variables]\nx = [0, 1]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[variables]\nx = [0, 1]", "design.toml, objective: expected the name"),
        ('objective = "f"', "design.toml, bounds: expected"),
        ("objective = 3\n[variables]\nx = [0, 1]", "objective name: expected a non-empty text; got 3"),
        ("objektive = 1", "design.toml, keys: expected names out of objective, constraints"),
        (HEAD + "[run]\nbudgets = 3", r"\[run\]: expected names out of budget, .*; got 'budgets'"),
        (HEAD + "y = { low = 0, hihg = 1 }", r"\[variables\] y: expected names out of low, high, log"),
        (HEAD + "y = { low = 0, high = 1, count = 0 }", r"count: expected an integer of at least 1; got 0"),
        (HEAD + "y = { low = 0 }", "\\[variables\\] y: expected low and high"),
        (HEAD + "x1 = [0, 1]\nx = 3", "expected a TOML file"),
        (
            HEAD.replace("x =", "y1 =") + "y = { low = 0, high = 1, count = 2 }",
            "every name once; got 'y1' twice",
        ),
        (HEAD + "[start]\ny = 1", r"\[start\]: expected names out of x; got 'y'"),
        (
            HEAD + "z = [0, 1]\n[start]\nx = 1",
            r"\[start\]: expected a value for every variable; got none for z",
        ),
        (HEAD + '[start]\nx = "half"', r"\[start\] x: expected a number; got 'half'"),
        (
            HEAD + "y = { low = 0, high = 1, count = 2 }\n[start]\ny = [1]",
            r"expected one number, or 2; got 1",
        ),
        ('constraints = "c <= 1"\n' + HEAD, "constraints: expected a list of texts or tables"),
        ('constraints = ["c < 1"]\n' + HEAD, "constraints: expected a text such as"),
        ("constraints = [{ name = 'c', upper = 1 }]\n" + HEAD, "constraints: expected names out of name, lb"),
        ("run = 3\n" + HEAD, r"run: expected a table \[run\]; got 3"),
        (HEAD + "[command]\nrum = 'a'", "command: expected keys out of run"),
        ("noise = { g = 1 }\n" + HEAD, "noise: expected names out of"),
        ("objective = ", "expected a TOML file"),
    ],
)
def test_mistakes_name_the_file_and_the_key(tmp_path, text, message):
    with pytest.raises(lcbo.ArgumentError, match=message) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "design.toml") in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lcbo.ArgumentError, match="none.toml: expected a problem file; got No such file"):
        read_problem_file(tmp_path / "none.toml")


def test_known_conditions_are_read(tmp_path):
    path = tmp_path / "frame.toml"
    path.write_text(
        'objective = "mass"\nknown = ["height >= 2 * width", "width * height <= 40"]\n'
        "[variables]\nheight = [1, 9]\nwidth = [1, 9]\n"
    )
    problem = read_problem_file(path).problem
    assert problem.known.names == ("height >= 2 * width", "width * height <= 40")
    assert problem.domain.holds(problem.space.to_unit(np.array([8.0, 4.0])))
    assert not problem.domain.holds(problem.space.to_unit(np.array([8.0, 4.5])))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("3", "known: expected a list of texts"),
        ("[3]", "known: expected a list of texts"),
        ('["height <= depth"]', "known: expected variables out of height, width"),
        ('["height <= 0.5"]', "known: expected conditions that some point within the bounds meets"),
        ("[\"__import__('os')\"]", "known: expected a text such as"),
    ],
)
def test_wrong_known_conditions_are_named_with_the_file(tmp_path, known, words):
    path = tmp_path / "frame.toml"
    path.write_text(f'objective = "mass"\nknown = {known}\n[variables]\nheight = [1, 9]\nwidth = [1, 9]\n')
    with pytest.raises(lcbo.ArgumentError, match=f"frame.toml, {words}"):
        read_problem_file(path)
