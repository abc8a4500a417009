"""Looking at a stored run, also while it is being written: answer, history, failures, export."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcbo.errors import ArgumentError
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import Log
from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.resume import stored_argument
from lcbo.optimizer.plan.setup import read_path
from lcbo.optimizer.plan.tables import brought_along
from lcbo.optimizer.recorder import AmendEntry, AskEntry, BudgetEntry, LogEntry
from lcbo.optimizer.result import Result
from lcbo.problem import Problem
from lcbo.problem.sources import rebuild_problem
from lcbo.store.owner import Owner
from lcbo.store.store import read
from lcbo.text import Displayed
from lcbo.types import Candidate, Record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Status:
    """Where a run stands: numbers of evaluations, and times in seconds since the epoch."""

    method: str
    budget: int | None
    asked: int
    ended: int  # failed ones included
    failed: int
    pending: int
    iteration: int
    created: float
    updated: float  # when something was last recorded
    writer: Owner | None  # the process that writes, or did when it died
    writing: bool | None  # whether it is alive; None when that cannot be known from here


class StoredRun(Displayed):
    """A stored run as it was when this object was made; nothing here writes to it."""

    def __init__(self, path: str | Path) -> None:
        self.path = read_path("path", path)
        self._contents = read(self.path)

    def __repr__(self) -> str:
        at = self.status
        return f"<StoredRun {self.path}: {at.method}, {at.ended} of {at.budget or 'open'} evaluations>"

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts of the run: problem, method, options, seed, versions and so on."""
        return self._contents.meta

    @property
    def entries(self) -> Sequence[LogEntry]:
        """Everything that happened, in order."""
        return self._contents.entries

    @property
    def problem(self) -> Problem:
        """The problem as amended, with its function when that is one of `lcbo.problems` or a `Command`."""
        return self._ledger.problem

    @property
    def amendments(self) -> list[AmendEntry]:
        """What was amended, in order; each has its ``time``, its ``reason`` and its ``changes``."""
        return self._contents.amendments

    @cached_property
    def optimizer(self) -> Optimizer:
        """The optimizer as the run left it; `ask` and `tell` are refused."""
        return Optimizer.inspect(self._contents)

    @cached_property
    def _ledger(self) -> Ledger:
        """What was asked and told, without the method."""
        problem = rebuild_problem(self.meta["problem"], self.meta["source"])
        data, tol = brought_along(self.meta["data"], problem), stored_argument(self.meta, "feasibility_tol")
        return Ledger.of(problem, None, tol, data, self.entries)

    @property
    def log(self) -> Log:
        """Ended evaluations, as they were observed."""
        return self._ledger.log

    @property
    def pending(self) -> list[Candidate]:
        """Candidates handed out whose evaluation has not ended."""
        return list(self._ledger.pending.values())

    def result(self, confidence: float | None = None) -> Result:
        """Return the answer so far, with the confidence of the run or another."""
        budget, ended = self.optimizer.budget, self.optimizer.n_ended
        spent = budget is not None and ended >= budget
        reason = f"budget of {budget} evaluations spent" if spent else f"{ended} evaluations so far"
        return self.optimizer.result(reason, confidence=confidence)

    @property
    def history(self) -> pd.DataFrame:
        """Every ended evaluation as a row, with how it ran and what else is on record."""
        import pandas as pd

        log = self._ledger.log
        frame = log.history().to_frame()
        records = pd.DataFrame(
            [asdict(e.record) for e in log.evaluations],
            index=frame.index,
            columns=[field.name for field in fields(Record)],
        )
        frame = frame.join(records.astype({"started": float, "seconds": float}))
        others = [name for name in self._ledger.recorded if name not in frame]
        values = {name: [e.outcomes.get(name, math.nan) for e in log.evaluations] for name in others}
        return frame.join(pd.DataFrame(values, index=frame.index))

    @property
    def trace(self) -> pd.DataFrame:
        """The method's numbers after every ask: evaluations asked for by then, iteration, step and so on."""
        import pandas as pd

        rows, asked = [], 0
        for entry in self.entries:
            if isinstance(entry, AskEntry):
                asked += len(entry.candidates)
                rows.append({"asked": asked, "time": entry.time, **entry.info})
        return pd.DataFrame(rows)

    @property
    def status(self) -> Status:
        """Where the run stands; no model is built for it."""
        ledger, writer = self._ledger, self._contents.writer
        asks = [entry for entry in self.entries if isinstance(entry, AskEntry)]
        times = [entry.time for entry in self.entries if not isinstance(entry, BudgetEntry)]
        return Status(
            method=self.meta["method"],
            budget=ledger.budget,
            asked=ledger.n_asked,
            ended=ledger.n_asked - len(ledger.pending),
            failed=ledger.log.n_failed,
            pending=len(ledger.pending),
            iteration=int(asks[-1].info.get("iteration", 0)) if asks else 0,
            created=self.meta["created"],
            updated=max(times, default=self.meta["created"]),
            writer=writer,
            writing=False if writer is None else writer.alive(),
        )

    def export(self, path: str | Path) -> Path:
        """Write the history to a ``.csv``, ``.json`` or ``.parquet`` file and return its path.

        JSON is a list with an object per evaluation; what is missing is ``null``.
        """
        target = read_path("path", path)
        if target.suffix == ".csv":
            self.history.to_csv(target)
        elif target.suffix == ".json":
            rows = self.history.reset_index().to_dict("records")
            plain = [{str(name): _plain(value) for name, value in row.items()} for row in rows]
            target.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        elif target.suffix == ".parquet":
            try:
                self.history.to_parquet(target)
            except ImportError as error:
                expected = "the package pyarrow for Parquet; or a .csv file"
                raise ArgumentError("path", expected, target) from error
        else:
            raise ArgumentError("path", "a file ending in .csv, .json or .parquet", repr(str(path)))
        return target


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def open_run(path: str | Path) -> StoredRun:
    """Open a stored run for reading, also while it is being written."""
    return StoredRun(path)
