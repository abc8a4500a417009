"""The progress of a comparison as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from lcbo.compare.runner import PlannedRun, Progress


def progress_table(runs: Sequence[PlannedRun], progress: Progress, jobs: int) -> Table:
    """Return finished runs over wanted runs by label and task, what runs now, and the time left."""
    done = {run.name for run in progress.done}
    tasks = list(dict.fromkeys(run.task for run in runs))
    table = Table(title=_headline(runs, progress, jobs), title_justify="left")
    table.add_column("method")
    for task in tasks:
        table.add_column(task, justify="right")
    for label in dict.fromkeys(run.label for run in runs):
        row = []
        for task in tasks:
            here = [run for run in runs if run.label == label and run.task == task]
            finished = sum(run.name in done for run in here)
            now = [f"{progress.running[r.name] / r.budget:.0%}" for r in here if r.name in progress.running]
            row.append(f"{finished}/{len(here)} {' '.join(now)}".strip() if here else "")
        table.add_row(label, *row)
    return table


def ending_words(progress: Progress) -> list[str]:
    """Return one line for every reason to skip runs and for every run that failed."""
    lines = []
    for reason in dict.fromkeys(progress.skipped.values()):
        names = [name for name, why in progress.skipped.items() if why == reason]
        lines.append(f"skipped {len(names)} runs ({names[0]}, ...): {reason}")
    return lines + [f"failed {name}: {words}" for name, words in progress.failed.items()]


def _headline(runs: Sequence[PlannedRun], progress: Progress, jobs: int) -> str:
    headline = f"{len(progress.done)} of {len(runs)} runs done"
    left = _seconds_left(progress, jobs)
    if left is not None:
        headline += f", about {left / 60:.0f} min left"
    if progress.failed:
        headline += f", {len(progress.failed)} failed"
    return headline


def _seconds_left(progress: Progress, jobs: int) -> float | None:
    """Return an estimate from runs of the same label finished so far; any label's where there is none."""
    if not progress.seconds or not jobs:
        return None
    by_label: dict[str, list[float]] = {}
    for run in progress.done:
        if run.name in progress.seconds:
            by_label.setdefault(run.label, []).append(progress.seconds[run.name])
    every = list(progress.seconds.values())
    total = 0.0
    for run in progress.missing:
        known = by_label.get(run.label, every)
        total += (1.0 - progress.running.get(run.name, 0) / run.budget) * sum(known) / len(known)
    return total / jobs
