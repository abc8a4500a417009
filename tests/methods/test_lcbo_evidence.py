"""Warp and kernel by the evidence: which functions want which, and that it takes decisive gains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lcbo.methods.lcbo.evidence import KERNELS, PLAIN, POWERS, WORST, Choice, chosen, is_rugged, together
from lcbo.models.border import CPU
from lcbo.models.repeats import Repeats

Truth = Callable[[np.ndarray], np.ndarray]
DIM = 3


def points(count: int = 40, dim: int = DIM, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, dim))


def choice(
    u: np.ndarray,
    y: np.ndarray,
    now: Choice = PLAIN,
    first: bool = True,
    kernels: tuple[str, ...] = ("matern52",),
) -> Choice:
    repeats = Repeats((None,) * y.shape[1])
    for point, output in zip(u, y, strict=True):
        repeats.add(point, output)
    return chosen(u, y, repeats, now, first=first, kernels=kernels, device=CPU)


def pole(u: np.ndarray) -> np.ndarray:
    return (1.0 / (u + 0.01)).sum(1, keepdims=True)


def sample(u: np.ndarray) -> np.ndarray:
    """A draw of an RBF process in the plain coordinates."""
    r2 = np.square(u[:, None] - u[None]).sum(-1) / 0.5**2
    root = np.linalg.cholesky(np.exp(-0.5 * r2) + 1e-10 * np.eye(len(u)))
    drawn: np.ndarray = root @ np.random.default_rng(1).standard_normal((len(u), 1))
    return drawn


def noisy(u: np.ndarray) -> np.ndarray:
    return u.sum(1, keepdims=True) + 0.3 * np.random.default_rng(2).standard_normal((len(u), 1))


PLAIN_ONES: dict[str, Truth] = {
    "linear": lambda u: u @ np.array([[3.0], [-1.0], [2.0]]),
    "quadratic": lambda u: np.square(u - 0.3).sum(1, keepdims=True),
    "sample": sample,
    "noisy": noisy,
    "only noise": lambda u: np.random.default_rng(3).standard_normal((len(u), 1)),
    "constant": lambda u: np.full((len(u), 1), 7.0),
    "never seen": lambda u: np.full((len(u), 1), np.nan),
}


def test_a_pole_at_the_lower_bounds_wants_the_lower_end_stretched() -> None:
    assert POWERS[choice(points(), pole(points())).power] > 1.0


def test_a_mirrored_function_wants_the_mirrored_warp() -> None:
    u = points()
    lower, upper = choice(u, pole(u)), choice(1.0 - u, pole(u))
    assert POWERS[upper.power] < 1.0
    assert POWERS[upper.power] * POWERS[lower.power] == pytest.approx(1.0)


@pytest.mark.parametrize("name", PLAIN_ONES)
def test_what_is_stationary_keeps_its_coordinates(name: str) -> None:
    for seed in (0, 5):
        u = points(seed=seed)
        assert choice(u, PLAIN_ONES[name](u)) == PLAIN


@pytest.mark.parametrize("scale", [2.0**-300, 1.0, 2.0**300])
def test_units_of_the_outputs_do_not_matter(scale: float) -> None:
    u = points()
    assert choice(u, scale * pole(u)) == choice(u, pole(u))


def test_outputs_decide_together() -> None:
    """A linear one has no say against the pole, whichever comes first; a missing one neither."""
    u = points()
    other, missing = PLAIN_ONES["linear"](u), PLAIN_ONES["never seen"](u)
    for columns in ((pole(u), other), (other, pole(u)), (missing, pole(u))):
        assert POWERS[choice(u, np.concatenate(columns, 1)).power] > 1.0


def test_evidence_of_equals_is_their_sum_and_of_one_its_own() -> None:
    count = np.array([40, 40, 40])
    assert together(np.full(3, -12.5), count) == pytest.approx(-37.5)
    assert together(np.array([7.0]), np.array([9])) == pytest.approx(7.0)
    assert together(np.array([7.0, 0.0]), np.array([9, 0])) == pytest.approx(7.0), "one that was never seen"
    assert together(np.zeros(2), np.zeros(2)) == 0.0


def test_the_worst_modeled_outcome_decides() -> None:
    """Against the mean of unexplained variances computed plainly: of 1000 nats one output may gain alone."""
    count, evidence = np.array([50, 50]), np.array([100.0, -20.0])
    variances = np.exp(-2.0 * evidence / 50.0)
    mean = np.mean(variances**WORST) ** (1.0 / WORST)
    assert together(evidence, count) == pytest.approx(-0.5 * 100.0 * np.log(mean))
    better, worse = (together(evidence + np.array(gain), count) for gain in ([0.0, 5.0], [1000.0, 0.0]))
    assert worse - together(evidence, count) < 0.1
    assert better - together(evidence, count) == pytest.approx(10.0, rel=1e-3)
    assert np.isfinite(together(np.array([1e6, -1e6]), count))


def test_a_noisy_linear_objective_does_not_outvote_a_pole() -> None:
    """Twelve variables, a weight under small noise and a response like 1/x: bent by the latter."""
    u = points(90, 12)
    noise = np.random.default_rng(4).standard_normal((90, 2))
    weight = u @ np.linspace(1.0, 2.0, 12)[:, None] + 0.1 * noise[:, :1]
    response = (1.0 / (u + 0.05)).sum(1, keepdims=True) + noise[:, 1:]
    assert POWERS[choice(u, np.concatenate([weight, response], 1)).power] >= 2.0


def test_missing_outcomes_are_left_out() -> None:
    u, y = points(60), pole(points(60))
    y[::5] = np.nan
    assert POWERS[choice(u, y).power] > 1.0


def test_after_the_first_time_it_goes_step_by_step() -> None:
    u, power = points(), PLAIN.power
    wanted = choice(u, pole(u)).power
    for _ in range(len(POWERS)):
        now = choice(u, pole(u), Choice(power, "matern52"), first=False).power
        assert abs(now - power) <= 1
        power = now
    assert POWERS[power] > 1.0
    assert abs(power - wanted) <= 1


def test_a_smooth_function_wants_rbf_and_a_rough_one_does_not() -> None:
    u = points(60, 2)
    smooth = np.sin(2.0 * u.sum(1, keepdims=True))
    rough = np.abs(u - 0.5).sum(1, keepdims=True)
    for before in KERNELS:
        now = Choice(PLAIN.power, before)
        assert choice(u, smooth, now, kernels=KERNELS).kernel == "rbf"
        assert choice(u, rough, now, kernels=KERNELS).kernel == "matern52"


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_chosen_kernel_is_kept(kernel: str) -> None:
    u = points(60, 2)
    for y in (np.sin(2.0 * u.sum(1, keepdims=True)), np.abs(u - 0.5).sum(1, keepdims=True)):
        assert choice(u, y, Choice(PLAIN.power, kernel), kernels=(kernel,)).kernel == kernel


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dim", [1, 4])
def test_a_few_points_decide_nothing(count: int, dim: int) -> None:
    u = points(count, dim)
    assert choice(u, pole(u), kernels=KERNELS) == PLAIN
    again = np.concatenate([u[:1]] * count)
    assert choice(again, pole(again), kernels=KERNELS) == PLAIN


def test_a_choice_bends_every_variable_alike() -> None:
    warp = Choice(POWERS.index(3.0), "rbf").warp(4)
    np.testing.assert_array_equal(warp.log_power, np.full(4, np.log(3.0)))
    assert not PLAIN.warp(4).log_power.any()


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("dim", [3, 25])
def test_an_objective_is_rugged_if_it_may_bend_back_within_the_cube(dim: int, noise: float) -> None:
    """Draws of processes with short lengthscales are, planes, bowls and draws with long ones are not.

    The points are those of a run: a design, then the way to a place and probes around it.
    """
    rng = np.random.default_rng(5)
    way = np.linspace(0.9, 0.4, 300)[:, None] + 0.1 * rng.uniform(-1.0, 1.0, (300, dim))
    u = np.concatenate([points(2 * dim, dim), way])
    error = noise * rng.standard_normal(len(u))

    def drawn(length: float) -> np.ndarray:
        waves = rng.standard_normal((500, dim)) / (length * np.sqrt(dim))
        return np.sqrt(2.0 / 500) * np.cos(u @ waves.T + rng.uniform(0.0, 2.0 * np.pi, 500)).sum(1)

    bowl = np.square(u - 0.4).sum(1)
    assert is_rugged(u, drawn(0.15) + error)
    assert not is_rugged(u, drawn(1.0) + error)
    assert not is_rugged(u, u @ rng.standard_normal(dim) + error)
    assert not is_rugged(u, bowl / bowl.std() + error)


def test_whether_an_objective_is_rugged_is_asked_of_what_is_known() -> None:
    u = points(50)
    values = np.where(np.arange(50) % 7 == 0, np.nan, u.sum(1))
    assert not is_rugged(u, values)
