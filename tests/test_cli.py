import pytest
from typer.testing import CliRunner

import lcbo
from lcbo.cli import app


def invoke(*arguments):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def test_help_names_every_command():
    text = invoke("--help")
    for command in ("demo", "problems", "methods"):
        assert command in text


def test_problems_are_listed():
    text = invoke("problems")
    for name in lcbo.problems.names():
        assert name in text


def test_methods_are_listed_with_their_options():
    text = invoke("methods")
    for name in ("lcbo", "lcbo-paper", "lcbo-theory"):
        assert name in text


def test_demo_prints_the_design_and_saves_two_pictures(tmp_path):
    text = invoke("demo", "--budget", "40", "--out", str(tmp_path))
    assert "g_disp <= 0" in text
    assert "slack" in text
    for name in ("truss25-convergence.png", "truss25-design.png"):
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize("arguments", [["demo", "--budget", "none"], ["nonsense"]])
def test_wrong_command_line_is_refused(arguments):
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_a_problem_without_its_extra_says_what_to_install(monkeypatch):
    def refuse(name):
        raise ImportError(f"{name} needs 'lcbo[mujoco]'")

    monkeypatch.setattr(lcbo.problems, "make", refuse)
    assert "lcbo[mujoco]" in invoke("problems")
