"""Within-model problems: objective and constraints are draws from known Gaussian processes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from lcbo.problem import Constraint
from lcbo.problems.answers import stored_answer
from lcbo.problems.base import Benchmark
from lcbo.problems.gp_sample.fourier import FEATURES, FourierDraw, FourierSample
from lcbo.problems.variants import check_choice, check_integer, check_positive
from lcbo.types import Array

Scale = Literal["gibo", "authors"]
Kind = Literal["inequality", "equality"]
OFFSET = 0.5  # makes about a tenth of the cube feasible with two inequalities


@dataclass(frozen=True)
class Hyperparameters:
    """The Gaussian processes the functions were drawn from, one row per outcome, objective first.

    Attributes:
        lengthscale: ``(1 + m) x d`` lengthscales of the squared-exponential kernels.
        outputscale: ``1 + m`` signal variances.
        mean: ``1 + m`` prior means.
        noise_var: Variance of the default noise of `noisy`.
    """

    lengthscale: Array
    outputscale: Array
    mean: Array
    noise_var: float


class GPSample(Benchmark):
    """Random functions on the unit cube with known hyperparameters and exact gradients.

        min f(x)   s.t.  c_i(x) = s_i(x) + 0.5 <= 0  (inequality)   or   h_i(x) = s_i(x) = 0  (equality)

    f and s_i are independent draws (see `fourier`) with variance 1. The lengthscales follow the
    synthetic benchmark of GIBO (Mueller, von Rohr and Trimpe, NeurIPS 2021): every function has its own
    l_i ~ U(0.7, 1.3) l(d) with l(d) = 0.2 delta(d) / delta(2) and
    delta(n) = sqrt(n / 6) sqrt((1 + 2 sqrt(1 - 3 / (5 n))) / 3). Noise level 0.1 is sd 0.1 everywhere.

    Outcomes: ``f`` and ``c1``, ``c2``, ... or ``h1``, ``h2``, ...

    Args:
        d: Dimension.
        seed: Which draw.
        scale: ``"gibo"``, or ``"authors"`` (the paper's authors' code: one lengthscale per function, about
            twice as long, and its own way of seeding).
        kind: Inequalities with offset 0.5, or equalities.
        m: Number of constraints; by default 2 inequalities or 1 equality.
        tol: Accepted error of the equalities.
    """

    def __init__(
        self,
        d: int = 25,
        seed: int = 0,
        *,
        scale: Scale = "gibo",
        kind: Kind = "inequality",
        m: int | None = None,
        tol: float = 1e-3,
    ) -> None:
        check_integer("d", d, 1)
        check_integer("seed", seed, 0)
        check_choice("scale", scale, get_args(Scale))
        check_choice("kind", kind, get_args(Kind))
        check_positive("tol", tol)
        equality = kind == "equality"
        m = (1 if equality else 2) if m is None else m
        check_integer("m", m, 0)
        self.seed, self.scale, self.kind = seed, scale, kind
        draws = _gibo_draws(d, seed, m) if scale == "gibo" else _authors_draws(d, seed, m)
        self.sample = FourierSample(draws)
        self._offset = np.array([0.0] + [0.0 if equality else OFFSET] * m)
        limits = [
            Constraint(f"h{i + 1}", eq=0.0, tol=tol) if equality else Constraint(f"c{i + 1}", ub=0.0)
            for i in range(m)
        ]
        self._names = ["f"] + [limit.name for limit in limits]
        super().__init__(
            np.tile((0.0, 1.0), (d, 1)),
            limits,
            "f",
            best_known=stored_answer("gp_sample", f"{scale}_{kind}_m{m}_d{d}_s{seed}"),
            noise_scale=dict.fromkeys(self._names, 1.0),
        )

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The true hyperparameters, for methods that are to be given them."""
        rows = len(self._names)
        return Hyperparameters(
            self.sample.lengthscale.copy(), np.ones(rows), self._offset.copy(), self.noise_level**2
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective and constraints of ``n x d`` points."""
        values = self.sample.values(X) + self._offset
        return dict(zip(self._names, values.T, strict=True))

    def gradient(self, x: npt.ArrayLike) -> dict[str, Array]:
        """Exact noise-free gradients at one point, ``d`` entries by outcome."""
        rows = self.sample.gradients(self._checked_point(x))
        return dict(zip(self._names, rows, strict=True))


def _spread(n: int) -> float:
    """delta(n) of the class docstring."""
    return math.sqrt(n / 6.0) * math.sqrt((1.0 + 2.0 * math.sqrt(1.0 - 3.0 / (5.0 * n))) / 3.0)


def _gibo_draws(d: int, seed: int, m: int) -> list[FourierDraw]:
    base = 0.2 * _spread(d) / _spread(2)
    draws = []
    for k in range(m + 1):
        rng = np.random.default_rng([d, seed, k])
        lengthscale = base * rng.uniform(0.7, 1.3, d)
        frequency = rng.standard_normal((FEATURES, d)) / lengthscale
        phase = rng.uniform(0.0, 2.0 * math.pi, FEATURES)
        draws.append(FourierDraw(lengthscale, frequency, phase, rng.standard_normal(FEATURES)))
    return draws


def _authors_draws(d: int, seed: int, m: int) -> list[FourierDraw]:
    base = 0.4 * math.sqrt(d / 6.0) * math.sqrt(4.0 / 3.0 + 2.0 * math.sqrt(1.0 - 3.0 / (5.0 * d)))
    main = np.random.RandomState(seed)  # the published seeding uses the legacy generator
    lengthscales = [main.uniform(0.7 * base, 1.3 * base) for _ in range(m + 1)]
    draws = []
    for scalar in lengthscales:
        rng = np.random.RandomState(main.randint(0, 10000))
        frequency = rng.normal(size=(FEATURES, d)) / scalar
        phase = rng.uniform(0.0, 2.0 * math.pi, FEATURES)
        weight = rng.normal(size=FEATURES)
        draws.append(FourierDraw(np.full(d, scalar), frequency, phase, weight))
    return draws
