"""The fixed text of the pages: how runs are scored and judged, and the captions of the figures."""

from __future__ import annotations

from collections.abc import Mapping

from reproduction.claims.statistics import LEAST, LEVEL, MARGIN

INTRODUCTION = """# Reproducing the paper

*Written by `make reproducing` from the runs in [reproduction/](../reproduction/README.md): every
number here is computed from them. [Readings](readings.md) says where the paper's text and its
authors' code differ; `lcbo-authors` follows the code, `lcbo-paper` the text.*
"""

DEVELOPED = (
    "`lcbo` is not the paper's method, and it was developed on truss, beam and samples of Gaussian "
    "processes: its numbers on these tasks are no evidence for others. HalfCheetah was not among them, nor "
    "was the checking half of the [suite](suite.md), where it is compared on problems it was not developed "
    "on. It gets no true hyperparameters on the synthetic tasks; the methods of the paper do."
)

CAPTIONS: Mapping[str, str] = {
    "real": "Best feasible value over evaluations on the real tasks: median and quartiles of the paper's "
    "five methods (both readings of LCBO), medians of the others thin and gray. All strong lines of a panel "
    "have the same seeds.",
    "synthetic": "The same on draws of Gaussian processes; every seed is another function, and all lines of "
    "a panel have the same ones.",
    "mechanism": "Left: progress on the truss; the vertical lines are the medians of SCBO's first and second "
    "restart. Right: the length of SCBO's trust region in every run; a triangle is a restart.",
    "mechanism-2d": "The plane of a 20-variable problem with noise: LCBO slides along a curved constraint, "
    "SCBO's median run stalls at it. With two variables alone SCBO does not stall: see theory-results.md.",
    "batch": "Batch schedules over evaluations (above) and over iterations (below, as far as the shortest "
    "schedule goes).",
    "components": "LCBO without one component in both readings, beside the strongest of the paper's rivals.",
    "penalty": "The paper's growing penalty and four constants, in both readings.",
    "recommended": "What a user is handed on the noisy truss: value (left) and largest violation (right) of "
    "the point the method recommends after every evaluation, medians and quartiles, each pooled over the "
    "tenth of the budget before it.",
    "theory-residuals": "KKT residuals with true gradients, averaged as in the theorem, over iterations and "
    "evaluations, beside the slopes of the theorem.",
    "theory-dimension": "The averages at the end of a run over d, of `lcbo-theory` and with exact gradients.",
    "theory-error-functions": "Numeric e(b) and E(b) beside the orders the paper gives for them.",
}

SCORING = f"""\
- The value of a run is the noise-free objective of its best truly feasible evaluation, infinite
  without one ("none"). A negative objective is better the lower it is. Medians and quartiles are
  over seeds.
- All methods share the initial design of d points, the noise of evaluation i and the scoring, seed
  by seed. On the synthetic tasks every seed is another function, and the methods of the paper get
  the true hyperparameters.
- Noise of 0.1 is on the weight in 100 lb, the volume in 100 in³ and the normalized constraints.
- A **difference** is taken seed by seed and is a share of the rival's median; positive speaks for
  the claim. The **effect** is the median difference, in brackets its bootstrap interval
  (percentile, 95 %).
- **The tie margin is {MARGIN:.0%} everywhere**, fixed before these runs: "below" means lower by
  more than it, "not above" higher by no more than it. Rules with limits of their own (a tenth, a
  quarter) have none on top.
- A comparison **agrees** if Wilcoxon's signed-rank test (exact, one-sided) rejects its opposite,
  and is **contradicted** if the test rejects it, both at {LEVEL:g} after Holm's correction over all
  comparisons of the claim. Otherwise, and with fewer than {LEAST} common seeds, it is
  **undecided**. A claim agrees if all its comparisons do and is contradicted if one is. A claim
  about every run needs the paper's ten runs and fails with one exception.
- Results change with the machine: other processors round otherwise, and a run is chaotic in its
  last digits. Single values do not repeat elsewhere, medians do within their scatter.
"""
