"""What landings teach, on constraints whose bend is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from lcbo.steps.landing import FIRST_SCATTER, INSIDE, MOST, Landing
from lcbo.steps.linearized import linearized_step
from lcbo.steps.step import LocalPosterior

DIM, RADIUS = 4, 0.05
BENDS = np.array([2.0, 0.5, -1.0])


class Bowls:
    """Terms ``c_i(x) = a_i.x + k_i |x|^2 - b_i``: a step of length h lands ``k_i h^2`` beside its tangent.

    The objective has the same form. All in user units; `at` gives them in units of ``scale``.
    """

    def __init__(self, bends: np.ndarray = BENDS, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.goal, self.goal_bend = rng.standard_normal(DIM), 1.5
        self.a = 3.0 * rng.standard_normal((len(bends), DIM))
        self.k, self.b = bends, np.zeros(len(bends))

    def through(self, x: np.ndarray) -> Bowls:
        """Move every term's zero to a point."""
        self.b += self.values(x)
        return self

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.a @ x + self.k * (x @ x) - self.b

    def at(
        self, x: np.ndarray, deviation: float = 0.0, scale: np.ndarray | float = 1.0, equality: bool = False
    ) -> LocalPosterior:
        n = len(self.k)
        units = np.broadcast_to(scale, 1 + n)
        return LocalPosterior(
            u=x,
            value=float(self.goal @ x + self.goal_bend * (x @ x)) / units[0],
            objective=(self.goal + 2.0 * self.goal_bend * x) / units[0],
            deviation=deviation / units[0],
            values=self.values(x) / units[1:],
            slopes=(self.a + 2.0 * self.k[:, None] * x) / units[1:, None],
            deviations=np.full(n, deviation) / units[1:],
            equality=np.full(n, equality),
            scale=units,
        )


def directions(count: int, length: float = RADIUS, seed: int = 1) -> np.ndarray:
    steps = np.random.default_rng(seed).standard_normal((count, DIM))
    return length * steps / np.linalg.norm(steps, axis=1)[:, None]


def walked(bowls: Bowls, steps: np.ndarray, landing: Landing | None = None, **how: float) -> Landing:
    """Learn from a walk that starts in the middle of the cube."""
    landing = Landing(0.5) if landing is None else landing
    x, last = np.full(DIM, 0.5), 0.0
    for step in [*steps, np.zeros(DIM)]:
        here = bowls.at(x, **how)
        landing.observe(here, last, RADIUS)
        landing.expect(here, step)
        x, last = x + step, float(np.linalg.norm(step))
    return landing


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_the_bend_is_learned_in_user_units(scale: float) -> None:
    landing = walked(Bowls(), directions(40), scale=scale)
    np.testing.assert_allclose(landing.bend, BENDS, rtol=1e-6)


def test_the_bend_outlives_another_standardization() -> None:
    """The same walk, with units that change at every landing."""
    bowls, landing, units = Bowls(), Landing(0.5), np.random.default_rng(5)
    x, last = np.full(DIM, 0.5), 0.0
    for step in directions(40):
        here = bowls.at(x, scale=10.0 ** units.uniform(-3.0, 3.0, 1 + len(BENDS)))
        landing.observe(here, last, RADIUS)
        landing.expect(here, step)
        x, last = x + step, RADIUS
    same = walked(bowls, directions(39))
    np.testing.assert_allclose(landing.bend, same.bend, rtol=1e-8)
    np.testing.assert_allclose(landing.scatter, same.scatter, rtol=1e-6)


