"""The two steps as `Step`s: where they land, what they adapt, what they keep."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from lcbo.steps.landing import INSIDE, Landing
from lcbo.steps.linearized import LinearizedStep, Radius
from lcbo.steps.penalty import PenaltyStep
from lcbo.steps.schedules import Power
from lcbo.steps.step import Iterate, LocalPosterior, Step, unit

NOWHERE = np.zeros(2)


def local(value: float = -1.0, deviation: float = 0.0, equality: bool = False) -> LocalPosterior:
    """A slope to the west, and one term that grows to the west as well."""
    return LocalPosterior(
        u=np.array([0.5, 0.5]),
        value=0.0,
        objective=np.array([1.0, 0.0]),
        deviation=0.0,
        values=np.array([value]),
        slopes=np.array([[-1.0, 0.0]]),
        deviations=np.array([deviation]),
        equality=np.array([equality]),
        scale=np.ones(2),
    )


def linearized(probability: float = 0.5) -> LinearizedStep:
    return LinearizedStep(Radius(0.1, 1e-6, 0.5), Landing(probability))


@pytest.mark.parametrize("step", [linearized(), PenaltyStep(10.0, 0.1, normalize=True)])
def test_a_free_step_goes_downhill_by_its_length(step: Step) -> None:
    moved = step(local(), NOWHERE, 1, None)
    np.testing.assert_allclose(moved.u, [0.4, 0.5], atol=1e-7)
    np.testing.assert_allclose(moved.step, [-0.1, 0.0], atol=1e-7)
    assert step.info(1)["step"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("equality", "end"), [(False, -0.05 + INSIDE * 0.1), (True, -0.05)], ids=["inequality", "equality"]
)
def test_linearized_step_stops_just_inside_an_inequality_and_at_an_equality(
    equality: bool, end: float
) -> None:
    """The term is -0.05 here and 0.05 at the end of a full step."""
    moved = linearized()(local(value=-0.05, equality=equality), NOWHERE, 1, None)
    np.testing.assert_allclose(moved.step, [end, 0.0], atol=1e-6)


def test_the_surer_a_landing_must_be_the_farther_inside_it_aims() -> None:
    ends = [linearized(p)(local(-0.05, 0.01), NOWHERE, 1, None).step[0] for p in (0.5, 0.8, 0.99)]
    assert ends[0] < ends[1] < ends[2] < 0.0


def test_the_margin_of_a_linearized_step_is_its_landing_s_and_others_keep_none() -> None:
    step = linearized(0.9)
    step(local(), NOWHERE, 1, None)
    here = local(-0.01, 0.01)
    np.testing.assert_array_equal(step.probe_margin(here, 0.05), step.landing.probe_margin(here, 0.05))
    assert step.probe_margin(here, 0.05)[0] > 0.0
    np.testing.assert_array_equal(PenaltyStep(10.0, 0.1, normalize=True).probe_margin(here, 0.05), [0.0])


def test_linearized_step_goes_on_from_its_state() -> None:
    step, other = linearized(), linearized()
    first = step(local(), NOWHERE, 1, None)
    step(local(-0.9), first.step, 2, None)
    other.restore(json.loads(json.dumps(step.state())))
    assert other.info(3) == step.info(3)
    here, last = local(-0.05, 0.01), np.array([-0.1, 0.01])
    np.testing.assert_array_equal(other(here, last, 3, 0.5).u, step(here, last, 3, 0.5).u)
    assert other.state() == step.state()


def test_a_state_without_landings_keeps_its_radius() -> None:
    step = linearized()
    step.restore({"radius": 0.03})
    assert step.info(1) == {"step": 0.03}
    assert step.landing.expected is None


def test_linearized_step_shortens_after_a_landing_that_was_off() -> None:
    step = linearized()
    moved = step(local(), NOWHERE, 1, None)
    there = replace(local(), u=moved.u, value=-0.1)  # where the tangent led
    step(replace(there, value=0.1), moved.step, 2, None)  # off by twice the linear change
    assert step.info(3)["step"] == pytest.approx(0.05)


def test_the_way_back_from_a_failure_is_no_landing() -> None:
    """What a step should have reached says nothing elsewhere; the next ones are shorter."""
    step, half = linearized(), np.array([-0.05, 0.0])
    step(local(), NOWHERE, 1, None)
    step.failed()
    back = replace(local(value=-0.95), u=local().u + half, value=-0.05)
    step(back, half, 2, None)
    np.testing.assert_array_equal(step.landing.bend, [0.0])
    assert step.info(3)["step"] == pytest.approx(0.05 * np.exp(0.3))


def test_linearized_step_is_as_long_as_the_values_resolve() -> None:
    step = LinearizedStep(Radius(1e-6, 1e-6, 0.5), Landing(0.5))
    moved = step(replace(local(), deviation=0.03, deviations=np.array([9.0])), NOWHERE, 1, None)
    assert np.linalg.norm(moved.step) == pytest.approx(0.03)


class Ball:
    """A linear objective over ``|x - m|^2 <= r^2``, known exactly: every tangent step lands outside."""

    goal = np.array([0.3, 1.0])
    best = 0.5 - 0.4 * unit(goal)

    def at(self, x: np.ndarray) -> LocalPosterior:
        return LocalPosterior(
            u=x,
            value=float(self.goal @ x),
            objective=self.goal,
            deviation=0.0,
            values=np.array([np.sum((x - 0.5) ** 2) - 0.16]),
            slopes=2.0 * (x - 0.5)[None],
            deviations=np.zeros(1),
            equality=np.zeros(1, bool),
            scale=np.ones(2),
        )


class Forgetful(Landing):
    def expect(self, local: LocalPosterior, step: np.ndarray) -> None:
        pass


def outside(landing: Landing) -> np.ndarray:
    """How far outside the iterates of a run are that starts at the far side and ends at the best point."""
    problem, step = Ball(), LinearizedStep(Radius(0.1, 1e-6, 0.1), landing)
    here, values = Iterate.start(np.array([0.52, 0.895])), []
    for k in range(1, 61):
        here = step(problem.at(here.u), here.step, k, None)
        values.append(problem.at(here.u).values[0])
    np.testing.assert_allclose(here.u, problem.best, atol=1e-4)
    return np.maximum(values, 0.0)


def test_a_run_learns_to_land_inside_a_convex_constraint() -> None:
    learned, forgotten = outside(Landing(0.5)), outside(Forgetful(0.5))
    assert np.count_nonzero(forgotten) > 15
    assert np.count_nonzero(learned) < 5
    assert not learned[12:].any()
    assert learned.max() < 0.1 * forgotten.max()


class Cliff:
    """Least ``u`` over ``1 / u <= 10``: flat where a run begins, and a pole at the lower bound."""

    def at(self, u: np.ndarray) -> LocalPosterior:
        return LocalPosterior(
            u=u,
            value=float(u[0]),
            objective=np.ones(1),
            deviation=0.0,
            values=1.0 / np.maximum(u, 1e-3) - 10.0,
            slopes=-1.0 / np.square(np.maximum(u, 1e-3))[None],
            deviations=np.zeros(1),
            equality=np.zeros(1, bool),
            scale=np.ones(2),
        )


def test_a_step_through_a_limit_that_was_not_seen_is_taken_back() -> None:
    problem, step = Cliff(), LinearizedStep(Radius(0.25, 1e-6, 0.5), Landing(0.5))
    start = problem.at(np.array([0.26]))
    moved = step(start, np.zeros(1), 1, None)
    landed, radius = problem.at(moved.u), step.info(1)["step"]
    assert landed.values[0] > 10.0
    before = step.way_back(landed, moved.step, problem.at, 2, None)
    assert before is not None
    np.testing.assert_array_equal(before.u, start.u)
    assert step.landing.bend[0] > 0.0  # it taught how the limit bends
    assert step.landing.expected is None
    assert step.info(2)["step"] < radius
    again = step(before, np.zeros(1), 2, None)
    assert problem.at(again.u).values[0] < landed.values[0]


@pytest.mark.parametrize("value", [-0.02, 0.02])
def test_a_step_that_lands_as_foreseen_or_a_little_outside_stands(value: float) -> None:
    step = linearized()
    step(local(-0.1), NOWHERE, 1, None)
    landed = replace(local(value), u=local().u + np.array([-0.1, 0.0]))
    assert step.way_back(landed, np.array([-0.1, 0.0]), lambda _: local(-0.1), 2, None) is None


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


def test_unit_leaves_zero_alone() -> None:
    np.testing.assert_allclose(unit(np.array([3e6, -4e6])), [0.6, -0.8])
    np.testing.assert_array_equal(unit(np.zeros(2)), np.zeros(2))


@pytest.mark.parametrize(("value", "near"), [(-0.21, False), (-0.19, True), (0.0, True), (5.0, True)])
def test_a_term_is_near_within_two_lengths_and_an_equality_always(value: float, near: bool) -> None:
    assert local(value).near(0.1)[0] == near
    assert local(value, equality=True).near(0.1)[0]
