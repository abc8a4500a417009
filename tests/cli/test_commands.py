"""The command line as a whole: help, lists, exit codes, errors in one line."""

import re
import subprocess
import sys
import warnings

import pytest
from typer.testing import CliRunner

import lcbo
from lcbo.cli import app
from lcbo.cli.arguments import EXAMPLES
from lcbo.cli.screen import plain
from lcbo.errors import LcboError

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)


def invoke(*arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def test_help_names_every_command():
    text = invoke("--help")
    assert len(COMMANDS) == 16
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", text)
    assert "Exit codes" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_examples_of_that_command(command):
    text = " ".join(invoke(command, "--help").split())
    assert EXAMPLES[command]
    for example in EXAMPLES[command]:
        assert example.startswith(f"lcbo {command}")
        assert example in text


@pytest.mark.parametrize(
    "example", [line for lines in EXAMPLES.values() for line in lines], ids=lambda line: line[5:]
)
def test_examples_use_options_that_exist(example):
    command, *words = re.sub(r"'[^']*'", "text", example.partition(">")[0]).split()[1:]
    text = " ".join(invoke(command, "--help").split())
    for option in (word for word in words if word.startswith("-") and len(word) > 1):
        assert re.search(rf"(^|\s){option}\s", text), option


def test_version():
    assert invoke("--version") == f"lcbo {lcbo.__version__}\n"


def test_problems_are_listed():
    text = invoke("problems")
    for name in lcbo.problems.names():
        assert name in text


def test_methods_are_listed_with_their_options():
    text = invoke("methods")
    for name in ("lcbo", "lcbo-paper", "lcbo-theory"):
        assert name in text
    one = invoke("methods", "lcbo-paper")
    assert "wait_for_all = True" in one
    assert all(line in text for line in one.splitlines() if " = " in line and not line.startswith(" " * 8))


def test_one_method_is_listed_with_what_its_options_mean():
    from lcbo.methods import registry

    for name in registry.names():
        entry = registry.spec(name)
        assert not [option for option in entry.options if not registry.meanings(entry).get(option)], name
    one = invoke("methods", "scbo")
    assert "n_candidates = 5000\n        Sobol points in the region among which" in one
    assert "z-score outputs over the data of the model." in one  # of a base class
    assert "Sobol points in the region" not in invoke("methods")


def test_flags_have_no_type_in_the_help():
    for command in ("--help", *(f"{name} --help" for name in COMMANDS)):
        assert "<bool>" not in invoke(*command.split())


def test_an_unknown_method_is_an_error_in_one_line():
    done = run("methods", "nonsense")
    assert done.exit_code == 1
    assert done.stderr.startswith("lcbo: method: expected one of lcbo, ")
    assert done.stderr.count("\n") == 1
    assert not done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "truss25", "--budget", "none"],
        ["nonsense"],
        ["run", "truss25", "--option", "explore"],
        ["run", "truss25", "--variant", "=3"],
        ["run", "truss25", "--option", "a=1", "--option", "a=2"],
        ["tell", "run.db"],
        ["tell", "run.db", "1"],
        ["tell", "run.db", "1", "f=1", "--failed", "why"],
        ["tell", "run.db", "1", "f=one"],
        ["tell", "run.db", "1", "f"],
        ["tell", "run.db", "--from", "a.csv", "--final"],
        ["ask", "run.db", "-n", "0"],
    ],
)
def test_wrong_command_line_is_refused(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert "Usage" in done.stderr


def test_a_problem_without_its_extra_says_what_to_install(monkeypatch):
    def refuse(name):
        raise ImportError(f"{name} needs 'lcbo[mujoco]'")

    monkeypatch.setattr(lcbo.problems, "make", refuse)
    assert "lcbo[mujoco]" in invoke("problems")
    done = run("check", "halfcheetah")
    assert done.exit_code == 1
    assert done.stderr == "lcbo: halfcheetah needs 'lcbo[mujoco]'\n"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (LcboError("it does not work"), 1, "lcbo: it does not work\n"),
        (PermissionError(13, "Permission denied", "out.html"), 1, "lcbo: out.html: Permission denied\n"),
        (KeyboardInterrupt(), 130, "lcbo: interrupted\n"),
    ],
)
def test_errors_a_user_can_act_on_are_one_line_without_traceback(monkeypatch, error, code, text):
    def refuse():
        raise error

    monkeypatch.setattr(lcbo.problems, "names", refuse)
    done = run("problems")
    assert (done.exit_code, done.stderr, done.stdout) == (code, text, "")


def test_warnings_are_one_line(monkeypatch):
    def warn():
        warnings.simplefilter("always")
        warnings.warn("something [bold]odd[/bold]", UserWarning, stacklevel=1)
        return []

    monkeypatch.setattr(lcbo.problems, "names", warn)
    assert run("problems").stderr == "lcbo: warning: something [bold]odd[/bold]\n"


def test_control_characters_never_reach_the_terminal():
    assert "\x1b" not in plain("\x1b]0;title\x07 [red]text[/red]").plain
    assert plain("[red]text[/red]").plain == "[red]text[/red]"


def test_a_closed_pipe_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -c 'from lcbo.cli import app; app()' problems | true",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
