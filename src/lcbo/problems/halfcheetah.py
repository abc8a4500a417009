"""A linear gait policy for the HalfCheetah robot.

Gymnasium's HalfCheetah-v4 is driven directly through MuJoCo, step for step with the same numbers. The model
file is the one Gymnasium ships. A step copies the control, advances five substeps of 0.01 s and observes
(qpos[1:], qvel); a reset draws the state from the seed as the environment does. What is left out (rewards,
wrappers, contact forces after the step) does not feed back into the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, stored_answer
from lcbo.types import Array

SEEDS = (0, 100, 200, 300, 400)
ENERGY_LIMIT = 1500.0
_WEIGHT = 0.2
OBSERVATIONS, ACTIONS = 17, 6
HORIZON = 1000
_SUBSTEPS = 5
_RESET_NOISE = 0.1
_NORMALIZER_SEED, _NORMALIZER_STEPS = 42, 2000


class Cheetah:
    """The robot and the statistics its observations are normalized with.

    Attributes:
        mean: ``17`` means of the observations under random actions.
        std: ``17`` standard deviations, 1 where an observation hardly varies.
    """

    def __init__(self) -> None:
        mujoco, assets = _require()
        self._mujoco = mujoco
        warn = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda _: None)  # that the model uses an old attribute
        try:
            self.model = mujoco.MjModel.from_xml_path(str(assets / "half_cheetah.xml"))
        finally:
            mujoco.set_mju_user_warning(warn)
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

    def run(self, policy: Array, seed: int) -> tuple[float, float]:
        """Mean forward velocity (m/s) and summed squared actions of one episode of 1000 steps.

        The actions are tanh(policy (obs - mean) / std); ``policy`` is ``6 x 17``.
        """
        velocity = energy = 0.0
        seconds = self.seconds_per_step
        action, position = self.data.ctrl, self.data.qpos.item
        for before in self.steps(policy, seed):
            velocity += (position(0) - before) / seconds
            energy += float(action.dot(action))
        return velocity / HORIZON, energy

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


class HalfCheetah(Benchmark):
    """Fastest linear policy of HalfCheetah-v4 under an energy limit; d = 102 weights in [-0.2, 0.2].

        a_t = tanh(W (obs_t - mean) / std),   W = x as 6 x 17
        min  neg_velocity = -(mean forward velocity, m/s)
        s.t. g_energy = sum_t |a_t|^2 / 1500 - 1 <= 0

    both averaged over five episodes of 1000 steps from fixed seeds; mean and std come from 2000 random steps
    with seeded actions. The simulation is deterministic within a process but chaotic: a relative change of
    1e-12 in x has moved the objective by 0.05, and another processor may do the same. Noise level 0.1 means
    sd 0.1 on both. Robot: Todorov, Erez and Tassa 2012; needs ``pip install 'lcbo[mujoco]'``.

    Outcomes: ``neg_velocity``, ``g_energy``, ``velocity`` (m/s), ``energy``.
    """

    def __init__(self) -> None:
        self._cheetah: Cheetah | None = Cheetah()
        super().__init__(
            np.tile((-_WEIGHT, _WEIGHT), (ACTIONS * OBSERVATIONS, 1)),
            [Constraint("g_energy", ub=0.0)],
            "neg_velocity",
            best_known=stored_answer("halfcheetah", "cma_best"),
            noise_scale={"neg_velocity": 1.0, "g_energy": 1.0},
        )

    @property
    def cheetah(self) -> Cheetah:
        """The simulator of this process."""
        if self._cheetah is None:
            self._cheetah = Cheetah()
        return self._cheetah

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Velocity and energy of ``n x 102`` policies, one after the other."""
        runs = [[self.cheetah.run(x.reshape(ACTIONS, OBSERVATIONS), seed) for seed in SEEDS] for x in X]
        velocity = np.array([np.mean([velocity for velocity, _ in five]) for five in runs])
        energy = np.array([np.mean([energy for _, energy in five]) for five in runs])
        return {
            "neg_velocity": -velocity,
            "g_energy": energy / ENERGY_LIMIT - 1.0,
            "velocity": velocity,
            "energy": energy,
        }

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cheetah": None}


def _require() -> tuple[Any, Path]:
    """MuJoCo and the folder of Gymnasium's models, or an error that says what to install."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None or find_spec("mujoco") is None:
        raise ImportError("halfcheetah needs MuJoCo and Gymnasium: pip install 'lcbo[mujoco]'")
    import mujoco

    return mujoco, Path(found.origin).parent / "envs" / "mujoco" / "assets"
