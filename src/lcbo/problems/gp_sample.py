"""Within-model problems: objective and constraints are draws from known Gaussian processes.

A function with squared-exponential covariance, lengthscales l and variance 1 is approximated by a sum of
random Fourier features,

    f(x) = sqrt(2 / D) sum_j w_j cos(omega_j . x + b_j),
    omega_j ~ N(0, diag(1 / l^2)),   b_j ~ U(0, 2 pi),   w_j ~ N(0, 1),   D = 2000

(Rahimi and Recht, Advances in Neural Information Processing Systems 20, 2007). What is optimized is this
finite sum, so values and gradients are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from lcbo import checks
from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, stored_answer
from lcbo.types import Array

Scale = Literal["gibo", "authors"]
Kind = Literal["inequality", "equality"]
FEATURES = 2000
_CHUNK = 512  # points evaluated together: bounds the memory of the phase matrix
OFFSET = 0.5  # makes about a tenth of the cube feasible with two inequalities
Draw = tuple[Array, Array, Array, Array]  # lengthscales l, frequencies omega (D x d), phases b, weights w


class FourierSample:
    """Several independent draws evaluated together; ``1 + m`` draws over ``d`` variables."""

    def __init__(self, draws: list[Draw]) -> None:
        lengthscales, frequencies, phases, weights = zip(*draws, strict=True)
        self.lengthscale: Array = np.stack(lengthscales)
        self._frequency = np.concatenate(frequencies)
        self._phase = np.concatenate(phases)
        self._weight = np.stack(weights) * np.sqrt(2.0 / FEATURES)

    def values(self, X: Array) -> Array:
        """Values of all draws at ``n x d`` points, ``n x (1 + m)``."""
        parts = [self._values(X[start : start + _CHUNK]) for start in range(0, max(len(X), 1), _CHUNK)]
        return np.concatenate(parts)

    def _values(self, X: Array) -> Array:
        wave = np.cos(X @ self._frequency.T + self._phase).reshape(len(X), *self._weight.shape)
        values: Array = np.einsum("nkj,kj->nk", wave, self._weight)
        return values

    def gradients(self, x: Array) -> Array:
        """Gradients of all draws at one point, ``(1 + m) x d``:  -sqrt(2/D) sum_j w_j sin(.) omega_j."""
        slope = -np.sin(self._frequency @ x + self._phase).reshape(self._weight.shape) * self._weight
        frequency = self._frequency.reshape(*self._weight.shape, -1)
        gradients: Array = np.einsum("kj,kji->ki", slope, frequency)
        return gradients

    def hessians(self, x: Array) -> Array:
        """Second derivatives of all draws at one point, ``(1 + m) x d x d``.

        ``-sqrt(2/D) sum_j w_j cos(.) omega_j omega_j^T``
        """
        bend = -np.cos(self._frequency @ x + self._phase).reshape(self._weight.shape) * self._weight
        frequency = self._frequency.reshape(*self._weight.shape, -1)
        hessians: Array = (frequency * bend[..., None]).swapaxes(-1, -2) @ frequency
        return hessians


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

    f and s_i are independent draws (see the module) with variance 1. The lengthscales follow the
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
        checks.integer("d", d, 1)
        checks.integer("seed", seed, 0)
        checks.choice("scale", scale, get_args(Scale))
        checks.choice("kind", kind, get_args(Kind))
        checks.positive("tol", checks.number("tol", tol))
        equality = kind == "equality"
        m = (1 if equality else 2) if m is None else m
        checks.integer("m", m, 0)
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


def _gibo_draws(d: int, seed: int, m: int) -> list[Draw]:
    base = 0.2 * _spread(d) / _spread(2)
    streams = [np.random.default_rng([d, seed, k]) for k in range(m + 1)]
    return [_draw(rng, base * rng.uniform(0.7, 1.3, d)) for rng in streams]


def _authors_draws(d: int, seed: int, m: int) -> list[Draw]:
    base = 0.4 * math.sqrt(d / 6.0) * math.sqrt(4.0 / 3.0 + 2.0 * math.sqrt(1.0 - 3.0 / (5.0 * d)))
    main = np.random.RandomState(seed)  # the published seeding uses the legacy generator
    lengthscales = [main.uniform(0.7 * base, 1.3 * base) for _ in range(m + 1)]
    return [_draw(np.random.RandomState(main.randint(0, 10000)), np.full(d, size)) for size in lengthscales]


def _draw(rng: np.random.Generator | np.random.RandomState, lengthscale: Array) -> Draw:
    frequency = rng.standard_normal((FEATURES, len(lengthscale))) / lengthscale
    phase = rng.uniform(0.0, 2.0 * math.pi, FEATURES)
    return lengthscale, frequency, phase, rng.standard_normal(FEATURES)
