"""The four explorers: inside the box, repeatable, and better than chance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.acquisition.box import Box
from lcbo.acquisition.explore import (
    EXPLORERS,
    AxisExplorer,
    Explorer,
    FastExplorer,
    PaperExplorer,
    adam,
    top_eigenvector,
    worst_weights,
)
from lcbo.models.data import merge
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.information import GradientInformation

BATCH = 3

each_explorer = pytest.mark.parametrize("name", list(EXPLORERS))


def instance(seed: int) -> tuple[BatchedGP, Tensor, Box]:
    """A model on d uniform points and d in the box, three outputs of different length and noise."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(6, 11))
    x = torch.from_numpy(rng.random(dim))
    box = Box.around(x, 0.1)
    points = np.concatenate([rng.random((dim, dim)), box.draw(rng, dim).numpy()])
    hyper = Hyperparameters(
        torch.from_numpy(np.exp(rng.uniform(np.log(0.5), np.log(3.0), (3, 1)))),
        torch.ones(3, dtype=torch.float64),
        torch.from_numpy(np.exp(rng.uniform(np.log(1e-4), np.log(1e-1), 3))),
        torch.zeros(3, dtype=torch.float64),
    )
    return BatchedGP(merge(points, rng.standard_normal((2 * dim, 3))), hyper), x, box


def explorer(name: str) -> Explorer:
    return EXPLORERS[name]()


def reduction(gp: BatchedGP, x: Tensor, z: Tensor) -> float:
    """By how much a batch lowers the worst output's trace."""
    information = GradientInformation(gp, x)
    return float(information.trace.max() - (information.trace - information.joint(z[None])[0]).max())


@each_explorer
@pytest.mark.parametrize("seed", range(2))
def test_points_stay_in_the_box_and_equal_generators_give_equal_points(name: str, seed: int) -> None:
    gp, x, box = instance(seed)
    z = explorer(name)(gp, x, BATCH, box, np.random.default_rng(1))
    assert z.shape == (BATCH, len(x))
    assert bool(((z >= box.low) & (z <= box.high)).all())
    again = explorer(name)(gp, x, BATCH, box, np.random.default_rng(1))
    assert torch.equal(z, again)


@pytest.mark.parametrize("count", [0, 1])
@each_explorer
def test_any_count_is_answered(name: str, count: int) -> None:
    gp, x, box = instance(0)
    assert explorer(name)(gp, x, count, box, np.random.default_rng(0)).shape == (count, len(x))


@pytest.mark.parametrize("seed", range(3))
def test_fast_reduces_the_worst_trace_about_as_well_as_paper(seed: int) -> None:
    gp, x, box = instance(seed)
    fast = reduction(gp, x, explorer("fast")(gp, x, BATCH, box, np.random.default_rng(0)))
    paper = reduction(gp, x, explorer("paper")(gp, x, BATCH, box, np.random.default_rng(0)))
    assert fast >= 0.95 * paper


@pytest.mark.parametrize("name", ["fast", "sequential", "paper"])  # a few points off the axes reach farther
@pytest.mark.parametrize("seed", range(3))
def test_explorers_of_small_batches_beat_random_points(name: str, seed: int) -> None:
    gp, x, box = instance(seed)
    found = reduction(gp, x, explorer(name)(gp, x, BATCH, box, np.random.default_rng(0)))
    rng = np.random.default_rng(9)
    chance = [reduction(gp, x, box.draw(rng, BATCH)) for _ in range(30)]
    assert found > max(chance)


@pytest.mark.parametrize("seed", range(2))
def test_the_sequential_explorer_minds_the_output_that_learns_least(seed: int) -> None:
    """Its first point has a smaller LogSumExp of the negative reductions than random points have."""
    gp, x, box = instance(seed)

    def smooth(z: Tensor) -> Tensor:
        return torch.logsumexp(-GradientInformation(gp, x).joint(z[:, None]), -1)

    found = smooth(explorer("sequential")(gp, x, 1, box, np.random.default_rng(0)))
    assert found.item() < float(smooth(box.draw(np.random.default_rng(9), 100)).min())


