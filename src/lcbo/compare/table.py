"""The table of a comparison: one row per method."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lcbo.compare.comparison import Score
from lcbo.compare.score import Spread, first_feasible


def rows(scores: Mapping[str, Sequence[Score]], sign: float) -> list[dict[str, Any]]:
    """Return the methods, best median first, each with what it reached; ``sign`` is the objective's.

    ``median`` and quartiles are those of the best feasible value over all runs, one without a feasible point
    being the worst, and ``None`` where they fall on such a run. ``feasible`` counts the runs with a feasible
    point; ``first_feasible`` (evaluations to it) and ``seconds`` (of the method itself) are medians.
    """
    spreads = {method: Spread.of([run.best[-1] for run in runs]) for method, runs in scores.items()}
    found = []
    for method, at in sorted(spreads.items(), key=lambda item: (item[1].median, item[1].low)):
        runs, quartiles = scores[method], (at.low, at.high) if sign > 0 else (at.high, at.low)
        found.append(
            {
                "method": method,
                "median": _finite(sign * at.median),
                "lower_quartile": _finite(sign * quartiles[0]),
                "upper_quartile": _finite(sign * quartiles[1]),
                "runs": len(runs),
                "feasible": sum(math.isfinite(run.best[-1]) for run in runs),
                "first_feasible": _finite(
                    Spread.of([first_feasible(run.best) or math.inf for run in runs]).median
                ),
                "seconds": round(Spread.of([run.seconds for run in runs]).median, 2),
            }
        )
    return found


def write_csv(table: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the rows as a CSV file; an empty field stands for ``None``."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
