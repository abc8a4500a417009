"""Where a run starts: the initial design every method shares, and the best point of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lcbo.methods.protocol import Array, Setup, Term
from lcbo.models.data import Scaling
from lcbo.random import generator


def initial_design(setup: Setup) -> Array:
    """The user's starts, then uniform points: ``n_init x d``. Equal seeds give equal designs."""
    rest = max(setup.n_init - len(setup.starts), 0)
    uniform = generator(setup.seed, "design").random((rest, setup.dim))
    return np.concatenate([setup.starts.reshape(-1, setup.dim), uniform])


def term_values(y: Array, terms: tuple[Term, ...]) -> Array:
    """Values of the terms, feasible when ``<= 0`` (``= 0``): ``n x B`` outputs in, ``n x T`` out."""
    rows = [t.row for t in terms]
    sign = np.array([t.sign for t in terms])
    threshold = np.array([t.threshold for t in terms])
    values: Array = sign * (y[..., rows] - threshold)
    return values


def violations(y: Array, terms: tuple[Term, ...]) -> Array:
    """How far each term is beyond its bound or tolerance: ``n x T``, NaN where the outcome is missing."""
    values = term_values(y, terms)
    equality = np.array([t.equality for t in terms], dtype=bool)
    tol = np.array([t.tol for t in terms])
    excess: Array = np.maximum(np.where(equality, np.abs(values) - tol, values), 0.0)
    return excess


def total_violation(y: Array, terms: tuple[Term, ...]) -> Array:
    """Sum of each point's violations in units of each outcome's standard deviation: ``n``.

    It is 0 where a point is feasible and infinite where an outcome is missing.

    Args:
        y: ``n x B`` outputs, ``n >= 1``; their standard deviations are the units.
        terms: the conditions.
    """
    excess = violations(y, terms) / Scaling.of(y).std[[t.row for t in terms]]
    total: Array = np.where(np.isnan(excess), np.inf, excess).sum(-1) + np.where(
        np.isnan(y[:, 0]), np.inf, 0.0
    )
    return total


def best_index(y: Array, terms: tuple[Term, ...]) -> int:
    """Index of the best observed point: least objective among the feasible, else least violation.

    Violations are summed in units of each outcome's standard deviation (facts.md, reading 9). Points
    with a missing outcome count as worst.

    Args:
        y: ``n x B`` outputs, ``n >= 1``.
        terms: the conditions.
    """
    total = total_violation(y, terms)
    feasible: NDArray[np.bool_] = total == 0.0
    if feasible.any():
        return int(np.where(feasible, y[:, 0], np.inf).argmin())
    return int(total.argmin())
