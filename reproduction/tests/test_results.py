"""Result files read into tables."""

import math

import numpy as np
import pandas as pd
import pytest

from lcbo import ArgumentError
from lcbo.problems import make
from reproduction.harness.results import read_results, write_table


@pytest.fixture
def results(lab):
    lab.run("main", "beam", "lcbo", 0, [None, 300.0, 200.0])
    lab.run("main", "beam", "lcbo", 1, [None, None, None])
    lab.run("main", "beam", "scbo", 1, [400.0, 400.0, 260.25])
    lab.want("main", "beam", "cei", 3)
    return lab.read()


def test_one_row_per_run_and_checkpoint(results):
    assert len(results.runs) == 3
    assert len(results.curves) == 9
    table = results.table()
    assert len(table) == 9
    row = table[(table["label"] == "lcbo") & (table["seed"] == 0) & (table["evaluations"] == 20)].iloc[0]
    assert (row["best"], row["final"], row["first_feasible"], row["iteration"]) == (300.0, 200.0, 20, 1)


def test_nothing_feasible_is_infinite_and_not_run_is_nan(results):
    wide = results.wide("main", "beam")
    assert wide["lcbo"].tolist() == [200.0, math.inf]
    assert math.isnan(wide["scbo"][0])
    assert wide["scbo"][1] == 260.25
    assert results.values("main", "beam", "lcbo", "first_feasible").tolist() == [20.0, math.inf]
    assert results.values("main", "beam", "cei").empty


def test_commit_of_code_that_is_no_checkout_is_unknown(lab):
    lab.run("main", "beam", "lcbo", 0, [1.0], commit=None)
    assert lab.read().runs["commit"].tolist() == ["unknown"]


def test_cells_count_what_is_wanted_and_done(results):
    cells = {row["label"]: (row["done"], row["wanted"]) for row in results.cells.to_dict("records")}
    assert cells == {"lcbo": (2, 2), "scbo": (1, 2), "cei": (0, 3)}


def test_regret_is_to_the_best_known_value_of_the_task_and_seed(lab):
    lab.run("main", "beam", "lcbo", 0, [200.0])
    lab.run("main", "synthetic-25", "lcbo", 0, [-8.0])
    lab.run("main", "synthetic-25", "lcbo", 1, [-8.0])
    lab.run("main", "halfcheetah", "lcbo", 0, [-1.0])
    results = lab.read()
    known = [make("gp_sample", d=25, seed=seed).best_known.value for seed in (0, 1)]
    assert results.values("main", "beam", "lcbo", "regret")[0] == pytest.approx(200.0 - 160.2540290333)
    regrets = results.values("main", "synthetic-25", "lcbo", "regret")
    assert regrets.tolist() == pytest.approx([-8.0 - value for value in known])
    assert results.values("main", "halfcheetah", "lcbo", "regret").empty
    curve = results.curve("main", "synthetic-25", "lcbo")
    assert curve["regret"].tolist() == pytest.approx([-8.0 - value for value in known])
    assert results.reference("synthetic-25") == pytest.approx(np.mean(known))
    assert results.reference("synthetic-25", {1}) == pytest.approx(known[1])
    assert results.reference("synthetic-25", {7}) is None
    assert results.reference("halfcheetah") is None
    assert results.varied == {"synthetic-25"}


def test_runs_a_spec_no_longer_wants_are_left_out(lab):
    lab.run("main", "beam", "lcbo", 0, [200.0])
    lab.run("main", "beam", "dropped", 0, [100.0])
    del lab.wanted["main"]["beam", "dropped"]
    assert set(lab.read().runs["label"]) == {"lcbo"}


def test_broken_file_is_named(lab):
    lab.run("main", "beam", "lcbo", 0, [200.0])
    places = lab.write()
    path = lab.folder / "results/main/beam/lcbo/0.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(ArgumentError, match=r"lcbo/0\.json"):
        read_results(places)


@pytest.mark.parametrize("changed", [{"options": {"explore": 5}}, {"method": "scbo"}, {"truth": True}])
def test_result_of_other_options_than_the_spec_has_is_refused(lab, changed):
    lab.run("main", "beam", "lcbo", 0, [200.0], **changed)
    with pytest.raises(ArgumentError, match=f"{next(iter(changed))} .* as in the spec"):
        lab.read()


def test_table_survives_a_csv_file(results, tmp_path):
    write_table(results, tmp_path / "out" / "table.csv")
    again = pd.read_csv(tmp_path / "out" / "table.csv")
    pd.testing.assert_series_equal(again["best"], results.table()["best"])
    assert "versions" in again
    with pytest.raises(ArgumentError, match=r"\.csv or \.parquet"):
        write_table(results, tmp_path / "table.xlsx")


def test_no_runs_give_empty_tables(lab):
    lab.want("main", "beam", "lcbo", 2)
    results = lab.read()
    assert len(results.runs) == len(results.curves) == len(results.events) == len(results.table()) == 0
    assert results.labels("main", "beam") == ["lcbo"]
    assert results.budget("main", "beam") == 0
