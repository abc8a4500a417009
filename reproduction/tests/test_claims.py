"""Claims: every rule on hand-made runs, just inside and just outside."""

import itertools
import re

import pytest

from reproduction.claims import explanations
from reproduction.claims.checks import (
    check_best_of_all,
    check_best_variant,
    check_better_per_iteration,
    check_close_then_behind,
    check_descends_to_the_end,
    check_early_lead,
    check_equals_baseline,
    check_fastest_start,
    check_later,
    check_lead_grows,
    check_never_feasible,
    check_never_worse,
    check_restart_times,
    check_restarts_twice,
    check_slowest,
    check_stagnates,
    check_stays_at_start,
    check_stuck_high,
)
from reproduction.claims.claims import Check, check, verdict
from reproduction.claims.explanations import Reason, explanation
from reproduction.claims.metrics import BASELINES
from reproduction.claims.paper import CLAIMS, judge_all
from reproduction.pages.text import SECTIONS


def finals(lab, task, values, spec="main"):
    """Add runs that have only a final value, by label."""
    for label, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            lab.run(spec, task, label, seed, [value])


def test_checks_need_three_runs():
    assert check("", "", "", True, 3).holds is True
    assert check("", "", "", False, 3).holds is False
    assert check("", "", "", True, 2).holds is None


@pytest.mark.parametrize(
    ("holds", "counts", "expected"),
    [
        ([True, True], [3, 10], "agree"),
        ([True, False], [3, 3], "partly"),
        ([False, False], [3, 3], "not"),
        ([None, None], [0, 0], "not run yet (n = 0)"),
        ([None, None], [0, 2], "not enough runs yet"),
        ([True, None], [3, 1], "agree so far (1 of 2 checks open)"),
    ],
)
def test_verdict(holds, counts, expected):
    assert verdict([Check("", "", "", h, n) for h, n in zip(holds, counts, strict=True)]) == expected


def test_best_means_the_lowest_median_against_every_rival_on_common_seeds(lab):
    # the fourth seed of ours is not common to the rivals and must not count
    ours = [5.0, 6.0, 7.0, 100.0, 100.0]
    finals(lab, "beam", {"lcbo": ours} | {rival: [6.5, 6.5, None] for rival in BASELINES})
    found = check_best_of_all(lab.read(), "lcbo", "beam")
    assert (found.holds, found.n) == (True, 3)
    assert "scbo 6.5 [6.5, none] (n = 3): lcbo 6 there, lower on 3 of 3 seeds, p = 0.25" in found.seen
    finals(lab, "beam", {"cei": [5.5, 5.5, 5.5]})
    assert check_best_of_all(lab.read(), "lcbo", "beam").holds is False


def test_one_rival_ahead_decides_although_others_were_not_run(lab):
    finals(lab, "beam", {"lcbo": [5.0, 6.0, 7.0], "cei": [4.0, 4.0, 4.0], "scbo": [9.0]})
    assert check_best_of_all(lab.read(), "lcbo", "beam").holds is False
    finals(lab, "beam", {"cei": [8.0, 8.0, 8.0]})
    assert check_best_of_all(lab.read(), "lcbo", "beam").holds is None


@pytest.mark.parametrize(("last", "holds"), [(-9.5, True), (-6.5, False)])
def test_lead_must_grow_from_task_to_task(lab, last, holds):
    for task, ours in (("synthetic-25", -4.0), ("synthetic-50", -7.0), ("synthetic-100", last)):
        rest = dict.fromkeys(("scbo", "hdsafebo", "epbo"), [-2.0] * 3)
        finals(lab, task, {"lcbo": [ours] * 3 + [0.0] * 9, "cei": [-3.0] * 3, **rest})
    found = check_lead_grows(lab.read(), "lcbo", ["synthetic-25", "synthetic-50", "synthetic-100"])
    assert found.holds is holds  # leads 1, 4 and 6.5 or 3.5 on the seeds both have run
    assert "synthetic-25: 1 over cei (n = 3)" in found.seen


def test_lead_stays_open_while_a_baseline_was_not_run(lab):
    for task in ("synthetic-25", "synthetic-50"):
        finals(lab, task, {"lcbo": [-4.0] * 3, "scbo": [-2.0] * 3})
    assert check_lead_grows(lab.read(), "lcbo", ["synthetic-25", "synthetic-50"]).holds is None