def test_axes_take_the_best_of_their_points_one_after_the_other() -> None:
    """Against conditioning the model anew for every candidate, in the whole cube."""
    gp, x, _ = instance(4)
    box, reaches = Box.around(x, 1.0), (0.2, 0.8)
    length = gp.hyper.lengthscale.log().mean().exp()
    steps = length * torch.cat([t * s * torch.eye(len(x), dtype=x.dtype) for s in (1, -1) for t in reaches])
    candidates, grown = box.clip(x + steps), gp
    for point in AxisExplorer(reaches)(gp, x, 12, box, np.random.default_rng(0)):
        worst = [float(GradientInformation(grown.conditioned(c[None]), x).trace.max()) for c in candidates]
        grown = grown.conditioned(point[None])
        assert float(GradientInformation(grown, x).trace.max()) == pytest.approx(min(worst), rel=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_axes_repeat_few_points_and_are_no_worse_than_fast_in_a_large_batch(kernel: str) -> None:
    """In a cube several lengthscales wide, as in the theorem's runs."""
    rng = np.random.default_rng(0)
    hyper = Hyperparameters.start(2, kernel, {"lengthscale": [0.25, 0.35]})
    gp = BatchedGP(merge(rng.random((4, 4)), rng.standard_normal((4, 2))), hyper)
    x, count = torch.from_numpy(rng.uniform(0.2, 0.8, 4)), 150
    box = Box.around(x, 1.0)
    z = AxisExplorer()(gp, x, count, box, rng)
    assert len(torch.unique(z, dim=0)) < count / 2
    assert reduction(gp, x, z) >= 0.99 * reduction(gp, x, FastExplorer()(gp, x, count, box, rng))


@each_explorer
def test_pending_points_are_not_proposed_again(name: str) -> None:
    """The second batch, conditioned on the first, teaches more than the first one repeated."""
    gp, x, box = instance(1)
    first = explorer(name)(gp, x, BATCH, box, np.random.default_rng(0))
    pending = gp.conditioned(first)
    second = explorer(name)(pending, x, BATCH, box, np.random.default_rng(0))
    assert reduction(pending, x, second) > reduction(pending, x, first)


@each_explorer
def test_a_box_cut_by_the_cube_is_respected(name: str) -> None:
    gp, _, _ = instance(2)
    corner = torch.zeros(gp.u.shape[-1], dtype=torch.float64)
    box = Box.around(corner, 0.1)
    z = explorer(name)(gp, corner, 2, box, np.random.default_rng(0))
    assert float(z.min()) >= 0.0
    assert float(z.max()) <= 0.1


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_adam_takes_exactly_the_given_steps(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gp, x, box = instance(0)
    information = GradientInformation(gp, x)
    original, calls = information.joint_gradient, []

    def counted(*arguments: object) -> tuple[Tensor, Tensor]:
        calls.append(arguments)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(information, "joint_gradient", counted)
    start = box.draw(np.random.default_rng(0), 2, BATCH)
    z, value = adam(information, start, box, steps, 0.01, 1.0)
    assert len(calls) == steps
    assert (z.shape, value.shape) == (start.shape, (2,))
    smoothed = torch.logsumexp(information.trace - information.joint(z), -1)
    torch.testing.assert_close(value, smoothed)


def test_adam_matches_torch_on_its_own_objective() -> None:
    """Inside a box that never binds, the projected steps are those of ``torch.optim.Adam``."""
    gp, x, _ = instance(3)
    information, wide = GradientInformation(gp, x), Box(x - 10.0, x + 10.0)
    start = Box.around(x, 0.1).draw(np.random.default_rng(0), 1, BATCH)
    found, _ = adam(information, start, wide, 10, 0.01, 1.0)
    leaf = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([leaf], lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        torch.logsumexp(information.trace - information.joint(leaf), -1).sum().backward()
        optimizer.step()
    torch.testing.assert_close(found, leaf.detach(), rtol=1e-6, atol=1e-8)


def test_weights_turn_to_the_worst_output_as_the_temperature_falls() -> None:
    trace = torch.tensor([1.0, 2.0, 1.9], dtype=torch.float64)
    torch.testing.assert_close(worst_weights(trace, 1e9), torch.full((3,), 1.0 / 3.0, dtype=torch.float64))
    torch.testing.assert_close(worst_weights(trace, 1e-3), torch.tensor([0.0, 1.0, 0.0]).double())


def test_explorer_options_are_used() -> None:
    gp, x, box = instance(0)
    start = box.draw(np.random.default_rng(4), 1, BATCH)[0]
    z = PaperExplorer(starts=1, steps=0)(gp, x, BATCH, box, np.random.default_rng(4))
    assert torch.equal(z, start)
    greedy = FastExplorer(polish=0)(gp, x, BATCH, box, np.random.default_rng(0))
    polished = FastExplorer(polish=3)(gp, x, BATCH, box, np.random.default_rng(0))
    assert reduction(gp, x, polished) >= reduction(gp, x, greedy)


@pytest.mark.parametrize("seed", range(5))
def test_top_eigenvector_has_a_positive_largest_component(seed: int) -> None:
    a = torch.from_numpy(np.random.default_rng(seed).standard_normal((6, 6)))
    cov = a @ a.T
    vector = top_eigenvector(cov)
    values = torch.linalg.eigvalsh(cov)
    torch.testing.assert_close(cov @ vector, values[-1] * vector)
    assert float(vector.norm()) == pytest.approx(1.0)
    assert float(vector[vector.abs().argmax()]) > 0.0


def test_ties_are_broken_the_same_way_every_time() -> None:
    identity = torch.eye(5, dtype=torch.float64)
    vector = top_eigenvector(identity)
    assert float(vector.norm()) == pytest.approx(1.0)
    for scale in (1.0, 2.0, 0.5):
        assert torch.equal(top_eigenvector(scale * identity.clone()), vector)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_outputs_fast_needs_the_least_known(seed: int) -> None:
    """As good for the worst output as looking at all of them."""
    rng, dim, batch = np.random.default_rng(seed), 8, 30
    x = torch.from_numpy(rng.random(dim))
    box = Box.around(x, 0.1)
    hyper = Hyperparameters.start(batch, given={"lengthscale": rng.uniform(0.8, 1.2, batch)})
    points = np.concatenate([rng.random((dim, dim)), box.draw(rng, dim).numpy()])
    gp = BatchedGP(merge(points, rng.standard_normal((2 * dim, batch))), hyper)
    explorer = FastExplorer()
    _, unknown = gp.gradient(x)
    few = gp.outputs(unknown.numpy().argsort()[-explorer.most_outputs :])
    some = reduction(gp, x, explorer(few, x, BATCH, box, rng))
    assert some >= 0.98 * reduction(gp, x, explorer(gp, x, BATCH, box, rng))
