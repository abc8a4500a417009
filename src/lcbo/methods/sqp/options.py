"""Every option of BayeSQP with its default, which is that of the authors' code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lcbo.checks import MOST_POINTS, above_zero, integer, number
from lcbo.models.options import LearnedModelOptions


@dataclass(frozen=True)
class BayesqpOptions(LearnedModelOptions):
    """Settings of one BayeSQP run.

    Attributes:
        fit_growth: a fit waits until there are this much more data than at the last one, as a share.
        delta_f: probability with which the objective may end above its bound in the subproblem, up to 0.5,
            which takes it at its mean; so it is taken until something feasible was observed.
        delta_c: the same of every inequality.
        radius: of the ball around an iterate in which the model is given points, in the unit cube.
        samples: points in the ball per iteration; ``None``: ``d + 1``.
        trials: evaluations of one line search.
        n_candidates: points of the line among which a draw of the model picks each trial.
    """

    fit_every: int = 1
    ard: bool = True
    learn_noise: bool = True
    hyperparameters: Mapping[str, Any] = field(default_factory=lambda: {"noise_var": 1e-4})
    fit_growth: float = 0.1  # ours: the authors fit after every trial
    delta_f: float = 0.2
    delta_c: float = 0.2
    radius: float = 0.05
    samples: int | None = None
    trials: int = 3
    n_candidates: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        number("options, fit_growth", self.fit_growth, least=0.0)
        for option in ("delta_f", "delta_c"):
            above_zero(f"options, {option}", getattr(self, option), most=0.5)
        above_zero("options, radius", self.radius, most=1.0)
        for option in ("trials", "n_candidates"):
            integer(f"options, {option}", getattr(self, option), most=MOST_POINTS)
        if self.samples is not None:
            integer("options, samples", self.samples, most=MOST_POINTS)
