"""Every command the documentation shows is run as a reader would, page by page, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def pages():
    readme = (ROOT / "README.md").read_text().partition("## From the command line")[2].partition("\n## ")[0]
    return {
        "README": readme,
        "comparing": (ROOT / "docs" / "comparing.md").read_text(),
        "cli": (ROOT / "docs" / "cli.md").read_text(),
        "problem-file": (ROOT / "docs" / "problem-file.md").read_text(),
    }


@pytest.mark.parametrize("name", pages())
def test_pages_show_commands(name):
    assert any(kind == "sh" for kind, _ in FENCE.findall(pages()[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", pages())
def test_commands_of_a_page_work(name, tmp_path):
    script = ["set -e"]
    for kind, text in FENCE.findall(pages()[name]):
        if kind == "sh":
            script.append(text)
        elif kind in ("toml", "python") and (file := re.match(r"# (\S+\.(?:toml|py))\n", text)):
            (tmp_path / file[1]).write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
