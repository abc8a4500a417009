"""What is HDsafeBO's own: the safe filter, the local halving that ends, and no equalities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Setup
from lcbo.methods.regions import hdsafebo
from lcbo.methods.regions.hdsafebo import HdSafeBo
from lcbo.terms import Term, Terms

UPPER = Terms((Term(1, 1.0, 0.0),))


def make(terms: Terms = UPPER, **options: Any) -> HdSafeBo:
    setup = Setup(2, 2, terms, (None, None), None, 8, np.zeros((0, 2)), 0)
    fixed = {"fit": "fixed", "hyperparameters": {"lengthscale": 0.3, "noise_var": 1e-4}, "standardize": False}
    method = registry.make("hdsafebo", setup, {"n_candidates": 128, "batch": 4, **fixed, **options})
    assert isinstance(method, HdSafeBo)
    return method


def designed(method: HdSafeBo, constraint: Any) -> HdSafeBo:
    for proposal in method.ask():
        method.tell(proposal.id, np.array([proposal.u.sum(), constraint(proposal.u)]))
    return method


def test_batch_is_of_the_optimistic_safe_set() -> None:
    """What is chosen passes the bound of the model it was chosen with, and a large beta keeps more."""
    for beta, safe in ((2.0, True), (40.0, False)):
        method = designed(make(beta=beta), lambda u: 3.0 * (0.6 - u[0]))
        points = np.array([p.u for p in method.ask()])
        beliefs = [method.belief(u) for u in points]
        bounds = [b.mean[1] - 2.0 * b.std[1] for b in beliefs if b is not None]
        assert (max(bounds) <= 1e-9) == safe


@pytest.mark.parametrize("level", [50.0, -50.0])
def test_halving_ends_where_nothing_is_safe(level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hopeless everywhere: boxes shrink down to the least length, which accepts all; the region does not."""
    lengths: list[float] = []
    draw = hdsafebo.sobol

    def spied(box: Any, count: int, rng: np.random.Generator) -> torch.Tensor:
        lengths.append(float((box.high - box.low).max()))
        return draw(box, count, rng)

    monkeypatch.setattr(hdsafebo, "sobol", spied)
    options = {"hyperparameters": {"lengthscale": 5.0, "noise_var": 1e-4}, "length": (0.4, 0.05, 1.6)}
    method = designed(make(**options), lambda _: level)
    assert len(method.ask()) == 4
    assert method.region.length == 0.4
    assert len(lengths) == (4 if level > 0 else 1)  # 0.4, 0.2, 0.1, 0.05
    assert lengths[-1] <= (0.05 if level > 0 else 0.4) + 1e-12


def test_equality_constraints_are_refused() -> None:
    with pytest.raises(ArgumentError, match="^method: expected one that treats equality constraints: .*scbo"):
        make(Terms((Term(1, 1.0, 0.0, True, 0.01),)))


def test_negative_beta_is_refused_by_name() -> None:
    with pytest.raises(ArgumentError, match="^options, beta: expected a finite number of at least 0"):
        make(beta=-1.0)
