"""Hard numbers as ordinary input: every run ends with an answer, its budget spent and its points in bounds.

A numerical rescue may warn; it must not reach the user as an error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lcbo

pytestmark = pytest.mark.filterwarnings("default::lcbo.errors.NumericalRescueWarning")

SMALL = {
    "lcbo": {},
    "lcbo-paper": {"repeats": 1, "explore": 2, "explorer_options": {"starts": 2, "steps": 4}},
    "lcbo-theory": {"repeats": 1, "explore": 2},
}
# The fixed prior of the theory needs none of the rescues that a learned one does.
RARE = pytest.param("lcbo-theory", marks=pytest.mark.slow)
each_method = pytest.mark.parametrize("method", ["lcbo", "lcbo-paper", RARE])
Function = Callable[[np.ndarray], tuple[float, list[float]]]


def run(
    fun: Function, dim: int = 4, budget: int = 16, method: str = "lcbo", m: int = 1, **arguments: Any
) -> lcbo.Result:
    """Minimize ``fun`` on a unit cube under ``c_i <= 0`` and check what every answer must satisfy."""
    arguments = {"bounds": [(0.0, 1.0)] * dim, "constraints": [f"c{i} <= 0" for i in range(m)]} | arguments
    result = lcbo.minimize(fun, budget=budget, method=method, options=SMALL[method], **arguments)
    space = lcbo.Problem(arguments["bounds"]).space
    assert result.nfev == budget
    assert result.history.X.shape == (budget, dim)
    assert np.all((space.lb <= result.history.X) & (space.ub >= result.history.X))
    assert result.x is not None
    assert np.all((result.x >= space.lb) & (result.x <= space.ub))
    assert np.isfinite(result.fun)
    assert np.isfinite(list(result.constr.values())).all()
    assert np.isfinite(list(result.multipliers.values())).all()
    assert np.isfinite(list(result.kkt.values())).all()
    unknown = np.isnan(result.pof) and not result.success  # where nothing tells the noise
    assert unknown or 0.0 <= result.pof <= 1.0
    return result


def bowl(x: np.ndarray) -> tuple[float, list[float]]:
    return float(np.sum((x - 0.3) ** 2)), [float(0.5 - x[0])]


@each_method
@pytest.mark.parametrize("value", [0.0, -3.7e12, 1e-150])
def test_everything_constant(method: str, value: float) -> None:
    result = run(lambda _: (value, [-1.0]), method=method)
    if method != "lcbo-theory":  # its prior is fixed, not learned
        assert result.fun == pytest.approx(value)


@each_method
def test_constant_objective(method: str) -> None:
    run(lambda x: (2.0, [float(x[0] - 0.5)]), method=method)


@each_method
@pytest.mark.parametrize("level", [-1.0, 0.0, 1.0])
def test_constant_constraint(method: str, level: float) -> None:
    result = run(lambda x: (bowl(x)[0], [level]), method=method)
    assert result.success == (level <= 0.0)


@each_method
def test_one_constraint_of_several_never_varies(method: str) -> None:
    result = run(lambda x: (bowl(x)[0], [bowl(x)[1][0], -0.25]), method=method, m=2)
    assert result.success or method == "lcbo-theory"  # its prior is fixed, not learned


@each_method
@pytest.mark.parametrize("deterministic", [True, False])
def test_one_variable(method: str, deterministic: bool) -> None:
    run(bowl, dim=1, method=method, deterministic=deterministic)


def test_one_variable_is_solved() -> None:
    result = run(bowl, dim=1, budget=40, deterministic=True)
    assert result.fun == pytest.approx(0.04, abs=1e-2)


@each_method
def test_no_constraints(method: str) -> None:
    result = run(lambda x: (bowl(x)[0], []), method=method, m=0)
    assert result.success
    assert result.constr == result.multipliers == {}


def test_forty_constraints() -> None:
    directions = np.random.default_rng(0).standard_normal((40, 6))

    def fun(x: np.ndarray) -> tuple[float, list[float]]:
        return float(np.sum(x)), list(directions @ (x - 0.5) - 0.4)

    assert run(fun, dim=6, m=40, budget=60, deterministic=True).success


@each_method
@pytest.mark.parametrize("n_init", [1, 2])
def test_initial_design_of_one_or_two(method: str, n_init: int) -> None:
    run(bowl, method=method, n_init=n_init)


@each_method
@pytest.mark.parametrize("budget", [1, 2, 3, 7])
def test_budget_smaller_than_the_dimension(method: str, budget: int) -> None:
    run(bowl, dim=12, budget=budget, method=method)


@each_method
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_outcomes_of_any_size(method: str, scale: float) -> None:
    run(lambda x: (scale * bowl(x)[0], [scale * bowl(x)[1][0]]), method=method)
    run(lambda x: (scale * bowl(x)[0], [bowl(x)[1][0] / scale]), method=method)


@each_method
@pytest.mark.parametrize("shift", [1e6, -1e12])
def test_small_variation_on_a_large_offset(method: str, shift: float) -> None:
    run(lambda x: (bowl(x)[0] + shift, bowl(x)[1]), method=method)


@each_method
def test_ranges_of_any_size(method: str) -> None:
    low, width = np.array([-1e12, 0.0, 5.0, 1e12]), np.array([2e12, 1e-12, 1e-9, 1.0])
    bounds = list(zip(low, low + width, strict=True))
    run(lambda x: bowl((x - low) / width), bounds=bounds, method=method)


@each_method
def test_outliers(method: str) -> None:
    rng = np.random.default_rng(0)

    def fun(x: np.ndarray) -> tuple[float, list[float]]:
        f, c = bowl(x)
        spike = rng.random(2) < 0.1
        return f + 1e9 * spike[0], [c[0] - 1e9 * spike[1]]

    run(fun, budget=40, method=method)


@each_method
def test_repeated_starts(method: str) -> None:
    result = run(bowl, method=method, x0=np.full((6, 4), 0.4), n_init=6)
    assert np.all(result.history.X[:6] == 0.4)


@each_method
def test_nearly_repeated_starts(method: str) -> None:
    starts = 0.4 + 1e-12 * np.arange(24).reshape(6, 4)
    run(bowl, method=method, x0=starts, n_init=6)


@each_method
def test_start_in_a_corner(method: str) -> None:
    run(lambda x: (float(x.sum()), [-1.0]), method=method, x0=np.zeros(4), n_init=3)


@each_method
def test_heavy_noise(method: str) -> None:
    rng = np.random.default_rng(0)
    run(lambda x: (bowl(x)[0] + 10.0 * rng.standard_normal(), [rng.standard_normal()]), method=method)


@each_method
def test_known_noise_that_is_far_too_small_or_large(method: str) -> None:
    for noise in (1e-12, 1e12):
        assert str(run(bowl, method=method, noise=noise))


@each_method
def test_steps_and_kinks(method: str) -> None:
    run(lambda x: (float(np.round(3 * x.sum())), [float(np.sign(0.5 - x[0]))]), method=method)


def test_long_converged_run_stays_stable() -> None:
    result = run(lambda x: (float(np.sum(x)), [float(0.25 - x[0])]), dim=2, budget=150, deterministic=True)
    assert result.fun == pytest.approx(0.25, abs=5e-3)
