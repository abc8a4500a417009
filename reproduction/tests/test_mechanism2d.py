"""The problem of the picture against its closed form, and small runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction.theory.mechanism2d import (
    CENTER,
    METHODS,
    RADIUS,
    AroundTheDisc,
    Setting,
    initial_points,
    run,
    run_settings,
)


def test_the_answer_is_where_a_solver_ends() -> None:
    problem = AroundTheDisc(3)
    known = problem.best_known
    assert known is not None
    assert known.x is not None
    found = minimize(
        lambda x: problem.evaluate(np.clip(x, 0, 1))["f"],
        [0.6, 0.9, 0.3],
        bounds=[(0, 1)] * 3,
        constraints={"type": "ineq", "fun": lambda x: -problem.evaluate(np.clip(x, 0, 1))["c"]},
    )
    assert found.fun == pytest.approx(known.value, abs=1e-5)
    np.testing.assert_allclose(found.x, known.x, atol=1e-3)
    assert problem.evaluate(known.x)["f"] == pytest.approx(known.value)
    assert problem.evaluate(known.x)["c"] == pytest.approx(0.0, abs=1e-12)


def test_along_the_boundary_the_objective_falls_all_the_way_to_the_answer() -> None:
    problem = AroundTheDisc(2)
    angle = np.radians(np.linspace(150, 0, 50))
    points = CENTER + RADIUS * np.stack([np.cos(angle), np.sin(angle)], -1)
    outcomes = problem.evaluate_batch(points)
    np.testing.assert_allclose(outcomes["c"], 0.0, atol=1e-12)
    assert np.all(np.diff(outcomes["f"]) < 0.0)


@pytest.mark.parametrize("dim", [2, 6])
def test_all_methods_begin_with_the_same_feasible_points(dim: int) -> None:
    setting = Setting(dim, 0.0, 30)
    points = initial_points(setting, 0)
    assert points.shape == (max(4, dim), dim)
    assert not np.array_equal(points, initial_points(setting, 1))
    assert (AroundTheDisc(dim).evaluate_batch(points)["c"] <= 0.0).any()


@pytest.mark.parametrize("method", METHODS)
def test_a_run_keeps_its_curve_and_what_is_drawn(method: str) -> None:
    setting = Setting(2, 0.1, 9)
    kept = run(setting, method, 0)
    best = [np.inf if value is None else value for value in kept["best"]]
    assert len(best) == 9
    assert np.all(np.diff(best) <= 0.0)
    first = AroundTheDisc(2).evaluate_batch(initial_points(setting, 0))
    assert best[3] == pytest.approx(np.where(first["c"] <= 0, first["f"], np.inf).min(), rel=1e-6)
    if method == "scbo":
        assert kept["boxes"][0][:3] == ["start", 4, 0.8]
        counts = [row[1] for row in kept["boxes"]]
        assert counts == sorted(counts)
        assert kept["iterates"] == []
    else:
        assert kept["boxes"] == []
        assert kept["iterates"][0][0] == 5.0


def test_comparisons_are_kept_and_not_made_again(tmp_path: Path) -> None:
    setting = Setting(2, 0.0, 5, seeds=1)
    found = run_settings(tmp_path, [setting])[setting.name]
    assert [row["method"] for row in found["runs"]] == list(METHODS)
    assert (tmp_path / f"{setting.name}.json").exists()
    other = Setting(2, 0.0, 6, seeds=1)
    assert run_settings(tmp_path, [other])[other.name] == found
