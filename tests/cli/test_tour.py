"""Every command the documentation shows is run as a reader would, page by page, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


NOT_RUN = {"README.md", "suite.md"}  # make, and hours: tests/test_docs.py reads them


def pages():
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path.stem: path.read_text() for path in found if path.name not in NOT_RUN}
    return {name: text for name, text in texts.items() if "\n```sh\n" in text}


def test_pages_show_commands():
    assert set(pages()) >= {"start", "program", "laboratory", "comparing", "cli", "problem-file"}


@pytest.mark.slow
@pytest.mark.parametrize("name", pages())
def test_commands_of_a_page_work(name, tmp_path):
    script = ["set -e"]
    for kind, text in FENCE.findall(pages()[name]):
        if kind == "sh":
            script.append(text)
        elif file := re.match(r"(?:#|\*\*) (\S+\.(?:toml|py|inp))(?:\n|:)", text):
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
