"""A model that is not numerically definite does not end a run, whatever the method."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from lcbo.errors import NumericalRescueWarning
from lcbo.methods import registry
from lcbo.methods.protocol import Method, Setup
from lcbo.terms import Term, Terms

QUICK: dict[str, dict[str, Any]] = {
    "cei": {"optimizer_options": {"starts": 2, "steps": 5}},
    "epbo": {"optimizer_options": {"starts": 2, "steps": 5}},
    "scbo": {"n_candidates": 64, "batch": 2},
    "hdsafebo": {"n_candidates": 64, "batch": 2},
    "furbo": {"n_candidates": 64, "batch": 2, "inspectors_per_dim": 20},
    "logcei": {"optimizer_options": {"starts": 2, "steps": 5, "raw": 16}},
}
NOISE_FREE = {"fit": "fixed", "hyperparameters": {"lengthscale": 3.0, "noise_var": 0.0}}


def singular_run(name: str) -> Method:
    """A run that was told of many points a hair from one its model knows; nothing is out."""
    setup = Setup(2, 2, Terms((Term(1, 1.0, 0.5),)), (None, None), None, 6, np.zeros((0, 2)), 0)
    method = registry.make(name, setup, {**NOISE_FREE, **QUICK[name], "fit_every": 100})
    design = method.ask()
    for proposal in design:
        method.tell(proposal.id, outputs(proposal.u))
    for proposal in method.ask():
        method.tell(proposal.id, None)
    for offset in np.linspace(1e-13, 1e-12, 30):
        method.include(design[0].u + offset, outputs(design[0].u))
    return method


def outputs(u: np.ndarray) -> np.ndarray:
    return np.array([np.sum((u - 0.6) ** 2), u[0] - 0.2])


@pytest.mark.parametrize("name", QUICK)
def test_ask_goes_on_without_a_definite_covariance(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalRescueWarning)
        method = singular_run(name)
    before = method.info()["rescues"]  # on some processors already one, of the draws of `logcei`
    with pytest.warns(NumericalRescueWarning, match="a model needed a rescue"):
        batch = method.ask(2)
    assert len(batch) == 2
    assert all(np.isfinite(p.u).all() for p in batch)
    assert method.info()["rescues"] > before


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.filterwarnings("ignore::lcbo.errors.NumericalRescueWarning")
def test_rescues_are_part_of_the_state(name: str) -> None:
    method = singular_run(name)
    method.ask(2)
    state = method.state()
    assert state is not None
    assert state["model"]["rescues"] == method.info()["rescues"] > 0
