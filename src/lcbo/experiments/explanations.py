"""Why a claim came out as it did, as far as we can tell: by claim, for the verdict it was written for.

An explanation whose verdict no longer is the computed one is not shown, so that new runs cannot leave a wrong
reason standing. Its numbers are computed from the runs: a name in braces stands for one of `_NUMBERS`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping

import pandas as pd

from lcbo.experiments.metrics import Spread
from lcbo.experiments.results import Results
from lcbo.experiments.wording import number, spread

_DECISIONS = (
    "SCBO decides once per batch of d/2 points: {scbo-steps}. In the same budget `lcbo-paper` makes more "
    "steps, and hardly fewer of them in more dimensions: {paper-steps}."
)
_LOCAL = (
    "At d = 25 all of them reach a local minimum well before the budget ends, and which one depends on the "
    "seed more than on the method."
)
_TRUSS = (
    "On the truss `lcbo-paper` mostly walks outside: the minimiser of its penalised objective breaks the "
    "displacement limit, so feasible points come from exploration and noise (compare the violation of the "
    'recommended point, under "What a user is handed").'
)
_LUCKY = (
    "SCBO stands still because of the noise: its centre is the best point *observed* feasible, which with "
    "noise of 0.1 on the constraints soon is a lucky observation of an infeasible one (seen in "
    "[theory-results.md](theory-results.md); without noise SCBO goes on to about 510 lb, "
    "`benchmarks/baselines.py restarts`). `lcbo-paper` stands still for another reason: its walk leads "
    "outside."
)
_SCALE = (
    "Designs that are almost singular violate a limit hundreds of times over and set the scale of the "
    "z-score. All that is near the threshold then lies within the model's noise, and two standard "
    "deviations of optimism call it feasible. With the bilog of the constraints and `beta=0.1` EPBO does "
    "improve ([epbo](methods/epbo.md))."
)
_STEPS = (
    "A step has a fixed length, so the number of steps counts: within 5000 evaluations at d = 25 "
    "mini-batches make {mini-steps}, large batches {large-steps} and growing ones {growing-steps}."
)
_EXACT = (
    "More points around the iterate make a better gradient, and the first steps of a large batch are worth "
    "several of a mini-batch. In the end all are in local minima, and their order is the seeds'."
)
_CHANCE = (
    "With so few seeds of CEI and SCBO chance decides: over all its seeds `lcbo-paper` needs {first-beam} "
    "evaluations."
)

EXPLANATIONS: Mapping[str, Mapping[str, str]] = {
    "synthetic-best": {"agree": _DECISIONS, "partly": f"{_DECISIONS} {_LOCAL}", "not": _LOCAL},
    "synthetic-growth": {"agree": _DECISIONS},
    "real-best": {"partly": _TRUSS, "not": _TRUSS},
    "scbo-truss": {"partly": _LUCKY},
    "epbo-truss": {"agree": _SCALE},
    "epbo-beam": {
        "agree": "No point of these runs' initial designs is feasible, and two standard deviations of "
        "optimism call points feasible that are not: what EPBO recommends at the end breaks a limit by "
        "{epbo-violation}."
    },
    "later-beam": {"not": _CHANCE, "partly": _CHANCE},
    "beam-stagnation": {
        "partly": "HDsafeBO finds no feasible beam at all: until it knows one, its region is centred on "
        "the best objective, whatever that violates. CEI finds one early and goes on improving, now and "
        "then, to the end."
    },
    "batch-evaluations": {"agree": _STEPS, "partly": _STEPS},
    "batch-iterations": {"agree": _EXACT, "partly": _EXACT},
    "components": {
        "partly": "Without normalisation a step is the paper's step size times a gradient in standardised "
        "units, and jumps across the box: on the truss it ends near the initial design, on the synthetic "
        "task at Sobol's level. The paper does not say which step size it used there. The other two "
        "variants do better than the whole on the truss, so under this noise the small box and the short "
        "memory cost more than they bring."
    },
    "penalty-weak": {
        "agree": "The weaker the penalty, the farther outside its minimiser.",
        "not": "With rho = 1 the walk does stay outside (what it recommends at the end breaks a limit by "
        "{weak-violation}, and no other constant ends as high), but its exploration meets lighter feasible "
        "trusses on the way, and the walk of the growing penalty is outside as well.",
    },
    "penalty-strong": {
        "not": "The step has a fixed length, so the penalty turns it and does not slow it down; the four "
        "constants end closer to each other than their seeds do.",
    },
    "penalty-growing": {
        "partly": "On the truss the seeds of one penalty scatter more ({scatter} at rho = 10) than the "
        "medians of the penalties from 10 to 1000 differ, and nothing is ordered: the noise on the "
        "constraints decides more than the penalty does.",
    },
}


def explanation(results: Results, key: str, verdict: str) -> str:
    """Return our explanation of a claim with this verdict, empty where we have none."""
    text = EXPLANATIONS.get(key, {}).get(verdict.split(" so far")[0], "")
    return text.format_map({name: _NUMBERS[name](results) for name in names(text)})


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


def _violation(results: Results, spec: str, task: str, label: str) -> pd.Series:
    """Return by how much the points recommended at the end break a limit, by seed."""
    return results.curve(spec, task, label).groupby("seed")["recommended_violation"].last()


_NUMBERS: Mapping[str, Callable[[Results], str]] = {
    "scbo-steps": _steps("scbo"),
    "paper-steps": _steps("lcbo-paper"),
    "mini-steps": _schedule("mini-batch"),
    "large-steps": _schedule("large-batch"),
    "growing-steps": _schedule("growing-batch"),
    "first-beam": lambda results: spread(results.values("main", "beam", "lcbo-paper", "first_feasible")),
    "epbo-violation": lambda results: _between(_violation(results, "main", "beam", "epbo")),
    "weak-violation": lambda results: _between(_violation(results, "penalty", "truss-case1", "rho-1")),
    "scatter": lambda results: _between(results.values("penalty", "truss-case1", "rho-10"), " lb"),
}
