"""Smooth maximum used to fold many limits into one constraint."""

from __future__ import annotations

import numpy as np

from lcbo.types import Array


def smooth_max(values: Array, alpha: float) -> Array:
    """Upper bound of the row-wise maximum that has continuous derivatives.

        LSE(v) = (1 / alpha) log sum_j exp(alpha v_j),   max v <= LSE(v) <= max v + ln(m) / alpha

    Args:
        values: ``n x m`` array.
        alpha: Sharpness; larger is closer to the maximum.

    Returns:
        ``n`` smoothed maxima.
    """
    top = values.max(axis=1)
    spread = np.exp(alpha * (values - top[:, None])).sum(axis=1)
    folded: Array = top + np.log(spread) / alpha
    return folded
