"""SLSQP: its gradients against exact ones, what it evaluates, and how it learns the noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lcbo.methods import registry
from lcbo.methods.classical.slsqp import Slsqp, _Functions
from lcbo.methods.protocol import Array, Proposal, Setup
from lcbo.terms import Term, Terms

TERMS = Terms((Term(1, 1.0, 0.4),))


def make(dim: int = 3, noise: float | None = None, budget: int | None = None, **options: Any) -> Slsqp:
    given = Setup(dim, 2, TERMS, (noise, noise), budget, dim + 1, np.zeros((0, dim)), 0)
    method = registry.make("slsqp", given, options)
    assert isinstance(method, Slsqp)
    return method


def truth(u: Array) -> Array:
    return np.array([np.sum((u - 0.6) ** 2), np.mean(u)])


def drive(method: Slsqp, count: int, answer: Callable[[Proposal], Array | None]) -> list[list[Proposal]]:
    batches: list[list[Proposal]] = []
    while (left := count - sum(map(len, batches))) > 0:
        batches.append(method.ask(most=left))
        for p in batches[-1]:
            method.tell(p.id, answer(p))
    return batches


def smooth(u: Array) -> tuple[Array, Array]:
    """Objective and two terms of ``n x d`` points."""
    return np.sin(u).sum(-1), np.stack([np.prod(u, -1), np.exp(u[..., 0])], -1)


@pytest.mark.parametrize("length", [1e-6, 1e-3])
def test_slopes_are_the_gradients_also_on_the_faces(length: float) -> None:
    asked: list[Array] = []

    def evaluate(u: Array) -> tuple[Any, Array]:
        asked.extend(np.atleast_2d(u))
        return smooth(u)

    u = np.array([0.3, 1.0, 0.0, 1.0 - length / 2])
    objective, terms = _Functions(length, evaluate).slopes(u)
    product = [np.prod(np.delete(u, i)) for i in range(4)]
    np.testing.assert_allclose(objective, np.cos(u), atol=length)
    np.testing.assert_allclose(terms, [product, [np.exp(0.3), 0.0, 0.0, 0.0]], atol=length)
    assert all(np.all((point >= 0.0) & (point <= 1.0)) for point in asked)


def test_missing_slope_is_taken_from_the_other_side_and_is_0_where_both_are_missing() -> None:
    def evaluate(u: Array) -> tuple[Any, Array]:
        objective, terms = smooth(u)
        gone = (u[:, 0] > 0.5) | (u[:, 1] != 0.5)
        return np.where(gone, np.nan, objective), np.where(gone[:, None], np.nan, terms)

    objective, terms = _Functions(1e-6, evaluate).slopes(np.full(3, 0.5))
    np.testing.assert_allclose(objective, [np.cos(0.5), 0.0, np.cos(0.5)], atol=1e-5)
    np.testing.assert_allclose(terms[1], [np.exp(0.5), 0.0, 0.0], atol=1e-5)


def test_gradient_is_one_batch_and_no_point_comes_twice() -> None:
    """Far beyond convergence, so that restarts from the best point are among it."""
    method = make(noise=0.0)
    batches = drive(method, 150, lambda p: truth(p.u))
    assert method.restarts >= 3
    assert {len(b) for b in batches[1:-1] if b[0].role == "explore"} == {3}
    assert {len(b) for b in batches[1:] if b[0].role == "iterate"} == {1}
    points = np.array([p.u for batch in batches for p in batch])
    assert len(np.unique(points, axis=0)) == 150


@pytest.mark.parametrize(
    ("budget", "noisy", "repeats"),
    [(None, True, 4), (1000, True, 4), (60, True, 2), (30, True, 1), (24, True, 0), (1000, False, 1)],
)
def test_unknown_noise_is_learned_from_repeats(budget: int | None, noisy: bool, repeats: int) -> None:
    rng, method = np.random.default_rng(0), make(budget=budget)
    batches = drive(method, 16, lambda p: truth(p.u) + noisy * 1e-3 * rng.normal(size=2))
    points = np.array([p.u for batch in batches for p in batch])
    assert len(points) - len(np.unique(points, axis=0)) == repeats
    assert method._length is not None
    assert (method._length > 1e-3) == (noisy and repeats > 0)


def test_length_is_the_best_for_a_parabola() -> None:
    """The squared error of a forward difference is ``2 s^2 / h^2 + h^2 c^2 / 4``."""
    method, noise, curvature = make(noise=1e-6), 1e-3, 1.0
    drive(method, 4, lambda p: truth(p.u))
    spread = method.archive.y.std(0)
    method._noise = lambda: np.array([0.0, noise / curvature * spread[1]])  # type: ignore[method-assign]
    lengths = np.geomspace(1e-3, 0.2, 4001)
    error = 2.0 * (noise / lengths) ** 2 + (curvature * lengths) ** 2 / 4.0
    assert method._length_for_the_noise() == pytest.approx(lengths[error.argmin()], rel=2e-3)


@pytest.mark.parametrize("noise", [0.0, 1e-300, 1e300])
def test_length_stays_within_its_limits(noise: float) -> None:
    method = make(noise=noise)
    drive(method, 6, lambda p: truth(p.u))
    assert method._length == (0.2 if noise > 1.0 else 1e-6)


def test_start_that_failed_costs_no_gradient() -> None:
    method = make(noise=0.0)
    batches = drive(method, 40, lambda p: truth(p.u) if p.role == "init" else None)
    starts = [batch for batch in batches[1:] if batch[0].role == "iterate"]
    assert len(starts) > 20


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_any_size_of_outputs_is_fine(scale: bool, size: float) -> None:
    drive(make(noise=0.0, scale=scale), 60, lambda p: size * truth(p.u))
