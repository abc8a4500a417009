"""The progress of a comparison on the terminal, and what to say at its end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table

from lcbo.compare.runner import PlannedRun, Progress, compare
from lcbo.text import duration


def compare_visibly(runs: Sequence[PlannedRun], jobs: int, console: Console) -> Progress:
    """Run everything that has no result; a terminal shows a table of the progress meanwhile."""
    with Live(console=console, refresh_per_second=2, transient=not console.is_terminal) as live:

        def show(progress: Progress) -> None:
            if console.is_terminal:
                live.update(progress_table(runs, progress, jobs))

        return compare(runs, jobs=jobs, watch=show)


def progress_table(runs: Sequence[PlannedRun], progress: Progress, jobs: int) -> Table:
    """Return finished runs over wanted runs by label and task, what runs now, and the time left."""
    done, tasks = {run.name for run in progress.done}, list(dict.fromkeys(run.task for run in runs))
    title = f"{len(progress.done)} of {len(runs)} runs done"
    if progress.seconds and progress.missing:
        mean = sum(progress.seconds.values()) / len(progress.seconds)
        left = sum(1.0 - progress.running.get(run.name, 0) / run.budget for run in progress.missing)
        title += f", about {duration(left * mean / jobs)} left"
    if progress.failed:
        title += f", {len(progress.failed)} failed"
    table = Table("method", *tasks, title=title, title_justify="left")
    for label in dict.fromkeys(run.label for run in runs):
        row = []
        for task in tasks:
            here = [run for run in runs if run.label == label and run.task == task]
            now = [f"{progress.running[r.name] / r.budget:.0%}" for r in here if r.name in progress.running]
            row.append(" ".join([f"{sum(r.name in done for r in here)}/{len(here)}", *now]) if here else "")
        table.add_row(label, *row)
    return table


def ending_words(progress: Progress) -> list[str]:
    """Return one line for every reason to skip runs and for every run that failed."""
    reasons: dict[str, list[str]] = {}
    for name, reason in progress.skipped.items():
        reasons.setdefault(reason, []).append(name)
    skipped = [f"skipped {len(names)} runs ({names[0]}, ...): {why}" for why, names in reasons.items()]
    return skipped + [f"failed {name}: {words}" for name, words in progress.failed.items()]
