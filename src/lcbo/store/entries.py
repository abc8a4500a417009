"""What happens in a run, as it is stored: asks, reports and budgets, numbered in the order they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcbo.store.owner import Owner
from lcbo.types import Array, Candidate, Record


@dataclass(frozen=True)
class Asked:
    """One ask: the number wanted, the method's numbers after it, the candidates with their cube points."""

    seq: int
    n: int | None
    time: float
    info: Mapping[str, float]
    candidates: Sequence[tuple[Candidate, Array]]


@dataclass(frozen=True)
class Reported:
    """One tell as it was made; ``late`` ones came after the evaluation had been given up."""

    seq: int
    id: int
    time: float
    outcomes: Mapping[str, float]
    failed: str | None
    final: bool
    late: bool
    record: Record


@dataclass(frozen=True)
class Budgeted:
    """The budget from here on."""

    seq: int
    budget: int | None


Entry = Asked | Reported | Budgeted


@dataclass(frozen=True)
class Contents:
    """A run file as it was at one moment.

    Attributes:
        path: the file.
        meta: facts of the run.
        entries: everything that happened, in order; the first is the budget the run began with.
        state: the method's latest state with the number of the ask it was taken after, if it has one.
        writer: the process that writes, or did when it died.
    """

    path: Path
    meta: Mapping[str, Any]
    entries: Sequence[Entry]
    state: tuple[int, Mapping[str, Any]] | None
    writer: Owner | None

    @property
    def first_budget(self) -> int | None:
        """The budget the run began with."""
        return next(entry.budget for entry in self.entries if isinstance(entry, Budgeted))