@pytest.mark.parametrize("length", [RADIUS, 0.3 * RADIUS])
def test_a_step_with_the_margin_lands_inside_and_without_it_outside(length: float) -> None:
    x = np.full(DIM, 0.5)
    bowls = Bowls(np.array([2.0])).through(x)
    landing = walked(bowls, directions(40))
    here = bowls.at(x)
    slope = np.linalg.norm(here.slopes[0])
    here = replace(here, objective=directions(1, slope)[0] - here.slopes[0])  # downhill is outside
    plain = linearized_step(here, np.zeros(1), length)
    kept = linearized_step(here, landing.margin(here, length), length)
    assert bowls.values(x + plain)[0] == pytest.approx(2.0 * length**2, rel=1e-4)
    # Nothing is given away either: a full step ends by the share INSIDE of its linear change inside.
    assert np.linalg.norm(kept) == pytest.approx(length)
    assert bowls.values(x + kept)[0] == pytest.approx(-INSIDE * slope * length, rel=0.01)


def test_noise_slows_what_a_landing_teaches() -> None:
    bends = [walked(Bowls(), directions(1), deviation=noise).bend for noise in (0.0, 1e-3, 1e-2, 0.1, 10.0)]
    sizes = np.abs(bends)
    assert np.all(sizes[1:] < sizes[:-1])
    assert np.all(sizes[-1] < 1e-3 * sizes[0])


def test_an_average_of_noisy_landings_is_near_the_bend_of_all() -> None:
    """The errors of 400 landings, seen through noise as large as they are; the oracle is their true bend."""
    rng = np.random.default_rng(3)
    noise, landing, seen = RADIUS**2, Landing(0.5), []
    bowls = Bowls(np.array([2.0]))
    for step in directions(400):
        here = bowls.at(np.full(DIM, 0.5), noise)
        landing.observe(here, 0.0, RADIUS)
        landing.expect(here, step)
        there = bowls.at(here.u + step, noise)
        landing.observe(replace(there, values=there.values + noise * rng.standard_normal(1)), RADIUS, RADIUS)
        seen.append(float(landing.bend[0]))
    assert np.mean(seen[20:]) == pytest.approx(2.0, abs=0.25)
    assert np.std(seen[20:]) < 0.75  # of a landing alone it is 1


def test_margins_vanish_with_the_step_faster_than_the_step() -> None:
    """Without noise what is left of a margin is the bend's, of second order, and the share INSIDE."""
    bowls = Bowls()
    landing = walked(bowls, directions(60))
    landing.probability = 0.9
    here = bowls.through(np.full(DIM, 0.5)).at(np.full(DIM, 0.5))
    slopes = np.linalg.norm(here.slopes, axis=1)
    lengths = np.array([1e-2, 1e-3, 1e-4, 1e-6])
    shares = np.array([landing.margin(here, h) / (slopes * h) for h in lengths])
    expected = INSIDE + np.maximum(BENDS, 0.0) / slopes * lengths[:, None]
    np.testing.assert_allclose(shares, expected, atol=1e-6)


def test_landings_as_expected_take_the_scatter_away_and_surprises_bring_it_back() -> None:
    bowls = Bowls()
    sure = walked(bowls, directions(40))
    assert np.all(sure.scatter < 1e-6)
    x = np.full(DIM, 0.5)
    here = bowls.at(x)
    sure.observe(here, 0.0, RADIUS)
    step = directions(1)[0]
    sure.expect(here, step)
    there = bowls.at(x + step)
    sure.observe(replace(there, values=there.values + 0.2), RADIUS, RADIUS)
    slopes = np.linalg.norm(there.slopes, axis=1)
    np.testing.assert_allclose(
        sure.scatter, 0.4 * np.square(0.2 / (slopes * RADIUS)).clip(max=1.0), rtol=1e-3
    )


def flat(n: int, value: float = 0.0, deviation: float = 0.0, equality: bool = False) -> LocalPosterior:
    """Terms that are all alike, with slope 2."""
    return LocalPosterior(
        u=np.full(2, 0.5),
        value=0.0,
        objective=np.array([0.0, 1.0]),
        deviation=0.0,
        values=np.full(n, value),
        slopes=np.tile([2.0, 0.0], (n, 1)),
        deviations=np.full(n, deviation),
        equality=np.full(n, equality),
        scale=np.ones(1 + n),
    )


