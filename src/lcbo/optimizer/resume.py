"""Going on with a stored run: what it was begun with, whether that is the same, and replaying it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lcbo.checks import integer
from lcbo.errors import ArgumentError, StoreError, StoreWarning
from lcbo.methods import registry
from lcbo.methods.protocol import Call, Method, MethodSpec, Outcome, Proposal
from lcbo.optimizer.describe import (
    describe_run,
    describe_value,
    differences,
    fingerprint,
    rebuild_value,
    versions,
)
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.recorder import AskEntry, BudgetEntry, Contents
from lcbo.optimizer.setup import (
    Plan,
    brought_along,
    check_problem,
    read_data,
    read_method,
    read_options,
    read_points,
    read_seed,
)
from lcbo.problem import Problem
from lcbo.problem.sources import rebuild_problem
from lcbo.types import Array, Evaluation

_LINES = 12  # of a difference shown


def facts_of(plan: Plan) -> dict[str, Any]:
    """Return what a new run file says about its run."""
    described = describe_run(
        problem=plan.problem,
        method=plan.spec.name,
        options=plan.options,
        x0=plan.x0,
        n_init=plan.n_init,
        data=_pairs(plan.data),
    )
    return {
        **described,
        "seed": plan.seed,
        "source": describe_value(plan.problem.source),
        "fingerprint": fingerprint(described["problem"]),
        "versions": versions(),
    }


def stored_plan(
    past: Contents,
    problem: Problem | None = None,
    method: MethodSpec | None = None,
    options: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> Plan:
    """Return what a run was begun with, from its facts, which are not checked a second time.

    Problem, method and options are rebuilt unless they are given.
    """
    meta = past.meta
    problem = problem or rebuild_problem(meta["problem"], meta["source"])
    return Plan(
        problem,
        method or _registered(past),
        _rebuilt_options(past) if options is None else options,
        past.first_budget,
        None if meta["x0"] is None else np.array(meta["x0"], dtype=np.float64),
        stored_data(past, problem),
        meta["n_init"],
        meta["seed"],
        device,
    )


def continued_plan(past: Contents, problem: Problem | None, given: Mapping[str, Any], device: str) -> Plan:
    """Return what a run goes on with; raise unless the arguments given are those it was begun with."""
    if problem is not None:
        check_problem(problem)
    known = problem or rebuild_problem(past.meta["problem"], past.meta["source"])
    readers: dict[str, Callable[[Any], Any]] = {
        "method": lambda value: read_method(value).name,
        "options": read_options,
        "x0": lambda value: None if value is None else read_points("x0", value, known),
        "n_init": lambda value: None if value is None else integer("n_init", value),
        "data": lambda value: _pairs(read_data(value, known)),
        "rng": lambda value: None if isinstance(value, np.random.Generator | None) else read_seed(value),
    }
    unknown = sorted(set(given) - set(readers))
    if unknown:
        raise TypeError(f"Optimizer.open() got an unexpected keyword argument {unknown[0]!r}")
    read = {name: reader(given[name]) for name, reader in readers.items() if name in given}
    if (seed := read.pop("rng", None)) is not None:
        read["seed"] = seed
    _check_same(past, problem, read)
    method = given.get("method")
    spec = method if isinstance(method, MethodSpec) else None
    return stored_plan(past, known, spec, read.get("options"), device)


def stored_data(past: Contents, problem: Problem) -> list[Evaluation]:
    """Return the evaluations a run was begun with."""
    return brought_along(
        [(np.array(x, dtype=np.float64), outcomes) for x, outcomes in past.meta["data"]], problem
    )


def _registered(past: Contents) -> MethodSpec:
    try:
        return registry.spec(past.meta["method"])
    except ArgumentError:
        name = past.meta["method"]
        raise StoreError(
            f"{past.path}: no method {name!r} is registered; register it, "
            "or go on with lcbo.Optimizer.open(path, method=its MethodSpec)"
        ) from None


def _rebuilt_options(past: Contents) -> dict[str, Any]:
    try:
        return {name: rebuild_value(value) for name, value in past.meta["options"].items()}
    except StoreError as error:
        raise StoreError(f"{past.path}: {error}") from None


def _check_same(past: Contents, problem: Problem | None, given: Mapping[str, Any]) -> None:
    """Raise with every difference; two benchmarks of one form are told apart by their recipes."""
    described = describe_run(**({} if problem is None else {"problem": problem}), **given)
    stored = {key: past.meta[key] for key in described}
    if problem is not None:
        recipes = [_recipe(source) for source in (past.meta["source"], describe_value(problem.source))]
        if all(recipes):
            stored["benchmark"], described["benchmark"] = recipes
    changed = differences(stored, described)
    if changed:
        more = [f"and {len(changed) - _LINES} more"] if len(changed) > _LINES else []
        listed = "\n  ".join([*changed[:_LINES], *more])
        raise StoreError(f"{past.path}: this run was begun with other arguments:\n  {listed}")


def _pairs(data: Sequence[Evaluation]) -> list[tuple[Array, Mapping[str, float]]]:
    return [(evaluation.x, evaluation.outcomes) for evaluation in data]


def _recipe(source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what of a source makes a benchmark's values; empty where it is not a benchmark's."""
    if source is None or "name" not in source:
        return {}
    return {key: source[key] for key in ("name", "variant", "noise") if key in source}


def check_versions(past: Contents) -> None:
    """Warn when the run was begun with other versions: it goes on, maybe not bit for bit."""
    now = versions()
    begun = {name: past.meta["versions"].get(name) for name in now}  # older files list BoTorch too
    changed = "; ".join(differences(begun, now))
    if changed:
        warnings.warn(f"{past.path}: begun with other versions: {changed}", StoreWarning, stacklevel=3)


def replay(past: Contents, ledger: Ledger, method: Method) -> None:
    """Replay the entries of a run into a new ledger and method; from the saved state where there is one."""
    restored_at = -1 if past.state is None else past.state[0]
    before: list[Call] = []
    for entry in past.entries:
        by_state = entry.seq <= restored_at
        asked = isinstance(entry, AskEntry)
        again = method.ask(entry.n, ledger.left) if isinstance(entry, AskEntry) and not by_state else []
        events = ledger.enter(entry)
        if isinstance(entry, BudgetEntry):
            method.extend(entry.budget)
        if by_state:
            before += events
        elif asked and not _same(again, events):
            raise StoreError(
                f"{past.path}: the method resumes by repeating its calls, and did not repeat them: "
                f"ask {entry.seq} gives other points than the run has; other versions can be the cause"
            )
        elif not asked:
            for event in events:
                assert isinstance(event, Outcome)
                method.tell(event.id, event.y)
        if entry.seq == restored_at:
            _restore(past, method, before)


def _restore(past: Contents, method: Method, events: list[Call]) -> None:
    assert past.state is not None
    try:
        method.restore(past.state[1], events)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        wrote, reads = past.meta["versions"].get("lcbo"), versions()["lcbo"]
        raise StoreError(
            f"{past.path}: the method cannot go on from the state it left ({error!r}); "
            f"it was written by lcbo {wrote}, this is lcbo {reads}"
        ) from error


def _same(again: list[Proposal], stored: list[Call]) -> bool:
    return len(again) == len(stored) and all(
        isinstance(old, Proposal) and new.id == old.id and np.array_equal(new.u, old.u)
        for new, old in zip(again, stored, strict=True)
    )
