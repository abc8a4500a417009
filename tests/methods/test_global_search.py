"""CEI and EPBO: what they maximize, when they fit, pending points, failures, options and resuming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from lcbo import ArgumentError
from lcbo.acquisition.maximize import AcquisitionFunction
from lcbo.methods import registry
from lcbo.methods.protocol import Belief, Proposal, Setup
from lcbo.methods.search.base import GlobalSearch
from lcbo.models.moments import Predictor
from lcbo.terms import Term, Terms

DIM = 2
UPPER = Terms((Term(row=1, sign=1.0, threshold=0.2),))
INTERVAL = Terms((*UPPER, Term(row=1, sign=-1.0, threshold=-0.1)))
EQUALITY = Terms((Term(row=1, sign=1.0, threshold=0.1, equality=True, tol=0.06),))
QUICK = {"optimizer_options": {"starts": 3, "steps": 10}}
each_method = pytest.mark.parametrize("name", ["cei", "epbo"])


def truth(u: np.ndarray) -> np.ndarray:
    """A bowl whose minimum violates ``y_1 <= 0.2``."""
    return np.array([np.sum((u - 0.7) ** 2), np.mean(u) + 0.1 * np.sin(9.0 * u[0]) - 0.35])


def make(name: str, terms: Terms = UPPER, dim: int = DIM, n_init: int = 6, **options: Any) -> GlobalSearch:
    setup = Setup(dim, 2, terms, (None, None), 60, n_init, np.zeros((0, dim)), 1)
    method = registry.make(name, setup, options)
    assert isinstance(method, GlobalSearch)
    return method


def run(
    method: GlobalSearch, iterations: int, fun: Callable[[np.ndarray], np.ndarray] = truth
) -> list[Proposal]:
    """Design and iterations; returns the proposals after the design."""
    chosen: list[Proposal] = []
    for _ in range(iterations + 1):
        for proposal in (batch := method.ask()):
            method.tell(proposal.id, fun(proposal.u))
        chosen += [p for p in batch if p.role != "init"]
    return chosen


def beliefs(method: GlobalSearch, points: np.ndarray) -> list[Belief]:
    found = [method.belief(u) for u in points]
    assert all(b is not None for b in found)
    return [b for b in found if b is not None]


def grid(size: int = 21) -> np.ndarray:
    line = np.linspace(0.0, 1.0, size)
    return np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)


def expected_improvement(b: Belief, best: float | None, low: float, high: float) -> float:
    """CEI from the belief in user units; without ``best`` the probability of feasibility."""
    feasibility = norm.cdf(high, b.mean[1], b.std[1]) - norm.cdf(low, b.mean[1], b.std[1])
    if best is None:
        return float(feasibility)
    t = (best - b.mean[0]) / b.std[0]
    return float(b.std[0] * (norm.pdf(t) + t * norm.cdf(t)) * feasibility)


@pytest.mark.parametrize(
    ("terms", "low", "high"),
    [
        (UPPER, -np.inf, 0.2),
        (INTERVAL, -0.1, 0.2),
        (EQUALITY, 0.04, 0.16),
        (Terms((Term(1, 1.0, -2.0),)), -np.inf, -2.0),
    ],
)
def test_cei_goes_where_constrained_expected_improvement_is_largest(
    terms: Terms, low: float, high: float
) -> None:
    """The last case has no feasible point: there it is the probability of feasibility."""
    method = make("cei", terms, optimizer="lbfgs")
    run(method, 3)
    (proposal,) = method.ask()
    y = method.archive.y[method.archive.recent(None)]
    feasible = y[(y[:, 1] >= low) & (y[:, 1] <= high)]
    assert (len(feasible) == 0) == (high == -2.0)
    best = feasible[:, 0].min() if len(feasible) else None
    chosen, *others = (
        expected_improvement(b, best, low, high) for b in beliefs(method, [proposal.u, *grid()])
    )
    assert chosen > 0.0
    assert chosen >= max(others)


@pytest.mark.parametrize("terms", [UPPER, INTERVAL])
def test_plain_and_logarithmic_cei_choose_the_same_point(terms: Terms) -> None:
    """In two dimensions the product does not underflow, and a logarithm moves no maximizer."""
    chosen = []
    for name in ("cei", "cei-plain"):
        method = make(name, terms, optimizer="lbfgs")
        run(method, 0)
        chosen.append(method.ask()[0].u)
    np.testing.assert_allclose(chosen[0], chosen[1], atol=1e-4)


@pytest.mark.parametrize("terms", [UPPER, INTERVAL, EQUALITY])
def test_epbo_goes_where_the_penalized_bound_is_least(terms: Terms) -> None:
    method = make("epbo", terms, optimizer="lbfgs")
    run(method, 3)
    (proposal,) = method.ask()
    rho = 10.0 * np.log(4 + 1)
    assert method.info() == {"iteration": 4, "rescues": 0, "penalty": pytest.approx(rho)}

    def bound(b: Belief) -> float:
        low, high = b.mean - 2.0 * b.std, b.mean + 2.0 * b.std
        violation = 0.0
        for term in terms:
            least, most = sorted(term.sign * (end - term.threshold) for end in (low[1], high[1]))
            violation += max(0.0, least, -most if term.equality else 0.0)
        return float(low[0] / b.scale[0] + rho * violation / b.scale[1])

    chosen, *others = (bound(b) for b in beliefs(method, [proposal.u, *grid()]))
    assert chosen <= min(others)


@each_method
def test_one_point_per_iteration_and_a_fit_every_five(name: str) -> None:
    method = make(name, **QUICK)
    run(method, 0)
    fits = []
    for k in range(1, 13):
        before = method._builder.hyper
        (proposal,) = method.ask()
        assert (proposal.role, proposal.iteration) == ("explore", k)
        assert method.ask() == []
        method.tell(proposal.id, truth(proposal.u))
        if method._builder.hyper is not before:
            fits.append(k)
    assert fits == [1, 6, 11]


@each_method
def test_points_asked_for_while_others_are_out_differ(name: str) -> None:
    method = make(name, optimizer="lbfgs")
    run(method, 4)
    asked = [*method.ask(), *method.ask(2), *method.ask(3)]
    points = np.array([p.u for p in asked])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(len(points))
    assert len(points) == 6
    assert gaps.min() > 1e-3
    assert [p.iteration for p in asked] == [5, 6, 7, 8, 9, 10]


@each_method
def test_while_the_design_is_out_further_points_are_uniform(name: str) -> None:
    method = make(name, **QUICK)
    design = method.ask()
    further = method.ask(2)
    assert [(p.role, p.iteration) for p in further] == [("explore", 0)] * 2
    for proposal in design[:3]:
        method.tell(proposal.id, truth(proposal.u))
    (chosen,) = method.ask(1)  # half of the design is in: the model takes over
    assert (chosen.role, chosen.iteration) == ("explore", 1)


@each_method
def test_failures_are_dropped_and_a_lost_design_is_drawn_anew(name: str) -> None:
    method = make(name, **QUICK)
    first = method.ask()
    for proposal in first:
        method.tell(proposal.id, None)
    second = method.ask()
    assert [p.role for p in second] == ["init"] * 6
    assert {p.u.tobytes() for p in first}.isdisjoint(p.u.tobytes() for p in second)
    for proposal in second:
        method.tell(proposal.id, truth(proposal.u) if proposal.id % 2 else None)
    (chosen,) = method.ask()
    assert chosen.role == "explore"
    assert len(method._current_model().gp.u) == 3


def test_a_missing_outcome_is_not_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    method = make("cei", standardize=False, **QUICK)
    seen, acquisition = [], method.acquisition

    def watched(predictor: Predictor, terms: Terms, best: float | None) -> AcquisitionFunction:
        seen.append(best)
        return acquisition(predictor, terms, best)

    monkeypatch.setattr(method, "acquisition", watched)
    for proposal in method.ask():
        y = truth(proposal.u)
        method.tell(
            proposal.id, np.array([y[0] - 10.0 * (proposal.id == 2), np.nan if proposal.id == 2 else y[1]])
        )
    y = method.archive.y
    method.ask()
    assert seen == [y[y[:, 1] <= 0.2, 0].min()]
    assert seen[0] > -1.0


@each_method
@pytest.mark.parametrize(
    "terms", [Terms((Term(1, 1.0, 0.0),)), Terms((Term(1, 1.0, 0.0, equality=True, tol=0.06),))]
)
def test_bilog_is_the_method_on_the_bilog_of_the_constraint(name: str, terms: Terms) -> None:
    """Steep about the threshold: the user's outcome spans [-2, 7] where its bilog spans [-1, 2]."""

    def steep(u: np.ndarray) -> np.ndarray:
        return truth(u) * [1.0, 10.0]

    def compressed(u: np.ndarray) -> np.ndarray:
        value = steep(u)
        return np.array([value[0], np.copysign(np.log1p(abs(value[1])), value[1])])

    bilogged = Terms(tuple(replace(t, tol=np.log1p(t.tol)) for t in terms))
    option = run(make(name, terms, transforms="bilog", **QUICK), 8, steep)
    by_hand = run(make(name, bilogged, **QUICK), 8, compressed)
    plain = run(make(name, terms, **QUICK), 8, steep)
    np.testing.assert_allclose([p.u for p in option], [p.u for p in by_hand], atol=1e-9)
    assert not np.allclose([p.u for p in option], [p.u for p in plain], atol=1e-2)


