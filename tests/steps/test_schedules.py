"""Schedules over the iteration number."""

from __future__ import annotations

import pytest

from lcbo.steps.schedules import Power, at


@pytest.mark.parametrize("k", [1, 2, 1000])
def test_a_number_is_constant(k: int) -> None:
    assert at(0.25, k) == 0.25
    assert isinstance(at(2, k), float)


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (Power(10.0, 0.25), (10.0, 20.0)),  # paper's penalty at k = 1, 16
        (Power(0.5, -0.5), (0.5, 0.125)),  # theorem's step with L = 1
        (Power(3.0, 0.0), (3.0, 3.0)),
        (Power(4.0, 2.0), (4.0, 1024.0)),  # theorem's batch, d = 4
    ],
)
def test_powers(schedule: Power, values: tuple[float, float]) -> None:
    assert (at(schedule, 1), at(schedule, 16)) == pytest.approx(values)


def test_a_function_is_called_with_the_iteration() -> None:
    assert at(lambda k: 1 if k < 3 else 7, 2) == 1.0
    assert at(lambda k: 1 if k < 3 else 7, 3) == 7.0
