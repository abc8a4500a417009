"""Kinks told from curvature by where ever shorter steps land."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from lcbo.steps.landing import Landing
from lcbo.steps.linearized import LinearizedStep, Radius
from lcbo.steps.roughness import RIGHT, Roughness
from lcbo.steps.step import LocalPosterior


def descended(error_at, roughness: Roughness, radius: float = 0.1, landings: int = 60) -> list[float | None]:
    """Let a radius follow the errors of landings, as `Radius.judge` does; return what was answered."""
    answers = []
    for _ in range(landings):
        error = error_at(radius)
        answers.append(roughness.observe(error, radius))
        radius *= 0.5 if error > 1.0 else 0.75 if error > 0.5 else 1.0
    return answers


@pytest.mark.parametrize("bend", [0.1, 6.0, 12.0, 20.0, 40.0])
def test_curvature_is_no_kink(bend: float) -> None:
    """The error of a smooth term falls with the radius: a few shorter steps are right."""
    roughness = Roughness()
    assert descended(lambda radius: bend * radius, roughness) == [None] * 60
    assert not roughness.found


@pytest.mark.parametrize("error", [0.6, 2.0, np.inf])
def test_errors_that_no_radius_mends_are_kinks(error: float) -> None:
    """The run goes on with the radius at which they began."""
    roughness = Roughness()
    answers = descended(lambda _: error, roughness)
    told = [answer for answer in answers if answer is not None]
    assert roughness.found
    assert len(told) == 1, "it comes to light once"
    assert 0.02 < told[0] <= 0.1


def test_errors_that_become_small_were_curvature_after_all() -> None:
    roughness = Roughness()
    descended(lambda _: 0.6, roughness)
    descended(lambda _: 2.0 * RIGHT, roughness)
    assert roughness.found, "twice as large is not small"
    descended(lambda _: 0.0, roughness)
    assert not roughness.found


def test_a_state_goes_through_json_without_loss() -> None:
    roughness = Roughness()
    for landings in (0, 5, 40):
        descended(lambda _: 0.6, roughness, landings=landings)
        assert Roughness.restored(json.loads(json.dumps(roughness.state()))) == roughness


def local(u: float, value: float, *, exact: bool = True) -> LocalPosterior:
    """One variable with slope 1 in the objective and in one term, both known."""
    one, none = np.ones(1), np.zeros(1)
    return LocalPosterior(
        u=np.array([u]),
        value=u,
        objective=one,
        deviation=0.0,
        values=np.array([value]),
        slopes=-one[None],
        deviations=none,
        equality=none > 0.0,
        scale=np.ones(2),
        exact=exact,
    )


def test_error_of_the_terms_is_told_apart_from_the_objectives() -> None:
    landing, here = Landing(0.5), local(0.5, 0.0)
    landing.observe(here, 0.0, 0.1)
    landing.expect(here, np.array([0.1]))
    there = replace(local(0.6, -0.1 + 0.03), value=9.0)
    assert landing.observe(there, 0.1, 0.1) == pytest.approx(84.0)
    assert landing.error == pytest.approx(0.3)
    landing.observe(here, 0.0, 0.1)
    assert landing.error == 0.0


@pytest.mark.parametrize("exact", [True, False])
def test_only_without_noise_do_wrong_landings_stop_shortening_the_radius(exact: bool) -> None:
    step = LinearizedStep(Radius(0.1, 1e-6, 0.5), Landing(0.5))
    here, moved = local(0.5, 0.2, exact=exact), np.zeros(1)
    shortest = 1.0
    for k in range(1, 80):
        iterate = step(here, moved, k, None)
        moved = iterate.step
        here = local(0.5, 0.2, exact=exact)  # it was to fall, and never does
        shortest = min(shortest, step.radius.now)
    assert step.rough is exact
    assert (shortest > 1e-3) is exact
    again = LinearizedStep(Radius(0.1, 1e-6, 0.5), Landing(0.5))
    again.restore(json.loads(json.dumps(step.state())))
    assert again.rough is exact
    again.restart()
    assert not again.rough
