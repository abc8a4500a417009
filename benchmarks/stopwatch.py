"""What a benchmark notes of a run beside its outcome: the processor time of the method, and the commit."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Stopwatch:
    """Processor seconds since it was made, without those inside a function it watches.

    ::

        watch = Stopwatch()
        problem.fun = watch.without(problem.fun)
        lcbo.minimize(problem, budget=100)
        print(watch.seconds)
    """

    def __init__(self) -> None:
        self._begun, self._inside = time.process_time(), 0.0

    def without(self, fun: Callable[[np.ndarray], Any] | None) -> Callable[[np.ndarray], Any]:
        """Return the function of a problem, whose own time then is not counted."""
        assert fun is not None

        def watched(x: np.ndarray) -> Any:
            start = time.process_time()
            try:
                return fun(x)
            finally:
                self._inside += time.process_time() - start

        return watched

    @property
    def seconds(self) -> float:
        """What is counted so far."""
        return time.process_time() - self._begun - self._inside


def commit() -> str:
    """Return the commit of the code that runs, with a plus when files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
