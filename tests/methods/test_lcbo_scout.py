"""The scout: a global search before the first descent and beside it, with noise and few variables."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.method import Lcbo
from lcbo.methods.lcbo.scout import FEW, MOST, MUCH, Scout
from lcbo.methods.protocol import Call, Outcome, Setup
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.terms import Term, Terms

N_INIT = 8
LIMIT = Terms((Term(row=1, sign=1.0, threshold=0.0),))
EQUALITY = Terms((Term(row=1, sign=1.0, threshold=0.0, equality=True),))


def make(dim: int = 3, terms: Terms = LIMIT, options: dict[str, Any] | None = None, **changes: Any) -> Lcbo:
    facts: dict[str, Any] = {"noise_var": (None, None), "budget": 60, "n_init": N_INIT, "seed": 3}
    facts |= {"starts": np.zeros((0, dim)), **changes}
    method = registry.make("lcbo", Setup(dim=dim, n_outputs=2, terms=terms, **facts), options)
    assert isinstance(method, Lcbo)
    return method


def outputs(u: np.ndarray, id: int, noise: float = 0.05) -> np.ndarray:
    """A bowl around 0.7 with half of the cube allowed; its noise hangs on the evaluation's number."""
    y = np.array([np.sum((u - 0.7) ** 2), np.mean(u) - 0.5])
    return y + noise * np.random.default_rng(id).standard_normal(2)


def scouted(method: Lcbo, noise: float = 0.05, fails: int | None = None, budget: int = 30) -> list[int]:
    """Make a run and return the numbers of the evaluations its scout chose."""
    chosen = list[int]()
    while method.archive.size < budget:
        for proposal in method.ask(None, budget - method.archive.size):
            if method.scout.active:
                chosen.append(proposal.id)
            y = outputs(proposal.u, proposal.id, noise)
            method.tell(proposal.id, None if proposal.id == fails else y)
    return chosen


def test_it_chooses_two_evaluations_per_variable_once_noise_is_seen() -> None:
    """The first batch with its repeats shows the noise; the scout follows it, a descent the scout."""
    method = make()
    chosen = scouted(method)
    assert chosen == list(range(chosen[0], chosen[0] + 6))
    assert N_INIT < chosen[0] <= N_INIT + 8
    assert not method.scout.active
    assert method.iterate is not None


def test_the_descent_starts_where_the_scout_believes_the_best_point_to_be() -> None:
    method = make()
    while True:
        expected = method.scout.found() if method.scout.active else None
        batch = method.ask()
        if expected is not None and not method.scout.active:
            break
        for proposal in batch:
            method.tell(proposal.id, outputs(proposal.u, proposal.id))
    assert batch[0].role == "iterate"
    np.testing.assert_array_equal(batch[0].u, expected)
    before = method.archive.u[: batch[0].id]
    assert any(np.array_equal(expected, u) for u in before), "what it believes best was evaluated"


@pytest.mark.parametrize(
    ("facts", "noise"),
    [
        ({}, 0.0),
        ({"noise_var": (0.0, 0.0)}, 0.0),
        ({"options": {"scout": 0}}, 0.05),
        ({"terms": EQUALITY}, 0.05),
        ({"starts": np.full((1, 3), 0.4)}, 0.05),
        ({"start": np.full(3, 0.4)}, 0.05),
        ({"dim": FEW, "n_init": 12}, 0.05),
    ],
    ids=["quiet", "known-quiet", "off", "equality", "x0", "amended", "many-variables"],
)
def test_it_stays_at_home(facts: dict[str, Any], noise: float) -> None:
    assert scouted(make(**facts), noise) == []


def test_a_failure_ends_it() -> None:
    """A global model of what worked is drawn to where things fail, and a descent is not."""
    first = scouted(make())[0]
    method = make()
    assert scouted(method, fails=2) == [], "one before it"
    assert len(method.scout.beside(1, np.full((1, 3), 0.5))) == 0
    assert scouted(make(), fails=first + 1) == [first, first + 1], "one of its own"


def test_with_much_noise_it_chooses_a_probe_of_every_batch_of_the_walk() -> None:
    """The point is where its acquisition, given the iterate of the same batch, is largest."""
    method = make()
    scouted(method, noise=0.1)
    for _ in range(4):
        search = deepcopy(method.scout._search)
        search.archive = deepcopy(method.archive)
        batch = method.ask()
        assert [proposal.role for proposal in batch] == ["iterate", "explore"]
        expected = next(iter(search.points(1, batch[0].u[None])))
        np.testing.assert_array_equal(batch[1].u, expected)
        for proposal in batch:
            method.tell(proposal.id, outputs(proposal.u, proposal.id, 0.1))


