"""``python -m reproduction``: run, watch and draw experiments. Imports nothing heavy before it is needed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from reproduction.harness.results import Results

app = typer.Typer(no_args_is_help=True, help="Run, watch and draw the experiments of a TOML spec.")

Specs = Annotated[list[Path], typer.Argument(help="TOML files of experiments.", show_default=False)]
Root = Annotated[Path | None, typer.Option(help="Folder of results/ and work/; default: beside the spec.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small and fast: as the spec's table named quick says.")]
Only = Annotated[list[str], typer.Option(help="Only runs whose SPEC/TASK/LABEL/SEED holds this.")]


@app.command()
def run(
    specs: Specs,
    jobs: Annotated[int, typer.Option(help="Runs at a time; default: the number of cores.")] = 0,
    only: Only = [],  # noqa: B006  typer needs the list
    root: Root = None,
    quick: Quick = False,
    device: Annotated[str, typer.Option(help="Where the models compute, cpu or cuda.")] = "cpu",
) -> None:
    """Run what is missing, in the order of plan.txt; stop and start it at any moment.

    Example: python -m reproduction run reproduction/*.toml --jobs 2 --only lcbo-paper
    """
    from lcbo.compare.runner import compare
    from lcbo.evaluation.pool import available_cores
    from reproduction.harness.plan import planned
    from reproduction.harness.runner import Places

    console = Console()
    named = planned([Places.of(spec, root=root, quick=quick, device=device) for spec in specs])
    runs = [run for name, run in named if not only or any(part in name for part in only)]
    begun = time.monotonic()
    progress = compare(runs, jobs=jobs or available_cores(), console=console)
    minutes = (time.monotonic() - begun) / 60
    console.print(f"{len(progress.done)} of {len(runs)} runs done, {minutes:.1f} min")
    for line in progress.troubles():
        console.print(line, markup=False, highlight=False)
    raise typer.Exit(1 if progress.failed else 0)


@app.command()
def status(specs: Specs, root: Root = None, quick: Quick = False) -> None:
    """Show how many runs are there, by task and method.

    Example: python -m reproduction status reproduction/*.toml
    """
    from lcbo.compare.runner import Progress
    from reproduction.harness.runner import Places

    for spec in specs:
        places = Places.of(spec, root=root, quick=quick)
        Console().print(Progress(places.planned(places.read().cells())).table())


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
    from reproduction.claims.paper import judge_all

    shown = Table("claim", "reading", "verdict", box=None)
    for one in judge_all(_results(specs, root, quick)):
        for reading in one.checks:
            shown.add_row(one.claim.title, reading, one.verdict(reading))
    Console().print(shown)


@app.command()
def page(
    specs: Specs,
    out: Annotated[Path, typer.Option(help="Markdown file to write.")] = Path("docs/reproducing.md"),
    images: Annotated[Path, typer.Option(help="Folder the figures lie in.")] = Path(
        "docs/images/reproduction"
    ),
    readme: Annotated[Path | None, typer.Option(help="File whose findings are brought up to date.")] = None,
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Write the pages "Reproducing the paper" and "Readings", computed from the runs that are there.

    Example: python -m reproduction page reproduction/*.toml --out docs/reproducing.md
    """
    from reproduction.pages.check import READINGS
    from reproduction.pages.page import write_page
    from reproduction.pages.readings import write_readings
    from reproduction.pages.readme import write_findings

    results = _results(specs, root, quick)
    write_page(results, out, images, root or specs[0].parent)
    write_readings(results, out.with_name(READINGS))
    if readme is not None:
        write_findings(results, readme)
    Console().print(f"{out}, {READINGS}", highlight=False)


@app.command()
def check(
    specs: Specs,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("docs/reproducing.md"),
    images: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("docs/images/reproduction"),
    readme: Annotated[Path | None, typer.Option(help="File with the findings.")] = None,
    root: Root = None,
    quick: Quick = False,
) -> None:
    """Check that the pages are up to date and the results are small.

    Example: python -m reproduction check reproduction/*.toml
    """
    from reproduction.pages.check import find_faults

    faults = find_faults(_results(specs, root, quick), out, images, root or specs[0].parent, readme)
    for line in faults:
        Console().print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1 if faults else 0)


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
