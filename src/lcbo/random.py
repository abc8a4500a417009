"""Random streams: every draw comes from a generator named by ``(seed, stream, iteration)``."""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, stream: str, iteration: int = 0) -> np.random.Generator:
    """Return the generator of one stream at one iteration; equal names give equal draws."""
    return np.random.default_rng([seed, zlib.crc32(stream.encode()), iteration])
