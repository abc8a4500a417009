"""The suite's arithmetic on hand-made runs, its files, and that a run that is stored is not made again."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from suite import arguments, chosen, jobs_of, main, run
from suite_problems import posed
from suite_profiles import data_profile, longest, performance_profile
from suite_scores import (
    Record,
    Yardstick,
    append,
    as_markdown,
    mean_and_error,
    paired,
    read,
    scored,
    standing,
    table,
)

WELD = "welded_beam"  # d = 4, f* = 1.7248523


def record(best: list[list[float]], **changes: object) -> Record:
    end = best[-1][1] if best else None
    plain = Record(WELD, 0.0, 20, 0, 80, best, "", end, 0.0, True, 1.0, "abc")
    return replace(plain, **changes)


def test_best_after_reads_the_last_improvement_before():
    run = record([[3, 5.0], [10, 4.0], [50, 2.0]])
    assert [run.best_after(n) for n in (2, 3, 9, 10, 80)] == [math.inf, 5.0, 5.0, 4.0, 2.0]
    assert [run.evaluations_to(v) for v in (5.0, 4.5, 1.0)] == [3, 10, math.inf]


def test_score_of_points_counts_only_truly_feasible_ones():
    problem = posed(WELD)
    good = problem.truth.best_known.x
    inner = np.array([0.4, 5.0, 9.5, 0.5])
    bad = problem.truth.lb
    assert problem.judge(np.array([inner, bad]))[1][0] == 0.0 < problem.judge(np.array([inner, bad]))[1][1]
    about = scored(problem, np.array([bad, inner, bad, good, inner, bad]), bad)
    at_inner = problem.truth.evaluate(inner)["f"]
    assert about["best"] == [[2, pytest.approx(at_inner)], [4, pytest.approx(problem.truth.best_known.value)]]
    assert about["violation"] > 0.0
    assert about["answer"] == pytest.approx(problem.truth.evaluate(bad)["f"])
    run = replace(record([]), **about)
    assert run.feasible_share == pytest.approx(0.5)  # points 3 to 6: infeasible, good, inner, infeasible
    without = scored(problem, np.array([bad, bad]), None)
    assert (without["best"], without["answer"], without["violation"]) == ([], None, None)


def test_points_that_nearly_hold_are_kept_apart():
    problem = posed(WELD)
    good = problem.truth.best_known.x
    closer = good * np.array([1.0 - 1e-9, 1.0, 1.0, 1.0])  # thinner weld: shear beyond its limit
    value, violation = problem.judge(closer[None])
    assert 1e-9 < violation[0] < 1e-6
    about = scored(problem, closer[None], closer)
    assert about["best"] == []
    assert about["near"] == [[1, value[0]]]
    run = replace(record([]), **about)
    assert Yardstick([]).log_gap(run) == Yardstick([]).answer_log_gap(run) == 1.0
    assert Yardstick([]).log_gap(run.nearly()) == Yardstick([]).answer_log_gap(run.nearly()) < -6.0
    assert replace(run, violation=0.1).nearly().violation == 0.1


def test_standing_puts_methods_side_by_side_on_the_runs_they_share():
    """Seed 0 is solved by both, seed 1 by the first alone, and only the first has a run with noise."""
    good, bad = [[9, posed(WELD).truth.best_known.value]], [[9, 5.0]]
    ours = [record(good), record(good, seed=1), record(bad, noise=0.1), record(good, noise=0.1, seed=1)]
    theirs = [record(good), record(bad, seed=1), record(bad, noise=0.1)]
    runs = {"lcbo": {r.key: r for r in ours}, "other": {r.key: r for r in theirs}}
    rows = standing(runs, Yardstick([]), 0.01, 20)
    assert rows[0] == ["kind", "noise", "runs", "lcbo", "other"]
    assert rows[1] == ["structures", "0", "2", "100", "50"]
    assert rows[2] == ["structures", "0.1", "2", "50", "0 (of 1; lcbo 0)"]
    assert rows[-1] == ["all", "all", "4", "75", "33 (of 3; lcbo 67)"]
    assert as_markdown(rows[:2]).splitlines()[1:] == [
        "|---|---|---|---|---|",
        "| structures | 0 | 2 | 100 | 50 |",
    ]


def test_gap_is_relative_to_the_reference_and_clipped():
    yard = Yardstick([record([[1, 3.0]])])
    problem = posed(WELD)
    low = problem.truth.best_known.value
    assert yard.ends(WELD) == (low, problem.f0)
    assert yard.target(WELD, 0.1) == pytest.approx(low + 0.1 * (problem.f0 - low))
    assert yard.gap(WELD, low + 0.01 * (problem.f0 - low)) == pytest.approx(0.01)
    assert yard.gap(WELD, low) == 1e-9
    assert yard.gap(WELD, math.inf) == 10.0
    assert yard.log_gap(record([])) == 1.0


def test_least_value_is_the_best_of_any_run():
    assert Yardstick([record([[1, 3.0], [2, 1.0]])]).ends(WELD)[0] == 1.0


def test_reference_below_the_answer_becomes_one_spread_above_it():
    low, high = Yardstick([]).ends("g01")
    assert low == -15.0
    assert high == pytest.approx(-15.0 + posed("g01").scale["f"])


def test_answer_that_violates_counts_as_no_answer():
    yard, fine = Yardstick([]), record([[1, 3.0]])
    assert yard.answer_log_gap(fine) == yard.log_gap(fine) < 1.0
    assert yard.answer_log_gap(replace(fine, violation=0.1)) == 1.0
    assert yard.answer_log_gap(replace(fine, answer=None, violation=None)) == 1.0


def test_error_is_over_problems_not_runs():
    values = [("a", 1.0), ("a", 3.0), ("b", 4.0), ("c", 6.0)]
    assert mean_and_error(values) == pytest.approx((4.0, 2.0 / math.sqrt(3.0)))
    mean, error = mean_and_error(values[:2])
    assert mean == 2.0
    assert math.isnan(error)


def test_capped_run_of_20_d_serves_40_d_too():
    assert record([]).serves(5)
    assert record([]).serves(20)
    assert not record([]).serves(40)
    assert record([], multiple=40).serves(40)
    assert not record([], multiple=40).serves(10)
    assert record([], problem="beam-50").serves(40)


def test_table_counts_solved_runs_at_each_budget():
    low = posed(WELD).truth.best_known.value
    step = posed(WELD).f0 - low
    best = [[15, low + 0.5 * step], [18, low + 0.05 * step], [60, low + 0.005 * step]]
    runs = [record(best), record([], seed=1, violation=0.3)]
    header, _, *rows = table(runs, Yardstick(runs), [1e-1, 1e-2])
    row = dict(zip(header, rows[0], strict=True))
    assert (row["kind"], row["noise"], row["runs"]) == ("structures", "0", "2")
    assert (row["5d"], row["10d"], row["20d"], row["40d"]) == ("50/0", "50/0", "50/50", "-/-")
    assert (row["found"], row["answer"]) == ("50", "50")


def test_pairs_are_of_runs_in_both():
    low = posed(WELD).truth.best_known.value
    step = posed(WELD).f0 - low
    mine = {r.key: r for r in (record([[1, low + 0.01 * step]]), record([[1, low]], seed=1))}
    theirs = {r.key: r for r in [record([[1, low + 0.1 * step]])]}
    rows, problems = paired(mine, theirs, Yardstick(mine.values()))
    assert rows[1][:4] == ["structures", "0", "1", "-1.00"]
    assert problems == [(pytest.approx(-1.0), WELD)]


def test_file_keeps_runs_and_survives_a_torn_line(tmp_path: Path):
    path = tmp_path / "folder" / "lcbo.jsonl"
    one, two = record([[1, 3.0]]), record([[2, 0.1 + 0.2]], seed=1)
    append(path, one)
    with path.open("a") as file:
        file.write(json.dumps({"problem": WELD})[:9])
    append(path, two)
    assert read(path) == {one.key: one, two.key: two}
    assert read(tmp_path / "none.jsonl") == {}


def test_stored_runs_are_not_made_again(tmp_path: Path):
    words = [
        "run",
        "--methods",
        "sobol",
        "--problems",
        WELD,
        "hs71",
        "--seeds",
        "0-1",
        "--results",
        str(tmp_path),
    ]
    given = arguments().parse_args([*words, "--noise", "0", "0.1"])
    jobs = jobs_of(given)
    assert len(jobs) == 8  # sobol takes no equality: hs71 is left out
    made = run(jobs[0])
    assert made.key == jobs[0].key
    assert made.evaluations == jobs[0].evaluations
    assert made.best
    append(jobs[0].path, made)
    assert [job.key for job in jobs_of(given)] == [job.key for job in jobs[1:]]
    assert run(jobs[0]).best == made.best


def test_checking_half_is_run_only_when_asked_for():
    read_line = arguments().parse_args
    assert {e.half for e in chosen(read_line(["run"]))} == {"tuning"}
    assert {e.half for e in chosen(read_line(["table"]))} == {"tuning"}
    assert {e.half for e in chosen(read_line(["run", "--half", "checking"]))} == {"checking"}
    assert {e.half for e in chosen(read_line(["list"]))} == {"tuning", "checking"}
    few = {posed(e.name).dim for e in chosen(read_line(["list", "--dims", "4", "10", "--kinds", "formulas"]))}
    assert few == {4, 5, 8, 9, 10}


def test_without_coco_its_problems_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("suite.find_spec", lambda _: None)
    entries = chosen(arguments().parse_args(["list"]))
    assert len(entries) >= 30
    assert not any(e.name.startswith("coco") for e in entries)
    assert "coco-experiment" in capsys.readouterr().err


def test_same_run_is_not_made_twice_where_the_cap_binds(tmp_path: Path):
    words = ["run", "--problems", "beam-50", "--seeds", "0", "--noise", "0", "--results", str(tmp_path)]
    assert [job.key[2] for job in jobs_of(arguments().parse_args(words))] == [20]


def test_data_profile_counts_evaluations_in_simplex_gradients():
    times, dims = np.array([10.0, 30.0, math.inf]), np.array([4.0, 9.0, 4.0])
    share = data_profile(times, dims, np.array([1.0, 2.0, 3.0, 1000.0]))
    assert share == pytest.approx([0.0, 1 / 3, 2 / 3, 2 / 3])


def test_performance_profile_is_relative_to_the_fastest():
    times = {"a": np.array([10.0, 40.0, math.inf, math.inf]), "b": np.array([20.0, 10.0, 30.0, math.inf])}
    shares = performance_profile(times, np.array([1.0, 2.0, 4.0]))
    assert shares["a"] == pytest.approx([0.25, 0.25, 0.5])
    assert shares["b"] == pytest.approx([0.5, 0.75, 0.75])


def test_profiles_read_the_longest_run():
    short, long = record([[1, 3.0]]), record([[1, 2.0]], multiple=40)
    assert longest({r.key: r for r in (long, short)}) == {(WELD, 0.0, 0): long}


def test_command_prints_and_draws_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for label, value in (("one", 2.0), ("two", 3.0)):
        append(tmp_path / f"{label}.jsonl", record([[5, value]]))

    def command(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["suite.py", *words])
        main()
        return capsys.readouterr().out

    chosen = ("--problems", WELD, "--results", str(tmp_path))
    shown = command("table", "--against", "two", *chosen)
    assert "one against two" in shown
    assert f"largest wins: {WELD} -" in shown
    assert "largest losses: none" in shown
    assert "one: 0 runs" in command("table", "--seeds", "5-6", *chosen)
    files = command("profiles", str(tmp_path / "out"), "--tau", "0.1", *chosen).split()
    assert [Path(f).name for f in files] == ["data_profiles_0.1.png", "performance_profiles_0.1.png"]
    assert all(Path(f).stat().st_size > 1000 for f in files)
    assert "1.72485" in command("list", "--problems", WELD)
