"""Benchmark problems with known answers: ``make(name, **variant)`` and ``names()``."""

from lcbo.problems.base import Benchmark, BestKnown
from lcbo.problems.noise import NoisyView
from lcbo.problems.registry import make, names

__all__ = ["Benchmark", "BestKnown", "NoisyView", "make", "names"]
