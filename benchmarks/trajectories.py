"""Whether a change of the code changes what the methods do: trajectories recorded, and compared bit for bit.

Every method runs 120 evaluations on three problems, without noise and with it. Some evaluations fail, some
are told in parts, some never get all their outcomes; half of the runs keep two candidates out at once and
tell them in a scripted order; every run is stored, closed in the middle and continued from its file.

Run: python benchmarks/trajectories.py record before.json [--methods lcbo scbo] [--jobs 2]
     python benchmarks/trajectories.py compare before.json after.json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import lcbo
from lcbo.methods import registry
from lcbo.problems import Benchmark

BUDGET = 120
PROBLEMS = ("truss25", "speed_reducer", "eq_qp")
NOISE = (0.0, 0.1)  # in standard deviations of each outcome over uniform points
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "lcbo+authors": ("lcbo-paper", {"explorer": "sequential", "average_repeats": True, "repeats": 3}),
    "lcbo+ard": ("lcbo", {"fit": "map", "ard": True, "learn_noise": True, "kernel": "matern52"}),
    "lcbo+fixed": ("lcbo", {"fit": "fixed", "kernel": "rbf", "standardize": False, "step": "penalty"}),
    "cei+lbfgs": ("cei", {"optimizer": "lbfgs", "lengthscale_prior": "dimension", "transforms": "bilog"}),
    "epbo+ard": ("epbo", {"ard": True, "learn_noise": True, "kernel": "matern52"}),
    "scbo+original": ("scbo", {"transforms": "original", "sampler": "exact", "n_candidates": 300}),
    "hdsafebo+fixed": ("hdsafebo", {"fit": "fixed", "beta": 4.0, "kernel": "matern52"}),
}


def cases(wanted: list[str]) -> list[tuple[str, str, float, bool]]:
    """Return all runs: method or variant, problem, noise, whether two candidates are out at once."""
    names = [name for name in (*registry.names(), *VARIANTS) if not wanted or name in wanted]
    return [
        (name, problem, noise, two)
        for name in names
        for problem in PROBLEMS
        for noise in NOISE
        for two in (False, True)
        if problem != "eq_qp" or registry.spec(VARIANTS.get(name, (name,))[0]).supports_equality
    ]


def trajectory(case: tuple[str, str, float, bool]) -> dict[str, Any]:
    """Return everything a run proposes and answers, numbers as hexadecimal text."""
    name, problem_name, noise, two = case
    method, options = VARIANTS.get(name, (name, {}))
    truth = lcbo.problems.make(problem_name)
    scale = _scale(truth)
    asked: list[Any] = []
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        store = Path(folder) / "run.db"
        given = {"budget": BUDGET, "rng": 3, "options": _spelled(method, options)}
        problem = lcbo.Problem(
            dict(zip(truth.variables, map(tuple, truth.bounds.tolist()), strict=True)),
            truth.constraints,
            truth.objective,
        )
        with lcbo.Optimizer(problem, method, store=store, **given) as optimizer:
            _drive(optimizer, truth, scale, noise, two, BUDGET // 2, asked)
        with lcbo.Optimizer.open(store) as optimizer:
            _drive(optimizer, truth, scale, noise, two, BUDGET, asked)
            return {"case": list(case), "asked": asked, "answer": _answer(optimizer)}


def _drive(
    optimizer: lcbo.Optimizer,
    truth: Benchmark,
    scale: Mapping[str, float],
    noise: float,
    two: bool,
    until: int,
    asked: list[Any],
) -> None:
    while optimizer.n_ended < until:
        out = optimizer.pending
        new = optimizer.ask(2 - len(out)) if two and len(out) < 2 else [] if two or out else optimizer.ask()
        asked += [[c.id, c.role, c.iteration, _hex(c.x)] for c in new]
        out = [*out, *new]
        if not out:
            return
        # With two out the later one is told first in three of four rounds.
        candidate = out[-1] if two and optimizer.n_ended % 4 else out[0]
        _tell(optimizer, candidate, truth, scale, noise)


def _tell(
    optimizer: lcbo.Optimizer, candidate: Any, truth: Benchmark, scale: Mapping[str, float], noise: float
) -> None:
    id, rng = candidate.id, np.random.default_rng([7, candidate.id])
    if id % 17 == 5:
        optimizer.tell(id, failed="diverged")
        return
    exact = _outcomes(truth, candidate.x)
    told = {key: value + noise * scale[key] * rng.standard_normal() for key, value in exact.items()}
    first, *rest = told
    if id % 11 == 3:
        optimizer.tell(id, {first: told[first]})
        optimizer.tell(id, {key: told[key] for key in rest})
    elif id % 23 == 7:
        optimizer.tell(id, {first: told[first]}, final=True)
    else:
        optimizer.tell(id, told)


def _answer(optimizer: lcbo.Optimizer) -> dict[str, Any]:
    result = optimizer.result("recorded")
    point = optimizer.recommend()
    return {
        "x": _hex(result.x),
        "recommended": None if point is None else _hex(point),
        "fun": _hex([result.fun]),
        "constr": _hex(list(result.constr.values())),
        "pof": _hex([result.pof]),
        "multipliers": _hex(list(result.multipliers.values())),
        "kkt": _hex(list(result.kkt.values())),
        "info": {key: float(value).hex() for key, value in optimizer.info().items()},
        "message": result.message,
    }


def _outcomes(truth: Benchmark, x: Any) -> dict[str, float]:
    exact = truth.evaluate(x)
    return {name: exact[name] for name in truth.outcomes}


def _scale(truth: Benchmark) -> dict[str, float]:
    points = np.random.default_rng(0).uniform(truth.lb, truth.ub, (64, len(truth.lb)))
    rows = [_outcomes(truth, x) for x in points]
    return {name: float(np.std([row[name] for row in rows])) for name in rows[0]}


def _hex(values: Any) -> list[str]:
    return ["nan" if math.isnan(v) else float(v).hex() for v in np.asarray(values, dtype=float)]


def _spelled(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the method spells them; commits before the American spelling had the other."""
    known = registry.spec(method).options
    return {key if key in known else key.replace("ize", "ise"): value for key, value in options.items()}