@pytest.mark.parametrize(("half", "holds"), [(-2.1, True), (-1.9, False)])
def test_early_is_below_the_end_of_every_baseline_on_common_seeds(lab, half, holds):
    for seed in range(3):
        lab.run("main", "synthetic-25", "lcbo", seed, [half, -3.0])
        for rival, end in zip(BASELINES, (-2.0, -1.0, -1.0, None), strict=True):
            lab.run("main", "synthetic-25", rival, seed, [None, end])
    lab.run("main", "synthetic-25", "lcbo", 3, [9.0, 9.0])
    found = check_early_lead(lab.read(), "lcbo", "synthetic-25", 0.5)
    assert (found.holds, found.n) == (holds, 3)
    assert found.what == "lcbo on synthetic-25 after 10 evaluations below every baseline's end"


@pytest.mark.parametrize(("half", "stuck"), [(10.9, True), (11.1, False)])
def test_stagnation_is_less_than_a_tenth_of_the_descent_in_the_second_half(lab, half, stuck):
    for seed in range(3):
        lab.run("main", "beam", "cei", seed, [20.0, half, 10.5, 10.0])
    results = lab.read()
    assert check_stagnates(results, "beam", "cei").holds is stuck
    assert check_descends_to_the_end(results, "beam", "cei").holds is not stuck


def test_what_never_descends_neither_stagnates_nor_descends_to_the_end(lab):
    for seed, curve in enumerate([[20.0] * 4, [None] * 4, [20.0, 10.0, 10.0, 10.0]]):
        lab.run("main", "beam", "cei", seed, curve)
    results = lab.read()
    found = check_stagnates(results, "beam", "cei")
    assert found.holds is False
    assert found.seen.startswith("1 of 3 runs get below their start; share")
    assert check_descends_to_the_end(results, "beam", "cei").holds is False


@pytest.mark.parametrize(("fewest", "holds"), [(2, True), (1, False)])
def test_every_run_must_restart_twice(lab, fewest, holds):
    for seed, count in enumerate([3, fewest, 2]):
        events = [{"kind": "start", "length": 0.8, "iteration": 0, "evaluations": 5}]
        events += [
            {"kind": "restart", "length": 0.8, "iteration": i, "evaluations": 100 * (i + 1)}
            for i in range(count)
        ]
        lab.run("main", "truss-case1", "scbo", seed, [1.0], events=events)
    found = check_restarts_twice(lab.read(), "truss-case1")
    assert found.holds is holds
    assert "first at 100 [100, 100]" in found.seen
    assert check_restarts_twice(lab.read(), "truss-node1").n == 0


@pytest.mark.parametrize(("times", "holds"), [((350, 700), True), ((330, 700), False), ((350, 760), False)])
def test_restarts_come_when_the_paper_says(lab, times, holds):
    for seed in range(3):
        events = [{"kind": "restart", "length": 0.8, "iteration": i, "evaluations": t + seed - 1}
                  for i, t in enumerate(times)]  # fmt: skip
        lab.run("main", "truss-case1", "scbo", seed, [1.0], events=events)
    found = check_restart_times(lab.read(), "truss-case1")
    assert found.holds is holds
    assert found.seen.startswith(f"{times[0]} against 338 to 383; ")
    assert check_restart_times(lab.read(), "truss-node1").n == 0


def test_stuck_high_is_worst_of_all_and_no_better_than_sobol(lab):
    rest = {label: [500.0] * 3 for label in ("lcbo-paper", "scbo", "cei", "hdsafebo")}
    finals(lab, "truss-case1", rest | {"epbo": [700.0] * 3, "sobol": [690.0] * 3})
    assert [c.holds for c in check_stuck_high(lab.read(), "lcbo-paper", "truss-case1")] == [True, True]
    finals(lab, "truss-case1", {"cei": [700.0] * 3})  # both where they started
    assert [c.holds for c in check_stuck_high(lab.read(), "lcbo-paper", "truss-case1")] == [True, True]
    finals(lab, "truss-case1", {"cei": [720.0] * 3, "sobol": [710.0] * 3})
    assert [c.holds for c in check_stuck_high(lab.read(), "lcbo-paper", "truss-case1")] == [False, False]


def test_never_feasible_needs_every_run(lab):
    finals(lab, "beam", {"epbo": [None, None, None]})
    assert check_never_feasible(lab.read(), "beam", "epbo").holds is True
    finals(lab, "beam", {"epbo": [None, 9.0, None]})
    found = check_never_feasible(lab.read(), "beam", "epbo")
    assert (found.holds, found.seen) == (False, "2 of 3 runs without a feasible point")


