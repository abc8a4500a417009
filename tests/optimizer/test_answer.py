import pickle

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import norm

import lcbo
from lcbo import ModelError, Problem
from lcbo.methods.decision import INFLATION, PRIOR
from lcbo.methods.neighbors import no_noise_nearby, prospects_of_neighbors
from lcbo.terms import Term, Terms

pytestmark = pytest.mark.usefixtures("uniform")

POINT = np.array([0.5, 0.25])


def run(believe, noise=None, deterministic=False, constraints=("c <= 0",), **options):
    return lcbo.minimize(
        lambda x: {"f": x.sum(), "c": x[0] - 0.5},
        [(0, 1), (0, 4)],
        constraints,
        "f",
        budget=20,
        method="uniform",
        noise=noise,
        deterministic=deterministic,
        options={"believe": believe, "recommend": POINT} | options,
    )


def believing(mean, std):
    return lambda _: (np.array(mean), np.array(std), np.array([[2.0, 3.0], [-4.0, -6.0]]))


def calibrated(slack):
    """Probability of a slack, in standard deviations, averaged over the inflations of these."""
    return float(PRIOR @ norm.cdf(slack / INFLATION))


def test_noisy_answer_is_the_models_with_its_probability():
    result = run(believing([1.5, -0.3], [0.1, 0.1]), noise=0.1)
    np.testing.assert_array_equal(result.x, [0.5, 1.0])
    np.testing.assert_array_equal(result.x, result.x_recommended)
    assert result.fun == 1.5
    assert result.constr == {"c": -0.3}
    assert result.pof == pytest.approx(calibrated(3.0), abs=1e-5)  # the tolerance moves the limit
    assert result.success
    assert result.rule == "model"
    assert result.fun_observed == result.history.best_feasible[-1]


def test_noisy_answer_that_is_probably_infeasible_is_no_success():
    result = run(believing([1.5, -0.1], [0.1, 0.1]), noise=0.1)
    assert result.pof == pytest.approx(calibrated(1.0), abs=1e-5)
    assert not result.success
    assert "0.9 asked for" in result.message
    np.testing.assert_array_equal(result.x, [0.5, 1.0])


def test_deterministic_answer_is_observed_whatever_the_model_says():
    result = run(believing([-9.0, -9.0], [0.0, 0.0]), deterministic=True)
    np.testing.assert_array_equal(result.x, result.x_observed)
    assert result.fun == result.fun_observed
    np.testing.assert_array_equal(result.x_recommended, [0.5, 1.0])


def test_unknown_noise_trusts_observations_only_where_the_model_reproduces_them():
    def perfect(u):
        x = u * [1, 4]
        return np.array([x.sum(), x[0] - 0.5]), np.full(2, 1e-6), np.zeros((2, 2))

    assert run(perfect).fun == run(perfect).fun_observed
    noisy = run(believing([1.5, -0.2], [0.1, 0.4]))
    assert noisy.fun == 1.5


def test_model_that_cannot_be_built_does_not_cost_the_answer():
    def broken(_):
        raise ModelError("not positive definite")

    result = run(broken)
    assert result.fun == result.fun_observed
    assert result.kkt == {}


def test_residuals_are_standardized():
    # f = 2 u0 + 3 u1, c = -4 u0 - 6 u1, active: the residual vanishes
    result = run(believing([1.0, 0.0], [0.0, 0.0]), noise=0.1)
    assert result.kkt["r_s"] == pytest.approx(0.0, abs=1e-20)
    assert set(result.kkt) == {"r_s", "r_f", "spread_s", "spread_f"}


def test_result_is_a_scipy_result_with_everything_recorded():
    result = run(believing([1.5, -0.2], [0.1, 0.4]), noise=0.1)
    assert isinstance(result, OptimizeResult)
    assert {"x", "fun", "success", "message", "nfev", "nit"} <= set(result)
    assert result.method == "uniform"
    assert result.rng == 0
    assert result.versions["lcbo"] == lcbo.__version__
    assert "<EvaluationTable of 20 evaluations>" in repr(result)


def test_result_prints_when_nothing_is_constrained_and_no_option_is_given():
    result = lcbo.minimize(lambda x: x.sum(), [(0, 1)], budget=4, method="uniform")
    assert result.options == result.multipliers == {}
    assert "nfev: 4" in repr(result)
    assert "nfev: 4" in str(result)


def test_result_survives_pickling():
    result = run(believing([1.5, -0.2], [0.1, 0.4]), noise=0.1)
    result.options = {}
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.history.X, result.history.X)
    assert copy.fun == result.fun


