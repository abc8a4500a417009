"""The public suite: problems of five kinds, three noises, two budgets, any method; resumable, over the cores.

Every run goes through `lcbo.minimize` and is scored without noise, both by the best truly feasible point it
evaluated and by the point it hands the user. What the numbers mean stands in docs/suite.md.

Run: python benchmarks/suite.py run [--methods lcbo cobyqa] [--half checking] [--seeds 0-2] [--jobs 2]
     python benchmarks/suite.py run --label step --options '{"step": "penalty"}'
     python benchmarks/suite.py run --methods furbo --device cuda
     python benchmarks/suite.py table [--against cobyqa]
     python benchmarks/suite.py standing [--half checking] [--methods lcbo cobyqa scbo]
     python benchmarks/suite.py profiles OUT_DIR|OUT.png [--methods lcbo cobyqa]
     python benchmarks/suite.py list
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from quality import seeds_of
from stopwatch import Stopwatch, commit
from suite_problems import ENTRIES, HALVES, KINDS, Entry, posed
from suite_scores import (
    READ_AT,
    Key,
    Record,
    Yardstick,
    aligned,
    append,
    as_markdown,
    paired,
    read,
    read_all,
    scored,
    standing,
    table,
)

import lcbo
from lcbo.methods import registry
from lcbo.text import duration

RESULTS = Path(__file__).parent / "results" / "suite"
NOISES = (0.0, 0.01, 0.1)
MULTIPLES = (20, 40)
QUICK_DIM = 50  # --quick leaves the larger problems out


@dataclass(frozen=True)
class Job:
    """One run to make, and the file it goes to."""

    method: str
    options: Mapping[str, Any]
    path: Path
    key: Key
    commit: str
    evaluations: int
    device: str


def run(job: Job) -> Record:
    """Make one run and score it."""
    import torch

    torch.set_num_threads(1)
    name, noise, multiple, seed = job.key
    problem = posed(name)
    seen = problem.noisy(noise, seed)
    watch = Stopwatch()
    seen.fun = watch.without(seen.fun)
    result = lcbo.minimize(
        seen,
        budget=job.evaluations,
        method=job.method,
        rng=seed,
        options=job.options,
        device=job.device,
        progress=False,
    )
    seconds = watch.seconds
    about = scored(problem, result.history.X, result.x)
    return Record(
        name,
        noise,
        multiple,
        seed,
        success=bool(result.success),
        seconds=round(seconds, 3),
        commit=job.commit,
        **about,
    )


def chosen(given: argparse.Namespace) -> list[Entry]:
    """Return the problems that are asked for."""
    entries = [e for e in ENTRIES if e.kind in given.kinds and given.half in (e.half, "both")]
    if given.problems:
        entries = [e for e in ENTRIES if e.name in given.problems]
    if given.third:
        entries = [e for kind in KINDS for e in [e for e in entries if e.kind == kind][::3]]
    if find_spec("cocoex") is None and any(e.name.startswith("coco") for e in entries):
        print("the COCO problems are left out: they need the package coco-experiment", file=sys.stderr)
        entries = [e for e in entries if not e.name.startswith("coco")]
    least, most = given.dims or (1, QUICK_DIM if given.quick else None)
    return entries if most is None else [e for e in entries if least <= posed(e.name).dim <= most]


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """Return the runs that are wanted and not stored, seed after seed, the long ones of each seed first."""
    jobs, now = [], commit()
    entries = chosen(given)
    for method in given.methods:
        path = given.results / f"{given.label or method}.jsonl"
        device = given.device if registry.has_model(registry.spec(method)) else "cpu"
        stored = read(path)
        older = sum(record.commit != now for record in stored.values())
        if older:
            print(f"{path}: {older} runs of other commits than {now} are kept", file=sys.stderr)
        for entry in entries:
            problem = posed(entry.name)
            equalities = any(c.eq is not None for c in problem.truth.constraints)
            if equalities and not registry.spec(method).supports_equality:
                continue
            for noise in given.noise:
                for multiple in given.multiples:
                    if multiple > 20 and problem.budget(multiple) == problem.budget(20):
                        continue  # the cap makes it the same run
                    for seed in given.seeds:
                        key = (entry.name, noise, multiple, seed)
                        if key not in stored:
                            n = problem.budget(multiple)
                            jobs.append(Job(method, given.options, path, key, now, n, device))
    return sorted(jobs, key=lambda job: (job.key[3], -job.evaluations))


def run_all(given: argparse.Namespace) -> int:
    """Make the runs that are missing over the cores and return how many failed."""
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    jobs = jobs_of(given)
    total, done, failed, begun = sum(job.evaluations for job in jobs), 0, 0, time.monotonic()
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run, job): job for job in jobs}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                job = futures[future]
                if error := future.exception():
                    failed += 1
                    print(f"\n{job.method} {job.key}: {error!r}", file=sys.stderr)
                else:
                    append(job.path, future.result())
                done += job.evaluations
                left = (time.monotonic() - begun) * (total - done) / done
                words = f"{number}/{len(jobs)} runs, {done / total:.0%}, about {duration(left)} left"
                print(f"\r{words:<60}", end="", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"\n{len(jobs) - failed} runs made, {failed} failed, in {duration(time.monotonic() - begun)}")
    return failed


def print_table(given: argparse.Namespace) -> None:
    """Print the table of every label, and how it compares with other results."""
    stored = read_all(given.results)
    labels = given.methods or list(stored)
    names = {e.name for e in chosen(given)}
    others = _others(given.against, stored, labels) if given.against else {}
    if given.near:
        stored, others = ({label: _nearly(runs) for label, runs in each.items()} for each in (stored, others))
    every = [stored[label] for label in stored] + list(others.values())
    yard = Yardstick(record for runs in every for record in runs.values() if record.problem in names)
    for label in labels:
        mine = _kept(stored.get(label, {}), names, given.seeds)
        print(f"\n{label}: {len(mine)} runs, commits {', '.join(sorted({r.commit for r in mine.values()}))}")
        if not mine:
            continue
        print(aligned(table(list(mine.values()), yard, given.tau)))
        if label in others:
            rows, problems = paired(mine, _kept(others[label], names, given.seeds), yard)
            print(f"\n{label} against {given.against}: differences of log10 gap, below 0 is better")
            print(aligned(rows))
            for words, sign, found in (("wins", -1.0, problems), ("losses", 1.0, problems[::-1])):
                five = [f"{name} {change:+.2f}" for change, name in found[:5] if sign * change > 0.0]
                print(f"largest {words}: {', '.join(five) or 'none'}")


def print_standing(given: argparse.Namespace) -> None:
    """Print for every tau what each method solved, side by side, as Markdown."""
    kept, yard = _looked_at(given)
    labels = given.methods or sorted(kept, key=lambda label: (label != "lcbo", -len(kept[label]), label))
    for tau in given.tau:
        print(f"\nPercent of the {given.half} half solved to {tau:g} after {given.after}d evaluations:\n")
        print(as_markdown(standing({label: kept[label] for label in labels}, yard, tau, given.after)))


def _looked_at(given: argparse.Namespace) -> tuple[dict[str, dict[Key, Record]], Yardstick]:
    """Return the runs that are asked for by label, and the yardstick of all seeds."""
    names = {e.name for e in chosen(given)}
    stored = {label: _kept(runs, names, None) for label, runs in read_all(given.results).items()}
    if given.near:
        stored = {label: _nearly(runs) for label, runs in stored.items()}
    yard = Yardstick(record for runs in stored.values() for record in runs.values())
    return {label: _kept(runs, names, given.seeds) for label, runs in stored.items()}, yard


def _nearly(runs: Mapping[Key, Record]) -> dict[Key, Record]:
    return {key: record.nearly() for key, record in runs.items() if record.near is not None}


def _kept(runs: Mapping[Key, Record], names: set[str], seeds: Sequence[int] | None) -> dict[Key, Record]:
    """Return the runs of the problems and seeds that are looked at; ``None`` are all seeds."""
    return {key: run for key, run in runs.items() if key[0] in names and (seeds is None or key[3] in seeds)}


def _others(
    against: str, stored: Mapping[str, dict[Key, Record]], labels: list[str]
) -> dict[str, dict[Key, Record]]:
    """Return by label what it is compared with: another label, a results file or a folder of them."""
    if against in stored:
        return {label: stored[against] for label in labels if label != against}
    path = Path(against)
    if path.is_file():
        return dict.fromkeys(labels, read(path))
    if path.is_dir():
        return {label: runs for label, runs in read_all(path).items() if label in labels}
    sys.exit(f"--against: no label, file or folder {against!r}")


def draw_profiles(given: argparse.Namespace) -> None:
    """Draw the profiles of the labels: two files for each tau, or one picture of all kinds together."""
    from suite_profiles import draw, draw_overview

    kept, yard = _looked_at(given)
    shown = {label: kept[label] for label in given.methods or kept}
    if given.out.suffix:
        draw_overview(shown, yard, given.tau, given.out)
        return
    for tau in given.tau:
        for path in draw(shown, yard, tau, given.out):
            print(path)


def print_list(given: argparse.Namespace) -> None:
    """Print the problems of the suite."""
    rows = [["problem", "kind", "half", "d", "constraints", "equalities", "f*", "how"]]
    for entry in chosen(given):
        problem = posed(entry.name).truth
        equalities = sum(c.eq is not None for c in problem.constraints)
        known = problem.best_known
        answer = ["", ""] if known is None else [f"{known.value:.6g}", known.how]
        sizes = [len(problem.lb), len(problem.constraints), equalities]
        rows.append([entry.name, entry.kind, entry.half, *map(str, sizes), *answer])
    print(aligned(rows))


def _choice(half: str) -> argparse.ArgumentParser:
    """Return the arguments that choose problems; parsers that shared them would share the default too."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--half", choices=[*HALVES, "both"], default=half)
    common.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    common.add_argument(
        "--problems", nargs="+", choices=[e.name for e in ENTRIES], metavar="NAME", default=[]
    )
    common.add_argument("--third", action="store_true", help="every third problem of each kind")
    common.add_argument("--dims", nargs=2, type=int, metavar=("LEAST", "MOST"), help="numbers of variables")
    common.add_argument("--quick", action="store_true", help="at most 50 variables; run: 20d, seed 0")
    return common


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    stored = argparse.ArgumentParser(add_help=False)
    stored.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    running = verbs.add_parser("run", parents=[_choice("tuning"), stored])
    running.add_argument("--methods", nargs="+", choices=registry.names(), default=["lcbo"])
    running.add_argument("--noise", nargs="+", type=float, default=NOISES)
    running.add_argument("--multiples", nargs="+", type=int, choices=MULTIPLES, default=MULTIPLES)
    running.add_argument("--seeds", type=seeds_of, default=[0, 1], help="such as 0-4 or 0,3,7-9")
    running.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, one thread each")
    running.add_argument("--device", default="cpu", help="where the models compute, cpu or cuda")
    running.add_argument("--options", type=json.loads, default={}, help="options of the method as JSON")
    running.add_argument("--label", help="name of the results instead of the method's")
    looking = argparse.ArgumentParser(add_help=False, parents=[_choice("tuning"), stored])
    looking.add_argument("--methods", nargs="+", default=[], metavar="LABEL", help="labels; default all")
    looking.add_argument("--tau", nargs="+", type=float, default=[1e-1, 1e-2, 1e-3])
    looking.add_argument("--seeds", type=seeds_of, help="such as 0-4; default all")
    looking.add_argument("--near", action="store_true", help="accept violations of 1e-6 spreads")
    showing = verbs.add_parser("table", parents=[looking])
    showing.add_argument("--against", help="a label, a results file, or a folder of the same labels")
    beside = verbs.add_parser("standing", parents=[looking])
    beside.add_argument("--after", type=int, default=20, choices=READ_AT, help="evaluations over d")
    drawing = verbs.add_parser("profiles", parents=[looking])
    drawing.add_argument("out", type=Path, help="folder for all, or a .png of all kinds together")
    verbs.add_parser("list", parents=[_choice("both")])
    return parser


def main() -> None:
    """Read the command line and do what it says."""
    parser = arguments()
    given = parser.parse_args()
    if given.verb == "run":
        if given.label and len(given.methods) > 1:
            parser.error("--label names the results of one method")
        if given.quick:
            given.seeds, given.multiples = [0], [20]
        sys.exit(run_all(given) > 0)
    {"table": print_table, "standing": print_standing, "profiles": draw_profiles, "list": print_list}[
        given.verb
    ](given)


if __name__ == "__main__":
    main()
