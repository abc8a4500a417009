"""A linear gait policy for the HalfCheetah robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, stored_answer
from lcbo.problems.halfcheetah.cheetah import ACTIONS, OBSERVATIONS, Cheetah
from lcbo.types import Array

SEEDS = (0, 100, 200, 300, 400)
ENERGY_LIMIT = 1500.0
_WEIGHT = 0.2


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
        velocity = np.array([np.mean([episode.velocity for episode in five]) for five in runs])
        energy = np.array([np.mean([episode.energy for episode in five]) for five in runs])
        return {
            "neg_velocity": -velocity,
            "g_energy": energy / ENERGY_LIMIT - 1.0,
            "velocity": velocity,
            "energy": energy,
        }

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cheetah": None}