def test_history_frame_has_a_row_per_evaluation():
    result = run(believing([1.5, -0.2], [0.1, 0.4]), noise=0.1)
    frame = result.history.to_frame()
    assert frame.columns.tolist() == [
        "role",
        "iteration",
        "x1",
        "x2",
        "f",
        "c",
        "feasible",
        "best_feasible",
        "failed",
    ]
    assert len(frame) == 20
    running = frame["f"].where(frame["feasible"]).cummin().ffill()
    np.testing.assert_array_equal(frame["best_feasible"], running)


def test_least_infeasible_is_judged_in_standard_deviations():
    problem = Problem([(0, 1)], ["small <= 0", "large <= 0"])
    optimizer = lcbo.Optimizer(problem, "uniform", n_init=3)
    values = [(1e-3, 1.0), (3e-3, 1e3), (2e-3, 5e2)]
    for candidate, (small, large) in zip(optimizer.ask(), values, strict=True):
        optimizer.tell(candidate.id, {"objective": 0.0, "small": small, "large": large})
    assert optimizer.result().constr == {"small": 1e-3, "large": 1.0}


def test_result_before_any_evaluation_says_so():
    result = lcbo.Optimizer(Problem([(0, 1)]), "uniform").result()
    assert result.x is None
    assert not result.success
    assert "no evaluation" in result.message
    assert len(result.history) == 0
    assert result.history.to_frame().empty


def measured(sd, seed=0):
    """``sum (x - 0.7)^2`` under ``mean(x) <= 0.5`` and ``x1 x2 >= 0.2`` in ten variables; 0.4 is least."""
    rng = np.random.default_rng(seed)

    def fun(x):
        exact = {"f": float(np.sum((x - 0.7) ** 2)), "m": float(x.mean()), "p": float(x[0] * x[1])}
        return {name: value + sd * rng.standard_normal() for name, value in exact.items()}

    return Problem([(0.0, 1.0)] * 10, ["m <= 0.5", "p >= 0.2"], "f", fun=fun)


def test_a_solver_that_converged_without_noise_answers_with_its_point_unasked():
    result = lcbo.minimize(measured(0.0), budget=250, method="cobyqa", progress=False)
    assert result.success
    assert result.rule == "observed"
    assert result.fun == pytest.approx(0.4, abs=1e-6)
    np.testing.assert_array_equal(result.x, result.x_observed)


@pytest.mark.parametrize("method", ["cobyqa", "sobol"])
def test_a_method_without_a_model_is_not_sure_of_its_luckiest_value(method):
    """What was observed feasible by luck is not called feasible; the probability is that of neighbors."""
    feasible = 0
    for seed in range(2):
        problem = measured(0.05, seed)
        result = lcbo.minimize(problem, budget=80, method=method, rng=seed, progress=False)
        assert result.rule == "neighbors"
        assert result.pof < 1.0
        assert result.success == (result.pof >= 0.9)
        assert "nothing tells how noisy" in result.message
        assert "deterministic=True would tell." in result.message
        at = measured(0.0).evaluate(result.x)
        feasible += not result.success or (at["m"] <= 0.5 and at["p"] >= 0.2)
    assert feasible == 2


def test_planes_tell_noise_from_a_tilt():
    rng = np.random.default_rng(0)
    points, slope = rng.uniform(size=(40, 3)), np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]])
    flat, scale = points @ slope, np.array([1.0, 10.0])
    assert no_noise_nearby(points[0], flat[0], points, flat, scale)
    for row in range(2):
        noisy = flat.copy()
        noisy[:, row] += 0.01 * scale[row] * rng.standard_normal(40)
        assert not no_noise_nearby(points[0], noisy[0], points, noisy, scale)
    terms = Terms((Term(1, 1.0, 0.0),))
    noisy = flat + 0.1 * rng.standard_normal((40, 2))
    found = prospects_of_neighbors(points, noisy, terms, scale)
    place = [int((points == u).all(1).argmax()) for u in found.u]
    off = np.sqrt(np.square(found.expected - flat[place]).mean())
    assert off == pytest.approx(0.1 * np.sqrt(4 / 23), rel=0.5)  # least squares: 4 unknowns, 23 neighbors
    assert np.median(found.std[0]) == pytest.approx(0.1, rel=0.2)
    assert prospects_of_neighbors(points[:6], noisy[:6], terms, scale) is None
    assert not no_noise_nearby(points[0], flat[0], points[:6], flat[:6], scale)


def test_too_few_evaluations_tell_nothing():
    problem = Problem([(0.0, 1.0)] * 3, ["c <= 1"], "f")
    with lcbo.Optimizer(problem, "sobol", budget=6) as optimizer:
        for candidate in optimizer.ask(3):
            optimizer.tell(candidate.id, {"f": 1.0, "c": float(candidate.x[0])})
        result = optimizer.result()
    assert not result.success
    assert np.isnan(result.pof)
    assert "nothing tells how noisy the values are" in result.message
