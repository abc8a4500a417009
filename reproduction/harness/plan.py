"""The order of the runs: the most important first, so that a part of the grid is worth having."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from lcbo.compare.runner import PlannedRun
from reproduction.harness.runner import Places

PLAN = "plan.txt"


def planned(places: Sequence[Places]) -> list[tuple[str, PlannedRun]]:
    """Return all runs of the specs with their names ``SPEC/TASK/LABEL/SEED``, in the order of the plan.

    Runs of one pattern go seed by seed. The plan lies beside the first spec; without one there is no other
    order.
    """
    runs = [
        (f"{place.spec.stem}/{run.name}", run)
        for place in places
        for run in place.planned(place.read().cells())
    ]
    path = places[0].spec.with_name(PLAN)
    patterns = read_plan(path) if path.exists() else []
    return sorted(runs, key=lambda named: (stage(named[0], patterns), named[1].seed))


def read_plan(path: Path) -> list[str]:
    """Return the patterns of a plan."""
    return [line.strip() for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]


def stage(name: str, patterns: Sequence[str]) -> int:
    """Return the number of the first pattern that matches, the number of patterns where none does."""
    return next((i for i, pattern in enumerate(patterns) if fnmatchcase(name, pattern)), len(patterns))
