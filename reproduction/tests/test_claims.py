"""The paper's claims on hand-made runs: what agrees, what contradicts, and what is not enough."""

import math

import pytest

from reproduction.claims import comparisons as compare
from reproduction.claims.metrics import BASELINES
from reproduction.claims.paper import CLAIMS, REAL, judge, judge_all, variant
from reproduction.claims.statistics import AGREE, CONTRADICTED, UNDECIDED, judged, verdict

BY_KEY = {claim.key: claim for claim in CLAIMS}
SEEDS = range(10)


def finals(lab, task, values, spec="main", seeds=SEEDS):
    """Add runs that start at 100 and end at a value, a little another for every seed, or find nothing."""
    for label, value in values.items():
        for seed in seeds:
            curve = [None] * 3 if value is None else [100.0, 90.0, value + 0.01 * seed]
            lab.run(spec, task, label, seed, curve)


def test_ten_clear_seeds_on_every_task_agree(lab):
    for task in REAL:
        finals(lab, task, {"lcbo-authors": 50.0, **dict.fromkeys(BASELINES, 60.0)})
    found = judge(BY_KEY["real-best"], lab.read(), ["lcbo-authors", "lcbo-paper"])
    assert found.verdict("lcbo-authors") == AGREE
    assert found.verdict("lcbo-paper") == UNDECIDED, "it was not run"
    effects = [check.of.effect for check in found.checks["lcbo-authors"]]
    assert effects == pytest.approx([10.0 / 60.0] * 16, rel=0.01)


def test_one_rival_ahead_contradicts_and_one_missing_leaves_open(lab):
    for task in REAL:
        finals(lab, task, {"lcbo-authors": 50.0, "scbo": 40.0})
    found = judge(BY_KEY["real-best"], lab.read())
    assert found.verdict("lcbo-authors") == CONTRADICTED
    words = [check.verdict for check in found.checks["lcbo-authors"]]
    assert words.count(CONTRADICTED) == 4
    assert words.count(UNDECIDED) == 12


def test_three_seeds_decide_nothing(lab):
    for task in REAL:
        finals(lab, task, {"lcbo-authors": 50.0, **dict.fromkeys(BASELINES, 60.0)}, seeds=range(3))
    assert judge(BY_KEY["real-best"], lab.read()).verdict("lcbo-authors") == UNDECIDED


def test_a_rival_without_a_feasible_point_is_behind(lab):
    finals(lab, "beam", {"lcbo-authors": 50.0, "epbo": None})
    pair = compare.ends_below(lab.read(), "beam", "lcbo-authors", "epbo")
    assert math.isinf(pair.effect)
    assert verdict(judged([pair])) == AGREE


def test_a_claim_about_every_run_counts(lab):
    finals(lab, "beam", {"epbo": None})
    assert judge(BY_KEY["epbo-beam"], lab.read()).verdict("lcbo-authors") == AGREE
    lab.run("main", "beam", "epbo", 10, [None, 7.0])
    assert judge(BY_KEY["epbo-beam"], lab.read()).verdict("lcbo-authors") == CONTRADICTED


def test_stagnation_is_the_share_of_the_descent_in_the_second_half(lab):
    for seed in SEEDS:
        lab.run("main", "truss-case1", "scbo", seed, [100.0, 50.0, 50.0, 49.0])  # 1 of 51
        lab.run("main", "truss-case1", "lcbo-authors", seed, [100.0, 80.0, 60.0, 40.0])  # 40 of 60
        lab.run("main", "truss-case1", "flat", seed, [100.0, 100.0, 100.0, 100.0])
    results = lab.read()
    stuck = compare.stagnates(results, "truss-case1", "scbo")
    descends = compare.stagnates(results, "truss-case1", "lcbo-authors", descends=True)
    flat = compare.stagnates(results, "truss-case1", "flat", descends=True)
    assert stuck.effect == pytest.approx(0.1 - 1 / 51)
    assert descends.effect == pytest.approx(40 / 60 - 0.1)
    assert flat.effect == pytest.approx(-0.1), "no descent is none to the end"
    assert [check.verdict for check in judged([stuck, descends, flat])] == [AGREE, AGREE, CONTRADICTED]


def test_a_weak_penalty_is_stuck_if_it_gains_little(lab):
    for seed in SEEDS:
        lab.run("main", "truss-case1", "lcbo-authors", seed, [100.0, 60.0])
        lab.run("penalty", "truss-case1", "authors-rho-1", seed, [100.0, 95.0])
    found = judge(BY_KEY["penalty-weak"], lab.read(), ["lcbo-authors"])
    assert found.verdict("lcbo-authors") == AGREE
    assert found.checks["lcbo-authors"][0].of.effect == pytest.approx(0.25 - 5.0 / 40.0)


def test_schedules_are_pooled_over_the_tasks(lab):
    for task in ("synthetic-25", "synthetic-50"):
        for seed in range(3):
            lab.run("batch", task, "mini-batch", seed, [-1.0, -5.0])
            lab.run("batch", task, "large-batch", seed, [-1.0, -4.0])
    pair = compare.schedule_below(
        lab.read(), ["synthetic-25", "synthetic-50", "synthetic-100"], "mini-batch", "large-batch", 1.0
    )
    assert (pair.n, pair.effect) == (6, 0.25)


def test_a_lead_grows_from_task_to_task(lab):
    finals(lab, "synthetic-25", {"lcbo-paper": 50.0, "scbo": 55.0})
    finals(lab, "synthetic-100", {"lcbo-paper": 50.0, "scbo": 70.0})
    pair = compare.lead_grows(lab.read(), "lcbo-paper", "scbo", "synthetic-25", "synthetic-100")
    assert pair.effect == pytest.approx(20 / 70 - 5 / 55, abs=1e-3)


def test_evaluations_to_a_feasible_point_count_the_other_way(lab):
    for seed in SEEDS:
        lab.run("main", "beam", "lcbo-paper", seed, [None, None, 5.0])
        lab.run("main", "beam", "scbo", seed, [None, 5.0, 5.0])
    pair = compare.later_feasible(lab.read(), "beam", "lcbo-paper", "scbo")
    assert pair.effect == pytest.approx(0.5)


def test_without_runs_every_claim_is_undecided(lab):
    lab.want("main", "beam", "lcbo", 3)
    for one in judge_all(lab.read()):
        assert {one.verdict(reading) for reading in one.checks} == {UNDECIDED}, one.claim.key


def test_an_ablation_has_a_label_in_every_reading():
    assert [variant(reading, "rho-1") for reading in ("lcbo-authors", "lcbo-paper")] == [
        "authors-rho-1",
        "rho-1",
    ]
