"""SciPy's ``Bounds`` and ``NonlinearConstraint`` in the words of a problem; SciPy itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from lcbo.errors import ArgumentError, OutcomeError
from lcbo.problem.constraint import Constraint
from lcbo.types import Array


def bounds_array(bounds: Any) -> Any:
    """Return a SciPy ``Bounds`` as ``n x 2``, anything else as it is."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return np.column_stack(np.broadcast_arrays(*np.atleast_1d(bounds.lb, bounds.ub)))
    return bounds


def is_nonlinear_constraint(value: object) -> bool:
    """Return whether a value has the form of a SciPy ``NonlinearConstraint``."""
    return all(hasattr(value, name) for name in ("fun", "lb", "ub"))


class ConstraintFunction:
    """The function of a ``NonlinearConstraint``, whose components are outcomes ``c0``, ``c1``, ...

    Args:
        constraint: the SciPy object.
        first: number of its first component among those of all such constraints.
        middle: point at which its components are counted where the limits are scalars, as SciPy does.

    Attributes:
        constraints: one `Constraint` per component.
    """

    def __init__(self, constraint: Any, first: int, middle: Array) -> None:
        self._fun = constraint.fun
        self.constraints = []
        limits = np.column_stack(np.broadcast_arrays(*np.atleast_1d(constraint.lb, constraint.ub)))
        if np.ndim(constraint.lb) == np.ndim(constraint.ub) == 0 and limits[0, 0] != limits[0, 1]:
            limits = np.repeat(limits, self._size(middle), axis=0)
        for i, (lb, ub) in enumerate(limits):
            if lb == ub:
                expected = (
                    "lb < ub; for an equality return the value from fun and use "
                    "Constraint(name, eq=..., tol=...)"
                )
                raise ArgumentError(f"NonlinearConstraint component {i}", expected, f"lb = ub = {lb:g}")
            self.constraints.append(Constraint(f"c{first + i}", lb=float(lb), ub=float(ub)))

    def _size(self, x: Array) -> int:
        """Return the number of components at a point; one where it cannot be told."""
        try:
            return max(1, np.atleast_1d(self._fun(x.copy())).size)
        except Exception:  # an evaluation may fail anywhere; one that has another size later says so
            return 1

    def __call__(self, x: Array) -> dict[str, Any]:
        """Return the components at ``x`` by name."""
        values = np.atleast_1d(self._fun(x))
        if values.shape != (len(self.constraints),):
            expected = f"{len(self.constraints)} values, as many as its lb and ub have"
            raise OutcomeError(f"NonlinearConstraint: expected {expected}; got shape {values.shape}")
        return {c.name: value for c, value in zip(self.constraints, values, strict=True)}
