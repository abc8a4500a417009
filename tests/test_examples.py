import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted({*FOLDER.glob("*.py"), *FOLDER.glob("*/run.py")} - {FOLDER / "demo.py"})


def run(path, folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_example_runs_and_is_short(path, tmp_path):
    assert len(path.read_text().splitlines()) < 60
    assert run(path, tmp_path)


def test_demo_prints_the_design_and_saves_two_pictures(tmp_path):
    text = run(FOLDER / "demo.py", tmp_path, "--budget", "40", "--out", "pictures")
    assert "g_disp <= 0" in text
    assert "slack" in text
    assert text.endswith("Pictures: pictures/truss25-convergence.png and pictures/truss25-design.png\n")
    for name in ("truss25-convergence.png", "truss25-design.png"):
        assert (tmp_path / "pictures" / name).stat().st_size > 1000
