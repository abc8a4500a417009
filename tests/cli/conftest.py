"""A command line in an empty folder, and a problem whose evaluations are cheap."""

import json
from functools import cache

import pytest
import typer.testing
from typer.testing import CliRunner

from lcbo.cli import app

LAB = """
objective = "cost"
constraints = ["strength >= 1", { name = "mass", ub = 2.0 }]
deterministic = true

[variables]
t = [0.0, 1.0]
w = { low = 0.0, high = 1.0, count = 2 }

[run]
budget = 20
"""

COMMAND = """
[command]
run = "echo '{\\"cost\\": {{ t }}, \\"strength\\": {{ w1 }}, \\"mass\\": {{ w2 }}, \\"other\\": 1}'"
"""


@pytest.fixture(scope="session", autouse=True)
def one_command_line():
    """Build the command line once: reading all its signatures takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with ``lab.toml`` for ask and tell and ``program.toml`` with a command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(LAB)
    (tmp_path / "program.toml").write_text(LAB.replace('"strength >= 1"', '"strength >= 0.5"') + COMMAND)
    return tmp_path


@pytest.fixture
def lcbo(folder):  # noqa: ARG001  it is the current directory
    """Run a command line in the folder; returns what it left."""

    def call(*arguments, code=0, **settings):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code in (code if isinstance(code, tuple) else (code,)), done.output
        return done

    return call


@pytest.fixture
def objects():
    """Read the JSON objects of an output, one per line."""
    return lambda text: [json.loads(line) for line in text.splitlines()]
