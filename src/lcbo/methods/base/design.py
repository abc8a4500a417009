"""The initial design, which every method shares."""

from __future__ import annotations

import numpy as np

from lcbo.methods.protocol import Array, Setup
from lcbo.random import generator


def initial_design(setup: Setup) -> Array:
    """The user's starts, then uniform points: ``n_init x d``. Equal seeds give equal designs."""
    rest = max(setup.n_init - len(setup.starts), 0)
    uniform = generator(setup.seed, "design").random((rest, setup.dim))
    return np.concatenate([setup.starts.reshape(-1, setup.dim), uniform])