@pytest.mark.parametrize("transforms", ["bilog", "original"])
def test_the_answer_trusts_the_model_that_was_transformed(transforms: str) -> None:
    """A few violations of thousands: z-scored they hide the threshold, and the answer would break it."""

    def spiked(u: np.ndarray) -> np.ndarray:
        return np.array([np.sum(u), 0.3 / max(float(u.min()), 1e-4) - 1.0])

    broken = {}
    for option in ("zscore", transforms):
        method = make("cei", Terms((Term(1, 1.0, 0.0),)), transforms=option, **QUICK)
        run(method, 20, spiked)
        point = method.recommend()
        assert point is not None
        broken[option] = spiked(point)[1]
        belief = method.belief(point)  # in user units whatever the transform
        assert belief is not None
        assert abs(belief.mean[0] - np.sum(point)) < 0.3
    assert broken[transforms] < 0.05 < broken["zscore"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer: expected 'adam' or 'lbfgs'; got 'sgd'"),
        ({"kernel": "linear"}, "kernel: expected 'rbf' or 'matern52'; got 'linear'"),
        ({"lengthscale_prior": "none"}, "lengthscale_prior: expected 'paper' or 'dimension' or 'flat'"),
        ({"fit": "lattice"}, "fit: expected 'map' or 'fixed'"),
        ({"fit_every": 0}, "fit_every: expected an integer of at least 1"),
        ({"ard": 1}, "ard: expected True or False"),
        ({"transforms": "log"}, "transforms: expected 'zscore' or 'bilog' or 'original'"),
        (
            {"optimizer_options": {"raw": 3}},
            "optimizer_options: expected 'starts' or .* got 'raw'",
        ),
        (
            {"optimizer_options": {"starts": 0}},
            "optimizer_options, starts: expected an integer",
        ),
        ({"optimizer_options": 5}, "optimizer_options: expected a mapping"),
        (
            {"hyperparameters": {"outputscale": [1, 2, 3]}},
            "hyperparameters, outputscale: expected one .* 2",
        ),
        ({"hyperparameters": {"lengthscale": [[1] * 7]}}, "hyperparameters, lengthscale: expected one .* 2"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    for name in ("cei", "epbo"):
        with pytest.raises(ArgumentError, match=f"^options, {message}"):
            make(name, **option)


@pytest.mark.parametrize("option", [{"beta": -1.0}, {"beta": "x"}, {"rho": "x"}, {"rho": -1.0}])
def test_wrong_options_of_epbo_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {next(iter(option))}: expected a finite number"):
        make("epbo", **option)


def test_fixed_hyperparameters_stay() -> None:
    method = make("cei", fit="fixed", standardize=False, hyperparameters={"lengthscale": [0.3, 0.6]}, **QUICK)
    run(method, 7)
    assert method._builder.hyper.lengthscale.flatten().tolist() == [0.3, 0.6]
    belief = method.belief(np.full(DIM, 0.5))
    assert belief is not None
    assert belief.scale.tolist() == [1.0, 1.0]


def test_dimension_scaled_prior_makes_long_lengthscales() -> None:
    """From six points in 20 dimensions the prior decides: its mode is exp(sqrt 2) sqrt(20) = 18.4."""
    lengths = {}
    for prior in ("paper", "dimension"):
        method = make("cei", dim=20, lengthscale_prior=prior, ard=True, **QUICK)
        run(method, 1, lambda u: np.array([u[0], u[1]]))
        assert method._builder.hyper.lengthscale.shape == (2, 20)
        lengths[prior] = float(method._builder.hyper.lengthscale.median())
    assert lengths["paper"] < 1.5
    assert lengths["dimension"] > 10.0


def test_learned_noise_falls_where_there_is_none() -> None:
    method = make("cei", learn_noise=True, **QUICK)
    run(method, 12)
    assert float(method._builder.hyper.noise_var.max()) < 5e-3  # it starts at 1e-2


@each_method
def test_looking_at_the_answer_does_not_change_a_run(name: str) -> None:
    watched, alone = make(name, **QUICK), make(name, **QUICK)
    for _ in range(12):
        ours, theirs = watched.ask(2), alone.ask(2)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.u, b.u)
        for method, batch in ((watched, ours), (alone, theirs)):
            method.tell(batch[0].id, truth(batch[0].u))
        watched.recommend()
