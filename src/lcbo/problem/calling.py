"""How a user's function is called: with one point or many, as an array or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from lcbo.errors import OutcomeError
from lcbo.text import described
from lcbo.types import Array, Measured


class ByName:
    """A function that takes its variables as a mapping, called with an array, ``... x len(variables)``."""

    def __init__(self, fun: Callable[..., Any], variables: Sequence[str], integer: Iterable[bool]) -> None:
        self._fun, self._variables = fun, tuple(variables)
        self._kinds = [int if whole else float for whole in integer]

    def __call__(self, x: Array, **seed: Any) -> Any:
        """Return what the function returns; of one point the values are numbers, of several arrays."""
        columns = [x[..., i] for i in range(len(self._variables))]
        values = [kind(c) if c.ndim == 0 else c.copy() for kind, c in zip(self._kinds, columns, strict=True)]
        return self._fun(dict(zip(self._variables, values, strict=True)), **seed)


class OneByOne:
    """A function of many points, ``n x len(variables)``, called with one."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.many = fun

    def __call__(self, x: Array, **seed: int) -> Any:
        """Return what the function says of one point."""
        return split(self.many(x[None, :], **{name: np.array([s]) for name, s in seed.items()}), 1)[0]


def takes_seed(fun: Any) -> bool:
    """Return whether a function declares a parameter ``seed``; one in a file says so itself."""
    stated = getattr(fun, "takes_seed", None)
    if stated is not None:
        return bool(stated)
    try:
        declared = signature(fun).parameters.get("seed")
    except (TypeError, ValueError):  # a builtin
        return False
    return declared is not None and declared.kind in (declared.POSITIONAL_OR_KEYWORD, declared.KEYWORD_ONLY)


def split(returned: Any, n: int) -> list[Any]:
    """Return what a function of ``n`` points returned as ``n`` returns, one per point.

    It may be a mapping from names to ``n`` values, ``(f, c)`` with ``n`` and ``n x m`` values, ``n`` numbers,
    or a list of what a function of one point returns.

    Raises:
        OutcomeError: if there are not ``n`` of anything.
    """
    if isinstance(returned, Measured):
        parts = zip(split(returned.values, n), split(returned.sem, n), strict=True)
        return [Measured(values, sem) for values, sem in parts]
    if isinstance(returned, Mapping):
        columns = {name: _rows(returned[name], n, f"outcome {name!r}") for name in returned}
        return [{name: column[i] for name, column in columns.items()} for i in range(n)]
    if isinstance(returned, tuple) and len(returned) == 2 and not isinstance(returned[0], Mapping):
        f, c = _rows(returned[0], n, "f"), _rows(returned[1], n, "c")
        return [(f[i], c[i]) for i in range(n)]
    return list(_rows(returned, n, "fun"))


def _rows(values: Any, n: int, what: str) -> Any:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if not isinstance(values, Sequence | np.ndarray) and hasattr(values, "__array__"):
        values = np.asarray(values)  # a column of a DataFrame
    scalar = isinstance(values, str) or (isinstance(values, np.ndarray) and values.ndim == 0)
    if scalar or not isinstance(values, Sequence | np.ndarray):
        raise OutcomeError(f"{what}: expected {n} values, one per point; got {described(values)}")
    if len(values) != n:
        raise OutcomeError(f"{what}: expected {n} values, one per point; got {len(values)}")
    return values
