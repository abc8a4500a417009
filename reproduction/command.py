"""``python -m reproduction``: run, watch and draw experiments. Imports nothing heavy before it is needed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from reproduction.harness.results import Results
    from reproduction.harness.runner import Places, Progress
    from reproduction.harness.spec import Cell

app = typer.Typer(no_args_is_help=True, help="Run, watch and draw the experiments of a TOML spec.")

Specs = Annotated[list[Path], typer.Argument(help="TOML files of experiments.", show_default=False)]
Root = Annotated[Path | None, typer.Option(help="Folder of results/ and work/; default: beside the spec.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small and fast: as the spec's table named quick says.")]
Only = Annotated[list[str], typer.Option(help="Only runs whose TASK/LABEL/SEED starts with or holds this.")]


@app.command()
def run(
    specs: Specs,
    jobs: Annotated[int, typer.Option(help="Runs at a time; default: the number of cores.")] = 0,
    only: Only = [],  # noqa: B006  typer needs the list
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Run what is missing; stop and start it at any moment.

    Example: python -m reproduction run reproduction/main.toml --jobs 2 --only lcbo-paper
    """
    from lcbo.evaluation.pool import available_cores
    from reproduction.harness.runner import Places, run_missing

    console, failed = Console(), 0
    jobs = jobs or available_cores()
    for spec in specs:
        places = Places.of(spec, root=root, quick=quick)
        cells = _wanted(places, only)
        begun = time.monotonic()
        with Live(console=console, refresh_per_second=2, transient=not console.is_terminal) as live:

            def show(progress: Progress, live: Live = live, cells: list[Cell] = cells) -> None:
                if console.is_terminal:
                    live.update(_table(cells, progress, jobs))

            progress = run_missing(places, cells, jobs=jobs, watch=show)
        minutes = (time.monotonic() - begun) / 60
        console.print(f"{spec.stem}: {len(progress.done)} of {len(cells)} runs done, {minutes:.1f} min")
        for words in dict.fromkeys(progress.skipped.values()):
            names = [name for name, reason in progress.skipped.items() if reason == words]
            console.print(
                f"skipped {len(names)} runs ({names[0]}, ...): {words}", markup=False, highlight=False
            )
        for name, words in progress.failed.items():
            console.print(f"failed {name}: {words}", markup=False, highlight=False)
        failed += len(progress.failed)
    raise typer.Exit(1 if failed else 0)


@app.command()
def status(specs: Specs, root: Root = None, quick: Quick = False) -> None:
    """Show how many runs are there, by task and method.

    Example: python -m reproduction status reproduction/*.toml
    """
    from reproduction.harness.runner import Places, progress_of

    console = Console()
    for spec in specs:
        places = Places.of(spec, root=root, quick=quick)
        cells = _wanted(places, [])
        console.print(_table(cells, progress_of(places, cells), 0))


