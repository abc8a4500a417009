"""Why a claim came out as it did, as far as we can tell: by claim, for the checks that fail.

An explanation is shown only while exactly the checks it was written for fail, so that new runs cannot leave a
wrong reason standing. Its numbers are computed from the runs: a name in braces is one of `_NUMBERS`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lcbo.compare.score import Spread
from reproduction.claims.claims import Check
from reproduction.claims.wording import number, spread
from reproduction.harness.results import Results


@dataclass(frozen=True)
class Reason:
    """An explanation and the ids of the checks that fail where it holds."""

    text: str
    fails: Sequence[str] = ()


_GLOBAL = (
    "All methods of the paper get the true hyperparameters here, and with these a global search is not lost "
    "in 100 dimensions. CEI and EPBO decide after every evaluation, `lcbo-paper` only after several "
    "({paper-steps}), SCBO once per batch of d/2 ({scbo-steps}). We climb the logarithm of CEI, whose "
    "gradient does not vanish far from good points; the paper does not say what it climbed."
)
_GROWTH = (
    "The strongest baseline is a global search with the true hyperparameters, ahead of `lcbo-paper` or level "
    "with it. A lead that widens with d is that over SCBO and HDsafeBO, which decide once per batch of d/2 "
    "points ({scbo-steps})."
)
_TRUSS = (
    "On the truss `lcbo-paper` mostly walks outside: the minimizer of its penalized objective breaks the "
    "displacement limit, by {case1-violation} with case 1 and {node1-violation} at node 1 (point recommended "
    "at the end), so feasible points come from exploration and noise."
)
_CHEETAH = (
    "On HalfCheetah Table 1 has one exploration point per step. Each of {cheetah-steps} steps then rests on "
    "a gradient in 102 dimensions that two new evaluations hardly correct, and each has the full length, so "
    "the walk loses again what it had: what it recommends at the end is slower than its best feasible policy "
    "by {cheetah-lost} m/s."
)
_LUCKY = (
    "SCBO stands still because of the noise: its center is the best point *observed* feasible, which with "
    "noise of 0.1 on the constraints soon is a lucky observation of an infeasible one (seen in "
    "[theory-results.md](theory-results.md); without noise SCBO goes on, [scbo](methods/scbo.md)). A region "
    "without a success shrinks at a fixed pace, which sets the time from one restart to the next. "
    "`lcbo-paper` stands still for another reason: its walk leads outside."
)
_SCALE = (
    "Designs that are almost singular violate a limit hundreds of times over and set the scale of the "
    "z-score. All that is near the threshold then lies within the model's noise, and two standard "
    "deviations of optimism call it feasible. With the bilog of the constraints and `beta=0.1` EPBO does "
    "improve ([epbo](methods/epbo.md)). With case 1 CEI suffers from the same scale."
)
_STEPS = (
    "A step has a fixed length, so the number of steps counts: within 5000 evaluations at d = 25 "
    "mini-batches make {mini-steps}, large batches {large-steps} and growing ones {growing-steps}."
)

EXPLANATIONS: Mapping[str, Sequence[Reason]] = {
    "synthetic-best": [
        Reason(_GLOBAL, ["best-synthetic-25", "best-synthetic-50", "best-synthetic-100"]),
        Reason(_GLOBAL, ["best-synthetic-25", "best-synthetic-50"]),
    ],
    "synthetic-growth": [Reason(_GROWTH), Reason(_GROWTH, ["lead-grows"])],
    "synthetic-early": [
        Reason(_GLOBAL, ["early-synthetic-25", "early-synthetic-50", "early-synthetic-100"]),
    ],
    "real-best": [Reason(f"{_TRUSS} {_CHEETAH}", ["best-truss-node1", "best-halfcheetah"])],
    "scbo-truss": [
        Reason(
            _LUCKY,
            [
                "scbo-stagnates-truss-case1",
                "restart-times-truss-case1",
                "restart-times-truss-node1",
                "descends-truss-case1",
                "descends-truss-node1",
            ],
        )
    ],
    "epbo-truss": [Reason(_SCALE)],
    "epbo-beam": [
        Reason(
            "No point of these runs' initial designs is feasible, and two standard deviations of optimism "
            "call points feasible that are not: what EPBO recommends at the end breaks a limit by "
            "{epbo-violation}."
        )
    ],
    "later-beam": [
        Reason(
            "With so few seeds of CEI and SCBO chance decides: over all its seeds `lcbo-paper` needs "
            "{first-beam} evaluations.",
            ["later-than-cei", "later-than-scbo"],
        )
    ],
    "beam-stagnation": [
        Reason(
            "HDsafeBO finds no feasible beam at all: until it knows one, its region is centered on the best "
            "objective, whatever that violates. CEI finds one early and goes on improving, now and then, to "
            "the end.",
            ["cei-stagnates-beam", "hdsafebo-stagnates-beam"],
        )
    ],
    "cheetah-close": [Reason(_CHEETAH, ["comparable-in-the-middle", "ahead-at-the-end"])],
    "batch-evaluations": [Reason(_STEPS)],
    "batch-iterations": [
        Reason(
            "More points around the iterate make a better gradient, and the first steps of a large batch are "
            "worth several of a mini-batch. The lead does not last: every step has the same length, however "
            "good its direction.",
            ["large-batch-synthetic-50-100"],
        )
    ],
    "components": [
        Reason(
            "Without normalization a step is the paper's step size times a gradient in standardized units, "
            "and jumps across the box: on the truss it ends near the initial design, on the synthetic task "
            "at {unnormalized}, where Sobol search has {sobol}. The paper does not say which step size it "
            "used there. The other two variants do better than the whole on the truss: under this noise the "
            "small box and the short memory cost more than they bring. On the synthetic task the strongest "
            "baseline is a global search with the true hyperparameters, level with the whole.",
            [
                "no-normalization-truss-case1",
                "no-normalization-synthetic-50",
                "no-local-box-synthetic-50",
            ],
        )
    ],
    "penalty-weak": [
        Reason(
            "With rho = 1 the walk does stay outside (what it recommends at the end breaks a limit by "
            "{weak-violation}, and no other constant ends as high), but its exploration meets lighter "
            "feasible trusses on the way, and the walk of the growing penalty is outside as well "
            "({growing-violation}).",
            ["stays-at-start-truss-case1"],
        )
    ],
    "penalty-strong": [
        Reason(
            "The step has a fixed length, so the penalty turns it and does not slow it down.",
            ["highest-synthetic-50-50", "highest-synthetic-50-100"],
        )
    ],
    "penalty-growing": [
        Reason(
            "On the truss the seeds of one penalty scatter more ({scatter} at rho = 10) than the medians of "
            "the penalties from 10 to 1000 differ: three seeds do not order them.",
            ["never-worse-truss-case1"],
        )
    ],
}


def explanation(results: Results, key: str, checks: Sequence[Check]) -> str:
    """Return our explanation of a claim with these checks, empty where we have none."""
    if all(check.holds is None for check in checks):
        return ""
    failing = {check.id for check in checks if check.holds is False}
    found = [reason.text for reason in EXPLANATIONS.get(key, ()) if set(reason.fails) == failing]
    return " ".join(
        text.format_map({name: _NUMBERS[name](results) for name in names(text)}) for text in found
    )


def names(text: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _median(values: pd.Series) -> str:
    s = Spread.of(values)
    return f"{number(s.median)} (n = {s.n})"


def _between(values: pd.Series, unit: str = "") -> str:
    return f"{number(values.min())} to {number(values.max())}{unit} (n = {len(values)})"


def _steps(label: str) -> Callable[[Results], str]:
    def by_dimension(results: Results) -> str:
        found = {d: results.values("main", f"synthetic-{d}", label, "iterations") for d in (25, 50, 100)}
        return ", ".join(f"{_median(steps)} at d = {d}" for d, steps in found.items())

    return by_dimension


def _schedule(label: str) -> Callable[[Results], str]:
    return lambda results: _median(results.values("batch", "synthetic-25", label, "iterations"))


def _violation(spec: str, task: str, label: str) -> Callable[[Results], str]:
    return lambda results: _between(results.recommended(spec, task, label)["violation"])


def _lost(results: Results) -> str:
    """Return by how much the recommended policies are worse than the best feasible ones."""
    advised = results.recommended("main", "halfcheetah", "lcbo-paper")["value"]
    return spread(advised - results.values("main", "halfcheetah", "lcbo-paper"))


_NUMBERS: Mapping[str, Callable[[Results], str]] = {
    "scbo-steps": _steps("scbo"),
    "paper-steps": _steps("lcbo-paper"),
    "mini-steps": _schedule("mini-batch"),
    "large-steps": _schedule("large-batch"),
    "growing-steps": _schedule("growing-batch"),
    "first-beam": lambda results: spread(results.values("main", "beam", "lcbo-paper", "first_feasible")),
    "epbo-violation": _violation("main", "beam", "epbo"),
    "case1-violation": _violation("main", "truss-case1", "lcbo-paper"),
    "node1-violation": _violation("main", "truss-node1", "lcbo-paper"),
    "weak-violation": _violation("penalty", "truss-case1", "rho-1"),
    "growing-violation": _violation("penalty", "truss-case1", "growing"),
    "cheetah-steps": lambda results: _median(
        results.values("main", "halfcheetah", "lcbo-paper", "iterations")
    ),
    "cheetah-lost": _lost,
    "scatter": lambda results: _between(results.values("penalty", "truss-case1", "rho-10"), " lb"),
    "unnormalized": lambda results: _median(results.values("components", "synthetic-50", "no-normalization")),
    "sobol": lambda results: _median(results.values("main", "synthetic-50", "sobol")),
}