def fresh(local: LocalPosterior, probability: float) -> Landing:
    landing = Landing(probability)
    assert landing.observe(local, 0.0, RADIUS) == 0.0
    return landing


@pytest.mark.parametrize("probability", [0.6, 0.9])
def test_all_near_terms_together_hold_with_the_probability(probability: float) -> None:
    change, deviation = 2.0 * RADIUS, 1e-3
    unknown = np.hypot(deviation, FIRST_SCATTER * change)
    for n in (1, 2, 10, 40):
        local = flat(n, deviation=deviation)
        margin = fresh(local, probability).margin(local, RADIUS)
        expected = INSIDE * change + norm.ppf(probability ** (1.0 / n)) * unknown
        np.testing.assert_allclose(margin, expected, rtol=1e-12)
        held = norm.cdf((margin - INSIDE * change) / unknown).prod()
        assert held == pytest.approx(probability)


def test_terms_that_are_far_and_equalities_ask_nothing_of_the_others() -> None:
    alone, both = flat(1), flat(3)
    both = replace(both, values=np.array([0.0, -4.1 * RADIUS, 0.0]), equality=np.array([False, False, True]))
    one, three = fresh(alone, 0.9).margin(alone, RADIUS), fresh(both, 0.9).margin(both, RADIUS)
    assert three[0] == pytest.approx(one[0])
    assert three[2] == 0.0


def test_an_equality_has_no_margin() -> None:
    bowls = Bowls()
    for landing in (Landing(0.9), walked(bowls, directions(5))):
        margin = landing.margin(bowls.at(np.full(DIM, 0.5), deviation=0.1, equality=True), RADIUS)
        np.testing.assert_array_equal(margin, np.zeros(len(BENDS)))


@pytest.mark.parametrize("probability", [0.01, 0.5])
def test_an_even_chance_takes_no_deviations_and_less_than_that_no_more(probability: float) -> None:
    local = flat(1, deviation=0.01)
    np.testing.assert_allclose(fresh(local, probability).margin(local, RADIUS), INSIDE * 2.0 * RADIUS)


@pytest.mark.parametrize(("deviation", "most"), [(0.0, MOST * 2.0 * RADIUS), (0.2, 0.2)])
def test_a_margin_leaves_most_of_the_step(deviation: float, most: float) -> None:
    local = flat(1, deviation=deviation)
    landing = fresh(local, 0.9)
    landing.bend = np.array([1e9])
    np.testing.assert_allclose(landing.margin(local, RADIUS), most)


@pytest.mark.parametrize(("terms", "deviation"), [(1, 0.01), (8, 0.01), (8, 0.0)])
def test_probes_of_known_slopes_are_inside_all_terms_as_often_as_wanted(terms: int, deviation: float) -> None:
    """Values as uncertain as the posterior says, drawn: the margin is right for the terms together."""
    local = flat(terms, deviation=deviation)
    landing = fresh(local, 0.5)
    margin = landing.probe_margin(local, RADIUS) - landing.carried(local, RADIUS)
    inside = np.random.default_rng(0).normal(0.0, deviation, (20_000, terms)) <= margin
    assert inside.all(1).mean() == pytest.approx(0.5 if deviation else 1.0, abs=0.02)
    assert np.all(landing.probe_margin(local, RADIUS) <= landing.margin(local, RADIUS))


def test_before_any_posterior_the_margin_is_a_trace_of_the_change() -> None:
    np.testing.assert_allclose(Landing(0.9).margin(flat(2, deviation=0.1), RADIUS), INSIDE * 2.0 * RADIUS)


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_other_units_give_the_same_margins(factor: float) -> None:
    """Standardized margins do not see the user's units."""
    bowls, x = Bowls(), np.full(DIM, 0.5)
    here, other = bowls.at(x, 1e-3), replace(bowls.at(x, 1e-3), scale=np.full(4, factor))
    margin = walked(bowls, directions(7), Landing(0.9), deviation=1e-3).margin(here, RADIUS)
    grown = Bowls()
    grown.a, grown.k, grown.goal, grown.goal_bend = (
        factor * part for part in (bowls.a, bowls.k, bowls.goal, bowls.goal_bend)
    )
    learned = walked(grown, directions(7), Landing(0.9), deviation=factor * 1e-3, scale=factor)
    np.testing.assert_allclose(learned.margin(other, RADIUS), margin, rtol=1e-9)


