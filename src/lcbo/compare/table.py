"""The table of a comparison: one row per method."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lcbo.compare.comparison import Score
from lcbo.compare.score import Spread


@dataclass(frozen=True)
class Row:
    """What a method reached; ``None`` where too many of its runs have no feasible point.

    Attributes:
        method: its name.
        runs: finished runs.
        feasible: runs with a feasible point.
        median: of the best feasible values of all runs, one without a feasible point being the worst.
        lower_quartile: of the same.
        upper_quartile: of the same.
        first_feasible: median evaluations to the first feasible point.
        evaluations: median evaluations made.
        seconds: median processor time of the method itself.
    """

    method: str
    runs: int
    feasible: int
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    first_feasible: float | None
    evaluations: float
    seconds: float


def rows(scores: Mapping[str, Sequence[Score]], sign: float) -> list[Row]:
    """Return the methods, best median first; ``sign`` is the objective's."""
    spreads = {method: Spread.of([run.best[-1] for run in runs]) for method, runs in scores.items()}
    ordered = sorted(scores, key=lambda method: (spreads[method].median, spreads[method].low))
    found = []
    for method in ordered:
        runs, at = scores[method], spreads[method]
        lower, upper = (at.low, at.high) if sign > 0 else (at.high, at.low)
        found.append(
            Row(
                method,
                len(runs),
                sum(math.isfinite(run.best[-1]) for run in runs),
                _finite(sign * at.median),
                _finite(sign * lower),
                _finite(sign * upper),
                _finite(Spread.of([run.first_feasible for run in runs]).median),
                Spread.of([run.evaluations for run in runs]).median,
                round(Spread.of([run.seconds for run in runs]).median, 2),
            )
        )
    return found


def write_csv(table: Sequence[Row], path: Path) -> None:
    """Write the rows as a CSV file; an empty field stands for ``None``."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(Row.__annotations__))
        writer.writeheader()
        writer.writerows(asdict(row) for row in table)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
