"""Inspectors by brute force: where they are, how they rank, and the box around the best."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.acquisition.box import reflected
from lcbo.acquisition.inspectors import inspected_box, inspectors, ranking
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.terms import Term, Terms

UPPER = Term(1, 1.0, 0.3)
LOWER = Term(2, -1.0, -0.2)
EQUAL = Term(2, 1.0, 0.1, equality=True, tol=0.2)


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_reflection_folds_at_every_face() -> None:
    z = tensor(0.0, 1.0, 0.4, -0.1, 1.3, 2.4, -1.2)
    np.testing.assert_allclose(reflected(z), [0.0, 1.0, 0.4, 0.1, 0.7, 0.4, 0.8], atol=1e-15)
    assert torch.equal(reflected(z)[:3], z[:3])


def test_inspectors_are_uniform_in_radius_and_direction() -> None:
    center = torch.full((4,), 0.5, dtype=torch.float64)
    away = (inspectors(center, 0.4, 20000, np.random.default_rng(0)) - center).numpy()
    radius = np.linalg.norm(away, axis=1)
    np.testing.assert_allclose(np.quantile(radius, [0.1, 0.5, 0.9]), [0.04, 0.2, 0.36], atol=0.01)
    assert radius.max() <= 0.4
    direction = away / radius[:, None]
    np.testing.assert_allclose(direction.mean(0), 0.0, atol=0.02)
    np.testing.assert_allclose(direction.T @ direction / len(direction), np.eye(4) / 4, atol=0.01)


@pytest.mark.parametrize("dim", [3, 60])
def test_around_a_corner_none_is_lost(dim: int) -> None:
    """A point outside in any coordinate is mirrored: its distances from the corner's faces stay."""
    corner = torch.zeros(dim, dtype=torch.float64)
    corner[1::2] = 1.0
    z = inspectors(corner, 1.0, 500, np.random.default_rng(1))
    assert z.shape == (500, dim)
    assert ((z >= 0.0) & (z <= 1.0)).all()
    rng = np.random.default_rng(1)
    away = rng.standard_normal((500, dim))
    away *= (rng.random(500) / np.linalg.norm(away, axis=1))[:, None]
    np.testing.assert_allclose((z - corner).abs(), np.abs(away), atol=1e-12)


def before(a: np.ndarray, b: np.ndarray, terms: Terms, size: np.ndarray) -> bool:
    """Whether a point comes before another, one condition after the other."""
    worst = []
    for y in (a, b):
        beyond = []
        for term, unit in zip(terms, size, strict=True):
            value = term.sign * (y[term.row] - term.threshold)
            beyond.append((abs(value) - term.tol if term.equality else value) / unit)
        worst.append(max(beyond, default=-1.0))
    if worst[0] <= 0.0 and worst[1] <= 0.0:
        return bool(a[0] < b[0])
    return worst[0] <= 0.0 or (worst[1] > 0.0 and worst[0] < worst[1])


@pytest.mark.parametrize("terms", [Terms(), Terms((UPPER,)), Terms((UPPER, LOWER)), Terms((UPPER, EQUAL))])
@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_ranking_is_that_of_all_pairs(terms: Terms, shift: float) -> None:
    """With the shift nothing is feasible."""
    y = np.random.default_rng(2).standard_normal((40, 3)) * [1.0, 0.5, 20.0] + [0.0, shift, 0.0]
    size = np.array(
        [
            max(abs(abs(v) - t.tol) if t.equality else abs(v) for v in t.sign * (y[:, t.row] - t.threshold))
            for t in terms
        ]
    )
    wins = [sum(before(a, b, terms, size) for b in y) for a in y]
    order = ranking(y, terms)
    assert sorted(order) == list(range(40))
    # the two points that set the units of two conditions are equally bad
    assert np.all(np.diff(np.array(wins)[order]) <= 0)


def test_conditions_that_never_vary_do_not_divide_by_zero() -> None:
    y = np.array([[3.0, 0.3], [1.0, 0.3], [2.0, 0.3]])
    assert ranking(y, Terms((UPPER,))).tolist() == [1, 2, 0]


def test_box_is_the_smallest_around_the_best_tenth() -> None:
    rng = np.random.default_rng(3)
    u = rng.random((30, 2))
    y = np.stack([u[:, 0] + u[:, 1], 0.6 - u[:, 0]], 1)
    gp = BatchedGP(merge(u, y), Hyperparameters.start(2, "matern52", {"lengthscale": 2.0, "noise_var": 1e-6}))
    terms = Terms((Term(1, 1.0, 0.0),))
    points = torch.from_numpy(rng.random((1500, 2)))
    box = inspected_box(gp, terms, points, 0.1)
    means = np.array([[float(v) for v in gp.mean(p[None])[:, 0]] for p in points])
    size = np.abs(means[:, 1]).max()
    order = sorted(
        range(1500),
        key=lambda i: (means[i, 1] > 0.0, means[i, 0] if means[i, 1] <= 0.0 else means[i, 1] / size),
    )
    best = points.numpy()[order[:150]]
    np.testing.assert_allclose(box.low, best.min(0))
    np.testing.assert_allclose(box.high, best.max(0))
    assert float(box.low[0]) > 0.55  # where it is feasible
    single = inspected_box(gp, terms, points[:3], 0.1)
    assert torch.equal(single.low, single.high)
