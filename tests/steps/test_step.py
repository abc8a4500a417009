"""The two steps as `Step`s: where they land, what they adapt, what they keep."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lcbo.steps.linearized import LinearizedStep, Margin
from lcbo.steps.penalty import PenaltyStep
from lcbo.steps.radius import Radius
from lcbo.steps.schedules import Power
from lcbo.steps.step import Iterate, LocalPosterior, Step

NOWHERE = np.zeros(2)


def local(value: float = -1.0, deviation: float = 0.0, equality: bool = False) -> LocalPosterior:
    """A slope to the west, and one term that grows to the west as well."""
    return LocalPosterior(
        u=np.array([0.5, 0.5]),
        objective=np.array([1.0, 0.0]),
        values=np.array([value]),
        slopes=np.array([[-1.0, 0.0]]),
        deviations=np.array([deviation]),
        equality=np.array([equality]),
    )


def linearized() -> LinearizedStep:
    return LinearizedStep(Radius(0.1, 0.02, 0.5), Margin(2.0))


@pytest.mark.parametrize("step", [linearized(), PenaltyStep(10.0, 0.1, normalize=True)])
def test_a_free_step_goes_downhill_by_its_length(step: Step) -> None:
    moved = step(local(), NOWHERE, 1, None)
    np.testing.assert_allclose(moved.u, [0.4, 0.5], atol=1e-12)
    np.testing.assert_allclose(moved.step, [-0.1, 0.0], atol=1e-12)
    assert step.info(1)["step"] == 0.1


def test_margin_is_deviations_and_a_trace_of_the_radius_for_inequalities_only() -> None:
    margin = Margin(2.0)
    assert margin(local(deviation=0.3), 0.1) == pytest.approx([0.6 + 1e-4])
    assert margin(local(deviation=0.3, equality=True), 0.1) == pytest.approx([0.0])


def test_linearized_step_stops_at_the_margin() -> None:
    """The term is -0.05 here and 0.05 at the end of a full step; two deviations are 0.02."""
    moved = linearized()(local(value=-0.05, deviation=0.01), NOWHERE, 1, None)
    assert moved.step[0] == pytest.approx(-0.03, abs=3e-4)


def test_linearized_step_keeps_its_radius_as_state() -> None:
    step, other = linearized(), linearized()
    step(local(), np.array([-0.1, 0.0]), 1, None)
    assert step.info(2)["step"] > 0.1
    other.restore(json.loads(json.dumps(step.state())))
    assert other.info(2) == step.info(2)


def test_penalty_step_follows_its_schedules_and_keeps_nothing() -> None:
    step = PenaltyStep(Power(10.0, 0.25), Power(0.5, -0.5), normalize=True)
    assert step.info(16) == pytest.approx({"step": 0.125, "penalty": 20.0})
    assert np.linalg.norm(step(local(), NOWHERE, 16, 0.5).step) == pytest.approx(0.125)
    assert step.state() == {}


def test_an_iterate_is_restored_from_json() -> None:
    moved = Iterate(np.array([0.1, 0.7]), np.array([0.1 / 3.0, -0.2]))
    again = Iterate.restored(json.loads(json.dumps(moved.state())))
    np.testing.assert_array_equal(again.u, moved.u)
    np.testing.assert_array_equal(again.step, moved.step)
    assert not Iterate.start(moved.u).step.any()
