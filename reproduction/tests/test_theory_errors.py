"""The error functions against closed forms, the model and hand-made designs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lcbo.models.hyperparameters import Hyperparameters
from reproduction.theory.error_functions import (
    Grid,
    gradient_error,
    gradient_trace,
    model_value_error,
    run_tables,
    slope,
    value_error,
)

SMALL = Grid(dims=(2,), most=16, many_starts=4, steps=30)


@pytest.mark.parametrize("outputscale", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("b", [1, 7, 200])
def test_the_closed_form_of_the_value_is_the_model_s_variance(b: int, outputscale: float) -> None:
    assert value_error(b, 0.2, outputscale) == pytest.approx(model_value_error(b, 0.2, outputscale), rel=1e-9)


def test_the_trace_of_one_point_is_the_closed_form() -> None:
    """One observation at distance t leaves ``d - t^2 exp(-t^2) / (1 + sigma^2)`` with lengthscale 1."""
    z = torch.tensor([[0.6, 0.8, 0.0]], dtype=torch.float64) * 0.9
    hyper = Hyperparameters.start(1, "rbf", {"noise_var": 0.01})
    assert gradient_trace(z, hyper) == pytest.approx(3.0 - 0.81 * np.exp(-0.81) / 1.01)


def test_one_point_is_placed_where_it_teaches_most() -> None:
    """``t^2 exp(-t^2)`` is largest at t = 1."""
    assert gradient_error(2, 1, "rbf", SMALL) == pytest.approx(2.0 - np.exp(-1.0) / 1.01, abs=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_no_central_difference_does_better(kernel: str) -> None:
    """Repeats at ``+- h e_i``, the best of many h: the design behind simple bounds."""
    hyper = Hyperparameters.start(1, kernel, {"noise_var": 0.01})
    cross = torch.cat([torch.eye(2), -torch.eye(2)]).double().repeat(4, 1)
    least = min(gradient_trace(h * cross, hyper) for h in np.geomspace(0.05, 2.0, 60))
    assert gradient_error(2, 16, kernel, SMALL) <= least


def test_more_points_leave_less() -> None:
    found = [gradient_error(3, b, "rbf", SMALL) for b in (1, 2, 4, 8)]
    assert np.all(np.diff(found) < 0.0)


def test_slope_is_the_exponent() -> None:
    x = [1.0, 3.0, 10.0]
    assert slope(x, [5.0 * v**-0.7 for v in x]) == pytest.approx(-0.7)


def test_the_table_is_kept(tmp_path: Path) -> None:
    table = run_tables(tmp_path, Grid(dims=(2,), most=2, many_starts=1, steps=2))
    assert table["b"] == [1, 2]
    np.testing.assert_allclose(table["e"], table["e_model"], rtol=1e-9)
    assert run_tables(tmp_path, SMALL) == table
