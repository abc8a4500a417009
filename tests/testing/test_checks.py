"""The shipped checks: a sound method passes all of them, and every flaw is caught by the check for it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lcbo.testing
from lcbo.methods import registry
from lcbo.methods.base.archive import FAILED
from lcbo.methods.base.model_free import ModelFree
from lcbo.methods.protocol import Array, MethodSpec, Proposal, Setup
from lcbo.random import generator
from lcbo.testing import Check

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
CHECKS: Mapping[str, Check] = {check.__name__: check for check in lcbo.testing.checks}


class Sound(ModelFree):
    """Three Gaussian steps from the best point."""

    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        super().__init__(setup)
        self.options = options

    def steps(self) -> Array:
        rng = generator(self.setup.seed, "steps", self.iteration)
        return 0.1 * rng.standard_normal((3, self.setup.dim))

    def next_batch(self) -> list[Array]:
        return list(np.clip(self.archive.u[self.best()] + self.steps(), 0.0, 1.0))


def spec(build: type[ModelFree], **facts: bool) -> MethodSpec:
    return MethodSpec(build.__name__, "for a test", build, {}, **facts)


@pytest.mark.parametrize("name", [name for name in CHECKS if "fresh" not in name])
def test_sound_method_passes(name: str) -> None:
    CHECKS[name](spec(Sound))


class LeavesTheCube(Sound):
    def next_batch(self) -> list[Array]:
        return [u + 1.0 for u in super().next_batch()]


class WrongShape(Sound):
    def next_batch(self) -> list[Array]:
        return [u[None, :] for u in super().next_batch()]


class IgnoresStarts(Sound):
    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        super().__init__(setup, options)
        self._queue = [(1.0 - u, role) for u, role in self._queue]


class Overspends(Sound):
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:  # noqa: ARG002
        return super().ask(n)


class StopsAtItsFirstBudget(Sound):
    def extend(self, budget: int | None) -> None:
        super().extend(budget)
        self.next_batch = list  # type: ignore[method-assign]


class DropsTheRest(Sound):
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        proposals = super().ask(n, most)
        self._queue = []
        return proposals


class NeverWaits(Sound):
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        if not self._queue:
            self._refill()
        return super().ask(n, most)


class LimitIsAMinimum(Sound):
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        return super().ask(None if n is None else n + 1, most)


class WaitsForACrowd(Sound):
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        return [] if n is not None and n < 3 and not self._queue else super().ask(n, most)


class MovesWhenLookedAt(Sound):
    def recommend(self) -> Array | None:
        self.iteration += 1
        return None


class NeedsTwoVariables(Sound):
    def steps(self) -> Array:
        steps = super().steps()
        steps[:, 1] = 0.0
        return steps


class PrefersTheLastTold(Sound):
    last = 0

    def tell(self, id: int, y: Array | None) -> None:
        super().tell(id, y)
        self.last = id

    def steps(self) -> Array:
        return super().steps() * (1.0 + 0.1 * (self.last % 3))


class TrustsTheObjective(Sound):
    def tell(self, id: int, y: Array | None) -> None:
        super().tell(id, y)
        if y is not None:
            assert np.isfinite(y).all()


class KnowsNoFailure(Sound):
    def next_batch(self) -> list[Array]:
        assert not (self.archive.status == FAILED).any()
        return super().next_batch()


class TriesTheDesignAgain(Sound):
    def _refill(self) -> None:
        if len(self.archive.recent(None)) == 0:
            self._queue = [(u, "init") for u in self.archive.u[:4].copy()]
        else:
            super()._refill()


class CountsDataTwice(Sound):
    def include(self, u: Array, y: Array) -> int:
        return super().include(u, y) + 1


class DividesByTheSpread(Sound):
    def steps(self) -> Array:
        y = self.archive.y[self.archive.recent(None)]
        with np.errstate(all="ignore"):
            return super().steps() * (1.0 + 0.0 * y[0] / np.nanstd(y, axis=0)).sum()


class StepsInUnits(Sound):
    def steps(self) -> Array:
        return super().steps() * np.tanh(np.nanmax(np.abs(self.archive.y), initial=0.0))


class UsesGlobalNumbers(Sound):
    def steps(self) -> Array:
        return super().steps() + 0.1 * np.random.random()  # noqa: NPY002  (the flaw)


class IgnoresTheSeed(Sound):
    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        super().__init__(setup, options)
        self._queue = [(np.full(setup.dim, 0.1 * (i + 1)), "init") for i in range(setup.n_init)]

    def steps(self) -> Array:
        return 0.1 * generator(0, "steps", self.iteration).standard_normal((3, self.setup.dim))


class SharesAMemory(Sound):
    count = 0

    def steps(self) -> Array:
        SharesAMemory.count += 1
        return super().steps() / SharesAMemory.count


class LosesItsIteration(Sound):
    def state(self) -> dict[str, Any]:
        return {"queue": [[u.tolist(), role] for u, role in self._queue]}

    def restore(self, state: Mapping[str, Any], events: Any) -> None:
        for event in events:
            if isinstance(event, Proposal):
                self.archive.add(event.u)
            else:
                self.archive.settle(event.id, event.y)
        self._queue = [(np.array(u), role) for u, role in state["queue"]]


class ChangesNumpy(Sound):
    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        super().__init__(setup, options)
        np.seterr(under="warn" if np.geterr()["under"] == "ignore" else "ignore")


@cache
def stop() -> threading.Event:
    return threading.Event()


class LeavesAThread(Sound):
    def __init__(self, setup: Setup, options: Mapping[str, Any]) -> None:
        super().__init__(setup, options)
        threading.Thread(target=stop().wait, daemon=True).start()


class ReadsEqualitiesAsUpperBounds(Sound):
    def best(self) -> int:
        told = self.archive.recent(None)
        y = self.archive.y[told]
        excess = np.maximum(y[:, 1] - self.setup.terms.threshold[0], 0.0)
        return int(told[np.lexsort((y[:, 0], excess))[0]])


class LooksAtTheObjectiveAlone(Sound):
    def best(self) -> int:
        told = self.archive.recent(None)
        return int(told[np.nanargmin(self.archive.y[told, 0])])


FLAWS: list[tuple[type[Sound], str, dict[str, bool]]] = [
    (LeavesTheCube, "points_lie_in_the_unit_cube", {}),
    (WrongShape, "points_lie_in_the_unit_cube", {}),
    (IgnoresStarts, "starts_come_first", {}),
    (Overspends, "budget_is_spent_exactly", {}),
    (StopsAtItsFirstBudget, "budget_may_grow", {}),
    (DropsTheRest, "rest_of_a_batch_stays_queued", {}),
    (NeverWaits, "nothing_is_asked_while_a_batch_is_out", {}),
    (LimitIsAMinimum, "asking_for_a_number_is_a_limit", {}),
    (Sound, "asking_for_a_number_is_a_limit", {"sequential": True}),
    (WaitsForACrowd, "workers_do_not_starve", {}),
    (MovesWhenLookedAt, "looking_changes_nothing", {}),
    (NeedsTwoVariables, "small_problems_are_solved_too", {}),
    (PrefersTheLastTold, "order_of_tells_does_not_matter", {}),
    (TrustsTheObjective, "missing_outcomes_do_not_stop_a_run", {}),
    (KnowsNoFailure, "failures_do_not_stop_a_run", {}),
    (TriesTheDesignAgain, "failed_initial_design_is_followed_by_other_points", {}),
    (CountsDataTwice, "data_counts_but_costs_nothing", {}),
    (DividesByTheSpread, "constant_outcomes_do_not_stop_a_run", {}),
    (StepsInUnits, "units_do_not_matter", {}),
    (UsesGlobalNumbers, "no_global_state_is_touched", {}),
    (IgnoresTheSeed, "same_seed_gives_the_same_run", {}),
    (SharesAMemory, "same_seed_gives_the_same_run", {}),
    (LosesItsIteration, "resumed_run_goes_on_bit_for_bit", {}),
    (SharesAMemory, "resumed_run_goes_on_bit_for_bit", {}),
    (ChangesNumpy, "no_global_state_is_touched", {}),
    (ReadsEqualitiesAsUpperBounds, "equality_support_is_declared_honestly", {}),
    (LooksAtTheObjectiveAlone, "equality_support_is_declared_honestly", {}),
]


@pytest.mark.parametrize(("flawed", "name", "facts"), FLAWS)
def test_flaw_is_caught(flawed: type[Sound], name: str, facts: dict[str, bool]) -> None:
    with np.errstate(), pytest.raises((AssertionError, IndexError)):
        CHECKS[name](spec(flawed, **facts))


def test_every_check_catches_something() -> None:
    elsewhere = {"same_seed_in_a_fresh_process", "unknown_option_is_refused"}
    assert {name for _, name, _ in FLAWS} | elsewhere == set(CHECKS)


def test_thread_that_outlives_its_run_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lcbo.testing.reproducibility._PATIENCE", 0.05)
    try:
        with pytest.raises(AssertionError, match="1 threads are left"):
            CHECKS["no_global_state_is_touched"](spec(LeavesAThread))
    finally:
        stop().set()


def test_equality_that_is_not_declared_is_refused_before_the_method_is_built() -> None:
    CHECKS["equality_support_is_declared_honestly"](spec(LooksAtTheObjectiveAlone, supports_equality=False))


def test_option_that_is_swallowed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make", lambda spec, setup, options: spec.build(setup, options))
    with pytest.raises(AssertionError, match="is ignored"):
        CHECKS["unknown_option_is_refused"](spec(Sound))


def test_message_names_method_and_check() -> None:
    with pytest.raises(AssertionError, match="^LeavesTheCube, points_lie_in_the_unit_cube: ask: expected"):
        CHECKS["points_lie_in_the_unit_cube"](spec(LeavesTheCube))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The method of the page as a user's module."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    (tmp_path / "near_the_best.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("near_the_best")
    for name in ("near_the_best", "flawed"):
        sys.modules.pop(name, None)


def test_example_of_the_page_passes_and_runs(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHECKS:
        if "fresh" not in name:  # that one as a script, in a slow test
            CHECKS[name](example.SPEC)
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    registry.register(example.SPEC)
    problem = lcbo.problems.make("hs71")
    result = lcbo.minimize(problem, budget=20, method="near-the-best", progress=False)
    assert result.nfev == 20
    with pytest.raises(lcbo.ArgumentError, match="a name that no method has yet; got 'near-the-best'"):
        registry.register(example.SPEC)


def changed(example: Any, old: str, new: str) -> MethodSpec:
    """The example's method with a flaw, in its own module."""
    path = Path(example.__file__)
    text = path.read_text()
    assert old in text
    path.with_name("flawed.py").write_text(text.replace(old, new))
    importlib.invalidate_caches()
    method: MethodSpec = importlib.import_module("flawed").SPEC
    return method


