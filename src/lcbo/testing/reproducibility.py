"""A method is a pure function of its setup, options and calls: it repeats itself and touches nothing else."""

from __future__ import annotations

import gc
import json
import pickle
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

import cloudpickle
import numpy as np
import torch
from threadpoolctl import threadpool_info

from lcbo.methods import registry
from lcbo.methods.protocol import Array, Call, Method, MethodSpec, Outcome, Proposal
from lcbo.testing.harness import DIM, Drive, Subject, check, require, require_equal, truth

_PATIENCE = 5.0  # seconds a thread may take to end


@check
def same_seed_gives_the_same_run(subject: Subject) -> None:
    """Equal seeds give equal points, different seeds different ones."""
    first = subject.points(seed=5)
    require_equal(subject.points(seed=5), first, "the same seed again")
    require(not np.array_equal(subject.points(seed=6), first), "another seed gives the same points")


@check
def same_seed_in_a_fresh_process(subject: Subject) -> None:
    """A new process, with other hash seeds and nothing loaded before, gives the same points."""
    fresh_process(subject)


def fresh_process(*subjects: Subject) -> None:
    """Raise AssertionError unless a new process gives every subject's points; one process for all."""
    sent = []
    for subject in subjects:
        name = subject.spec.name
        registered = name in registry.names() and registry.spec(name) is subject.spec
        sent.append((name if registered else subject.spec, subject.options))
    try:
        message = pickle.dumps(sys.path) + cloudpickle.dumps(sent)  # also what a script itself defines
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"what builds the method cannot be sent to a fresh process: {error}") from error
    code = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)\n"
    code += "from lcbo.testing.reproducibility import _answer; _answer(pickle.load(sys.stdin.buffer))"
    done = subprocess.run([sys.executable, "-c", code], input=message, capture_output=True, check=False)
    require(done.returncode == 0, f"the fresh process failed:\n{done.stderr.decode()}")
    for subject, (changed, points) in zip(subjects, json.loads(done.stdout.splitlines()[-1]), strict=True):
        label = f"{subject.spec.name} in a fresh process"
        require(not changed, f"{label}: changed {', '.join(changed)}")
        require_equal(np.array(points), subject.points(seed=5), label)


def _answer(sent: list[tuple[str | MethodSpec, Mapping[str, Any]]]) -> None:
    """Print, for every method, the settings its first run changed, and the points."""
    answers = []
    for method, options in sent:
        before = _settings()
        points = Subject.of(method, options).points(seed=5).tolist()
        answers.append((_changed(before, _settings()), points))
    sys.stdout.write("\n" + json.dumps(answers))


@check
def resumed_run_goes_on_bit_for_bit(subject: Subject) -> None:
    """From its state after an ask, or by replaying its calls, a new object goes on as the old one did.

    The run asks in pieces, tells out of order, loses outcomes and fails now and then.
    """
    data = np.random.default_rng(3).random((2, DIM))
    first = subject.make()
    calls, states = _recorded(first, data)
    expected = _told_of(first)
    for position in sorted(states)[1 :: max(len(states) // 4, 1)]:
        method = subject.make()
        for u in data:
            method.include(u, truth(u))
        state = json.loads(states[position])
        if state is None:
            _replay(method, calls[:position], f"replayed up to call {position}")
        else:
            method.restore(state, [event for _, _, made in calls[:position] for event in made])
        _replay(method, calls[position:], f"resumed after call {position}")
        told = _told_of(method)
        require(told == expected, f"resumed after call {position}: {told} instead of {expected}")


Turn = tuple[int | None, int | None, list[Call]]  # n and most of an ask, or one Outcome


def _told_of(method: Method) -> tuple[str, str, str]:
    """Recommendation, state and diagnostics, each to the last bit."""
    recommended = method.recommend()
    point = None if recommended is None else recommended.tolist()
    return repr(point), json.dumps(method.state()), repr(method.diagnostics)


def _recorded(method: Method, data: Array) -> tuple[list[Turn], dict[int, str]]:
    """The calls of an irregular run and the state after every ask."""
    run, rng = Drive(method), np.random.default_rng(1)
    for u in data:
        run.include(u)
    calls: list[Turn] = []
    states: dict[int, str] = {}
    sizes = (None, 2, None, 1, 3)
    turn = 0
    while run.left or run.pending:
        n, left = sizes[turn % len(sizes)], run.left
        if left:
            calls.append((n, left, list(run.ask(n))))
            states[len(calls)] = json.dumps(method.state())
        for id in rng.permutation(list(run.pending))[: rng.integers(1, 4)]:
            y = _irregular(run.pending[id])
            calls.append((None, None, [Outcome(int(id), y)]))
            run.tell(run.pending[id], y)
        turn += 1
        require(turn < 1000, "the run does not end")
    return calls, states


def _irregular(proposal: Proposal) -> Array | None:
    """The small problem's outputs; every seventh evaluation fails, every fifth lacks an outcome."""
    if proposal.id % 7 == 5:
        return None
    y = truth(proposal.u)
    if proposal.id % 5 == 4:
        y[proposal.id % 3] = np.nan
    return y


def _replay(method: Method, calls: list[Turn], label: str) -> None:
    for n, most, made in calls:
        if made and isinstance(made[0], Outcome):
            method.tell(made[0].id, made[0].y)
            continue
        before = [e for e in made if isinstance(e, Proposal)]
        again = method.ask(n, most)
        require([p.id for p in again] == [p.id for p in before], f"{label}: other ids")
        old, new = (np.array([p.u for p in ps]).reshape(-1, DIM) for ps in (before, again))
        require_equal(new, old, label)


@check
def no_global_state_is_touched(subject: Subject) -> None:
    """Random generators, threads, number formats, warnings and torch's settings stay as they were."""
    subject.run(budget=8).finish().method.recommend()  # loads every library
    gc.collect()
    threads, before, limits = threading.active_count(), _settings(), _limits()
    subject.run().finish().method.recommend()
    changed = _changed(before, _settings()) + _changed(limits, _limits())
    require(not changed, f"changed {', '.join(changed)}")
    gc.collect()
    until = time.monotonic() + _PATIENCE
    while threading.active_count() > threads and time.monotonic() < until:
        time.sleep(0.01)
    left = threading.active_count() - threads
    require(left <= 0, f"{left} threads are left of a run that is over")


def _settings() -> dict[str, Any]:
    """Settings that only the user may change."""
    numbers = np.random.get_state(legacy=False)  # noqa: NPY002  (the state to be left alone)
    return {
        "Python's random numbers": random.getstate(),
        "numpy's random numbers": pickle.dumps(numbers),
        "numpy's error handling": np.geterr(),
        "numpy's print options": str(np.get_printoptions()),
        "torch's random numbers": torch.random.get_rng_state().tolist(),
        "torch's default dtype": torch.get_default_dtype(),
        "torch's grad mode": torch.is_grad_enabled(),
        "torch's deterministic mode": torch.are_deterministic_algorithms_enabled(),
    }


def _limits() -> dict[str, Any]:
    """Settings a library may change when it is loaded, but not later."""
    return {
        "torch's threads": torch.get_num_threads(),
        "thread limits": [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()],
        "the warnings filters": list(warnings.filters),
    }


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in before if before[name] != after[name]]
