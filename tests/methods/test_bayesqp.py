"""BayeSQP: Hessian, margins and subproblem against autograd and draws; phases, restarts and failures."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm

from lcbo import ArgumentError
from lcbo.methods import registry
from lcbo.methods.protocol import Proposal, Setup
from lcbo.methods.sqp.bayesqp import BayeSqp
from lcbo.methods.sqp.subproblem import lagrangian_hessian, spread_factors, subproblem_step
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.terms import Term, Terms

DIM = 3
TERMS = Terms((Term(1, 1.0, 0.3), Term(2, -1.0, -0.4)))


def model(kernel: str = "rbf", noise: float = 1e-3, count: int = 40) -> BatchedGP:
    rng = np.random.default_rng(5)
    u = rng.random((count, DIM))
    y = np.stack([np.sum((u - 0.8) ** 2, 1), np.sin(3.0 * u[:, 0]) * u[:, 1], u[:, 2] - u[:, 0] ** 2], 1)
    lengths = rng.uniform(0.5, 1.5, (3, DIM)).tolist()
    return BatchedGP(
        merge(u, y), Hyperparameters.start(3, kernel, {"lengthscale": lengths, "noise_var": noise})
    )


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_hessian_of_the_lagrangian_equals_autograd(kernel: str) -> None:
    gp, u = model(kernel), torch.full((DIM,), 0.45, dtype=torch.float64)
    multipliers = np.array([0.1, 1e-9])  # one too small to count

    def lagrangian(point: torch.Tensor) -> torch.Tensor:
        distance = ((gp.u[None] - point) / gp.hyper.lengthscale[:, None, :]).square().sum(-1)
        root = (5.0 * distance).sqrt()
        phi = {
            "rbf": torch.exp(-0.5 * distance),
            "matern52": (1.0 + root + root.square() / 3.0) * torch.exp(-root),
        }[kernel]
        mean = (gp.hyper.outputscale[:, None] * phi * gp.alpha).sum(-1)
        return mean[0] + 0.1 * (mean[1] - 0.3)

    expected = torch.autograd.functional.hessian(lagrangian, u).numpy()
    assert np.linalg.eigvalsh(expected).min() > 0.0
    found = lagrangian_hessian(gp.mean_hessian(u).numpy(), TERMS, multipliers)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_hessian_that_is_not_convex_is_repaired() -> None:
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    bent = (vectors * [-2.0, 1e-5, 3.0]) @ vectors.T
    found = lagrangian_hessian(bent[None], Terms(), np.zeros(0))
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [1e-3, 1e-3, 3.0], rtol=1e-9)
    np.testing.assert_allclose(found @ vectors[:, 2], 3.0 * vectors[:, 2], atol=1e-12)
    lower = Terms((Term(0, -1.0, 0.0),))  # a lower bound counts with its sign
    np.testing.assert_allclose(
        lagrangian_hessian(np.eye(3)[None], lower, np.array([0.4])), 0.6 * np.eye(3), atol=1e-15
    )


def test_margin_is_the_deviation_of_the_linear_prediction() -> None:
    """Value and slope along a step by differences of the process itself: their joint posterior covariance."""
    gp, u = model(noise=0.05), np.full(DIM, 0.4)
    factors = spread_factors(gp.posterior(torch.from_numpy(u)))
    h = 1e-3
    for p in (np.zeros(DIM), np.array([0.3, -0.1, 0.2]), np.array([0.0, 0.0, -0.4])):
        weight = np.array([1.0 - 0.0, 0.5 / h, -0.5 / h])
        points = torch.from_numpy(np.stack([u, u + h * p, u - h * p]))
        deviation = np.sqrt(np.einsum("i,bij,j->b", weight, gp.covariance(points).numpy(), weight))
        margin = np.linalg.norm(factors @ np.append(1.0, p), axis=-1)
        np.testing.assert_allclose(margin, deviation, rtol=1e-4)


def solve(gp: BatchedGP, u: np.ndarray, terms: Terms, delta_f: float, delta_c: float) -> tuple[Any, Any, Any]:
    at = torch.from_numpy(u)
    posterior = gp.posterior(at)
    hessians = gp.mean_hessian(at).numpy()
    step, multipliers = subproblem_step(u, posterior, hessians, terms, np.zeros(len(terms)), delta_f, delta_c)
    return step, multipliers, posterior


def test_linear_predictions_are_feasible_with_the_probability_asked_for() -> None:
    """Draw values and gradients jointly: an active row is met as often as delta_c says, others more often."""
    gp, u = model(noise=0.02), np.full(DIM, 0.5)
    terms = Terms((Term(1, 1.0, 0.35), Term(2, -1.0, -0.4)))
    step, multipliers, posterior = solve(gp, u, terms, 0.5, 0.2)
    assert np.all((u + step >= -1e-9) & (u + step <= 1.0 + 1e-9))
    rng = np.random.default_rng(1)
    for term, multiplier in zip(terms, multipliers, strict=True):
        row = term.row
        mean = np.append(posterior.mean[row], posterior.gradient[row])
        cov = np.zeros((DIM + 1, DIM + 1))
        cov[0, 0], cov[1:, 1:] = posterior.var[row], posterior.gradient_cov[row]
        cov[0, 1:] = cov[1:, 0] = posterior.value_gradient_cov[row]
        drawn = rng.multivariate_normal(mean, cov, 100000) @ np.append(1.0, step)
        met = float((term.sign * (drawn - term.threshold) <= 0.0).mean())
        assert met >= 0.79
        if multiplier > 1e-3:
            assert met == pytest.approx(0.8, abs=0.01)
    assert multipliers.max() > 1e-3


def test_a_surer_model_dares_a_longer_step() -> None:
    u, terms = np.full(DIM, 0.3), Terms((Term(1, 1.0, 0.5),))
    rng = np.random.default_rng(2)
    points = u + 0.1 * rng.standard_normal((12, DIM))
    y = np.stack([-points.sum(1), points[:, 0]], 1)
    lengths = []
    for noise in (1e-1, 1e-2, 1e-6):
        hyper = Hyperparameters.start(2, "rbf", {"lengthscale": 2.0, "noise_var": noise})
        step, _, _ = solve(BatchedGP(merge(points, y), hyper), u, terms, 0.2, 0.2)
        lengths.append(float(np.linalg.norm(step)))
    assert lengths[0] < lengths[1] < lengths[2]


def test_equality_is_met_from_both_sides_and_its_multiplier_has_a_sign() -> None:
    """Minimize +-u_0 with u_0 + u_1 = 1 +/- 0.01: either end of the tolerance is free of margin."""
    rng = np.random.default_rng(3)
    points = rng.random((30, 2))
    terms = Terms((Term(1, 1.0, 1.0, equality=True, tol=0.01),))
    signs = []
    for lure in (1.0, -1.0):
        y = np.stack([lure * points.sum(1), points.sum(1)], 1)
        hyper = Hyperparameters.start(2, "rbf", {"lengthscale": 3.0, "noise_var": 1e-8})
        gp = BatchedGP(merge(points, y), hyper)
        step, (multiplier,), _ = solve(gp, np.array([0.3, 0.4]), terms, 0.5, 0.2)
        assert np.sum(step) + 0.7 == pytest.approx(1.0 - 0.01 * lure, abs=2e-3)
        signs.append(np.sign(multiplier))
    assert signs == [-1.0, 1.0]


def test_rows_that_can_be_met_are_met_however_dear() -> None:
    """A slope of 1e3 against a row needs a multiplier above the elastic weight."""
    points = np.random.default_rng(4).random((20, 1))
    y = np.stack([-1000.0 * points[:, 0], points[:, 0]], 1)
    hyper = Hyperparameters.start(
        2, "rbf", {"lengthscale": 3.0, "noise_var": [1e-2, 1e-8], "outputscale": [1e6, 1.0]}
    )
    gp = BatchedGP(merge(points, y), hyper)
    step, (multiplier,), _ = solve(gp, np.array([0.2]), Terms((Term(1, 1.0, 0.5),)), 0.5, 0.5)
    assert step[0] == pytest.approx(0.3, abs=1e-2)
    assert multiplier == pytest.approx(1000.0, rel=0.1)


def outputs(u: np.ndarray) -> np.ndarray:
    return np.array([np.sum((u - 0.8) ** 2), np.sum(u) - 1.5])


def make(budget: int | None = 200, n_init: int = 5, **options: Any) -> BayeSqp:
    setup = Setup(DIM, 2, Terms((Term(1, 1.0, 0.0),)), (None, None), budget, n_init, np.zeros((0, DIM)), 1)
    method = registry.make("bayesqp", setup, options)
    assert isinstance(method, BayeSqp)
    return method


def told(method: BayeSqp, failed: bool = False) -> list[Proposal]:
    batch = method.ask()
    for proposal in batch:
        method.tell(proposal.id, None if failed else outputs(proposal.u))
    return batch


def test_an_iteration_is_samples_in_the_ball_and_trials_on_the_line() -> None:
    method = make()
    design = told(method)
    best = design[method.setup.terms.best(np.array([outputs(p.u) for p in design]))].u
    for iteration in (1, 2):
        samples = told(method)
        np.testing.assert_array_equal(method.center, best)
        assert [(p.role, p.iteration) for p in samples] == [("explore", iteration)] * (DIM + 1)
        assert all(0.0 < np.linalg.norm(p.u - best) <= 0.05 + 1e-12 for p in samples)
        trials = []
        for _ in range(3):
            (trial,) = told(method)
            assert (trial.role, trial.iteration) == ("iterate", iteration)
            along = float((trial.u - best) @ method.direction) / float(method.direction @ method.direction)
            assert 0.0 <= along <= 1.0
            np.testing.assert_allclose(trial.u, best + along * method.direction, atol=1e-12)
            trials.append(trial)
        values = [outputs(p.u) for p in trials]
        feasible = [v[1] <= 0.0 for v in values]
        key = [(not ok, v[0] if ok else v[1]) for ok, v in zip(feasible, values, strict=True)]
        best = trials[min(range(3), key=key.__getitem__)].u


def test_objective_is_taken_at_its_mean_until_something_is_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(*arguments: Any) -> Any:
        seen.append(arguments[-2:])
        return subproblem_step(*arguments)

    monkeypatch.setattr("lcbo.methods.sqp.bayesqp.subproblem_step", watched)
    method = make(n_init=2)
    for feasible in (False, True):
        for _ in range(6):
            for proposal in method.ask():
                method.tell(proposal.id, np.array([outputs(proposal.u)[0], -1.0 if feasible else 1.0]))
    assert seen[0] == (0.5, 0.2)
    assert seen[-1] == (0.2, 0.2)


def test_bowl_against_a_plane_is_solved() -> None:
    """The answer is u = 0.5 with multiplier 0.6."""
    method = make()
    while method.archive.size < 60:
        told(method)
    y = np.array([outputs(u) for u in method.archive.u])
    assert y[y[:, 1] <= 0.0, 0].min() < 0.27 * 1.01
    assert method.multipliers[0] == pytest.approx(0.6, abs=0.1)


def test_converged_descent_is_followed_by_another() -> None:
    """Where nothing is to be gained steps are short: a flat bottom inside the constraint."""
    method = make()
    while len(method.descents()) == 1 and method.archive.size < 120:
        for proposal in method.ask():
            u = proposal.u
            method.tell(proposal.id, np.array([np.sum((u - 0.45) ** 2), np.sum(u) - 2.0]))
    assert len(method.descents()) == 2
    assert method.info()["restarts"] == 1
    first = method.descents()[1]
    samples = [u for u in method.archive.u[first : first + DIM + 1]]
    assert max(np.linalg.norm(u - method.center) for u in samples) <= 0.05 + 1e-12
    assert np.linalg.norm(method.center - 0.45) > 0.05


def test_fits_become_rarer_as_the_data_grow() -> None:
    method, sizes = make(fit_growth=0.5), []
    while method.archive.size < 60:
        told(method)
        if method._builder.n_fitted not in sizes[-1:]:
            sizes.append(method._builder.n_fitted)
    assert sizes[0] == 0
    assert len(sizes) > 3
    assert all(later >= 1.5 * sooner for sooner, later in pairwise(sizes))


def test_failed_trials_leave_the_iterate_where_it_is() -> None:
    method = make()
    told(method)
    told(method)
    before = method.center.copy()
    for _ in range(3):
        told(method, failed=True)
    told(method)
    np.testing.assert_array_equal(method.center, before)


def test_samples_of_a_cornered_iterate_are_mirrored_into_the_cube() -> None:
    method = make()
    told(method)
    told(method)
    method.center = np.array([0.0, 1.0, 0.0])
    points = method._around(64)
    assert np.all((points >= 0.0) & (points <= 1.0))
    assert np.all(np.linalg.norm(points - method.center, axis=1) <= 0.05 + 1e-12)
    assert len({p.tobytes() for p in points}) == 64
    radius = np.linalg.norm(points - method.center, axis=1) / 0.05
    assert np.median(radius) == pytest.approx(norm.cdf(0.0) ** (1.0 / DIM), abs=0.05)  # uniform in the ball


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"fit_growth": -1.0}, "fit_growth: expected a finite number of at least 0"),
        ({"delta_f": 0.6}, "delta_f: expected a finite number above 0 and up to 0.5"),
        ({"delta_c": 0.0}, "delta_c: expected a finite number above 0"),
        ({"radius": -1.0}, "radius: expected a finite number above 0"),
        ({"trials": 0}, "trials: expected an integer of at least 1"),
        ({"samples": 0}, "samples: expected an integer of at least 1"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^options, {message}"):
        make(**option)