def test_page_lists_every_check() -> None:
    assert set(re.findall(r"`(\w+)`", PAGE.read_text())) >= set(CHECKS)


def test_randomness_of_the_process_is_caught(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    flawed = changed(example, '"near-the-best", self', 'str(hash("x")), self')
    CHECKS["same_seed_gives_the_same_run"](flawed)
    with pytest.raises(AssertionError, match="near-the-best in a fresh process: point 4 is"):
        CHECKS["same_seed_in_a_fresh_process"](flawed)


def test_setting_made_once_and_for_all_is_caught(example: Any) -> None:
    """In a process that has run the method before, its setting is already there."""
    flawed = changed(example, "super().__init__(setup)", "super().__init__(setup); np.seterr(divide='raise')")
    with pytest.raises(AssertionError, match="in a fresh process: changed numpy's error handling"):
        CHECKS["same_seed_in_a_fresh_process"](flawed)


def test_method_that_cannot_be_sent_to_a_fresh_process_is_named() -> None:
    class Local(Sound):
        lock = threading.Lock()

    with pytest.raises(AssertionError, match="what builds the method cannot be sent to a fresh process"):
        CHECKS["same_seed_in_a_fresh_process"](spec(Local))


@pytest.mark.slow
def test_page_passes_its_own_checks_as_a_script(tmp_path: Path) -> None:
    """A reader pastes the first block into a file and runs it: the check that needs a process is the test."""
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    loop, _, _ = block.partition("    for check in")
    script = tmp_path / "mine.py"
    script.write_text(f"{loop}    lcbo.testing.reproducibility.same_seed_in_a_fresh_process(SPEC)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_suite_needs_no_pytest() -> None:
    for path in Path(lcbo.testing.__file__).parent.glob("*.py"):
        assert not re.search(r"^\s*(import|from) pytest", path.read_text(), re.MULTILINE), path
