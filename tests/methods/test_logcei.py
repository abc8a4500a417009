"""LogCEI: when it fits, what its incumbent is, and that it is not led by lucky observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Setup
from lcbo.methods.search.logcei import LogCei
from lcbo.terms import Term, Terms

QUICK = {"optimizer_options": {"starts": 2, "steps": 8, "raw": 32}, "n_draws": 4}


def make(dim: int = 2, n_init: int = 6, **options: Any) -> LogCei:
    setup = Setup(dim, 2, Terms((Term(1, 1.0, 0.2),)), (None, None), 200, n_init, np.zeros((0, dim)), 1)
    method = registry.make("logcei", setup, {**QUICK, **options})
    assert isinstance(method, LogCei)
    return method


def truth(u: np.ndarray) -> np.ndarray:
    """A bowl whose minimum violates the constraint; on it the answer is 0.1125 at u = 0.45."""
    return np.array([np.sum((u - 0.7) ** 2), np.mean(u) - 0.25])


def run(method: LogCei, count: int, noise: float = 0.0) -> None:
    rng = np.random.default_rng(0)
    while method.archive.size < count:
        for proposal in method.ask():
            method.tell(proposal.id, truth(proposal.u) + noise * rng.standard_normal(2))


def test_fits_become_rarer_as_the_data_grow() -> None:
    method = make(fit_growth=0.25)
    run(method, 6)
    fits = []
    for k in range(1, 20):
        before = method._builder.hyper
        for proposal in method.ask():
            method.tell(proposal.id, truth(proposal.u))
        if method._builder.hyper is not before:
            fits.append(k)
    assert fits == [1, 3, 5, 8, 12, 17]  # a quarter of 6, 8, 10, 13, 17 points more, rounded up


def test_incumbent_is_that_of_the_posterior_mean() -> None:
    """An observation far too good to be true is not what the search is around."""
    method = make()
    run(method, 20, noise=0.01)
    model, _, terms = method._model()
    near = method._near(model, terms.scaled(model.scaling))
    mean = model.gp.mean(model.gp.u).numpy().T
    feasible = terms.scaled(model.scaling).feasible(mean)
    expected = model.gp.u.numpy()[np.where(feasible, mean[:, 0], np.inf).argmin()]
    np.testing.assert_array_equal(near, expected)
    assert len(method._candidates.ids) > 1


def test_feasibility_is_sought_alone_while_nothing_is_plausible() -> None:
    method = make()
    for proposal in method.ask():
        method.tell(proposal.id, truth(proposal.u) + np.array([0.0, 3.0]))
    method.ask()
    assert method._candidates.ids == []


def test_bowl_against_a_plane_is_solved() -> None:
    method = make(optimizer_options={"starts": 4, "steps": 20, "raw": 64})
    run(method, 26)
    y = method.archive.y[method.archive.recent(None)]
    assert y[y[:, 1] <= 0.2, 0].min() < 0.125 * 1.01


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"fit_growth": -0.1}, "fit_growth: expected a finite number of at least 0"),
        ({"n_draws": 0}, "n_draws: expected an integer of at least 1"),
        ({"n_incumbents": 0}, "n_incumbents: expected an integer of at least 1"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {message}"):
        make(**option)