@pytest.mark.parametrize(("value", "counts"), [(-1e3, False), (0.0, True)])
def test_the_error_is_the_worst_share_of_the_linear_change(value: float, counts: bool) -> None:
    """The objective's, whose bend is never learned, or a larger one of a term where that is near."""
    bowls, x, step = Bowls(np.array([0.5])), np.full(DIM, 0.5), directions(1)[0]
    here, there = replace(bowls.at(x), values=np.array([value])), bowls.at(x + step)
    landing = fresh(here, 0.5)
    landing.expect(here, step)
    missed = replace(there, values=value + here.slopes @ step + 10.0)
    slope, goal = np.linalg.norm(there.slopes), np.linalg.norm(there.objective)
    share = 10.0 / (slope * RADIUS) if counts else 1.5 * RADIUS**2 / (goal * RADIUS)
    assert landing.observe(missed, RADIUS, RADIUS) == pytest.approx(share)


@pytest.mark.parametrize(("deviation", "part"), [(0.0, 1.0), (0.3, 0.8), (0.5, 0.0), (9.0, 0.0)])
def test_an_error_within_two_deviations_is_none(deviation: float, part: float) -> None:
    """The error is 1; what is visible of it is ``sqrt(1 - (2 deviation)^2)``."""
    here = flat(1, deviation=deviation)
    landing = fresh(here, 0.5)
    landing.expect(here, np.zeros(2))
    seen = landing.observe(replace(here, values=np.ones(1)), RADIUS, RADIUS)
    assert seen == pytest.approx(part / (2.0 * RADIUS))


def test_without_terms_only_the_objective_lands() -> None:
    landing = fresh(flat(0), 0.5)
    landing.expect(flat(0), np.zeros(2))
    assert landing.observe(replace(flat(0), value=0.5), RADIUS, RADIUS) == pytest.approx(0.5 / RADIUS)
    assert landing.margin(flat(0), RADIUS).shape == (0,)


def test_a_state_goes_through_json_without_loss() -> None:
    bowls = Bowls()
    landing, other = walked(bowls, directions(7), deviation=1e-3), Landing(0.5)
    other.restore(json.loads(json.dumps(landing.state())))
    assert other.state() == landing.state()
    steps = directions(5, seed=9)
    assert walked(bowls, steps, other).state() == walked(bowls, steps, landing).state()
    new = Landing(0.5)
    new.restore(json.loads(json.dumps(Landing(0.5).state())))
    assert new.state() == Landing(0.5).state()


@pytest.mark.parametrize("before", [0, 1, 3])
def test_another_number_of_terms_starts_anew(before: int) -> None:
    landing = fresh(flat(before), 0.5)
    landing.expect(flat(before), np.array([RADIUS, 0.0]))
    assert landing.observe(flat(2, value=5.0), RADIUS, RADIUS) == 0.0
    np.testing.assert_array_equal(landing.bend, np.zeros(2))
    assert landing.margin(flat(2), RADIUS).shape == (2,)


