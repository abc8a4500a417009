"""The command `lcbo compare` as a user types it."""

import pytest
from typer.testing import CliRunner

from lcbo.cli import app

run = CliRunner().invoke


def test_compare_prints_a_table_and_writes_table_and_figure(tmp_path):
    out = tmp_path / "out"
    command = ["compare", "truss25", "--methods", "sobol", "cobyla", "--seeds", "1", "--budget", "25"]
    command += ["--jobs", "2", "--out", str(out)]
    done = run(app, command)
    assert "method" in done.stdout
    assert "cobyla" in done.stdout
    assert "0 of 2 runs" in done.stderr
    assert {path.name for path in out.iterdir()} == {
        "comparison.json",
        "comparison.csv",
        "comparison.png",
        "runs",
    }
    again = run(app, command)
    assert "2 of 2 runs" in again.stderr
    assert again.stdout == done.stdout
    other = run(app, [*command, "--budget", "30"])
    assert other.exit_code == 1
    assert "budget: it has 25; now it is 30" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hs71", "--methods", "lcbo", "no-such"], "no-such"),
        (["no-such-problem"], "a problem file"),
        (["hs71", "--variant", "size=3"], "size"),
    ],
)
def test_wrong_arguments_are_named_and_leave_nothing_behind(tmp_path, arguments, words):
    done = run(app, ["compare", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_problem_file_needs_a_budget(tmp_path):
    path = tmp_path / "p.toml"
    lines = ['objective = "f"', "[variables]", "a = [0, 1]", "[command]", 'run = "echo {{ a }}"']
    path.write_text("\n".join(lines))
    done = run(app, ["compare", str(path), "--out", str(tmp_path / "out")])
    assert "--budget" in done.stderr
    assert done.exit_code == 1
