"""How the LCBO family fills its batches: failed iterates, further points, stragglers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from lcbo.methods.protocol import Proposal
from lcbo.testing import Drive, Subject

SMALL: Mapping[str, Mapping[str, Any]] = {
    "lcbo": {},
    "lcbo-paper": {"explore": 2, "explorer_options": {"starts": 2, "steps": 5}},
    "lcbo-theory": {"repeats": 1, "explore": 2, "explorer": "fast"},  # its own one repeats points by design
}
each_method = pytest.mark.parametrize("method", SMALL)


def started(method: str, **options: Any) -> Drive:
    """A run without end whose initial design is told."""
    run = Subject.of(method, {**SMALL[method], **options}).run(budget=None)
    run.evaluate(run.ask())
    return run


def test_failed_iterate_goes_back_halfway() -> None:
    run, iterates = started("lcbo-paper"), []
    for k in range(1, 8):
        batch = run.ask()
        iterates.append(next(p.u for p in batch if p.role == "iterate"))
        for p in batch:
            run.tell(p, None if p.role == "iterate" and k in (5, 6) else run.truth(p.u))
    good, first, second, third = iterates[3:7]
    np.testing.assert_allclose(second, 0.5 * (good + first), atol=1e-12)
    np.testing.assert_allclose(third, 0.5 * (good + second), atol=1e-12)


@each_method
def test_asking_for_more_gives_further_exploration_points(method: str) -> None:
    run = started(method)
    batch = run.ask()
    more = run.ask(3) + run.ask(2)
    assert len(more) == 5
    assert {p.role for p in more} == {"explore"}
    assert len({p.u.tobytes() for p in more}) == 5
    assert {p.u.tobytes() for p in batch}.isdisjoint(p.u.tobytes() for p in more)


@each_method
def test_step_with_stragglers_out_is_taken_only_where_allowed(method: str) -> None:
    run = started(method, explore=4)
    batch = run.ask()
    run.evaluate(batch[:-1])
    (further,) = run.ask(1)
    assert (further.iteration > batch[0].iteration) == (method == "lcbo")
    run.evaluate([further, batch[-1]])


@each_method
def test_free_worker_always_gets_a_point(method: str) -> None:
    """Seven workers: whenever one is free it asks for one point; outcomes come back in random order."""
    run, rng = started(method), np.random.default_rng(0)
    while len(run.asked) < 40:
        assert len(run.ask(7 - len(run.pending))) > 0
        done: list[Proposal] = list(run.pending.values())
        run.evaluate([done[rng.integers(len(done))]])