@pytest.mark.parametrize(("noise", "batches"), [(0.0, 0), (MUCH / 3, 1), (MUCH / 2, 3), (2 * MUCH, 12)])
def test_its_share_of_the_batches_follows_the_noise(noise: float, batches: int) -> None:
    """Of twelve, where the noise is so large beside the scatter of all observations."""
    archive, repeats = Archive(2, 2), Repeats((None, None))
    rng = np.random.default_rng(0)
    u = rng.random((200, 2))
    y = np.column_stack([u[:, 0], np.ones(200)])
    y /= Scaling.of(y).std
    for point, value in zip(u, y, strict=True):
        archive.settle(archive.add(point), value)
    deviation = 1.01 * noise * np.array([1.0, 0.0]) / np.sqrt(2.0)
    for value in (y[0] + deviation, y[0] - deviation):  # whose standard deviation is the noise
        repeats.add(u[0], value)
    setup = Setup(2, 2, LIMIT, (None, None), 400, N_INIT, np.zeros((0, 2)), 0)
    scout = Scout(setup, archive, repeats, 2.0)
    assert sum(len(scout.beside(k, u[:1])) for k in range(12)) == batches


def test_a_large_run_walks_without_it() -> None:
    """The model of everything would take ever longer."""
    method = make(budget=2 * MOST)
    scouted(method, noise=0.1)
    for id in range(method.archive.size, MOST):
        method.archive.settle(method.archive.add(np.full(3, 0.5)), outputs(np.full(3, 0.5), id))
    assert len(method.scout.beside(1, np.full((1, 3), 0.5))) == 0


def test_no_scout_is_the_walk_from_the_best_point_of_the_design() -> None:
    method = make(options={"scout": 0})
    for proposal in method.ask():
        method.tell(proposal.id, outputs(proposal.u, proposal.id))
    first = method.ask()[0]
    np.testing.assert_array_equal(first.u, method.archive.u[method.best()])
    assert make(options={"scout": 1.0}).options.scout == 1.0


def test_a_run_goes_on_bit_for_bit() -> None:
    """Before every batch, those of the walk too, a method restored from state and calls takes over."""
    method, calls, active = make(), list[Call](), 0
    plain = make()
    while method.archive.size < 44:
        again = make()
        again.restore(json.loads(json.dumps(method.state())), calls)
        assert again.scout.active == method.scout.active
        assert again.state() == method.state()
        method = again
        batch, same = method.ask(), plain.ask()
        np.testing.assert_array_equal([p.u for p in batch], [p.u for p in same])
        assert [(p.id, p.role, p.iteration) for p in batch] == [(p.id, p.role, p.iteration) for p in same]
        active += method.scout.active
        for proposal in batch:
            y = outputs(proposal.u, proposal.id)
            calls += [proposal, Outcome(proposal.id, y)]
            method.tell(proposal.id, y)
            plain.tell(proposal.id, y)
    assert active == 6


def test_workers_get_different_points_while_others_are_out() -> None:
    """Three at a time, told one late: no worker waits, and no two evaluate the same point."""
    method, open_ids, scouting = make(), list[tuple[int, np.ndarray]](), list[bytes]()
    while method.archive.size < 28:
        for proposal in method.ask(3 - len(open_ids)):
            open_ids.append((proposal.id, proposal.u))
            if method.scout.active:
                scouting.append(proposal.u.tobytes())
        assert len(open_ids) == 3
        id, u = open_ids.pop(0)
        method.tell(id, outputs(u, id))
    assert len(scouting) >= 4
    assert len(set(scouting)) == len(scouting)
    assert method.iterate is not None


def test_a_run_file_from_before_it_goes_on_without() -> None:
    method, calls = make(options={"scout": 0}), list[Call]()
    while method.archive.size < 20:
        for proposal in method.ask():
            y = outputs(proposal.u, proposal.id)
            calls += [proposal, Outcome(proposal.id, y)]
            method.tell(proposal.id, y)
    state = method.state()
    del state["scout"]
    old = make()
    old.restore(json.loads(json.dumps(state)), calls)
    np.testing.assert_array_equal([p.u for p in old.ask()], [p.u for p in method.ask()])


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), "two"])
def test_a_wrong_number_is_named(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="scout"):
        make(options={"scout": wrong})
