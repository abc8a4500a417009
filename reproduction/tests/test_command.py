"""The commands of ``python -m reproduction`` on results that are there."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduction.command import app
from reproduction.figures import figures


@pytest.fixture
def ask(lab, monkeypatch):
    """Call a command on a spec with three runs of EPBO on the beam; one figure instead of all."""
    for seed in range(3):
        lab.run("main", "beam", "epbo", seed, [None, None])
    lab.want("main", "beam", "cei", 2)
    (places,) = lab.write()
    monkeypatch.setattr(figures, "FIGURES", {"overview": figures.FIGURES["overview"]})

    def call(command, *options):
        done = CliRunner().invoke(
            app, [command, str(places.spec), *map(str, options)], env={"COLUMNS": "200"}
        )
        assert done.exit_code == 0, done.output
        return done.output

    return call


def test_status_counts_runs(ask):
    said = ask("status")
    assert "3 of 5 runs done" in said
    assert "0/2" in said


def test_table_is_written(ask, tmp_path):
    assert "3 runs, 6 rows" in ask("table", "--out", tmp_path / "all.csv")
    assert len(pd.read_csv(tmp_path / "all.csv")) == 6


def test_figures_are_written(ask, tmp_path):
    ask("figures", "--out", tmp_path / "figures")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["overview.png"]


def test_claims_are_listed_with_their_verdicts(ask):
    line = next(line for line in ask("claims").splitlines() if "EPBO finds no feasible beam" in line)
    assert line.split()[-2:] == ["lcbo-authors", "undecided"]


def test_page_is_written(ask, tmp_path):
    ask("page", "--out", tmp_path / "page.md", "--images", tmp_path / "figures")
    assert "| EPBO finds no feasible beam | **undecided**" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "readings.md").exists()


def test_results_elsewhere_are_found_by_their_root(ask, tmp_path):
    assert "0 of 5 runs done" in ask("status", "--root", tmp_path / "nowhere")
