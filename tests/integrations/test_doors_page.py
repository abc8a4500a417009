"""Every block of the page on doors runs, where its tool is installed; so do the examples for clusters."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "doors.md").read_text()
BLOCKS = {
    title: block
    for title, section in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
}
# what the tools do at import or in passing is theirs
pytestmark = pytest.mark.filterwarnings("ignore")


def need_modules_of(code):
    """Skip where a module that the code imports is not installed."""
    for node in ast.walk(ast.parse(code)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            package = name.split(".")[0]
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"needs {package}")


@pytest.mark.parametrize("title", BLOCKS)
def test_block_runs(title, tmp_path, monkeypatch):
    need_modules_of(BLOCKS[title])
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[title], f"doors.md, {title}", "exec"), {})


def test_every_adapter_is_on_the_page():
    for path in (ROOT / "src" / "lcbo" / "integrations").glob("*.py"):
        if path.stem not in ("__init__", "scipy", "following"):
            assert f"integrations.{path.stem}." in PAGE


@pytest.mark.parametrize(("name", "budget"), [("ray_tasks", 20), ("submitit_jobs", 9)])
def test_cluster_example_runs_on_this_machine(name, budget, tmp_path):
    path = ROOT / "examples" / "clusters" / f"{name}.py"
    assert len(path.read_text().splitlines()) <= 60
    need_modules_of(path.read_text())
    arguments = [sys.executable, str(path), str(budget)]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"of {budget} failed" in done.stdout
