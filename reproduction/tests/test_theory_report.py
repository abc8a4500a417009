"""Numbers, pictures and page of the theory from made-up results with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from reproduction.command import app
from reproduction.theory import mechanism2d
from reproduction.theory import numbers as theory_numbers
from reproduction.theory.error_functions import KERNELS, batch_slope, dimension_slope
from reproduction.theory.figures import residual_figure
from reproduction.theory.mechanism2d_figure import mechanism_figure
from reproduction.theory.numbers import best_curves, median_run
from reproduction.theory.page import page


def made_run(dim: int, seed: int) -> dict[str, Any]:
    """Averages ``d^2 K^-0.3`` in the run and ``d^2 K^-0.7`` with exact gradients."""
    k = np.arange(1, 21)
    total = dim**2 * k**0.7
    kept = np.unique(np.geomspace(1, 1000, 40).round())
    series = {
        "evaluations": np.cumsum(dim * k**2 + k).tolist(),
        "moved": 0.1 + 0.01 * seed,
        "gamma": 2.0,
        "r_s": np.diff(total, prepend=0.0).tolist(),
        "r_f": np.diff(total, prepend=0.0).tolist(),
        "exact_K": kept.tolist(),
        "exact_r_s": (dim**2 * kept**-0.7).tolist(),
        "exact_r_f": (dim**2 * kept**-0.7).tolist(),
    }
    return {"d": dim, "seed": seed, "L_m": 8.0, "series": {"1": series, "10": series}}


def made_table() -> dict[str, Any]:
    """``E = d^1.5 b^-0.5`` for RBF and ``d b^-0.6`` for Matern."""
    b = [2**i for i in range(9)]
    rows = {
        "rbf": {str(d): [d**1.5 * n**-0.5 for n in b] for d in (2, 4)},
        "matern52": {str(d): [d * n**-0.6 for n in b] for d in (2, 4)},
    }
    e = [0.01 / (0.01 + n) for n in b]
    return {"sigma": 0.1, "b": b, "e": e, "e_model": e, "E": rows}


def made_walk(dim: int, noise: float) -> dict[str, Any]:
    ends = {"lcbo": (0.45, 0.5, 0.46), "lcbo-paper": (1.0, 0.9, 0.8), "scbo": (0.5, 2.0, 1.5)}
    boxes = [["start", 4, 0.8, 0.2, 0.7], ["failure", 6, 0.4, 0.2, 0.7], ["restart", 8, 0.8, 0.3, 0.7]]
    runs = [
        {
            "method": method,
            "seed": seed,
            "best": [None, 2.0, end],
            "restarts": [8] if method == "scbo" else [],
            "iterates": [] if method == "scbo" else [[5.0, 0.2, 0.7], [9.0, 0.4, 0.85]],
            "boxes": boxes if method == "scbo" else [],
        }
        for method, values in ends.items()
        for seed, end in enumerate(values)
    ]
    return {"d": dim, "noise": noise, "budget": 12, "evaluations": [1, 6, 12], "runs": runs}


RUNS = [made_run(dim, seed) for dim in (2, 4) for seed in range(3)]


@pytest.mark.parametrize("name", ["r_s", "r_f"])
def test_slopes_are_the_exponents_the_runs_were_made_with(name: str) -> None:
    part = theory_numbers.of_dim(RUNS, 4)
    np.testing.assert_allclose(theory_numbers.run_slopes(part, name, 10), -0.3, atol=1e-9)
    np.testing.assert_allclose(theory_numbers.exact_slopes(part, name, 1), -0.7, atol=1e-9)
    assert theory_numbers.growth(RUNS, name, 1, "run") == pytest.approx(2.0)
    assert theory_numbers.growth(RUNS, name, 1, "exact") == pytest.approx(2.0)
    np.testing.assert_allclose(theory_numbers.tracking(part, name, 1), 20**0.4, rtol=1e-3)


def test_calls_count_every_output() -> None:
    calls = theory_numbers.oracle_calls(theory_numbers.of_dim(RUNS, 2), 1)
    assert calls[:2].tolist() == [2 * 3, 2 * (3 + 10)]


def test_slopes_of_the_error_function() -> None:
    table = made_table()
    assert batch_slope(table, "rbf", 4) == pytest.approx(-0.5)
    assert batch_slope(table, "matern52", 2) == pytest.approx(-0.6)
    assert [dimension_slope(table, kernel) for kernel in KERNELS] == pytest.approx([1.5, 1.0])
    assert [dimension_slope(table, kernel, 32) for kernel in KERNELS] == pytest.approx([1.0, 0.4])


def test_the_median_run_is_the_middle_one() -> None:
    walk = made_walk(2, 0.1)
    assert median_run(walk, "scbo")["seed"] == 2
    np.testing.assert_array_equal(best_curves(walk, "scbo")[1], [np.inf, 2.0, 2.0])


def test_the_last_box_drawn_is_the_region_after_the_restart() -> None:
    box = mechanism_figure(made_walk(2, 0.1)).axes[2].patches[-1]
    assert (box.get_width(), box.get_xy()) == (0.8, (0.3 - 0.4, 0.7 - 0.4))


def test_a_figure_s_lines_are_the_averages() -> None:
    panel = residual_figure(RUNS).axes[0]
    lines = [line.get_ydata() for line in panel.lines if len(line.get_ydata()) == 20]
    np.testing.assert_allclose(lines, [d**2 * np.arange(1, 21) ** -0.3 for d in (2, 4)])


def test_the_page_states_the_numbers_with_n() -> None:
    text = page(RUNS, made_table(), [made_walk(20, 0.1), made_walk(2, 0.0)], "images")
    assert "| 1 x | 4 | r_s | 6.51 [6.51, 6.51] (n = 3) | -0.30 [-0.30, -0.30] (n = 3) |" in text
    assert "| Matérn-5/2 | 2 | -0.60 |" in text
    assert "| 20 | 0.1 | 12 | `scbo` | 1.5 [1, 1.75] (n = 3) | 1 of 3 | 1 [1, 1] (n = 3) | 3 of 3 |" in text
    assert "](images/theory-residuals.png)" in text
    assert "Error functions" not in page(RUNS, None, [], "images")


def test_the_command_writes_pictures_and_page_from_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendering is matplotlib's and takes seconds; here a picture is an empty file."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda _, path, **__: path.touch())
    folder = tmp_path / "results" / "theory"
    folder.mkdir(parents=True)
    for setting in mechanism2d.QUICK:
        found = made_walk(setting.dim, setting.noise)
        (folder / f"{setting.name}.json").write_text(json.dumps(found))
    for dim, seed in ((2, 0), (2, 1), (4, 0)):
        (folder / f"within-d{dim}-s{seed}.json").write_text(json.dumps(made_run(dim, seed)))
    (folder / "error-functions.json").write_text(json.dumps(made_table()))
    places = ["--root", str(tmp_path), "--images", str(tmp_path / "fig"), "--out", str(tmp_path / "page.md")]
    for command in ("mechanism2d", "theory"):
        ended = CliRunner().invoke(app, [command, "--quick", *places])
        assert ended.exit_code == 0, ended.output
    names = {path.stem for path in (tmp_path / "fig").iterdir()}
    assert names == {
        "mechanism-2d",
        "mechanism-2d-plain",
        "theory-residuals",
        "theory-dimension",
        "theory-error-functions",
    }
    text = (tmp_path / "page.md").read_text()
    assert "](fig/mechanism-2d.png)" in text
    assert "## KKT residuals" in text
