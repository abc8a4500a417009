import subprocess
import sys

import numpy as np
import pytest

import lcbo
from lcbo.problems import make


@pytest.mark.parametrize(("name", "ending"), [("truss25", "png"), ("beam50", "svg")])
def test_pictures_are_written(name, ending, tmp_path):
    problem = make(name)
    path = tmp_path / f"design.{ending}"
    problem.plot(problem.best_known.x, path)
    head = path.read_bytes()[:200]
    assert head.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in head
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "variant"), [("truss25", {"load": "node1", "aggregate": "none"}), ("beam50", {})]
)
def test_infeasible_designs_can_be_drawn(name, variant):
    problem = make(name, **variant)
    figure = problem.plot(np.random.default_rng(0).uniform(problem.lb, problem.ub))
    texts = " ".join(axes.get_title() for axes in figure.axes)
    assert "of limit" in texts


@pytest.mark.parametrize("name", ["hs7", "hs71", "keane"])
def test_formulas_are_drawn_as_planes(name, tmp_path):
    problem = make(name)
    figure = problem.plot(problem.best_known.x, tmp_path / "plane.png")
    assert figure.axes[0].get_title().startswith("f = ")
    assert (tmp_path / "plane.png").stat().st_size > 10_000


def test_titles_state_the_design():
    problem = make("truss25")
    figure = problem.plot(problem.best_known.x)
    assert figure.axes[0].get_title().startswith("design: 451.1 lb")


def test_unknown_endings_and_bad_designs_are_refused(tmp_path):
    problem = make("beam50")
    with pytest.raises(lcbo.ArgumentError, match=r"path: expected a file name ending in .png or .svg"):
        problem.plot(problem.best_known.x, tmp_path / "beam.gif")
    with pytest.raises(lcbo.ArgumentError, match="x: expected 50 numbers"):
        problem.plot(np.ones(4))


def test_no_global_plotting_state():
    code = (
        "import sys; from lcbo.problems import make; p = make('beam50'); p.plot(p.best_known.x);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
