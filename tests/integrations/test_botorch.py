import numpy as np
import pytest
import torch

pytest.importorskip("botorch", reason="needs lcbo[botorch]")

from botorch.acquisition import qLogExpectedImprovement
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.optim import optimize_acqf

import lcbo
from lcbo.integrations.botorch import model_view

BOUNDS = {"a": (0.0, 2.0), "fixed": (0.3, 0.3), "b": (-1.0, 3.0), "c": (10.0, 50.0)}


def outcomes(x):
    f = -((x[0] - 1.0) ** 2) - np.sin(x[2]) - (x[3] / 50.0) ** 3
    return {"f": 1e3 * f, "g": x[0] + x[2] + 0.1 * x[3]}


def run(method="lcbo", evaluations=30, **options):
    problem = lcbo.Problem(BOUNDS, ["g <= 4"], lcbo.Objective("f", maximize=True), deterministic=True)
    optimizer = lcbo.Optimizer(problem, method, options=options)
    while optimizer.n_ended < evaluations:
        for c in optimizer.ask():
            optimizer.tell(c.id, outcomes(c.x))
    return optimizer


@pytest.fixture(scope="module")
def optimizer():
    return run()


def points(optimizer, count=5, seed=0):
    rng = np.random.default_rng(seed)
    near = optimizer.result().x + 0.01 * rng.standard_normal((count - 1, 4)) * [2.0, 0.0, 4.0, 40.0]
    seen = optimizer.log.evaluations[-1].x  # where the kernel's distance is 0
    return np.clip(np.vstack([near, seen]), optimizer.problem.lb, optimizer.problem.ub)


@pytest.mark.parametrize("method", ["lcbo", "lcbo-matern", pytest.param("scbo", marks=pytest.mark.slow)])
def test_view_equals_the_model_in_value_variance_and_gradient(method):
    options = {"kernel": "matern52"} if method == "lcbo-matern" else {}
    optimizer = run(method.removesuffix("-matern"), **options)
    view = model_view(optimizer)
    space, sign = optimizer.problem.space, np.array([-1.0, 1.0])
    for x in points(optimizer):
        belief = optimizer.belief(x)
        X = torch.tensor(x[None], requires_grad=True)
        posterior = view.posterior(X)
        scale = belief.scale
        mean = posterior.mean.detach().numpy()[0]
        np.testing.assert_allclose(mean / scale, sign * belief.mean / scale, rtol=1e-10, atol=1e-10)
        variance = posterior.variance.detach().numpy()[0]
        np.testing.assert_allclose(variance / scale**2, belief.std**2 / scale**2, atol=1e-10)
        for row in range(2):
            (slope,) = torch.autograd.grad(posterior.mean[0, row], X, retain_graph=True)
            width = (space.ub - space.lb)[space.free]
            by_cube = slope[0].numpy()[space.free] * width
            expected = sign[row] * belief.gradient[row]
            np.testing.assert_allclose(by_cube / scale[row], expected / scale[row], rtol=1e-9, atol=1e-10)


def test_gradients_of_mean_and_variance_agree_with_differences(optimizer):
    view = model_view(optimizer)
    free = torch.tensor(optimizer.problem.free)
    start = torch.tensor(points(optimizer)[:2][:, optimizer.problem.free])

    def standardized(free_values):
        X = torch.full((2, 4), 0.3, dtype=torch.float64)
        X = X.masked_scatter(free.expand(2, 4), free_values)
        posterior = view.posterior(X)
        scale = torch.tensor(optimizer.belief(optimizer.result().x).scale)
        return posterior.mean / scale, posterior.distribution.covariance_matrix / 1e6

    assert torch.autograd.gradcheck(standardized, start.requires_grad_(), eps=1e-5, atol=1e-4, rtol=1e-3)


def test_joint_posterior_conditioning_and_subsets(optimizer):
    view = model_view(optimizer)
    X = torch.tensor(points(optimizer, 4))
    whole = view.posterior(X)
    assert whole.mean.shape == (4, 2)
    batch = view.posterior(X.reshape(2, 2, 4))
    torch.testing.assert_close(batch.mean.reshape(4, 2), whole.mean)
    part = view.subset_output([1])
    assert part.num_outputs == 1
    torch.testing.assert_close(part.posterior(X).variance, whole.variance[:, 1:])
    torch.testing.assert_close(view.posterior(X, output_indices=[1]).mean, whole.mean[:, 1:])
    told = view.condition_on_observations(X[:2], whole.mean[:2] + torch.tensor([5.0, 0.05]))
    # the conditional Gaussian, by hand from the joint posterior of the view
    noise = view.posterior(X[:2], observation_noise=True).variance - view.posterior(X[:2]).variance
    for i, shift in enumerate([5.0, 0.05]):
        joint = part.posterior(X) if i else view.subset_output([0]).posterior(X)
        cov = joint.distribution.covariance_matrix
        inner = cov[:2, :2] + torch.diag(noise[:, i])
        gain = cov[2:, :2] @ torch.linalg.inv(inner)
        expected = joint.mean[2:, 0] + gain @ torch.full((2,), shift, dtype=torch.float64)
        unit, found = joint.variance.max().sqrt(), told.posterior(X).mean[2:, i]
        torch.testing.assert_close(found / unit, expected / unit, rtol=1e-4, atol=1e-4)


def test_acquisition_functions_are_optimized_on_it(optimizer):
    view = model_view(optimizer)
    problem, answer = optimizer.problem, optimizer.result()
    bounds = torch.tensor(np.vstack([problem.lb, problem.ub]))
    log_cei = LogConstrainedExpectedImprovement(view, answer.fun, 0, {1: (None, 4.0)}, maximize=True)
    starts = torch.tensor(points(optimizer, 4))[:, None, :]
    before = log_cei(starts).max()
    x, value = optimize_acqf(
        log_cei, bounds, q=1, num_restarts=4, batch_initial_conditions=starts, fixed_features={1: 0.3}
    )
    assert value >= before
    assert ((x >= bounds[0]) & (x <= bounds[1])).all()
    transform = ScalarizedPosteriorTransform(torch.tensor([1.0, 0.0], dtype=torch.float64))
    q_log_ei = qLogExpectedImprovement(view, answer.fun, posterior_transform=transform)
    assert torch.isfinite(q_log_ei(torch.tensor(points(optimizer, 2))))


def test_without_a_model_it_says_so():
    with pytest.raises(lcbo.ArgumentError, match="a run with a model"):
        model_view(lcbo.Optimizer(lcbo.Problem(BOUNDS)))
    with pytest.raises(lcbo.ArgumentError, match="sobol"):
        model_view(run("sobol", 8))


def test_view_sees_the_scales_of_the_variables():
    bounds = {"k": lcbo.Variable(1e-4, 1.0, log=True), "x": (0.0, 4.0)}
    optimizer = lcbo.Optimizer(lcbo.Problem(bounds, objective="f", deterministic=True), budget=30, n_init=10)
    for _ in range(2):
        for c in optimizer.ask():
            optimizer.tell(c.id, {"f": np.log(c.x[0]) ** 2 + c.x[1]})
    view, x = model_view(optimizer), np.array([0.02, 1.0])
    belief = optimizer.belief(x)
    X = torch.tensor(x[None], requires_grad=True)
    mean = view.posterior(X).mean
    np.testing.assert_allclose(mean.item(), belief.mean[0], rtol=1e-9)
    (slope,) = torch.autograd.grad(mean.sum(), X)
    expected = belief.gradient[0] / optimizer.problem.space.slope(belief.u)
    np.testing.assert_allclose(slope[0].numpy(), expected, rtol=1e-7)