@app.command()
def table(
    specs: Specs,
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet.")] = Path("results.csv"),
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Write all finished runs as one tidy table, one row per run and checkpoint.

    Example: python -m reproduction table reproduction/*.toml --out results.csv
    """
    from reproduction.harness.results import write_table

    results = _results(specs, root, quick)
    write_table(results, out)
    Console().print(f"{out}: {len(results.runs)} runs, {len(results.curves)} rows", highlight=False)


@app.command()
def figures(
    specs: Specs,
    out: Annotated[Path, typer.Option(help="Folder for the PNG files.")] = Path("figures"),
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Draw every figure from the runs that are there; a figure says what is missing.

    Example: python -m reproduction figures reproduction/*.toml --out docs/images/reproduction
    """
    from reproduction.figures.figures import draw_figures

    for path in draw_figures(_results(specs, root, quick), out):
        Console().print(str(path), highlight=False)


@app.command()
def claims(specs: Specs, root: Root = None, quick: Quick = False) -> None:
    """Compare the paper's claims with the runs that are there.

    Example: python -m reproduction claims reproduction/*.toml
    """
    from reproduction.claims.claims import judge_all

    shown = Table("claim", "verdict", "with lcbo", "n", box=None)
    for judged in judge_all(_results(specs, root, quick)):
        shown.add_row(judged.claim.title, judged.verdict, judged.default_verdict, judged.n)
    Console().print(shown)


@app.command()
def page(
    specs: Specs,
    out: Annotated[Path, typer.Option(help="Markdown file to write.")] = Path("docs/reproducing.md"),
    images: Annotated[Path, typer.Option(help="Folder the figures lie in.")] = Path(
        "docs/images/reproduction"
    ),
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Write the page "Reproducing the paper": every statement computed from the runs that are there.

    Example: python -m reproduction page reproduction/*.toml --out docs/reproducing.md
    """
    from reproduction.pages.page import write_page

    write_page(_results(specs, root, quick), out, images)
    Console().print(str(out), highlight=False)


Folder = Annotated[Path, typer.Option(help="Folder of results/.")]
Images = Annotated[Path, typer.Option(help="Folder for the PNG files.")]
Notes = Annotated[Path, typer.Option(help="Markdown file to write.")]
Small = Annotated[bool, typer.Option("--quick", help="Few seeds and small budgets.")]


@app.command()
def theory(
    root: Folder = Path("reproduction"),
    images: Images = Path("docs/images/reproduction"),
    out: Notes = Path("docs/theory-results.md"),
    quick: Small = False,
) -> None:
    """Measure the theorem's residuals and error functions, draw them and write the theory page.

    Example: python -m reproduction theory --quick --root build/quick --images build/quick/figures
    """
    from reproduction.theory.report import report_theory

    for path in report_theory(root, images, out, quick=quick):
        Console().print(str(path), highlight=False)


@app.command()
def mechanism2d(
    root: Folder = Path("reproduction"),
    images: Images = Path("docs/images/reproduction"),
    out: Notes = Path("docs/theory-results.md"),
    quick: Small = False,
) -> None:
    """Draw LCBO and a trust region on their way around a disc and write the theory page.

    Example: python -m reproduction mechanism2d
    """
    from reproduction.theory.report import report_mechanism

    for path in report_mechanism(root, images, out, quick=quick):
        Console().print(str(path), highlight=False)


def _results(specs: list[Path], root: Path | None, quick: bool) -> Results:
    from reproduction.harness.results import read_results
    from reproduction.harness.runner import Places

    return read_results([Places.of(spec, root=root, quick=quick) for spec in specs])


def _wanted(places: Places, only: list[str]) -> list[Cell]:
    cells = places.read().cells()
    return [cell for cell in cells if not only or any(part in cell.name for part in only)]


def _table(cells: list[Cell], progress: Progress, jobs: int) -> Table:
    """Return finished runs over wanted runs by method and task, what runs now, and the time left."""
    done = {cell.name for cell in progress.done}
    tasks = list(dict.fromkeys(cell.task.name for cell in cells))
    table = Table(title=_headline(cells, progress, jobs), title_justify="left")
    table.add_column("method")
    for task in tasks:
        table.add_column(task, justify="right")
    for label in dict.fromkeys(cell.entry.label for cell in cells):
        row = []
        for task in tasks:
            here = [c for c in cells if c.entry.label == label and c.task.name == task]
            finished = sum(c.name in done for c in here)
            now = [f"{progress.running[c.name] / c.budget:.0%}" for c in here if c.name in progress.running]
            row.append(f"{finished}/{len(here)} {' '.join(now)}".strip() if here else "")
        table.add_row(label, *row)
    return table


def _headline(cells: list[Cell], progress: Progress, jobs: int) -> str:
    headline = f"{len(progress.done)} of {len(cells)} runs done"
    left = _seconds_left(progress, jobs)
    if left is not None:
        headline += f", about {left / 60:.0f} min left"
    if progress.failed:
        headline += f", {len(progress.failed)} failed"
    return headline


def _seconds_left(progress: Progress, jobs: int) -> float | None:
    """Return an estimate from runs of the same method finished so far; any method's where there is none."""
    if not progress.seconds or not jobs:
        return None
    by_label: dict[str, list[float]] = {}
    for name, seconds in progress.seconds.items():
        by_label.setdefault(name.split("/")[1], []).append(seconds)
    every = sum(progress.seconds.values()) / len(progress.seconds)
    total = 0.0
    for cell in progress.missing:
        known = by_label.get(cell.entry.label, [every])
        share = 1.0 - progress.running.get(cell.name, 0) / cell.budget
        total += share * sum(known) / len(known)
    return total / jobs
