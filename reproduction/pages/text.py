"""The fixed text of the page: how runs are scored, and which figure and claims go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproduction.claims.claims import LEAST
from reproduction.claims.metrics import least_p


@dataclass(frozen=True)
class Section:
    """A heading with its figure, caption and the keys of the claims it bears on."""

    title: str
    figure: str
    caption: str
    claims: Sequence[str] = ()


_PROGRESS = "Best feasible value over evaluations: median (line) and quartiles (band) of n runs."

SECTIONS: Sequence[Section] = (
    Section(
        "Synthetic tasks",
        "synthetic",
        "Above: best feasible value over evaluations, median (line) and quartiles (band) over the functions "
        "(seeds) all methods have run. Below: regret over all runs of each method.",
        ("synthetic-best", "synthetic-growth", "synthetic-early"),
    ),
    Section(
        "Truss, beam and HalfCheetah",
        "real",
        _PROGRESS,
        ("real-best", "epbo-truss", "epbo-beam", "later-beam", "beam-stagnation", "cheetah-close"),
    ),
    Section(
        "Mechanism: a trust region at the boundary",
        "mechanism",
        "Left: progress on the truss, with the medians of SCBO's first two restarts. Right: length of SCBO's "
        "trust region, one line per run; a triangle is a restart.",
        ("scbo-truss",),
    ),
    Section(
        "Batch schedules",
        "batch",
        "Best feasible value over evaluations (above) and over iterations (below, as far as the shortest "
        "schedule goes).",
        ("batch-evaluations", "batch-iterations"),
    ),
    Section(
        "Components",
        "components",
        "LCBO as in the paper and without one component, beside the strongest of the paper's baselines.",
        ("components",),
    ),
    Section(
        "Penalty",
        "penalty",
        "LCBO with the paper's growing penalty and with four constants.",
        ("penalty-weak", "penalty-strong", "penalty-growing"),
    ),
    Section(
        "What a user is handed",
        "recommended",
        "Under noise nobody knows which evaluation was the best feasible one. What a user is handed is the "
        "point the method recommends, and that may break a constraint a little. Left: the best feasible "
        "point, known only to us. Middle and right: value and violation of the recommended point, pooled "
        "over the tenth of the budget before each evaluation.",
    ),
)

MECHANISM_2D = (
    "The plane of a 20-variable problem with noise: LCBO slides along a curved constraint, SCBO's median run "
    "stalls at it. With two variables alone SCBO does not stall: see theory-results.md."
)
THEORY_PICTURES = {
    "theory-residuals": "KKT residuals with true gradients, averaged as in the theorem, over the number of "
    "iterations K and over the number of evaluations, beside the slopes of the theorem.",
    "theory-dimension": "The averages at the end of a run over d, of `lcbo-theory` and of steps along exact "
    "gradients at large K.",
    "theory-error-functions": "Numeric e(b) and E(b) beside the orders the paper gives for them.",
}
RANKS = "Mean rank of the final best feasible value by task and method, 1 the best."

INTRODUCTION = """# Reproducing the paper

Written by `make reproducing` (`python -m reproduction page`) from the files in `reproduction/results/`:
every number is computed from the runs. `make reproduce` runs what is missing first (hours, resumable at any
moment); `make reproduce-quick` does all of it in small, within minutes, under `build/quick/`. How specs and
results look: [reproduction](../reproduction/README.md).
"""

SCORING = f"""## How it is scored

- The value of a run is the noise-free objective of its best truly feasible evaluation so far, infinite
  before the first (written "none"). Medians and quartiles are over seeds; infinity counts in both.
- All methods share the initial design of d points, the noise of evaluation i and the scoring, seed by seed.
  On the synthetic tasks every seed is another function: compare values there over the same seeds only.
- Curves are kept at 100 evenly spaced counts. A value "after" a count is that of the last one kept; over
  iterations, values in between are interpolated.
- `lcbo-paper` is Algorithm 1 with the settings of Table 1 and stands for the paper's LCBO. `lcbo` is our
  default without any options. On the synthetic tasks the methods of the paper are given the true
  hyperparameters, `lcbo` and the model-free peers are not.
- Readings of what the paper leaves open: which truss load it used (its text: case 1; its authors' code:
  node 1), so both are run; noise of 0.1 is on the weight in 100 lb, the volume in 100 in³ and the normalized
  constraints; the synthetic functions have the lengthscales of GIBO, from which the paper took its task
  (`gp_sample(scale="gibo")`; its authors' code has about twice as long ones).
- A check is decided with at least {LEAST} runs behind every number. A claim is **agree** if all its decided
  checks hold, **not** if none does, **partly** otherwise.
- p is Wilcoxon's signed-rank test over common seeds, two-sided, exact, not corrected for the number of tests.
  With n = 3 it cannot be below {least_p(3):g}, with n = 5 not below {least_p(5):g}: with fewer than 6 common
  seeds nothing can be significant at 0.05, and a check tells what was seen, not what is certain.
"""

NUMBERS = """Regret is to the best known value of the task and seed. Ranks compare every pair of methods on
their common seeds, and so does the comparison of final values with those of `lcbo-paper`. The last two
columns are about the point recommended at the end: its value and its largest violation, and how many of
these points are feasible.
"""
