import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*/run.py")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_example_runs_and_is_short(path, tmp_path):
    assert len(path.read_text().splitlines()) < 60
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
