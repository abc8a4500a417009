"""Probes turned inward against the nearest point that an SQP solver finds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from lcbo.steps.elastic import elastic_step
from lcbo.steps.inward import SHORTEST, WEIGHT, inward, projected
from lcbo.steps.landing import Landing
from lcbo.steps.linearized import LinearizedStep, Radius
from lcbo.steps.step import Iterate, LocalPosterior, Step

CLOSE = 1e-4  # of a probe's length: the objective is flat where it is solved to 1e-9


@dataclass(frozen=True)
class Fixed(Step):
    """Only its margins are asked for: ``share`` of each term's linear change."""

    share: float = 0.0

    def __call__(self, local: LocalPosterior, last_step: np.ndarray, k: int, spent: float | None) -> Iterate:
        raise NotImplementedError

    def info(self, k: int) -> dict[str, float]:
        raise NotImplementedError

    def probe_margin(self, local: LocalPosterior, length: float) -> np.ndarray:
        return self.share * length * np.linalg.norm(local.slopes, axis=1)


def posterior(u: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> LocalPosterior:
    n = len(values)
    return LocalPosterior(
        u=u,
        value=0.0,
        objective=np.ones(len(u)),
        deviation=0.0,
        values=values,
        slopes=slopes,
        deviations=np.zeros(n),
        equality=np.zeros(n, bool),
        scale=np.ones(1 + n),
    )


def random_case(seed: int, dim: int, terms: int) -> tuple[LocalPosterior, np.ndarray]:
    """An iterate inside by at least 0.05 lengths of its probe, sometimes at bounds, in any units."""
    rng = np.random.default_rng(seed)
    u = rng.random(dim)
    place = rng.random(dim)
    u = np.where(place < 0.2, 0.0, np.where(place < 0.3, 1.0, u))
    probe = np.clip(u + rng.uniform(-0.1, 0.1, dim), 0.0, 1.0)
    slopes = rng.standard_normal((terms, dim)) * np.exp(rng.normal(0.0, 3.0, (terms, 1)))
    size = np.linalg.norm(slopes, axis=1) * np.linalg.norm(probe - u)
    return posterior(u, -rng.uniform(0.05, 0.5, terms) * size, slopes), probe


def reached(local: LocalPosterior, point: np.ndarray, length: float, share: float = 0.0) -> np.ndarray:
    """The terms' linearizations with their margins, in units of slope and length."""
    size = length * np.linalg.norm(local.slopes, axis=1)
    return (local.values + local.slopes @ (point - local.u)) / size + share


def nearest(local: LocalPosterior, probe: np.ndarray, share: float) -> np.ndarray:
    """The point nearest to a probe within its distance, solved by SLSQP in units of it."""
    move = probe - local.u
    length = np.linalg.norm(move)
    size = np.linalg.norm(local.slopes, axis=1)
    rows, offset = local.slopes / size[:, None], np.minimum(local.values / (size * length) + share, 0.0)
    wanted = move / length
    found = minimize(
        lambda s: 0.5 * np.sum((s - wanted) ** 2),
        np.zeros(len(move)),
        jac=lambda s: s - wanted,
        bounds=list(zip(-local.u / length, (1.0 - local.u) / length, strict=True)),
        constraints=[
            {"type": "ineq", "fun": lambda s: 1.0 - s @ s, "jac": lambda s: -2.0 * s},
            {"type": "ineq", "fun": lambda s: -(offset + rows @ s), "jac": lambda _: -rows},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success, found.message
    return local.u + length * found.x


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2], ids=["plain", "margin", "beyond the iterate"])
@pytest.mark.parametrize("seed", range(12))
def test_is_the_nearest_point_or_the_probe_where_that_is_too_short(seed: int, share: float) -> None:
    rng = np.random.default_rng(1000 + seed)
    local, probe = random_case(seed, int(rng.integers(2, 8)), int(rng.integers(1, 5)))
    length = float(np.linalg.norm(probe - local.u))
    point, expected = inward(local, probe, Fixed(share)), nearest(local, probe, share)
    short = np.linalg.norm(expected - local.u) / length
    assert abs(short - SHORTEST) > 1e-3, "a case that decides nothing"
    np.testing.assert_allclose(point, expected if short > SHORTEST else probe, rtol=0.0, atol=CLOSE * length)


@pytest.mark.parametrize("seed", range(30))
def test_keeps_the_linearized_inequalities_the_cube_and_its_length(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    local, probe = random_case(seed, int(rng.integers(10, 40)), int(rng.integers(1, 6)))
    length = float(np.linalg.norm(probe - local.u))
    point = inward(local, probe, Fixed(0.02))
    assert np.all((point >= 0.0) & (point <= 1.0))
    went = float(np.linalg.norm(point - local.u)) / length
    assert SHORTEST <= went <= 1.0 + 1e-9
    if not np.array_equal(point, probe):
        assert reached(local, probe, length, 0.02).max() > 0.0
    assert reached(local, point, length, 0.02).max() < 1e-6


def test_the_margin_is_the_step_s() -> None:
    """The probe goes east by 0.1; the term ends 0.06 east of the iterate, less what a landing asks for."""
    local = posterior(np.array([0.5, 0.5]), np.array([-0.12]), np.array([[2.0, 0.0]]))
    step = LinearizedStep(Radius(0.1, 1e-6, 0.5), Landing(0.9))
    step.landing.observe(local, 0.0, 0.1)
    step.landing.bend = np.array([3.0])
    point = inward(local, np.array([0.6, 0.5]), step)
    margin = step.landing.probe_margin(local, 0.1)[0]
    assert margin > 0.01
    np.testing.assert_allclose(point, [0.56 - margin / 2.0, 0.5], atol=CLOSE * 0.1)


@pytest.mark.parametrize("seed", range(10))
def test_a_probe_that_is_inside_stays(seed: int) -> None:
    local, probe = random_case(seed, 6, 3)
    length = np.linalg.norm(probe - local.u)
    slack = 1.05 * length * np.linalg.norm(local.slopes, axis=1)
    inside = replace(local, values=-slack)
    np.testing.assert_array_equal(inward(inside, probe, Fixed(0.02)), probe)


def test_equalities_and_flat_terms_do_not_turn_a_probe() -> None:
    u, probe = np.full(2, 0.5), np.array([0.6, 0.6])
    local = posterior(u, np.array([0.0, 1.0]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert inward(local, probe, Fixed())[0] < 0.51
    local = replace(local, equality=np.array([True, False]))
    np.testing.assert_array_equal(inward(local, probe, Fixed()), probe)
    none = posterior(u, np.zeros(0), np.zeros((0, 2)))
    np.testing.assert_array_equal(inward(none, probe, Fixed()), probe)


def test_a_probe_at_the_iterate_stays() -> None:
    local = posterior(np.full(2, 0.5), np.ones(1), np.ones((1, 2)))
    np.testing.assert_array_equal(inward(local, local.u, Fixed(0.1)), local.u)


def test_a_probe_straight_out_stays_rather_than_shrinks_to_nothing() -> None:
    local = posterior(np.full(2, 0.5), np.array([-0.01]), np.array([[1.0, 0.0]]))
    out = np.array([0.6, 0.5])
    np.testing.assert_array_equal(inward(local, out, Fixed()), out)
    slanted = np.array([0.6, 0.55])
    np.testing.assert_allclose(inward(local, slanted, Fixed()), [0.51, 0.55], atol=CLOSE * 0.1)


@pytest.mark.parametrize("seed", range(10))
def test_from_outside_no_probe_goes_farther_out(seed: int) -> None:
    local, probe = random_case(seed, 12, 3)
    move = probe - local.u
    length = float(np.linalg.norm(move))
    size = length * np.linalg.norm(local.slopes, axis=1)
    outside = replace(local, values=np.random.default_rng(seed).uniform(0.1, 5.0, 3) * size)
    point = inward(outside, probe, Fixed(0.02))
    assert np.linalg.norm(point - local.u) >= SHORTEST * length
    assert (outside.slopes @ (point - local.u) / size).max() < 1e-6
    # One that goes inward already is as good as it can be.
    sides = np.sign(outside.slopes @ move)
    toward = replace(outside, slopes=-sides[:, None] * outside.slopes)
    np.testing.assert_array_equal(inward(toward, probe, Fixed(0.02)), probe)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_hardly_meet_are_missed_by_little(seed: int) -> None:
    """Staying costs nothing and a probe gains at most 1/2: what is missed is at most that over the weight."""
    rng = np.random.default_rng(seed)
    local, probe = random_case(seed, 10, 15)
    length = float(np.linalg.norm(probe - local.u))
    spread = 10.0 ** -rng.uniform(1.0, 12.0) * rng.standard_normal(local.slopes.shape)
    slopes = rng.choice([-1.0, 1.0], (15, 1)) * (np.ones(10) + spread)
    hard = replace(local, values=np.zeros(15), slopes=slopes)
    point = inward(hard, probe, Fixed())
    assert np.all((point >= 0.0) & (point <= 1.0))
    if not np.array_equal(point, probe):
        assert np.maximum(reached(hard, point, length), 0.0).sum() <= 0.5 / WEIGHT + 1e-9


@pytest.mark.parametrize("dim", [2, 10, 60])
def test_the_projection_is_the_elastic_solution(dim: int) -> None:
    """Whenever it says that it has one, which is mostly."""
    rng = np.random.default_rng(dim)
    found = 0
    for _ in range(40):
        terms = int(rng.integers(1, dim // 2 + 1))
        rows = rng.standard_normal((terms, dim))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        wanted = rng.standard_normal(dim)
        wanted /= np.linalg.norm(wanted)
        offset = -rng.uniform(0.0, 0.3, terms) * (rng.random(terms) < 0.5)
        low, high = (rng.choice([0.0, 0.1, 5.0], dim) for _ in range(2))
        s = projected(wanted, rows, offset, -low, high)
        if s is None:
            continue
        found += 1
        assert np.all((-low <= s) & (s <= high))
        assert np.all(offset + rows @ s <= 1e-11)
        one_sided = np.zeros(terms, bool)
        expected = elastic_step(-wanted, rows, offset, one_sided, -low, high, WEIGHT, np.ones(dim)).step
        assert np.linalg.norm(s - wanted) <= np.linalg.norm(expected - wanted) + 1e-8
        np.testing.assert_allclose(s, expected, atol=CLOSE)
    assert found >= 30


def test_a_projection_on_dependent_rows_is_left_to_the_elastic_step() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert projected(np.array([1.0, 0.0]), rows, np.zeros(2), -np.ones(2), np.ones(2)) is None