def test_later_compares_first_feasible_points(lab):
    for seed in range(3):
        lab.run("main", "beam", "lcbo", seed, [None, None, 5.0])
        lab.run("main", "beam", "cei", seed, [None, 7.0, 6.0])
        lab.run("main", "beam", "scbo", seed, [None, None, 4.0])
    found = check_later(lab.read(), "lcbo", "beam", ("cei", "scbo"))
    assert [c.holds for c in found] == [True, False]
    assert "lcbo 30 [30, 30] (n = 3); cei 20 [20, 20] (n = 3)" in found[0].seen


@pytest.mark.parametrize(("rival", "near"), [(-0.86, True), (-0.84, False), (None, False)])
def test_comparable_in_the_middle_then_behind(lab, rival, near):
    for seed in range(3):
        lab.run("main", "halfcheetah", "lcbo", seed, [0.0] + [-1.0] * 8 + [-2.0])
        lab.run("main", "halfcheetah", "hdsafebo", seed, [0.0] + [rival] * 8 + [-1.2 - 0.1 * seed])
    for seed in range(3, 9):  # not common to both
        lab.run("main", "halfcheetah", "lcbo", seed, [0.0] * 10)
    found = check_close_then_behind(lab.read(), "lcbo", "halfcheetah", "hdsafebo")
    assert [c.holds for c in found] == [near, True, True]
    assert {c.n for c in found} == {3}


def test_fastest_start_is_ahead_after_a_quarter(lab):
    for seed in range(3):
        lab.run("main", "halfcheetah", "lcbo", seed, [-1.0, -1.0, -1.0, -1.0])
        lab.run("main", "halfcheetah", "scbo", seed, [-0.5, -2.0, -2.0, -2.0])
        lab.run("main", "halfcheetah", "cei", seed, [-1.5, -1.5, -1.5, -1.5])
    found = check_fastest_start(lab.read(), "lcbo", "halfcheetah", ("scbo", "cei"))
    assert [c.holds for c in found] == [True, False]


def test_batches_per_evaluation_and_per_iteration(lab):
    for seed in range(3):
        lab.run(
            "batch", "synthetic-25", "mini-batch", seed, [-1, -4, -5, -6, -7], iteration=[0, 5, 10, 15, 20]
        )
        lab.run("batch", "synthetic-25", "large-batch", seed, [-1, -2, -3, -4, -5], iteration=[0, 1, 2, 3, 4])
        lab.run(
            "batch", "synthetic-25", "growing-batch", seed, [-1, -2, -3, -3, -4], iteration=[0, 2, 4, 5, 6]
        )
    results = lab.read()
    for share, lowest in ((0.2, False), (0.4, True), (1.0, True)):
        assert check_best_variant(results, "batch", "synthetic-25", "mini-batch", share).holds is lowest
    # after 4 iterations: mini -1 - 3 * 4/5 = -3.4, large -5, growing -3
    large = check_better_per_iteration(results, "synthetic-25", "large-batch", "mini-batch", 1.0)
    assert large.holds is True
    assert large.what.endswith("after 4 iterations")
    assert "large-batch -5 [-5, -5] (n = 3); mini-batch -3.4" in large.seen
    half = check_better_per_iteration(results, "synthetic-25", "large-batch", "mini-batch", 0.5)
    assert half.what.endswith("after 2 iterations")
    assert (
        check_better_per_iteration(results, "synthetic-25", "growing-batch", "mini-batch", 1.0).holds is False
    )


@pytest.mark.parametrize(("value", "holds"), [(90.0, True), (101.9, True), (102.1, False), (None, False)])
def test_variant_equals_the_strongest_baseline_within_two_percent(lab, value, holds):
    finals(lab, "truss-case1", {"scbo": [100.0] * 3 + [500.0], "cei": [150.0] * 3, "epbo": [150.0] * 3})
    finals(lab, "truss-case1", {"no-local-gp": [value] * 3}, spec="components")
    assert check_equals_baseline(lab.read(), "truss-case1", "no-local-gp").holds is None
    finals(lab, "truss-case1", {"hdsafebo": [None] * 3})
    assert check_equals_baseline(lab.read(), "truss-case1", "no-local-gp").holds is holds


@pytest.mark.parametrize(("end", "holds"), [(776.0, True), (774.0, False)])
def test_weak_penalty_gains_less_than_a_quarter(lab, end, holds):
    for seed in range(3):
        lab.run("penalty", "truss-case1", "growing", seed, [800.0, 700.0])
        lab.run("penalty", "truss-case1", "rho-1", seed, [800.0, end])
    assert check_stays_at_start(lab.read(), "truss-case1", "rho-1", "growing").holds is holds


