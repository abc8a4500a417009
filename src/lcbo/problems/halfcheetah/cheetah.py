"""Gymnasium's HalfCheetah-v4 driven directly through MuJoCo, step for step the same numbers.

The model file is the one Gymnasium ships. A step copies the control, advances five substeps of 0.01 s and
observes (qpos[1:], qvel); a reset draws the state from the seed as the environment does. What is left out
(rewards, wrappers, contact forces after the step) does not feed back into the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.types import Array

OBSERVATIONS, ACTIONS = 17, 6
HORIZON = 1000
_SUBSTEPS = 5
_RESET_NOISE = 0.1
_NORMALIZER_SEED, _NORMALIZER_STEPS = 42, 2000


@dataclass(frozen=True)
class Episode:
    """Mean forward velocity (m/s) and summed squared actions of one episode."""

    velocity: float
    energy: float


class Cheetah:
    """The robot and the statistics its observations are normalized with.

    Attributes:
        mean: ``17`` means of the observations under random actions.
        std: ``17`` standard deviations, 1 where an observation hardly varies.
    """

    def __init__(self) -> None:
        mujoco, assets = _require()
        self._mujoco = mujoco
        with _quiet(mujoco):
            self.model = mujoco.MjModel.from_xml_path(str(assets / "half_cheetah.xml"))
        self.data = mujoco.MjData(self.model)
        self.seconds_per_step = float(self.model.opt.timestep * _SUBSTEPS)
        self._rest = (self.data.qpos.copy(), self.data.qvel.copy())
        self.mean, self.std = self._normalizer()

    def _reset(self, rng: np.random.Generator) -> None:
        qpos, qvel = self._rest
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = qpos + rng.uniform(low=-_RESET_NOISE, high=_RESET_NOISE, size=qpos.size)
        self.data.qvel[:] = qvel + _RESET_NOISE * rng.standard_normal(qvel.size)
        self._mujoco.mj_forward(self.model, self.data)

    def _normalizer(self) -> tuple[Array, Array]:
        """Mean and standard deviation of the observations before each of 2000 random steps.

        Resets from seed 42, actions from a generator of their own with seed 42, rounded to float32 like
        Gymnasium's action space; the resets continue one stream.
        """
        resets = np.random.default_rng(_NORMALIZER_SEED)
        actions = np.random.default_rng(_NORMALIZER_SEED)
        low, high = np.float32(-1.0), np.float32(1.0)
        seen = np.empty((_NORMALIZER_STEPS, OBSERVATIONS))
        for i in range(_NORMALIZER_STEPS):
            if i % HORIZON == 0:
                self._reset(resets)
            seen[i, :8] = self.data.qpos[1:]
            seen[i, 8:] = self.data.qvel
            self.data.ctrl[:] = actions.uniform(low=low, high=high, size=ACTIONS).astype(np.float32)
            self._mujoco.mj_step(self.model, self.data, _SUBSTEPS)
        std = seen.std(axis=0)
        return seen.mean(axis=0), np.where(std < 1e-6, 1.0, std)

    def run(self, policy: Array, seed: int) -> Episode:
        """One episode of 1000 steps with actions tanh(policy (obs - mean) / std); policy is ``6 x 17``."""
        velocity = energy = 0.0
        seconds = self.seconds_per_step
        action, position = self.data.ctrl, self.data.qpos.item
        for before in self.steps(policy, seed):
            velocity += (position(0) - before) / seconds
            energy += float(action.dot(action))
        return Episode(velocity / HORIZON, energy)

    def steps(self, policy: Array, seed: int) -> Iterator[float]:
        """Advance an episode; yields after each step where the robot was before it.

        Everything is done in place: at 5000 steps per evaluation NumPy's overhead shows beside the physics.
        """
        advance, model, data = self._mujoco.mj_step, self.model, self.data
        self._reset(np.random.default_rng(seed))
        angles, speeds, action, position = data.qpos[1:], data.qvel, data.ctrl, data.qpos.item
        scaled, linear = np.empty(OBSERVATIONS), np.empty(ACTIONS)
        parts = (scaled[: angles.size], scaled[angles.size :])
        means = (self.mean[: angles.size], self.mean[angles.size :])
        for _ in range(HORIZON):
            before = position(0)
            np.subtract(angles, means[0], parts[0])
            np.subtract(speeds, means[1], parts[1])
            np.divide(scaled, self.std, scaled)
            policy.dot(scaled, linear)
            np.tanh(linear, action)
            advance(model, data, _SUBSTEPS)
            yield before

    def refresh(self) -> None:
        """Bring the positions of the limbs, which a step leaves one substep behind, up to the state."""
        self._mujoco.mj_kinematics(self.model, self.data)


def _require() -> tuple[Any, Path]:
    """MuJoCo and the folder of Gymnasium's models, or an error that says what to install."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None or find_spec("mujoco") is None:
        raise ImportError("halfcheetah needs MuJoCo and Gymnasium: pip install 'lcbo[mujoco]'")
    import mujoco

    return mujoco, Path(found.origin).parent / "envs" / "mujoco" / "assets"


@contextmanager
def _quiet(mujoco: Any) -> Iterator[None]:
    """Keep MuJoCo from printing, and writing to a log file, that the model uses an old attribute."""
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)
