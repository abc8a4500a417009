import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import lcbo

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*/run.py"))
GALLERY = sorted((FOLDER / "gallery").glob("*.py"))


def run(path, folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:FigureCanvasAgg", str(path), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_small(make):
    """Return a function or class of lcbo that never gets a budget of more than 30."""
    return lambda *given, budget, **named: make(*given, budget=min(budget, 30), **named)


# The other commands do with a script and a shell what input_deck does with a template.
SMALL = [path for path in EXAMPLES if path.parent.name not in ("script_command", "shell_command")]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: str(path.relative_to(FOLDER)))
def test_example_is_short_and_runs_with_a_small_budget(path, tmp_path, monkeypatch, capsys):
    assert len(path.read_text().splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    for name in ("minimize", "Optimizer"):
        monkeypatch.setattr(lcbo, name, in_small(getattr(lcbo, name)))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_example_runs_as_a_script(path, tmp_path):
    assert len(path.read_text().splitlines()) < 60
    assert run(path, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_runs(path, tmp_path, monkeypatch):
    """`make docs` runs them too, and draws what they draw."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert run(path, tmp_path)


def test_gallery_has_ten_examples_with_pictures():
    assert len(GALLERY) >= 10
    for path in GALLERY:
        assert "plt.subplots" in path.read_text()


@pytest.mark.slow
def test_demo_prints_the_design_and_saves_two_pictures(tmp_path):
    text = run(FOLDER / "demo.py", tmp_path, "--budget", "40", "--out", "pictures")
    assert "g_disp <= 0" in text
    assert "slack" in text
    assert text.endswith("Pictures: pictures/truss25-convergence.png and pictures/truss25-design.png\n")
    for name in ("truss25-convergence.png", "truss25-design.png"):
        assert (tmp_path / "pictures" / name).stat().st_size > 1000
