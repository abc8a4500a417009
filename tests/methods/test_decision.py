import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from lcbo import Constraint, Problem
from lcbo.methods.decision import (
    INFLATION,
    PRIOR,
    Demand,
    Prospects,
    learned,
    noise_shown,
    normalized,
    prospects_of_values,
    updated,
)
from lcbo.methods.protocol import Forecast
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling

ONES = np.ones(4)


def prospects(mean, std, weight=None):
    """Points with given means and standard deviations, ``k x B``, under all inflations."""
    mean, std = np.atleast_2d(mean), np.atleast_2d(std)
    weight = np.tile(PRIOR[:, None], (1, mean.shape[1])) if weight is None else weight
    means = np.broadcast_to(mean, (len(INFLATION), *mean.shape))
    return Prospects(np.zeros((len(mean), 1)), means, INFLATION[:, None, None] * std, weight, "model")


def certain(n_outputs):
    """Weights of a model that is right."""
    return np.tile(np.eye(len(INFLATION))[0][:, None], (1, n_outputs))


def forecast(mean, cov, missed=None, missed_var=None, noise=None, observed=None):
    nothing = np.zeros((len(cov), 0))
    return Forecast(
        scaling=Scaling.identity(len(cov)),
        mean=mean,
        var=np.array([c.diagonal() for c in cov]).T,
        cov=cov,
        noise_var=np.ones(len(cov)),
        missed=nothing if missed is None else missed,
        missed_var=nothing if missed_var is None else missed_var,
        missed_noise_var=nothing if noise is None else noise,
        observed=nothing if observed is None else observed,
    )


def demand(*constraints, confidence=0.9, tol=0.0):
    return Demand.of(Problem([(0, 1)], list(constraints)), confidence, tol)


def test_joint_probability_is_that_of_draws():
    asked = demand("a <= 1", "-1 <= b", "b <= 2", Constraint("h", eq=0.5, tol=0.1))
    mean, std = np.array([0.0, 0.5, 1.0, 0.45]), np.array([1.0, 0.5, 2.0, 0.2])
    rng = np.random.default_rng(0)
    inflation = INFLATION[[rng.choice(len(PRIOR), 400_000, p=PRIOR) for _ in range(4)]].T
    draws = mean + std * inflation * rng.standard_normal((400_000, 4))
    hits = (draws[:, 1] <= 1) & (np.abs(draws[:, 2] - 0.5) <= 1.5) & (np.abs(draws[:, 3] - 0.5) <= 0.1)
    assert asked.probabilities(prospects(mean, std), ONES).prod() == pytest.approx(hits.mean(), rel=0.02)
    exact = asked.probabilities(prospects(mean, std, certain(4)), ONES)[0]
    assert exact[1] == pytest.approx(norm.cdf(1.0))
    known = prospects(mean, np.zeros(4))
    assert asked.probabilities(known, ONES).prod() == 1.0


@pytest.mark.parametrize("correlation", [-0.99, -0.5, 0.5, 0.99])
def test_correlated_errors_cost_the_product_almost_nothing(correlation):
    # Two outputs, each at the square root of 0.9: what is stated is 0.9.
    slack = norm.ppf(np.sqrt(0.9))
    cov = [[1.0, correlation], [correlation, 1.0]]
    true = multivariate_normal([0.0, 0.0], cov).cdf([slack, slack])
    assert true >= 1.0 - 2.0 * (1.0 - np.sqrt(0.9)) - 1e-6 > 0.897
    stated = demand("a <= 0", "b <= 0").probabilities(
        prospects([0.0, -slack, -slack], ONES[:3], certain(3)), ONES[:3]
    )
    assert stated.prod() == pytest.approx(0.9)


def test_tolerance_is_part_of_the_limit():
    asked = demand("a <= 0", tol=1e-6)
    outside = prospects([0.0, 5e-6], [0.0, 0.0])
    assert asked.probabilities(outside, np.array([1.0, 10.0])).prod() == 1.0
    assert asked.probabilities(outside, np.array([1.0, 1.0])).prod() == 0.0


def test_best_of_those_that_meet_the_confidence_else_the_surest():
    asked = demand("a <= 0", confidence=0.9)
    mean, std = np.array([[1.0, -0.5], [2.0, -2.0], [3.0, -9.0]]), np.ones((3, 2))
    few = prospects(mean, std, certain(2))
    best, pof, met = asked.choose(few, ONES[:2])
    assert (best, met) == (1, True)
    assert pof == pytest.approx(norm.cdf(2.0))
    assert demand("a <= 0", confidence=0.6).choose(few, ONES[:2])[0] == 0
    assert demand("a <= 0", confidence=0.999).choose(few, ONES[:2])[0] == 2
    worst, pof, met = asked.choose(prospects(mean[:1], std[:1]), ONES[:2])
    assert (worst, met) == (0, False)


def test_own_level_of_a_constraint_is_met_by_itself():
    own = demand(Constraint("a", ub=0.0, confidence=0.99), "b <= 0", confidence=0.9)
    probabilities = np.array([[1.0, 0.98, 0.99], [1.0, 0.995, 0.91], [1.0, 0.995, 0.89]])
    assert own.met(probabilities).tolist() == [False, True, False]


