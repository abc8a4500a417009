import json
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from lcbo.problems import make

pytest.importorskip("mujoco")
gymnasium = pytest.importorskip("gymnasium")

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "halfcheetah.json").read_text())


@pytest.fixture(scope="module")
def problem():
    return make("halfcheetah")


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log file where it stands
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # v4 is what the paper uses; v5 exists
        return gymnasium.make("HalfCheetah-v4", disable_env_checker=True)


def with_gymnasium(environment, problem, x):
    """Outcomes of a policy through the environment, in the plainest way."""
    weights = np.asarray(x).reshape(6, 17)
    velocities, energies = [], []
    for seed in (0, 100, 200, 300, 400):
        observation, _ = environment.reset(seed=seed)
        velocity = energy = 0.0
        for _ in range(1000):
            action = np.tanh(weights @ ((observation - problem.cheetah.mean) / problem.cheetah.std))
            observation, _, _, _, info = environment.step(action)
            velocity += info["x_velocity"]
            energy += float(action @ action)
        velocities.append(velocity / 1000)
        energies.append(energy)
    return -np.mean(velocities), np.mean(energies) / 1500.0 - 1.0


def test_normalizer(problem):
    np.testing.assert_allclose(problem.cheetah.mean, GOLDEN["mean"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(problem.cheetah.std, GOLDEN["std"], rtol=1e-6)


def test_normalizer_is_gymnasiums(problem, environment):
    observation, _ = environment.reset(seed=42)
    environment.action_space.seed(42)
    seen = []
    for _ in range(2000):
        seen.append(observation)
        observation, _, _, truncated, _ = environment.step(environment.action_space.sample())
        if truncated:
            observation, _ = environment.reset()
    assert np.array_equal(problem.cheetah.mean, np.mean(seen, axis=0))
    assert np.array_equal(problem.cheetah.std, np.std(seen, axis=0))


@pytest.mark.parametrize("point", GOLDEN["points"])
def test_golden_policies(problem, point):
    golden = GOLDEN["points"][point]
    outcomes = problem.evaluate(golden["x"])
    allowed = 0.1 if point == "cma_best" else 1e-3  # a fast gait is chaotic, a resting one is not
    assert outcomes["neg_velocity"] == pytest.approx(golden["objective"], abs=allowed)
    assert outcomes["g_energy"] == pytest.approx(golden["g"], abs=allowed)


def test_evaluations_repeat_exactly(problem):
    x = np.random.default_rng(3).uniform(-0.2, 0.2, 102)
    first = problem.evaluate(x)
    assert problem.evaluate(x) == first
    assert pickle.loads(pickle.dumps(problem)).evaluate(x) == first


def test_equal_to_gymnasium_and_faster(problem, environment):
    direct = through = np.inf
    policies = [problem.best_known.x, *np.random.default_rng(1).uniform(-0.2, 0.2, (2, 102))]
    for x in policies:
        start = time.process_time()
        outcomes = problem.evaluate(x)
        middle = time.process_time()
        objective, g = with_gymnasium(environment, problem, x)
        direct = min(direct, middle - start)
        through = min(through, time.process_time() - middle)
        assert outcomes["neg_velocity"] == objective
        assert outcomes["g_energy"] == g
    assert direct <= 0.8 * through


def test_reference_is_feasible(problem):
    assert problem.violation(problem.best_known.x) == 0.0
    assert problem.best_known.value == pytest.approx(-2.94, abs=0.01)
    assert "not an optimum" in problem.best_known.how


def test_finite_at_the_corners(problem):
    rng = np.random.default_rng(0)
    corners = [np.full(102, 0.2), np.full(102, -0.2), *rng.choice([-0.2, 0.2], (2, 102))]
    for values in problem.evaluate_batch(corners).values():
        assert np.isfinite(values).all()


def test_noise_is_on_both_outcomes(problem):
    assert problem.noise_sd() == {"neg_velocity": 0.1, "g_energy": 0.1}


def test_gait_is_drawn(problem, tmp_path):
    figure = problem.plot(problem.best_known.x, tmp_path / "gait.svg")
    assert len(figure.axes) == 10
    assert (tmp_path / "gait.svg").stat().st_size > 10_000
