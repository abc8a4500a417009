"""The parts of LCBO one by one: window, noise regime, batch sizes, retreat."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.local_model import Window
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import NOISY, QUIET, BatchSizes, NoiseRegime
from lcbo.methods.lcbo.restart import Retreat
from lcbo.methods.protocol import Setup
from lcbo.models.repeats import Repeats
from lcbo.steps.step import Iterate
from lcbo.terms import Terms


def setup(budget: int | None = None, noise_var: float | None = None) -> Setup:
    return Setup(2, 1, Terms(), (noise_var,), budget, 2, np.zeros((0, 2)), 0)


def archive(outputs: list[float | None], u: np.ndarray | None = None) -> Archive:
    made = Archive(2, 1)
    for output in outputs:
        id = made.add(np.full(2, 0.5) if u is None else u)
        made.settle(id, None if output is None else np.array([output]))
    return made


@pytest.mark.parametrize(
    ("per_variable", "limit", "size"), [(3.0, None, 12), (3.0, 7, 7), (0.1, None, 2), (None, 7, None)]
)
def test_window_size(per_variable: float | None, limit: int | None, size: int | None) -> None:
    window = Window(4, per_variable, limit)
    assert window.size == size
    recent = window(archive([1.0] * 20))
    assert recent.tolist() == list(range(20))[-size if size else 0 :]


def test_window_skips_failures() -> None:
    assert Window(2, 1.0, None)(archive([1.0, 2.0, None, None])).tolist() == [0, 1]


@pytest.mark.parametrize(("noise", "regime"), [(0.0, QUIET), (0.01, QUIET), (0.3, NOISY)])
def test_regime_is_noisy_when_repeats_scatter(noise: float, regime: object) -> None:
    told, repeats = archive([-1.0, 1.0]), Repeats((None,))
    for output in (noise, -noise, 0.0):
        repeats.add(np.zeros(2), np.array([output]))
    mine, other = NoiseRegime(LcboOptions()), NoiseRegime(LcboOptions(kernel="rbf", delta=None))
    mine.decide(told, repeats)
    assert mine.now is regime
    assert (mine.kernel, mine.delta) == (mine.now.kernel, mine.now.delta)
    other.restore(mine.state())
    assert other.now is regime
    assert (other.kernel, other.delta) == ("rbf", 1.0)


def test_no_batch_is_larger_than_the_budget() -> None:
    options = LcboOptions(explore=2000, repeats=lambda k: 10**k)
    sizes = BatchSizes(options, NoiseRegime(options))
    assert sizes(2, setup(budget=12)) == (12, 12)
    assert sizes(2, setup(budget=5000)) == (100, 2000)
    assert sizes(3, setup()) == (1000, 2000)


@pytest.mark.parametrize(("noise_var", "repeats"), [(None, 5), (0.0, 1)])
def test_only_unknown_noise_is_probed(noise_var: float | None, repeats: int) -> None:
    options = LcboOptions()
    sizes = BatchSizes(options, NoiseRegime(options))
    assert sizes(1, setup(noise_var=noise_var)) == (repeats, QUIET.explore)
    assert sizes(2, setup(noise_var=noise_var)) == (1, QUIET.explore)


def test_retreat_goes_halfway_back_when_all_evaluations_of_the_iterate_failed() -> None:
    iterate = Iterate(np.array([0.5, 0.5]), np.array([0.2, -0.1]))
    back = Retreat()(iterate, archive([None, None]), [0, 1])
    assert back is not None
    np.testing.assert_allclose(back.u, [0.4, 0.55])
    np.testing.assert_allclose(back.step, [0.1, -0.05])


@pytest.mark.parametrize(
    ("outputs", "step"), [([None, 1.0], 0.2), ([None, None], 0.0)], ids=["one came", "at the start"]
)
def test_retreat_leaves_an_iterate_that_can_be_stepped_from(outputs: list[float | None], step: float) -> None:
    iterate = Iterate(np.full(2, 0.5), np.full(2, step))
    assert Retreat()(iterate, archive(outputs), [0, 1]) is None
    elsewhere = archive([None, None], u=np.full(2, 0.4))
    assert Retreat()(iterate, elsewhere, [0, 1]) is None
