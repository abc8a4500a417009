"""The page of readings: where text and code differ or are silent, and what difference it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.claims.comparisons import ends_below
from reproduction.claims.paper import REAL, SYNTHETIC
from reproduction.claims.wording import effect
from reproduction.figures.appearance import view
from reproduction.harness.results import Results
from reproduction.pages.stated import commits

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Reading:
    """One point of the paper that can be read in two ways.

    Attributes:
        point: what it is about.
        text: what the paper says.
        code: what the authors' published code does.
        source: where our code takes which.
        measured: labels of ``main`` that differ in this point (and perhaps in others): the first one's lead
            over the second is shown; or where the difference is seen.
    """

    point: str
    text: str
    code: str
    source: str
    measured: tuple[str, str] | str = NOT_MEASURED


_WHOLE = ("lcbo-authors", "lcbo-paper")

READINGS: Sequence[Reading] = (
    Reading(
        "hyperparameters",
        "maximum likelihood with priors every five iterations, kept in between; noise variance 0.01",
        "50 Adam steps (rate 0.1) in every fifth iteration, forgotten at once: lengthscale 1 and "
        "outputscale 0.69 in the four others",
        '`lcbo-paper`: `fit="map"`, kept; `lcbo-authors`: `fit="adam"`, `reset_between_fits`',
        _WHOLE,
    ),
    Reading(
        "exploration points Z_2",
        "the b_2 points jointly",
        "one at a time, the model conditioned on each",
        "`explorer`: `paper` in `lcbo-paper`, `sequential` in `lcbo-authors`",
        _WHOLE,
    ),
    Reading(
        "Adam on the acquisition",
        "rate 0.01, 10 starts, steps not stated",
        "rate 0.05, 50 steps, 5 starts, one of them x_k",
        "`acquisition/explore.py`: `PaperExplorer` (100 steps are ours), `SequentialExplorer`",
        _WHOLE,
    ),
    Reading(
        "repeats at x_k",
        "b_1 observations",
        "their mean as one observation with the noise of one",
        "`average_repeats` in `lcbo-authors`",
        _WHOLE,
    ),
    Reading(
        "LogSumExp over outputs",
        "smooth maximum of the traces, temperature not stated",
        "temperature 1, of the negative reductions",
        "`acquisition/explore.py`: temperature 1, of the traces in `paper`, of the reductions in "
        "`sequential`",
        _WHOLE,
    ),
    Reading(
        "lengthscales",
        "RBF, one or many per output not stated",
        "one",
        "`ard=False` in both and in all rivals",
    ),
    Reading(
        "initial design",
        "d random points; noise on observations",
        "d random points, evaluated without noise",
        "noisy in all runs: a user's design is",
    ),
    Reading(
        "start",
        "best feasible point of the design, else least violation",
        "the same",
        "all methods; violations are summed in standard deviations of the design (`terms.py`)",
    ),
    Reading(
        "step",
        'normalized gradient, "step size scheduler" 0.25 or 0.5',
        "constant 0.25 or 0.5",
        "constant in both; the theorem's k^(-1/2) in `lcbo-theory`",
    ),
    Reading(
        "penalty",
        "10 k^(1/4), one-sided for inequalities",
        "the same, on standardized outputs",
        "`steps/penalty.py`, both",
    ),
    Reading(
        "truss load",
        '"standard loading scenario (Case 1)"',
        "node 1 alone: (1000, 10000, -5000) lb",
        "both are run: `truss-case1`, `truss-node1`",
        "[in every table](reproducing.md)",
    ),
    Reading("smoothing of truss and beam", "alpha 20", "alpha 10 by default", "20 (`problems/structures`)"),
    Reading(
        "noise of standard deviation 0.1",
        'on "observations"',
        "on weight/100, volume/100 and each normalized constraint",
        "as the code: `noise = 0.1` of the specs",
    ),
    Reading(
        "synthetic functions",
        '"as GIBO"',
        "lengthscales about twice GIBO's, seeded otherwise",
        '`gp_sample(scale="gibo")` in the main runs, `scale="authors"` in the control',
    ),
    Reading(
        "synthetic hyperparameters",
        "fixed ground truth",
        "fixed ground truth",
        "`truth = true` in the specs, no standardization there",
    ),
    Reading(
        "CEI",
        '"canonical" CEI, Adam with rate 0.01 from 10 starts; plain or logarithm not stated',
        "-",
        "`cei-plain` stands for the paper's, `cei` climbs the logarithm",
        ("cei", "cei-plain"),
    ),
    Reading(
        "SCBO's transforms",
        "z-score for all methods",
        "-; the SCBO paper has copula and bilog",
        "`scbo` stands for the paper's, `scbo-original` has SCBO's own",
        ("scbo-original", "scbo"),
    ),
    Reading(
        "SCBO's restarts",
        "when the region falls below its least length; data kept",
        "-",
        "same data, no new design, success judged against what came since (`methods/regions/base.py`)",
    ),
    Reading(
        "HDsafeBO's start",
        "least violation where nothing is feasible",
        "HDsafeBO's own code: least objective",
        '`unsafe_center="violation"`; its own rule is the option `objective`',
    ),
    Reading(
        "HDsafeBO's bound",
        "beta 2",
        "HDsafeBO's own code: 4 standard deviations take effect",
        "`beta=2.0`",
    ),
    Reading("EPBO's beta", "2.0", "-", "two standard deviations (`methods/search/options.py`)"),
)

INTRODUCTION = """# Readings of the paper

*Written by `make reproducing`. Where the paper's text and its authors' published code differ,
`lcbo-paper` follows the text and `lcbo-authors` the code; where both are silent the choice is ours. The
last column is measured in the runs of [Reproducing the paper](reproducing.md): by how much the first of
two methods ends below the second, in percent of the second, with its bootstrap interval. The first five
points differ together between the two presets and are measured together; single ones are not measured.
"-": nothing is known to us.*

```python
import lcbo

problem = lcbo.problems.make("truss25").noisy(rng=0)
lcbo.minimize(problem, budget=30, method="lcbo-authors", rng=0)
one_point = {"reset_between_fits": True}  # of the code, the others as in the text
lcbo.minimize(problem, budget=30, method="lcbo-paper", options=one_point, rng=0)
```
"""


def write_readings(results: Results, path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(readings_page(results), encoding="utf-8")


def readings_page(results: Results) -> str:
    """Return the page as Markdown."""
    lines = [
        INTRODUCTION,
        "| point | the paper's text | the authors' code | our source | measured |",
        "|---|---|---|---|---|",
    ]
    pairs = list(dict.fromkeys(r.measured for r in READINGS if isinstance(r.measured, tuple)))
    for r in READINGS:
        pair = r.measured if isinstance(r.measured, tuple) else None
        measured = r.measured if pair is None else f"[{' against '.join(pair)}](#measured)"
        lines.append(f"| {r.point} | {r.text} | {r.code} | {r.source} | {measured} |")
    lines += [
        "",
        "## Measured\n",
        "| task | " + " | ".join(f"`{a}` below `{b}`" for a, b in pairs) + " | commits |",
    ]
    lines.append("|---|" + "---|" * (len(pairs) + 1))
    for task in (*REAL, *SYNTHETIC):
        cells = [effect(ends_below(results, task, *pair)) for pair in pairs]
        labels = dict.fromkeys(label for pair in pairs for label in pair)
        run = {label: commits(results, "main", task, label) for label in labels}
        where = "; ".join(f"{label} {commit}" for label, commit in run.items() if commit)
        lines.append(f"| {view(task).title} | {' | '.join(cells)} | {where} |")
    return "\n".join(lines) + "\n"
