"""FuRBO: where it looks, when it begins again, and what it forgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lcbo import ArgumentError
from lcbo.acquisition.box import Box
from lcbo.methods import registry
from lcbo.methods.protocol import Proposal, Setup
from lcbo.methods.regions.furbo import Furbo
from lcbo.terms import Term, Terms

DIM = 3
QUICK = {"n_candidates": 64, "inspectors_per_dim": 40, "batch": 2}
SHORT = {"length": (0.2, 0.1, 0.2), "failure_tolerance": 1}  # two failures end a region


def make(**options: Any) -> Furbo:
    setup = Setup(DIM, 2, Terms((Term(1, 1.0, 0.0),)), (None, None), None, 4, np.zeros((0, DIM)), 2)
    method = registry.make("furbo", setup, {**QUICK, **options})
    assert isinstance(method, Furbo)
    return method


def outputs(u: np.ndarray) -> np.ndarray:
    return np.array([np.sum((u - 0.8) ** 2), np.sum(u) - 1.5])


def told(method: Furbo, y: list[float] | None = None) -> list[Proposal]:
    batch = method.ask()
    for proposal in batch:
        method.tell(proposal.id, outputs(proposal.u) if y is None else np.array(y))
    return batch


def test_settings_are_those_of_the_authors() -> None:
    method = make()
    assert (method.rules.first, method.rules.least, method.rules.most) == (1.0, 2.0**-7, 1.0)
    assert (method.rules.successes, method.rules.failures) == (2, 3)
    assert method.perturbation == 1.0
    fit = method._builder.fit
    assert fit is not None
    assert fit.bounds[0] == (0.005, 4.0)
    assert fit.bounds[2] == (1e-8, 1e-3)


def test_points_lie_in_the_box_of_the_inspectors(monkeypatch: pytest.MonkeyPatch) -> None:
    method, boxes = make(), []

    def watched(*arguments: Any) -> Box:
        boxes.append(Furbo.box(method, *arguments))
        return boxes[-1]

    monkeypatch.setattr(method, "box", watched)
    told(method)
    for _ in range(6):
        batch = told(method)
        low, high = boxes[-1].low.numpy(), boxes[-1].high.numpy()
        assert all(np.all((p.u >= low) & (p.u <= high)) for p in batch)
    volumes = [float((box.high - box.low).prod()) for box in boxes]
    assert max(volumes) < 0.7  # a part of the cube already while the radius is 1


def test_any_gain_is_a_success() -> None:
    method = make()
    told(method, [1.0, -1.0])
    told(method, [1.0 - 1e-9, -1.0])
    told(method, [1.0 - 1e-9, -1.0])
    told(method, [1.0, -1.0])
    assert [event.kind for event in method.diagnostics] == ["start", "success", "failure"]


def test_restart_begins_with_a_design_and_forgets_but_for_the_answer() -> None:
    method = make(**SHORT)
    first = told(method, [1.0, -1.0])
    told(method, [2.0, -1.0])
    told(method, [2.0, -1.0])
    design = told(method, [5.0, -1.0])
    assert [event.kind for event in method.diagnostics[-2:]] == ["failure", "restart"]
    assert [p.role for p in design] == ["init"] * 4
    assert {p.u.tobytes() for p in first}.isdisjoint(p.u.tobytes() for p in design)
    assert method.descents() == [0, design[0].id]
    # what was 1.0 is forgotten: 4.9 is a gain on 5.0
    batch = told(method, [4.9, -1.0])
    assert method._known().tolist() == [p.id for p in [*design, *batch]]
    told(method, [4.9, -1.0])
    assert [event.kind for event in method.diagnostics[-2:]] == ["start", "success"]
    assert len(method._model()[0].gp.u) == len(method._known())
    best = method.recommend()
    assert best is not None
    belief = method.belief(best)
    assert belief is not None
    assert belief.mean[0] < 3.0  # the answer is that of all data
    candidates = method.candidates()
    assert candidates is not None
    assert len(candidates) == method.archive.size


def test_points_asked_for_while_a_new_design_is_out_are_uniform() -> None:
    method = make(**SHORT)
    told(method, [1.0, -1.0])
    told(method, [2.0, -1.0])
    told(method, [2.0, -1.0])
    batch = method.ask()
    assert [p.role for p in batch] == ["init"] * 4
    assert [p.role for p in method.ask(2)] == ["explore"] * 2


def test_cornered_optimum_is_found() -> None:
    """Minimize the sum with u_0 >= 0.1: the answer is an edge away from a corner of the cube."""
    method = make()
    while method.archive.size < 50:
        for proposal in method.ask():
            method.tell(proposal.id, np.array([np.sum(proposal.u), 0.1 - proposal.u[0]]))
    y = method.archive.y[method.archive.recent(None)]
    assert y[y[:, 1] <= 0.0, 0].min() < 0.2


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"inspectors_per_dim": 0}, "inspectors_per_dim: expected an integer of at least 1"),
        ({"inspected_share": 1.5}, "inspected_share: expected a finite number above 0 and up to 1"),
        ({"lengthscale_prior": "none"}, "lengthscale_prior: expected 'paper' or 'dimension' or 'flat'"),
        ({"ard": 1}, "ard: expected True or False"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {message}"):
        make(**option)
