"""The optimistic safe set against a filter that computes every bound from dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lcbo.acquisition.safe_set import optimistic
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

HYPER = {
    "lengthscale": [0.5, 0.4, 0.7],
    "outputscale": [1.0, 2.0, 0.5],
    "noise_var": 0.01,
    "mean": [0.0, 0.1, 0.0],
}
SCALING = Scaling(np.array([0.0, 1.0, -2.0]), np.array([1.0, 3.0, 0.5]))


def brute_force(u: np.ndarray, y: np.ndarray, z: np.ndarray, terms: Terms, beta: float) -> list[bool]:
    """Invert K of each output for every candidate, in user units."""

    def kernel(a: np.ndarray, b: np.ndarray, row: int) -> np.ndarray:
        r2 = ((a[:, None] - b[None]) ** 2).sum(-1) / HYPER["lengthscale"][row] ** 2
        return HYPER["outputscale"][row] * np.exp(-0.5 * r2)

    safe = []
    for point in z:
        kept = True
        for term in terms:
            known = ~np.isnan(y[:, term.row])
            cross = kernel(u[known], point[None], term.row)[:, 0]
            inverse = np.linalg.inv(kernel(u[known], u[known], term.row) + 0.01 * np.eye(known.sum()))
            prior = HYPER["mean"][term.row]
            mean = prior + cross @ inverse @ (y[known, term.row] - prior)
            std = np.sqrt(HYPER["outputscale"][term.row] - cross @ inverse @ cross)
            scale, shift = SCALING.std[term.row], SCALING.mean[term.row]
            kept &= term.sign * (mean * scale + shift - term.threshold) - beta * std * scale <= 0.0
        safe.append(bool(kept))
    return safe


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0, 4.0])
@pytest.mark.parametrize("missing", [False, True])
def test_optimistic_set_equals_the_brute_force_filter(beta: float, missing: bool) -> None:
    rng = np.random.default_rng(1)
    u, z = rng.random((25, 2)), rng.random((300, 2))
    y = np.stack([u.sum(1), 2.0 * np.sin(5.0 * u[:, 0]), u[:, 1] - 0.4], 1)
    if missing:
        y[:9, 1] = np.nan
    # a lower and an upper bound on one outcome, an upper one on another
    terms = Terms((Term(1, 1.0, 1.5), Term(1, -1.0, -6.0), Term(2, 1.0, -2.0)))
    gp = BatchedGP(merge(u, y), Hyperparameters.start(3, "rbf", HYPER))
    mine = optimistic(gp, torch.from_numpy(z), terms.scaled(SCALING), beta).tolist()
    assert mine == brute_force(u, y, z, terms, beta)
    assert any(mine)
    assert not all(mine)


def test_more_optimism_keeps_more() -> None:
    rng = np.random.default_rng(2)
    u, z = rng.random((10, 2)), torch.from_numpy(rng.random((200, 2)))
    gp = BatchedGP(
        merge(u, np.stack([u[:, 0], u[:, 1]], 1)), Hyperparameters.start(2, "rbf", {"lengthscale": 0.3})
    )
    conditions = Terms((Term(1, 1.0, -0.5),)).scaled(Scaling.identity(2))
    sizes = [int(optimistic(gp, z, conditions, beta).sum()) for beta in (0.0, 1.0, 2.0, 4.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_without_conditions_everything_is_safe() -> None:
    u = np.random.default_rng(3).random((5, 2))
    gp = BatchedGP(merge(u, u[:, :1]), Hyperparameters.start(1))
    conditions = Terms(()).scaled(Scaling.identity(1))
    assert optimistic(gp, torch.from_numpy(u), conditions, 2.0).all()
