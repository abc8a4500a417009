"""Problems given by formulas: objective f, inequalities g <= 0, equalities h = 0."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from lcbo import checks
from lcbo.problem import Constraint
from lcbo.problems.base import Benchmark, BestKnown, stored_answer
from lcbo.types import Array

Formulas = tuple[Array, Sequence[Array], Sequence[Array]]  # f, g <= 0, h = 0
Function = Callable[[Array], Formulas]  # of n x d points
_NOISE_LEVEL = 0.01
_NOISE_POINTS = 256


class Analytic(Benchmark):
    """A benchmark made of formulas; outcomes ``f``, ``g1``, ``g2``, ... and ``h1``, ``h2``, ...

    A subclass writes `_formulas`. Noise level 1 means, for each outcome, its interquartile range over 256
    uniform points of the box; the default level is 0.01.

    Args:
        lb: Lower bounds.
        ub: Upper bounds.
        best_known: The best known answer, or None.
        tol: Accepted error of the equalities.
    """

    def __init__(
        self, lb: npt.ArrayLike, ub: npt.ArrayLike, best_known: BestKnown | None, tol: float = 1e-3
    ) -> None:
        checks.positive("tol", checks.number("tol", tol))
        bounds = np.column_stack([lb, ub]).astype(np.float64)
        spread = bounds[:, 1] - bounds[:, 0]
        points = bounds[:, 0] + spread * np.random.default_rng(0).random((_NOISE_POINTS, len(bounds)))
        sample = self.outcomes_at(points)
        constraints = [
            Constraint(name, ub=0.0) if name.startswith("g") else Constraint(name, eq=0.0, tol=tol)
            for name in sample
            if name != "f"
        ]
        quartiles = {name: np.quantile(values, (0.25, 0.75)) for name, values in sample.items()}
        super().__init__(
            bounds,
            constraints,
            "f",
            best_known=best_known,
            noise_scale={name: float(high - low) for name, (low, high) in quartiles.items()},
            noise_level=_NOISE_LEVEL,
        )

    @abstractmethod
    def _formulas(self, X: Array) -> Formulas:
        """Return f, all g and all h at ``n x d`` points, arrays of length ``n``."""

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective, inequalities and equalities of ``n x d`` points by name."""
        f, g, h = self._formulas(X)
        outcomes = {"f": f}
        outcomes |= {f"g{i}": value for i, value in enumerate(g, start=1)}
        outcomes |= {f"h{i}": value for i, value in enumerate(h, start=1)}
        return outcomes


class Equalities(Analytic):
    """A problem on a fixed box, whose only variant is the tolerance of its equalities."""

    stated: ClassVar[tuple[Function, npt.ArrayLike, npt.ArrayLike, BestKnown | None]]

    def __init__(self, *, tol: float = 1e-3) -> None:
        _, lb, ub, best_known = self.stated
        super().__init__(lb, ub, best_known or stored_answer("analytic", type(self).__name__), tol)

    def _formulas(self, X: Array) -> Formulas:
        return self.stated[0](X)


class Inequalities(Equalities):
    """A problem on a fixed box without equalities, hence without variants."""

    def __init__(self) -> None:
        super().__init__()


def stated(
    kind: type[Equalities], lb: npt.ArrayLike, ub: npt.ArrayLike, best_known: BestKnown | None = None
) -> Callable[[Function], type[Equalities]]:
    """Turn a function into a class of problems with its name; the answer is the stored one unless given."""

    def build(function: Function) -> type[Equalities]:
        about = {"__doc__": function.__doc__, "__module__": function.__module__}
        return type(function.__name__, (kind,), {"stated": (function, lb, ub, best_known), **about})

    return build
