"""Outcomes of one evaluation: numbers out of whatever a function returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lcbo.checks import is_number
from lcbo.errors import OutcomeError
from lcbo.text import described

LARGEST = 1e300  # what an outcome may be, either way


def outcome_value(name: str, value: object) -> float:
    """Return an outcome as a float (possibly NaN), or raise `OutcomeError` naming it."""
    if hasattr(value, "detach"):  # a torch tensor, maybe one that carries a gradient
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if not is_number(value):
        raise OutcomeError(f"outcome {name!r}: expected a real number; got {described(value)}")
    return float(value)


def is_finite(value: float | None) -> bool:
    """Return whether an outcome is a number that can be computed with; sums of larger ones overflow."""
    return value is not None and abs(value) <= LARGEST


def not_finite(outcomes: Mapping[str, float | None]) -> str | None:
    """Return which outcomes are no finite numbers, in words; ``None`` when all are."""
    broken = {name: value for name, value in outcomes.items() if not is_finite(value)}
    return "; ".join(f"outcome {name!r} is {value}" for name, value in broken.items()) or None


def read_positional(returned: object, names: Sequence[str]) -> dict[str, float]:
    """Read ``(f, c)``, or a bare number when ``names`` holds the objective alone."""
    if isinstance(returned, tuple) and len(returned) == 2:
        f, c = returned
        values = [c] if np.ndim(c) == 0 else list(c)
        if len(values) != len(names) - 1:
            expected = f"(f, c) with {len(names) - 1} values {list(names[1:])}"
            raise OutcomeError(f"fun: expected {expected}; got {len(values)} values in c")
        return {name: outcome_value(name, value) for name, value in zip(names, [f, *values], strict=True)}
    if len(names) == 1:
        return {names[0]: outcome_value(names[0], returned)}
    expected = f"a mapping with the outcomes {list(names)}, or (f, c)"
    raise OutcomeError(f"fun: expected {expected}; got {described(returned)}")