def record(path: Path, wanted: list[str], jobs: int) -> None:
    """Run every case and write what it did."""
    todo = cases(wanted)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool, path.open("w") as file:
        for number, done in enumerate(pool.map(trajectory, todo), 1):
            file.write(json.dumps(done) + "\n")
            print(f"\r{number}/{len(todo)} {done['case']}", end="  ", file=sys.stderr, flush=True)
    print(f"\n{path}: {len(todo)} trajectories")


def compare(before: Path, after: Path) -> int:
    """Print where two recordings differ and return how many runs do."""
    old, new = ({json.dumps(row["case"]): row for row in map(json.loads, p.open())} for p in (before, after))
    common = [key for key in old if key in new]
    differing = 0
    for key in common:
        where = _difference(old[key], new[key])
        if where:
            differing += 1
            print(f"{key}: {where}")
    print(f"{len(common)} runs in both recordings, {differing} differ")
    return differing


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    for a, b in zip(old["asked"], new["asked"], strict=False):
        if a != b:
            apart = max(
                (abs(float.fromhex(p) - float.fromhex(q)) for p, q in zip(a[3], b[3], strict=True)), default=0
            )
            return f"candidate {a[0]} is another: {a[:3]} against {b[:3]}, {apart:.2g} apart"
    if len(old["asked"]) != len(new["asked"]):
        return f"{len(old['asked'])} against {len(new['asked'])} candidates"
    wrong = [name for name in old["answer"] if old["answer"][name] != new["answer"].get(name)]
    sizes = [_apart(old["answer"][name], new["answer"].get(name)) for name in wrong]
    named = ", ".join(f"{name} ({size:.1g})" for name, size in zip(wrong, sizes, strict=True))
    return f"the answers differ in {named}" if wrong else ""


def _apart(old: Any, new: Any) -> float:
    """Return the largest relative difference of two lists of numbers; infinite where they are not that."""
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return math.inf
    pairs = [(float.fromhex(a), float.fromhex(b)) for a, b in zip(old, new, strict=True)]
    return max((abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in pairs if a != b), default=0.0)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--methods", nargs="*", default=[])
    recording.add_argument("--jobs", type=int, default=2)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.verb == "record":
        record(given.file, given.methods, given.jobs)
    else:
        sys.exit(compare(given.before, given.after) > 0)


if __name__ == "__main__":
    main()
