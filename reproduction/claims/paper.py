"""The claims of the paper in its order, in our words, with their rules."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.claims import checks
from reproduction.claims.claims import Check, Claim, Judged
from reproduction.harness.results import Results

SYNTHETIC = ("synthetic-25", "synthetic-50", "synthetic-100")
TRUSS = ("truss-case1", "truss-node1")
ABLATION = ("truss-case1", "synthetic-50")
COMPONENTS = ("no-local-gp", "no-local-box", "no-normalization")
CONSTANTS = ("rho-1", "rho-10", "rho-100", "rho-1000")

_LOWEST = (
    "The median final best feasible value of LCBO is below that of each of the paper's four baselines, "
    "over the seeds both have run."
)
_STAGNANT = (
    "A method descends and stagnates if most of its runs get below their start (the best feasible point of "
    "the initial design, or the first found) and less than 10 % of the descent (median over those seeds) "
    "comes in the second half of the budget; it descends to the end if at least 10 % does."
)


def _synthetic(results: Results, ours: str) -> Sequence[Check]:
    return [checks.check_best_of_all(results, ours, task) for task in SYNTHETIC]


def _early(results: Results, ours: str) -> Sequence[Check]:
    return [checks.check_early_lead(results, ours, task, 0.5) for task in SYNTHETIC]


def _growth(results: Results, ours: str) -> Sequence[Check]:
    return [checks.check_lead_grows(results, ours, SYNTHETIC)]


def _real(results: Results, ours: str) -> Sequence[Check]:
    return [checks.check_best_of_all(results, ours, task) for task in (*TRUSS, "beam", "halfcheetah")]


def _scbo_truss(results: Results, ours: str) -> Sequence[Check]:
    found: list[Check] = []
    for task in TRUSS:
        found += [
            checks.check_stagnates(results, task, "scbo"),
            checks.check_restarts_twice(results, task),
            checks.check_restart_times(results, task),
            checks.check_descends_to_the_end(results, task, ours),
        ]
    return found


def _epbo_truss(results: Results, ours: str) -> Sequence[Check]:
    return [c for task in TRUSS for c in checks.check_stuck_high(results, ours, task)]


def _epbo_beam(results: Results, _: str) -> Sequence[Check]:
    return [checks.check_never_feasible(results, "beam", "epbo")]


def _later_beam(results: Results, ours: str) -> Sequence[Check]:
    return checks.check_later(results, ours, "beam", ("cei", "scbo"))


def _beam_stagnation(results: Results, ours: str) -> Sequence[Check]:
    stuck = [checks.check_stagnates(results, "beam", label) for label in ("cei", "hdsafebo")]
    return [*stuck, checks.check_descends_to_the_end(results, "beam", ours)]


def _cheetah(results: Results, ours: str) -> Sequence[Check]:
    return [
        *checks.check_fastest_start(results, ours, "halfcheetah", ("scbo", "cei")),
        *checks.check_close_then_behind(results, ours, "halfcheetah", "hdsafebo"),
    ]


def _per_evaluation(results: Results, _: str) -> Sequence[Check]:
    return [
        checks.check_best_variant(results, "batch", t, "mini-batch", share)
        for t in SYNTHETIC
        for share in (0.2, 1.0)
    ]


def _per_iteration(results: Results, _: str) -> Sequence[Check]:
    return [
        checks.check_better_per_iteration(results, task, label, "mini-batch", share)
        for task in SYNTHETIC
        for label in ("large-batch", "growing-batch")
        for share in (0.2, 1.0)
    ]


def _components(results: Results, _: str) -> Sequence[Check]:
    return [checks.check_equals_baseline(results, task, label) for task in ABLATION for label in COMPONENTS]


def _weak_penalty(results: Results, _: str) -> Sequence[Check]:
    return [checks.check_stays_at_start(results, "truss-case1", "rho-1", "growing")]


def _strong_penalty(results: Results, _: str) -> Sequence[Check]:
    return checks.check_slowest(results, "synthetic-50", "rho-1000", CONSTANTS)


def _growing_penalty(results: Results, _: str) -> Sequence[Check]:
    return [checks.check_never_worse(results, task, "growing", CONSTANTS) for task in ABLATION]


CLAIMS: Sequence[Claim] = (
    Claim(
        "synthetic-best",
        "LCBO is best on every synthetic task",
        "On draws of known Gaussian processes in 25, 50 and 100 dimensions LCBO ends below all baselines.",
        _LOWEST,
        _synthetic,
    ),
    Claim(
        "synthetic-growth",
        "its lead grows with the dimension",
        "The lead of LCBO over the baselines widens from 25 to 100 dimensions.",
        "The strongest baseline's median final value less LCBO's, over the seeds both have run, rises from "
        "25 to 50 to 100.",
        _growth,
    ),
    Claim(
        "synthetic-early",
        "LCBO is early below what the others reach in the end",
        "On the synthetic tasks LCBO is lower in its early stages than the baselines are at the end.",
        "Its median after half of the budget is below the final one of each baseline, over common seeds.",
        _early,
    ),
    Claim(
        "real-best",
        "LCBO is best on truss, beam and HalfCheetah",
        "On the three real-world tasks LCBO ends below all baselines (the truss under both possible loads).",
        _LOWEST,
        _real,
    ),
    Claim(
        "scbo-truss",
        "SCBO stagnates on the truss and restarts at least twice",
        "SCBO falls fast and then flattens out while LCBO descends to the end; every SCBO run restarts at "
        "least twice, first at a median of 350 evaluations [338, 383], then at 747 [657, 756].",
        _STAGNANT + " A restart is counted when the region falls below its least length; it comes when it "
        "did in the paper if its median lies within the paper's quartiles.",
        _scbo_truss,
    ),
    Claim(
        "epbo-truss",
        "EPBO is stuck high on the truss",
        "EPBO stays at a very high weight.",
        "No other of the paper's five methods has a higher median final weight (a tie counts), nor does a "
        "Sobol search, over the seeds all have run.",
        _epbo_truss,
    ),
    Claim(
        "epbo-beam",
        "EPBO finds no feasible beam",
        "EPBO finds no feasible beam within the budget.",
        "No run has a feasible point.",
        _epbo_beam,
        both=False,
    ),
    Claim(
        "later-beam",
        "LCBO is later than CEI and SCBO to a first feasible beam",
        "LCBO takes longer than CEI and SCBO to find its first feasible beam.",
        "Its median number of evaluations to the first feasible point is the larger, over common seeds.",
        _later_beam,
    ),
    Claim(
        "beam-stagnation",
        "CEI and HDsafeBO stagnate on the beam",
        "CEI and HDsafeBO stop improving early on the beam while LCBO descends to the end.",
        _STAGNANT,
        _beam_stagnation,
    ),
    Claim(
        "cheetah-close",
        "HDsafeBO is close on HalfCheetah",
        "LCBO descends fastest at first, ahead of SCBO and CEI; HDsafeBO is comparable in median between 500 "
        "and 800 evaluations; LCBO is ahead at the end and scatters less.",
        "At first: the median after a quarter of the budget. Comparable: the medians at 50, 65 and 80 % of "
        "the budget differ by at most 15 % of LCBO's descent from the design. Scatters less: smaller "
        "interquartile range of the final value. All over common seeds.",
        _cheetah,
    ),
    Claim(
        "batch-evaluations",
        "mini-batches win per evaluation",
        "Batches of (2, 5) reach lower values per evaluation than (5, d) and than growing batches.",
        "The mini-batch median is the lowest of the three after a fifth of the budget (1000) and at its end.",
        _per_evaluation,
        both=False,
    ),
    Claim(
        "batch-iterations",
        "larger batches win per iteration",
        "Per iteration, large and growing batches descend faster than mini-batches.",
        "Their medians are below the mini-batch's after a fifth of the iterations of the shortest schedule "
        "and after all of them.",
        _per_iteration,
        both=False,
    ),
    Claim(
        "components",
        "every ablated variant at least equals the strongest baseline",
        "Without local GP, local box or normalization LCBO still equals or beats the strongest baseline.",
        "The variant's median final value is not above the strongest baseline's by more than 2 % of it.",
        _components,
        both=False,
    ),
    Claim(
        "penalty-weak",
        "rho = 1 is stuck on the truss",
        "With a constant penalty of 1 LCBO stays near its initial level on the truss.",
        "Its median gain over the best feasible point of the initial design is less than a quarter of that "
        "of the growing penalty (runs whose design has a feasible point).",
        _weak_penalty,
        both=False,
    ),
    Claim(
        "penalty-strong",
        "rho = 1000 is the slowest on the 50-dimensional task",
        "With a constant penalty of 1000 LCBO descends the slowest of the constants on the synthetic task.",
        "Its median is the highest of the four constants at half of the budget and at its end.",
        _strong_penalty,
        both=False,
    ),
    Claim(
        "penalty-growing",
        "the growing penalty is never worse than the best constant",
        "The growing penalty equals or beats the best constant on both tasks.",
        "Its median final value is not above the best constant's by more than 2 % of it.",
        _growing_penalty,
        both=False,
    ),
)


def judge_all(results: Results) -> list[Judged]:
    """Return every claim of the paper, judged."""
    return [
        Judged(
            claim,
            claim.checks(results, "lcbo-paper"),
            claim.checks(results, "lcbo") if claim.both else (),
        )
        for claim in CLAIMS
    ]
