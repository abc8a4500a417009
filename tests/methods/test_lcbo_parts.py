"""The parts of LCBO one by one: window, noise regime, batch sizes, retreat."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lcbo.methods.base.archive import Archive
from lcbo.methods.lcbo.exploration import half_width
from lcbo.methods.lcbo.method import STEPS
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import CLEARLY_NOISY, BatchSizes, NoiseRegime, is_lost, retreat
from lcbo.methods.lcbo.window import Window
from lcbo.methods.protocol import Setup
from lcbo.models.repeats import Repeats
from lcbo.steps.step import Iterate, Step
from lcbo.terms import Terms


def setup(budget: int | None = None, noise_var: float | None = None) -> Setup:
    return Setup(2, 1, Terms(), (noise_var,), budget, 2, np.zeros((0, 2)), 0)


def archive(outputs: list[float | None], u: np.ndarray | None = None) -> Archive:
    made = Archive(2, 1)
    for output in outputs:
        id = made.add(np.full(2, 0.5) if u is None else u)
        made.settle(id, None if output is None else np.array([output]))
    return made


def window_of(
    dim: int, per_variable: float | str | None, limit: int | None, level: float = 0.0, n_outputs: int = 2
) -> Window:
    regime, options = NoiseRegime(), LcboOptions(window=per_variable, window_limit=limit)
    regime.level = level
    return Window(dim, n_outputs, options, regime, SimpleNamespace(starts=[0]))


@pytest.mark.parametrize(
    ("per_variable", "limit", "size"), [(3.0, None, 12), (3.0, 7, 7), (0.1, None, 2), (None, 7, None)]
)
def test_window_size(per_variable: float | None, limit: int | None, size: int | None) -> None:
    window = window_of(4, per_variable, limit)
    assert window.size == size
    recent = window(archive([1.0] * 20))
    assert recent.tolist() == list(range(20))[-size if size else 0 :]


@pytest.mark.parametrize(("level", "size"), [(0.0, 12), (0.5, 30), (1.0, 48)])
def test_window_of_its_own_choice_grows_with_the_noise(level: float, size: int) -> None:
    assert window_of(4, "auto", None, level).size == size
    assert window_of(4, "auto", 13, level).size == min(size, 13)
    assert window_of(4, 2.0, None, level).size == 8, "a chosen one is kept"


@pytest.mark.parametrize(("n_outputs", "size"), [(3, 1200), (30, 632), (120, 316), (480, 300)])
def test_noise_makes_the_window_of_many_outputs_less_long(n_outputs: int, size: int) -> None:
    """Their covariances have 12 million numbers, but for what the window has without noise."""
    assert window_of(100, "auto", None, 1.0, n_outputs).size == size
    assert window_of(100, "auto", None, 0.0, n_outputs).size == 300
    assert window_of(100, 12.0, None, 1.0, n_outputs).size == 1200, "a chosen one is kept"


def test_kinks_need_their_window_however_many_outputs_there_are() -> None:
    window = window_of(100, "auto", None, 0.0, 480)
    window.regime.rough = True
    assert window.size == 800


@pytest.mark.parametrize(
    ("level", "options", "pause"),
    [
        (0.2, {}, 16),  # 48 of 576 evaluations, at 3 per iteration
        (0.2, {"explore": 5}, 8),
        (0.2, {"fit_every": 6}, 32),
        (0.05, {}, 9),  # half as many of 414, at 2
        (1e-9, {}, 3),
        (0.0, {}, 3),  # the frame has to follow the steps
    ],
)
def test_a_twelfth_of_a_window_with_noise_is_new_at_every_fit(
    level: float, options: dict[str, Any], pause: int
) -> None:
    regime = NoiseRegime()
    regime.level = level
    window = Window(120, 2, LcboOptions(window="auto", **options), regime, SimpleNamespace(starts=[0]))
    assert window.fit_every == pause


@pytest.mark.parametrize(("level", "limit", "pause"), [(0.0, None, 3), (1.0, None, 12), (1.0, 15, 4)])
def test_hyperparameters_are_kept_as_much_longer_as_the_window_is(
    level: float, limit: int | None, pause: int
) -> None:
    assert window_of(4, "auto", limit, level).fit_every == pause
    assert window_of(4, 2.0, limit, level).fit_every == 3, "a chosen one does not grow"
    assert window_of(4, None, limit, level).fit_every == 3


def test_window_skips_failures() -> None:
    assert window_of(2, 1.0, None)(archive([1.0, 2.0, None, None])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("noise", "level"), [(0.0, 0.0), (0.4 * CLEARLY_NOISY, 0.4), (CLEARLY_NOISY, 1.0), (10.0, 1.0)]
)
def test_noise_level_is_that_of_repeats_over_the_scatter_of_the_window(noise: float, level: float) -> None:
    """Repeats ``-s, 0, s`` have the standard deviation s; outputs -1 and 1 have 1."""
    told, repeats = archive([-1.0, 1.0]), Repeats((None,))
    for output in (noise, -noise, 0.0):
        repeats.add(np.zeros(2), np.array([output]))
    mine, other = NoiseRegime(), NoiseRegime()
    mine.decide(told.y, repeats)
    assert mine.level == pytest.approx(level, abs=1e-12)
    assert mine.window == pytest.approx(3.0 + 9.0 * level)
    other.restore(json.loads(json.dumps(mine.state())))
    assert other.level == mine.level


@pytest.mark.parametrize(
    ("level", "dim", "probes"),
    [
        (0.0, 1, 1),
        (0.0, 300, 1),
        (1.0, 1, 1),
        (1.0, 6, 1),
        (1.0, 12, 2),
        (1.0, 24, 4),
        (1.0, 300, 4),
        (0.4, 24, 2),
    ],
)
def test_probes_grow_with_the_noise_and_with_the_variables(level: float, dim: int, probes: int) -> None:
    regime = NoiseRegime()
    regime.level = level
    assert regime.explore(dim) == probes


def test_noise_level_without_repeats_is_zero() -> None:
    regime = NoiseRegime()
    for told in ([1.0], [1.0, 1.0], [None, 2.0], [1e300, -1e300]):
        regime.decide(archive(told).y, Repeats((None,)))
        assert regime.level == 0.0


@pytest.mark.parametrize(("index", "level"), [(0, 0.0), (1, 1.0)])
def test_the_two_regimes_of_old_run_files_are_levels(index: int, level: float) -> None:
    regime = NoiseRegime()
    regime.restore({"index": index})
    assert regime.level == level


def test_no_batch_is_larger_than_the_budget() -> None:
    options = LcboOptions(explore=2000, repeats=lambda k: 10**k)
    sizes = BatchSizes(options, NoiseRegime())
    assert sizes(2, setup(budget=12)) == (12, 12)
    assert sizes(2, setup(budget=5000)) == (100, 2000)
    assert sizes(3, setup()) == (1000, 2000)


@pytest.mark.parametrize(("noise_var", "repeats"), [(None, 5), (0.0, 1)])
def test_only_unknown_noise_is_probed(noise_var: float | None, repeats: int) -> None:
    options = LcboOptions()
    sizes = BatchSizes(options, NoiseRegime())
    assert sizes(1, setup(noise_var=noise_var)) == (repeats, 1)
    assert sizes(2, setup(noise_var=noise_var)) == (1, 1)


def test_every_step_of_the_options_can_be_built() -> None:
    assert set(STEPS) == set(LcboOptions.STEPS)
    assert all(isinstance(STEPS[name](LcboOptions(step=name)), Step) for name in STEPS)


def test_retreat_goes_halfway_back_when_all_evaluations_of_the_iterate_failed() -> None:
    iterate = Iterate(np.array([0.5, 0.5]), np.array([0.2, -0.1]))
    assert is_lost(iterate, archive([None, None]), [0, 1])
    back = retreat(iterate)
    np.testing.assert_allclose(back.u, [0.4, 0.55])
    np.testing.assert_allclose(back.step, [0.1, -0.05])


@pytest.mark.parametrize(
    ("outputs", "step"), [([None, 1.0], 0.2), ([None, None], 0.0)], ids=["one came", "at the start"]
)
def test_an_iterate_that_can_be_stepped_from_is_not_lost(outputs: list[float | None], step: float) -> None:
    iterate = Iterate(np.full(2, 0.5), np.full(2, step))
    assert not is_lost(iterate, archive(outputs), [0, 1])
    elsewhere = archive([None, None], u=np.full(2, 0.4))
    assert not is_lost(iterate, elsewhere, [0, 1])


@pytest.mark.parametrize(
    ("length", "audible", "width"),
    [
        (0.04, [0.0], 0.04),  # no noise: as close as the steps are
        (0.25, [0.0], 0.1),
        (0.01, [0.03, 0.04, 0.0, 0.0], 0.025),  # the root mean square, where the median is less
        (0.01, [5.0, 0.02, 0.02], 0.1),  # of one that is hardly heard not beyond a small box
        (0.01, [5.0, 0.2, 0.02], 0.2),
        (0.01, [5.0, 0.4, 1e300], 0.3),
        (0.05, [0.01, 0.01, 0.01], 0.05),
    ],
)
def test_probes_go_as_far_as_the_outputs_are_heard(length: float, audible: list[float], width: float) -> None:
    assert half_width(length, np.array(audible)) == pytest.approx(width, rel=1e-12)
