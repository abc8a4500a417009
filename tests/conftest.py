"""Fixtures for all tests."""

import gc
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lcbo.methods import registry
from lcbo.methods.protocol import Belief, Method, MethodSpec, Proposal, Setup


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every later garbage collection: they are most of what there is."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: making a file durable then takes no time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


class UniformSearch(Method):
    """A small method with a perfect model: uniform points in batches of ``options["batch"]``.

    The step is taken when a whole batch is told.

    ``options["believe"]`` maps a cube point to (mean, std, gradient) of the outputs, or is absent.
    """

    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        self.setup, self.options = setup, options
        self.told: dict[int, np.ndarray | None] = {}
        self.included: list[tuple[np.ndarray, np.ndarray]] = []
        self.points: dict[int, np.ndarray] = {}
        self.id = self.iteration = 0
        self.open: set[int] = set()

    def _propose(self, role: str) -> Proposal:
        count = self.id - len(self.included)
        rng = np.random.default_rng([self.setup.seed, count])
        u = self.setup.starts[count] if count < len(self.setup.starts) else rng.random(self.setup.dim)
        self.points[self.id] = u
        self.id += 1
        return Proposal(self.id - 1, u, role, self.iteration)

    def include(self, u, y):
        self.included.append((u, y))
        self.id += 1
        return self.id - 1

    def ask(self, n=None, most=None):
        if "stop_at" in self.options and self.iteration >= self.options["stop_at"]:
            return []
        size = self.setup.n_init if self.iteration == 0 else self.options.get("batch", 3)
        role = "init" if self.iteration == 0 else "explore"
        needed = 0 if self.open else size
        count = needed if n is None else n
        proposals = [self._propose(role) for _ in range(count if most is None else min(count, most))]
        self.open |= {p.id for p in proposals}
        return proposals

    def tell(self, id, y):
        assert id not in self.told
        self.told[id] = y
        self.open.remove(id)
        self.iteration += not self.open

    def recommend(self):
        return self.options.get("recommend")

    def belief(self, u):
        if "believe" not in self.options:
            return None
        mean, std, gradient = self.options["believe"](u)
        return Belief(u, mean, std, gradient, np.zeros_like(gradient), np.ones(len(mean)))

    def info(self):
        return {"iteration": float(self.iteration), "step": 0.1}


@pytest.fixture
def uniform(monkeypatch):
    """Register `UniformSearch` as the method ``uniform``; returns the list of those built."""
    methods: list[UniformSearch] = []

    def build(setup, options):
        methods.append(UniformSearch(setup, options))
        return methods[-1]

    options = dict.fromkeys(("batch", "believe", "recommend", "stop_at", "schedule"))
    spec = MethodSpec("uniform", "uniform points in batches", build, options)
    monkeypatch.setitem(registry._SPECS, spec.name, spec)
    return methods
