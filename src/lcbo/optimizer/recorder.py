"""What an optimizer records its run with, and the shapes a recorded run has.

The optimizer knows this protocol alone. Run files are the business of `lcbo.store`, which is loaded when a
path is given: by `run_files`, the only place where the optimizer reaches up to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from lcbo.problem.changes import Change
from lcbo.types import Evaluation, Record


@dataclass(frozen=True)
class AskEntry:
    """One ask: the number wanted, the method's numbers after it, and the candidates.

    ``seq`` numbers all entries of a run in order; like ``time`` it is set when the entry is recorded.
    """

    n: int | None
    info: Mapping[str, float]
    candidates: Sequence[Evaluation]
    time: float = 0.0
    seq: int = -1


@dataclass(frozen=True)
class TellEntry:
    """One tell as it was made; ``late`` ones came after the evaluation had been given up."""

    id: int
    outcomes: Mapping[str, float]
    failed: str | None
    final: bool
    record: Record
    late: bool = False
    time: float = 0.0
    seq: int = -1
    sem: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BudgetEntry:
    """The budget from here on."""

    budget: int | None
    seq: int = -1


@dataclass(frozen=True)
class AmendEntry:
    """One amendment: what was changed, why, and the problem from here on."""

    changes: Sequence[Change]
    problem: Mapping[str, Any]  # its description
    reason: str = ""
    time: float = 0.0
    seq: int = -1

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return "; ".join(map(str, self.changes)) + why


LogEntry = AskEntry | TellEntry | BudgetEntry | AmendEntry


@dataclass(frozen=True)
class Contents:
    """A recorded run as it was at one moment."""

    path: Path
    meta: Mapping[str, Any]  # facts of the run
    entries: Sequence[LogEntry]  # everything that happened; the first is the budget the run began with
    state: tuple[int, Mapping[str, Any]] | None  # number of the latest ask and the method's state after it

    @property
    def amendments(self) -> list[AmendEntry]:
        """What was amended, in order."""
        return [entry for entry in self.entries if isinstance(entry, AmendEntry)]

    @property
    def first_budget(self) -> int | None:
        """The budget the run began with."""
        return next(entry.budget for entry in self.entries if isinstance(entry, BudgetEntry))


class Recorder(Protocol):
    """Keeps a run; what a call was given is durable when it returns."""

    @property
    def path(self) -> Path:
        """The file."""

    def meta(self) -> dict[str, Any]:
        """Return the facts of the run."""

    def set_meta(self, **facts: Any) -> None:
        """Record facts of the run, as JSON values."""

    def contents(self) -> Contents:
        """Return everything recorded so far."""

    def record_ask(self, entry: AskEntry, state: Mapping[str, Any] | None) -> None:
        """Record one ask, together with the method's state after it."""

    def record_tell(self, entry: TellEntry) -> None:
        """Record one tell."""

    def record_budget(self, budget: int | None) -> None:
        """Record a new budget."""

    def record_amendment(self, entry: AmendEntry) -> None:
        """Record one amendment."""

    def close(self) -> None:
        """Let others write; closing twice does nothing."""


def run_files() -> ModuleType:
    """Return the module that makes, opens and reads run files."""
    from lcbo.store import store

    return store
