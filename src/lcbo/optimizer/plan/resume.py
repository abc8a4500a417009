"""Going on with a stored run: what it was begun with, whether that is the same, and replaying it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lcbo.errors import ArgumentError, StoreError, StoreWarning
from lcbo.methods import registry
from lcbo.methods.protocol import Call, Method, MethodSpec, Outcome, Proposal
from lcbo.methods.restarted import Restarted
from lcbo.optimizer.ledger import Ledger
from lcbo.optimizer.log import FEASIBILITY_TOL
from lcbo.optimizer.plan import describe
from lcbo.optimizer.plan.describe import describe_run, describe_value, differences, versions
from lcbo.optimizer.plan.setup import CONFIDENCE, Plan, check_problem, read_arguments
from lcbo.optimizer.plan.tables import brought_along
from lcbo.optimizer.recorder import AmendEntry, AskEntry, BudgetEntry, Contents, LogEntry
from lcbo.problem import Problem
from lcbo.problem.sources import plain_problem, rebuild_problem, renumbered

_LINES = 12  # of a difference shown
# Arguments that run files of before do not have, and what these runs were begun with in today's words.
ROUNDING = 1e-7  # in the unit cube: processors round otherwise, and solvers enlarge the difference
_ADDED = {"confidence": CONFIDENCE, "confirm": 0.0, "feasibility_tol": FEASIBILITY_TOL}


def facts_of(plan: Plan) -> dict[str, Any]:
    """Return what a new run file says about its run."""
    names = ("problem", "method", "options", "x0", "n_init", "data", "seed", *_ADDED)
    described = describe_run(**{name: getattr(plan, name) for name in names})
    return {
        **described,
        "source": describe_value(plan.problem.source),
        "least_design": plan.least_design,
        "fingerprint": describe.fingerprint(described["problem"]),
        "versions": versions(),
    }


def stored_argument(meta: Mapping[str, Any], name: str) -> Any:
    """Return an argument a run was begun with, ``name`` being one that old run files may lack."""
    return meta.get(name, _ADDED[name])


def stored_plan(
    past: Contents,
    problem: Problem | None = None,
    device: str = "cpu",
    given: Mapping[str, Any] | None = None,
) -> Plan:
    """Return what a run goes on with: what it was begun with.

    Arguments ``given`` must be the same; problem, method and options are rebuilt where they are not given.
    The problem may be given as it was at the beginning, or as it is after amendments.
    """
    meta, given = past.meta, dict(given or {})
    known = rebuild_problem(meta["problem"], meta["source"]) if problem is None else check_problem(problem)
    if isinstance(given.get("rng"), np.random.Generator | None):
        given.pop("rng", None)  # nothing that could differ from the seed that was drawn
    if given.get("confirm") is None:
        given.pop("confirm", None)  # the method's own, which may have been another
    read = read_arguments(known, given)
    _check_same(past, problem, read)
    if problem is not None and past.amendments:
        known = known.restated(plain_problem(meta["problem"]))
    stored = {
        "method": read.get("method") or _registered(past),
        "options": read["options"] if "options" in read else _rebuilt_options(past),
        "x0": None if meta["x0"] is None else np.array(meta["x0"], dtype=np.float64),
        "data": brought_along(meta["data"], known),
        "n_init": meta["n_init"],
        "seed": meta["seed"],
        **{name: stored_argument(meta, name) for name in _ADDED},
        "least_design": meta.get("least_design", 2),
    }
    return Plan(known, past.first_budget, device, **stored)


def _registered(past: Contents) -> MethodSpec:
    name = past.meta["method"]
    try:
        return registry.spec(name)
    except ArgumentError:
        raise StoreError(
            f"{past.path}: no method {name!r} is registered; register it, "
            "or go on with lcbo.Optimizer.open(path, method=its MethodSpec)"
        ) from None


def _rebuilt_options(past: Contents) -> dict[str, Any]:
    try:
        return {name: describe.rebuild_value(value) for name, value in past.meta["options"].items()}
    except StoreError as error:
        raise StoreError(f"{past.path}: {error}") from None


def _check_same(past: Contents, problem: Problem | None, given: Mapping[str, Any]) -> None:
    """Raise with every difference; two benchmarks of one form are told apart by their recipes."""
    described = describe_run(**(given if problem is None else {"problem": problem, **given}))
    stored = {key: stored_argument(past.meta, key) if key in _ADDED else past.meta[key] for key in described}
    if problem is not None:
        recipes = [_recipe(source) for source in (past.meta["source"], describe_value(problem.source))]
        if all(recipes):
            stored["benchmark"], described["benchmark"] = recipes
        stored["problem"], described["problem"] = map(renumbered, (stored["problem"], described["problem"]))
        if past.amendments and described["problem"] == renumbered(past.amendments[-1].problem):
            stored["problem"] = described["problem"]
    changed = differences(stored, described)
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
    now = versions()
    begun = {name: past.meta["versions"].get(name) for name in now}  # older files list BoTorch too
    changed = "; ".join(differences(begun, now))
    if changed:
        warnings.warn(f"{past.path}: begun with other versions: {changed}", StoreWarning, stacklevel=3)


def since_amended(past: Contents) -> tuple[Sequence[LogEntry], Sequence[LogEntry]]:
    """Return the entries up to the last amendment, of which the method knows the outcome, and the others."""
    at = max((i for i, entry in enumerate(past.entries) if isinstance(entry, AmendEntry)), default=-1)
    return past.entries[: at + 1], past.entries[at + 1 :]


def restarted(method: Method, ledger: Ledger) -> Restarted:
    """Return a new method for an amended run; the evaluations of before are its data, in order of asking."""
    problem, before = ledger.problem, sorted(ledger.ended.values(), key=lambda e: e.id)
    everything = [*before, *ledger.pending.values(), *ledger.withdrawn.values()]
    iteration = max((e.iteration for e in everything), default=0)
    waiting = {id: candidate.u for id, candidate in ledger.pending.items()}
    again = Restarted(method, ledger.next_id, iteration, waiting)
    for e in before:
        if problem.space.holds(e.x):
            y = None if e.failed is not None else problem.to_rows(e.outcomes)
            again.bring(e.u, Outcome(e.id, y, problem.sem_rows(e.sem)))
    return again


def replay(past: Contents, ledger: Ledger, method: Method) -> None:
    """Replay what came since the last amendment into a ledger and a method, from the saved state if any."""
    _, entries = since_amended(past)
    restored_at = -1 if past.state is None else past.state[0]
    before: list[Call] = []
    for entry in entries:
        assert not isinstance(entry, AmendEntry)
        by_state = entry.seq <= restored_at
        again = method.ask(entry.n, ledger.left) if isinstance(entry, AskEntry) and not by_state else []
        events = ledger.enter(entry)
        if isinstance(entry, BudgetEntry):
            method.extend(entry.budget)
        if by_state:
            before += events
        elif isinstance(entry, AskEntry) and not _same(again, events):
            raise StoreError(
                f"{past.path}: the method resumes by repeating its calls, and did not repeat them: "
                f"ask {entry.seq} gives other points than the run has; other versions can be the cause"
            )
        else:
            for event in events:
                if isinstance(event, Outcome):
                    method.hear(event)
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
    """Whether a method repeats its proposals, as closely as another processor can."""
    return len(again) == len(stored) and all(
        isinstance(old, Proposal) and new.id == old.id and np.abs(new.u - old.u).max() <= ROUNDING
        for new, old in zip(again, stored, strict=True)
    )