def test_slowest_constant_and_growing_penalty(lab):
    ends = {"growing": -9.9, "rho-1": -8.0, "rho-10": -10.0, "rho-100": -9.0, "rho-1000": -6.0}
    for label, seed in itertools.product(ends, range(3)):
        lab.run("penalty", "synthetic-50", label, seed, [-1.0 if label == "rho-1000" else -2.0, ends[label]])
    results, constants = lab.read(), ["rho-1", "rho-10", "rho-100", "rho-1000"]
    assert [c.holds for c in check_slowest(results, "synthetic-50", "rho-1000", constants)] == [True, True]
    assert [c.holds for c in check_slowest(results, "synthetic-50", "rho-1", constants)] == [False, False]
    assert check_never_worse(results, "synthetic-50", "growing", constants).holds is True
    assert check_never_worse(results, "synthetic-50", "rho-100", ["rho-10"]).holds is False


def test_without_runs_nothing_is_claimed(lab):
    lab.want("main", "beam", "lcbo", 3)
    judged = judge_all(lab.read())
    assert len(judged) == len(CLAIMS) == 16
    assert {one.verdict for one in judged} == {"not run yet (n = 0)"}
    assert {one.n for one in judged} == {"0"}


def test_every_claim_has_its_place_on_the_page():
    assert sorted(key for section in SECTIONS for key in section.claims) == sorted(
        claim.key for claim in CLAIMS
    )


def checks(**holds):
    return [Check(id, "", "", held, 3) for id, held in holds.items()]


def test_explanation_is_shown_only_while_the_checks_it_was_written_for_fail(lab, monkeypatch):
    lab.want("main", "beam", "epbo", 3)
    results = lab.read()
    known = {"epbo-beam": [Reason("so"), Reason("because", ["a", "b"])]}
    monkeypatch.setattr(explanations, "EXPLANATIONS", known)
    assert explanation(results, "epbo-beam", checks(a=True, b=True)) == "so"
    assert explanation(results, "epbo-beam", checks(a=True, b=None)) == "so"
    assert explanation(results, "epbo-beam", checks(a=False, b=False, c=True)) == "because"
    assert explanation(results, "epbo-beam", checks(a=False, b=True)) == ""
    assert explanation(results, "epbo-beam", checks(a=None, b=None)) == ""
    assert explanation(results, "other", checks(a=True)) == ""


def test_numbers_of_an_explanation_are_computed_from_the_runs(lab, monkeypatch):
    for seed, broken in enumerate([0.5, 0.25, 0.75]):
        lab.run("main", "beam", "epbo", seed, [None, None], recommended_violation=[9.0, broken])
        lab.run("main", "beam", "lcbo-paper", seed, [None] * seed + [1.0])
        lab.run("main", "synthetic-25", "scbo", seed, [1.0], iterations=70 + seed)
        lab.run("penalty", "truss-case1", "rho-10", seed, [600.0 + seed])
    text = "{epbo-violation}; {first-beam}; {scbo-steps}; {scatter}"
    monkeypatch.setattr(explanations, "EXPLANATIONS", {"epbo-beam": [Reason(text)]})
    assert explanation(lab.read(), "epbo-beam", checks(a=True)) == (
        "0.25 to 0.75 (n = 3); 20 [15, 25] (n = 3); 71 (n = 3) at d = 25, - (n = 0) at d = 50, "
        "- (n = 0) at d = 100; 600 to 602 lb (n = 3)"
    )


def test_explanations_belong_to_checks_of_claims_and_can_be_written_before_anything_was_run(lab):
    lab.want("main", "beam", "epbo", 3)
    results = lab.read()
    ids = {one.claim.key: [check.id for check in one.checks] for one in judge_all(results)}
    for key, reasons in explanations.EXPLANATIONS.items():
        for reason in reasons:
            assert set(reason.fails) <= set(ids[key]), key
            failing = checks(**dict.fromkeys(reason.fails, False)) or checks(a=True)
            assert "{" not in explanation(results, key, failing)


def test_checks_have_ids_of_their_own_whatever_was_run(lab):
    lab.want("main", "beam", "epbo", 3)
    before = judge_all(lab.read())
    for one in before:
        ids = [check.id for check in one.checks]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id) for id in ids)
        assert ids == [check.id for check in one.default_checks] or not one.default_checks
    for label, seed in itertools.product(("lcbo-paper", "lcbo", "scbo", "mini-batch"), range(3)):
        lab.run("main", "synthetic-25", label, seed, [1.0, 0.5])
        lab.run("batch", "synthetic-25", label, seed, [1.0, 0.5])
    after = judge_all(lab.read())
    assert [[c.id for c in one.checks] for one in before] == [[c.id for c in one.checks] for one in after]