@pytest.mark.parametrize("deviation", [0.0, 1e-3])
def test_a_step_much_shorter_than_the_radius_teaches_little(deviation: float) -> None:
    """The model changed by more than it knew of; the step was too short to have anything to do with it."""
    here = flat(1, deviation=deviation)
    landing = fresh(here, 0.5)
    step = np.array([1e-9, 0.0])
    landing.expect(here, step)
    landing.observe(replace(here, u=here.u + step, values=np.full(1, 0.01)), 1e-9, RADIUS)
    slope = 2.0
    assert 0.0 <= landing.bend[0] <= slope / RADIUS
    assert landing.wobble[0] <= slope / RADIUS


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e9])
@pytest.mark.parametrize("changed", [0.0, 1e9])
def test_what_is_flat_teaches_nothing_and_breaks_nothing(value: float, changed: float) -> None:
    """A constant output: its slope is exactly zero, and shares of its linear change do not exist."""
    sloped = flat(1)
    here = replace(sloped, values=np.array([value]), slopes=np.zeros((1, 2)), objective=np.zeros(2))
    landing = fresh(here, 0.9)
    step = np.array([RADIUS, 0.0])
    landing.expect(here, step)
    there = replace(here, u=here.u + step, value=changed, values=here.values + changed)
    assert landing.observe(there, RADIUS, RADIUS) == 0.0
    np.testing.assert_array_equal(landing.margin(there, RADIUS), [0.0])
    np.testing.assert_array_equal(landing.bend, [0.0])
    assert 0.0 <= landing.margin(sloped, RADIUS)[0] <= MOST * 2.0 * RADIUS


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_equality_counts_from_either_side(sign: float) -> None:
    """``h = 0`` and ``-h = 0`` are one equality: what is missed on the way to it counts the same."""
    here = replace(flat(1, value=sign, equality=True), slopes=np.array([[2.0 * sign, 0.0]]))
    landing = fresh(here, 0.5)
    step = np.array([-RADIUS, 0.0])
    landing.expect(here, step)
    missed = here.values + here.slopes @ step + sign * 0.05
    assert landing.observe(replace(here, u=here.u + step, values=missed), RADIUS, RADIUS) == pytest.approx(
        0.5
    )


def test_errors_that_the_noise_explains_wear_out_scatter_and_variation() -> None:
    """The landings are off by half a standard deviation each, to either side."""
    here = flat(1, deviation=0.01)
    landing = fresh(here, 0.5)
    first, step = landing.wobble.copy(), np.array([RADIUS, 0.0])
    for k in range(30):
        landing.expect(here, step)
        error = 0.005 * (-1.0) ** k
        there = replace(here, u=here.u + step, values=here.values + here.slopes @ step + error)
        landing.observe(there, RADIUS, RADIUS)
    assert landing.scatter[0] < 0.01 * FIRST_SCATTER**2
    assert landing.wobble[0] < 0.1 * first[0]


def test_a_bend_that_seems_certain_can_still_change() -> None:
    here, step = flat(1, deviation=0.01), np.array([RADIUS, 0.0])
    landing = fresh(here, 0.5)
    landing.wobble = np.zeros(1)
    landing.expect(here, step)
    landing.observe(replace(here, u=here.u + step, values=here.slopes @ step), RADIUS, RADIUS)
    assert landing.wobble[0] > 0.0


@pytest.mark.parametrize("zoom", [0.01, 8.0])
def test_the_size_of_the_region_changes_nothing(zoom: float) -> None:
    """The same walk over a landscape that is wider or narrower: radius, lengths and slopes go with it."""
    margins, carried = [], []
    for width in (1.0, zoom):
        landing = Landing(0.9)
        for k, error in enumerate([0.0, 0.02, 0.05, -0.01, 0.03]):
            here = flat(2, value=error, deviation=0.01)
            here = replace(
                here, u=width * here.u, slopes=here.slopes / width, objective=here.objective / width
            )
            landing.observe(here, width * RADIUS * bool(k), width * RADIUS)
            landing.expect(flat(2), np.zeros(2))
        margins.append(landing.margin(here, width * RADIUS))
        carried.append(landing.bend * width**2)
    np.testing.assert_allclose(margins[1], margins[0], rtol=1e-9)
    np.testing.assert_allclose(carried[1], carried[0], rtol=1e-9)
