"""Best known points that were computed once and are stored beside the code (``data/*.json``).

Each file maps a variant to ``{"value", "x", "how", "reference"}``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from lcbo.problems.base import BestKnown


@cache
def _answers(problem: str) -> dict[str, dict[str, Any]]:
    text = files("lcbo.problems").joinpath("data", f"{problem}.json").read_text(encoding="utf-8")
    answers: dict[str, dict[str, Any]] = json.loads(text)
    return answers


def stored_answer(problem: str, variant: str, factor: float = 1.0) -> BestKnown | None:
    """The stored answer of one variant with its value multiplied by ``factor``; None if there is none."""
    entry = _answers(problem).get(variant)
    if entry is None:
        return None
    x = None if entry["x"] is None else np.array(entry["x"], dtype=np.float64)
    return BestKnown(factor * entry["value"], x, entry["how"], entry["reference"])
