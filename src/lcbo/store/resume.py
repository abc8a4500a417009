"""Going on with a stored run: is it the same run, and bringing its method to where it stood."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from lcbo.errors import ArgumentError, LcboError, StoreError, StoreWarning
from lcbo.evaluation.command.command import Command
from lcbo.evaluation.command.problem_file import rebuilt_command_problem
from lcbo.methods.protocol import Call, Method, Outcome, Proposal
from lcbo.optimizer import answer
from lcbo.optimizer.ledger import Ledger
from lcbo.problem import Problem
from lcbo.problems.registry import from_source
from lcbo.store.database import exists
from lcbo.store.describe import describe_problem, describe_value, differences, fingerprint, rebuild_problem
from lcbo.store.entries import Asked, Budgeted, Contents
from lcbo.store.store import Store

_LINES = 12  # of a difference shown


def opened(store: str | Path | Store | Contents | None) -> tuple[Store | None, Contents | None]:
    """Return the store of a run that exists and what is in it; nothing for a run yet to be made."""
    if isinstance(store, Contents):
        return None, store
    if store is not None and not isinstance(store, str | Path | Store):
        raise ArgumentError("store", "a path", type(store).__name__)
    if isinstance(store, str | Path):
        store = Store.open(Path(store)) if exists(Path(store)) else None
    if store is None:
        return None, None
    try:
        return store, store.contents()
    except BaseException:
        store.close()
        raise


def facts_of(described: Mapping[str, Any], problem: Problem, seed: int) -> dict[str, Any]:
    """Return what a new run file says about its run.

    Args:
        described: problem and arguments (`lcbo.store.describe.describe_run`).
        problem: the problem, which may know a recipe for itself.
        seed: root of every random stream.
    """
    return {
        **described,
        "seed": seed,
        "source": describe_value(_source(problem)),
        "fingerprint": fingerprint(described["problem"]),
        "versions": answer.versions(),
    }


def _source(problem: Problem) -> Mapping[str, Any] | None:
    """Return the problem's recipe for itself; a command is one."""
    if problem.source is None and type(problem.fun) is Command:  # a subclass may do more than its fields say
        return problem.fun.source
    return problem.source


def check_same(past: Contents, described: Mapping[str, Any], problem: Problem, seed: int | None) -> None:
    """Raise with every difference unless a run was begun with these arguments.

    Args:
        past: the run.
        described: problem and arguments (`lcbo.store.describe.describe_run`).
        problem: the problem; two benchmarks of one form are told apart by their recipes.
        seed: root of every random stream; ``None`` agrees with any.
    """
    given = {**described, "seed": past.meta["seed"] if seed is None else seed}
    stored = {key: past.meta[key] for key in given}
    recipes = [_recipe(source) for source in (past.meta["source"], describe_value(problem.source))]
    if all(recipes):
        stored["benchmark"], given["benchmark"] = recipes
    changed = differences(stored, given)
    if changed:
        more = [f"and {len(changed) - _LINES} more"] if len(changed) > _LINES else []
        listed = "\n  ".join([*changed[:_LINES], *more])
        raise StoreError(f"{past.path}: this run was begun with other arguments:\n  {listed}")


def _recipe(source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what of a source makes a benchmark's values; empty where it is not a benchmark's."""
    if source is None or "name" not in source:
        return {}
    return {key: source[key] for key in ("name", "variant", "noise") if key in source}


def check_versions(past: Contents) -> None:
    """Warn when the run was begun with other versions: it goes on, maybe not bit for bit."""
    now = answer.versions()
    begun = {name: past.meta["versions"].get(name) for name in now}  # older files list BoTorch too
    changed = "; ".join(differences(begun, now))
    if changed:
        warnings.warn(f"{past.path}: begun with other versions: {changed}", StoreWarning, stacklevel=4)


def rebuilt_problem(meta: Mapping[str, Any]) -> Problem:
    """Return a stored run's problem, with its function where there is a recipe that still gives it."""
    source = meta["source"] or {}
    with suppress(LcboError, ImportError):
        if "command" in source:
            return rebuilt_command_problem(meta)
        if "name" in source:
            problem = from_source(source)
            if not differences(meta["problem"], describe_problem(problem)):
                return problem
    return rebuild_problem(meta["problem"])


def replay(past: Contents, ledger: Ledger, method: Method) -> None:
    """Bring new books and a new method to the end of a run: by the method's state, else by its calls."""
    restored_at = -1 if past.state is None else past.state[0]
    before: list[Call] = []
    for entry in past.entries:
        by_state = entry.seq <= restored_at
        asked = isinstance(entry, Asked)
        again = method.ask(entry.n, ledger.left) if isinstance(entry, Asked) and not by_state else []
        events = ledger.enter(entry)
        if isinstance(entry, Budgeted):
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
        wrote, reads = past.meta["versions"].get("lcbo"), answer.versions()["lcbo"]
        raise StoreError(
            f"{past.path}: the method cannot go on from the state it left ({error!r}); "
            f"it was written by lcbo {wrote}, this is lcbo {reads}"
        ) from error


def _same(again: list[Proposal], stored: list[Call]) -> bool:
    return len(again) == len(stored) and all(
        isinstance(old, Proposal) and new.id == old.id and np.array_equal(new.u, old.u)
        for new, old in zip(again, stored, strict=True)
    )