def test_update_is_that_of_the_joint_normal():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((3, 3))
    cov, mean, noise = root @ root.T, rng.standard_normal(3), 0.3
    count, seen = np.array([2.0, 0.0, 5.0]), np.array([0.4, 0.0, -0.7])
    found = updated(
        forecast(np.column_stack([mean, mean]), np.stack([cov, 4.0 * cov])),
        np.zeros((len(INFLATION), 2)),
        np.column_stack([count, count]),
        np.column_stack([seen, seen]),
        np.sqrt([noise, noise]),
        np.zeros((3, 1)),
    )
    for h, inflation in enumerate(INFLATION):
        # By precisions instead of covariances, one observation after the other.
        precision = np.linalg.inv(inflation**2 * cov)
        information = precision @ mean
        precision = precision + np.diag(count / noise)
        information = information + count / noise * seen
        np.testing.assert_allclose(found.mean[h, :, 0], np.linalg.solve(precision, information), rtol=1e-6)
        np.testing.assert_allclose(
            found.std[h, :, 0], np.sqrt(np.linalg.inv(precision).diagonal()), rtol=1e-6
        )
    evidence = [
        multivariate_normal(
            mean[[0, 2]], i**2 * cov[np.ix_([0, 2], [0, 2])] + noise * np.diag(1 / count[[0, 2]])
        )
        for i in INFLATION
    ]
    likelihood = np.array([e.pdf(seen[[0, 2]]) for e in evidence])
    np.testing.assert_allclose(found.weight[:, 0], likelihood / likelihood.sum(), rtol=1e-6)
    assert found.expected.shape == found.deviation.shape == (3, 2)


def test_update_leaves_alone_what_was_not_observed():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((3, 4, 4))
    cov, mean = root @ root.swapaxes(1, 2), rng.standard_normal((4, 3))
    cov[2] = 0.0  # known exactly
    count = np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    seen, prior, noise = rng.standard_normal((4, 3)), np.log(np.tile(PRIOR[:, None], (1, 3))), np.full(3, 0.3)
    seen[count == 0.0] = np.nan
    found = updated(forecast(mean, cov), prior, count, seen, noise, np.zeros((4, 1)))
    np.testing.assert_allclose(found.mean[:, :, 1:], np.broadcast_to(mean[:, 1:], (len(INFLATION), 4, 2)))
    np.testing.assert_allclose(found.weight[:, 1:], np.exp(prior[:, 1:]))
    np.testing.assert_allclose(found.std[:, :, 1], np.outer(INFLATION, np.sqrt(cov[1].diagonal())))
    np.testing.assert_array_equal(found.std[:, :, 2], 0.0)
    o = np.array([0, 2, 3])  # the first output, observation by observation
    for h, inflation in enumerate(INFLATION):
        total = inflation**2 * cov[0][np.ix_(o, o)] + np.diag(0.09 / count[o, 0])
        gain = inflation**2 * cov[0][:, o] @ np.linalg.inv(total)
        np.testing.assert_allclose(found.mean[h, :, 0], mean[:, 0] + gain @ (seen - mean)[o, 0], rtol=1e-6)


def test_deviation_over_the_inflations_is_that_of_draws():
    few = prospects([[0.0, 1.0]], [[1.0, 2.0]])
    mixed = np.sqrt(PRIOR @ np.square(INFLATION))
    np.testing.assert_allclose(few.deviation, [[mixed, 2.0 * mixed]])


@pytest.mark.parametrize(("wrong", "expected"), [(1.0, 0), (3.4, 3)])
def test_inflation_is_learned_from_what_the_model_missed(wrong, expected):
    n = 200
    error = wrong * np.random.default_rng(0).standard_normal((2, n))
    told = forecast(
        np.zeros((1, 2)), np.ones((2, 1, 1)), error, np.ones((2, n)), np.full((2, n), 0.01), np.zeros((2, n))
    )
    weight = normalized(learned(told, demand("a <= 0")))
    assert weight[:, 1].argmax() == expected
    np.testing.assert_allclose(weight.sum(0), 1.0)


def test_only_errors_near_the_limit_teach():
    near, far = np.zeros(20), np.full(200, 50.0)
    observed = np.concatenate([near, far])[None].repeat(2, 0)
    error = np.concatenate([4.0 * np.random.default_rng(0).standard_normal(20), np.zeros(200)])[None].repeat(
        2, 0
    )
    told = forecast(
        np.zeros((1, 2)), np.ones((2, 1, 1)), error, np.ones((2, 220)), np.zeros((2, 220)), observed
    )
    assert normalized(learned(told, demand("a <= 0")))[:, 1].argmax() == len(INFLATION) - 1


def test_values_of_one_point_are_averaged():
    u = np.array([[0.1], [0.2], [0.1]])
    found = prospects_of_values(u, np.array([[1.0, 0.0], [5.0, 1.0], [3.0, 2.0]]), np.sqrt([0.5, 2.0]))
    np.testing.assert_allclose(found.u, [[0.1], [0.2]])
    np.testing.assert_allclose(found.expected, [[2.0, 1.0], [5.0, 1.0]])
    np.testing.assert_allclose(found.std[0], np.sqrt([[0.25, 1.0], [0.5, 2.0]]))


def repeats(*rows):
    pooled = Repeats((None,) * len(rows[0]))
    for row in rows:
        pooled.add(np.zeros(1), np.array(row))
    return pooled


def test_noise_is_as_stated_then_as_repeats_show():
    scale, exact, scattered = np.ones(2), repeats([1.0, 2.0], [1.0, 2.0]), repeats([1.0, 2.0], [1.0, 2.1])
    assert noise_shown((0.1, None), exact, scale, 1e-6) is True
    assert noise_shown((0.0, 0.0), scattered, scale, 1e-6) is False
    assert noise_shown((None, None), exact, scale, 1e-6) is False
    assert noise_shown((None, None), scattered, scale, 1e-6) is True
    assert noise_shown((None, None), repeats([1.0, 2.0]), scale, 1e-6) is None
    assert noise_shown((None, None), repeats([1.0, 2.0], [1.0, 2.0 + 1e-9]), scale, 1e-6) is False
