"""SCBO and HDsafeBO as state machines: events against a table, successes, resuming, failures, late points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Setup
from lcbo.methods.regions.base import TrustRegionMethod
from lcbo.terms import Term, Terms

BOUND = Terms((Term(1, 1.0, 0.0),))
each_method = pytest.mark.parametrize("name", ["scbo", "hdsafebo"])


def setup(dim: int = 3, terms: Terms = BOUND, n_init: int = 4, budget: int | None = None) -> Setup:
    outputs = 1 + max((t.row for t in terms), default=0)
    return Setup(dim, outputs, terms, (None,) * outputs, budget, n_init, np.zeros((0, dim)), 0)


def make(name: str, problem: Setup | None = None, **options: Any) -> TrustRegionMethod:
    given = {"n_candidates": 64, "batch": 2, **options}
    method = registry.make(name, setup() if problem is None else problem, given)
    assert isinstance(method, TrustRegionMethod)
    return method


def outcome(u: np.ndarray) -> np.ndarray:
    return np.array([np.sum(u**2), 0.5 - u[0]])


def advance(method: TrustRegionMethod, outputs: list[list[float] | None]) -> None:
    """Ask for a batch and tell these outputs of it, whatever the points."""
    batch = method.ask()
    assert len(batch) == len(outputs)
    for proposal, y in zip(batch, outputs, strict=True):
        method.tell(proposal.id, None if y is None else np.array(y))


def kinds(method: TrustRegionMethod) -> list[str]:
    return [event.kind for event in method.diagnostics]


# batches of two as (f, c) or a failed evaluation -> whether SCBO and HDsafeBO call it a success
DESIGN = [[5.0, 2.0], [4.0, 3.0], [6.0, 2.5], [7.0, 4.0]]
BATCHES = [
    ([[9.0, 1.5], [9.0, 5.0]], True, False),  # infeasible, but less than ever
    ([[1.0, 1.5], [1.0, 1.6]], False, False),  # infeasible, not less
    ([[8.0, -0.1], [8.0, 0.1]], True, False),  # the first feasible point, beside an unsafe one
    ([[7.0, -0.1], None], True, True),  # better; what fails is not data
    ([[6.9999, -0.1], [8.0, -0.1]], False, False),  # better by less than a thousandth
    ([[6.9, -0.1], [8.0, -0.1]], True, True),  # by more
    ([[6.0, -0.1], [3.0, 0.2]], True, False),  # better, beside an unsafe one
    ([[5.0, 0.2], [2.0, 0.2]], False, False),  # better but infeasible
    ([None, None], False, False),  # all failed
    ([[5.0, float("nan")], [6.5, -1.0]], False, False),  # whether it is feasible is unknown
    ([[5.5, -0.1], [5.9, -0.1]], True, True),
]


@pytest.mark.parametrize(("name", "column"), [("scbo", 1), ("hdsafebo", 2)])
def test_events_follow_the_table(name: str, column: int) -> None:
    method = make(name, success_tolerance=2, failure_tolerance=2, length=(0.8, 0.3, 1.6))
    advance(method, DESIGN)
    for outputs, *_ in BATCHES:
        advance(method, outputs)
    method.ask()
    length, counts, expected = 0.8, [0, 0], [("start", 0.8, 0, 4)]
    for number, row in enumerate(BATCHES, 1):
        success, evaluations = bool(row[column]), 4 + 2 * number
        counts = [counts[0] + 1, 0] if success else [0, counts[1] + 1]
        if counts[0] == 2:
            length, counts = min(2.0 * length, 1.6), [0, 0]
        if counts[1] == 2:
            length, counts = length / 2.0, [0, 0]
        expected.append(("success" if success else "failure", length, number, evaluations))
        if length < 0.3:
            length = 0.8
            expected.append(("restart", 0.8, number, evaluations))
    mine = [(e.kind, e.length, e.iteration, e.evaluations) for e in method.diagnostics]
    assert mine == expected
    assert method.info()["step"] == length
    assert method.info()["restarts"] == kinds(method).count("restart") == (0 if name == "scbo" else 1)
    assert method.info()["iteration"] == len(BATCHES) + 1


@pytest.mark.parametrize(
    ("name", "feasible", "infeasible"), [("scbo", 2, 0), ("hdsafebo", 2, 0), ("hdsafebo objective", 2, 1)]
)
def test_region_is_centered_on_the_best_point(name: str, feasible: int, infeasible: int) -> None:
    """Without a feasible point that is the least violation, by choice the least objective."""
    name, _, unsafe = name.partition(" ")
    for row, constraint in ((feasible, -1.0), (infeasible, 5.0)):
        method = make(name, length=(1e-3, 1e-4, 1.6), **({"unsafe_center": unsafe} if unsafe else {}))
        batch = method.ask()
        outputs = [[5.0, 2.0], [0.0, 3.0], [4.0, constraint], [3.0, 4.0]]
        for proposal, y in zip(batch, outputs, strict=True):
            method.tell(proposal.id, np.array(y))
        for proposal in method.ask():
            assert np.abs(proposal.u - batch[row].u).max() <= 0.5e-3


@each_method
def test_after_a_restart_success_is_judged_by_what_came_since(name: str) -> None:
    """A batch worse than the best of all data, but better than the first after the restart, is a success."""
    method = make(name, failure_tolerance=1, length=(0.8, 0.5, 1.6))
    advance(method, [[5.0, -1.0]] * 4)
    for f in (6.0, 8.0, 7.0, 7.0, 4.0):  # below the length of 0.5 a single failure ends the region
        advance(method, [[f, -1.0]] * 2)
    method.ask()
    judged = ["start", "failure", "restart", "success", "success", "failure", "restart", "success"]
    assert kinds(method) == judged
    again = make(name, failure_tolerance=1, length=(0.8, 0.5, 1.6))
    assert method.state()["since"] == 12
    assert again.state()["since"] == 0


@each_method
def test_candidates_stay_in_the_region_and_the_cube(name: str) -> None:
    method = make(name, length=(0.3, 0.01, 1.6))
    points = method.ask()
    for proposal in points:
        method.tell(proposal.id, outcome(proposal.u))
    for _ in range(12):
        batch = method.ask()
        length, ids = method.region.length, method.archive.recent(None)
        center = method.archive.u[ids[method.center(method.archive.y[ids])]]
        for proposal in batch:
            assert np.all((proposal.u >= 0.0) & (proposal.u <= 1.0))
            assert np.all(np.abs(proposal.u - center) <= 0.5 * length + 1e-12)
            method.tell(proposal.id, outcome(proposal.u))


@each_method
@pytest.mark.parametrize("sampler", ["pathwise", "exact"])
def test_a_quiet_run_improves_on_its_design(name: str, sampler: str) -> None:
    """Minimize |u|^2 with u_0 >= 1/2: the optimum is 1/4."""
    method = make(name, n_candidates=256, sampler=sampler, batch=4)
    seen: list[np.ndarray] = []
    while len(seen) < 64:
        for proposal in method.ask():
            seen.append(outcome(proposal.u))
            method.tell(proposal.id, seen[-1])
    feasible = [y[0] for y in seen if y[1] <= 0.0]
    assert min(feasible) < 0.3
    best = method.recommend()
    assert best is not None
    assert best[0] > 0.48
    belief = method.belief(best)
    assert belief is not None
    np.testing.assert_allclose(belief.gradient[1], [-1.0, 0.0, 0.0], atol=0.25)


@each_method
def test_looking_does_not_change_a_run(name: str) -> None:
    def run(look: bool) -> list[bytes]:
        method, points = make(name), []
        for _ in range(8):
            for proposal in method.ask():
                points.append(proposal.u.tobytes())
                method.tell(proposal.id, outcome(proposal.u))
                if look:
                    method.recommend()
                    method.belief(proposal.u)
                    method.info()
                    method.state()
        return points

    assert run(look=True) == run(look=False)


@each_method
def test_further_points_are_judged_with_the_next_batch(name: str) -> None:
    method = make(name)
    advance(method, [[5.0, -1.0]] * 4)
    batch, (extra,) = method.ask(), method.ask(1)
    assert extra.role == "explore"
    for proposal in batch:
        method.tell(proposal.id, np.array([6.0, -1.0]))
    (first, _) = method.ask()  # the further point is still out: it holds nothing up
    assert first.iteration == 2
    assert kinds(method) == ["start", "failure"]
    method.tell(extra.id, np.array([1.0, -1.0]))
    for id in (first.id, first.id + 1):
        method.tell(id, np.array([6.0, -1.0]))
    method.ask()
    assert kinds(method) == ["start", "failure", "success"]


@each_method
def test_the_budget_cuts_a_batch_and_the_rest_stays_queued(name: str) -> None:
    method = make(name, batch=4)
    advance(method, [[5.0, -1.0]] * 4)
    first = method.ask(None, 3)
    assert len(first) == 3
    second = method.ask(None, 10)
    assert [p.id for p in first + second] == [4, 5, 6, 7]
    assert {p.iteration for p in first + second} == {1}


@each_method
def test_evaluations_brought_along_are_data_and_not_counted(name: str) -> None:
    method = make(name)
    method.include(np.full(3, 0.5), np.array([0.1, -1.0]))
    advance(method, [[5.0, -1.0]] * 4)
    method.ask()
    assert method.diagnostics[0].evaluations == 4
    assert method.center(method.archive.y[method.archive.recent(None)]) == 0


@each_method
def test_problem_without_constraints_is_solved_too(name: str) -> None:
    method = make(name, setup(terms=Terms()))
    for _ in range(6):
        for proposal in method.ask():
            method.tell(proposal.id, outcome(proposal.u)[:1])
    assert method.recommend() is not None


@each_method
@pytest.mark.parametrize(("dim", "batch"), [(1, 1), (25, 13), (50, 25)])
def test_batch_is_half_the_dimension_by_default(name: str, dim: int, batch: int) -> None:
    method = make(name, setup(dim), batch=None)
    advance(method, [[5.0, -1.0]] * 4)
    assert len(method.ask()) == batch


@each_method
@pytest.mark.parametrize(
    "wrong",
    [
        {"sampler": "guess"},
        {"batch": 0},
        {"length": (0.1, 0.2, 0.3)},
        {"kernel": "cubic"},
        {"fit": "mle"},
        {"n_candidates": 0},
        {"n_candidates": 2.5},
        {"length": 3},
        {"success_tolerance": 0},
        {"failure_tolerance": "x"},
        {"standardize": "yes"},
    ],
)
def test_wrong_options_are_refused_by_name(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {next(iter(wrong))}: expected"):
        make(name, **wrong)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("scbo", {"perturbation": 0.0}),
        ("scbo", {"perturbation": "x"}),
        ("scbo", {"transforms": "log"}),
        ("hdsafebo", {"beta": -1.0}),
        ("hdsafebo", {"unsafe_center": "best"}),
    ],
)
def test_wrong_options_of_one_method_are_refused_by_name(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {next(iter(wrong))}: expected"):
        make(name, **wrong)


def test_global_random_state_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    method = make("scbo", sampler="exact")
    advance(method, [[5.0, -1.0]] * 4)
    method.ask()
    assert torch.equal(torch.random.get_rng_state(), before)
