"""Benchmark problems with known answers.

``make(name, **variant)`` builds one, ``names()`` lists them; `from_botorch` and `to_botorch` convert from and
to BoTorch's test problems.
"""

from lcbo.problems.base import Benchmark, BestKnown, NoisyView
from lcbo.problems.botorch import from_botorch, to_botorch
from lcbo.problems.registry import from_source, make, names

__all__ = [
    "Benchmark",
    "BestKnown",
    "NoisyView",
    "from_botorch",
    "from_source",
    "make",
    "names",
    "to_botorch",
]
