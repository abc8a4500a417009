"""The numbers the paper states, and those of its authors' code, beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from reproduction.claims.metrics import BASELINES, READINGS, restarts
from reproduction.claims.paper import TRUSS
from reproduction.claims.wording import number, spread
from reproduction.harness.results import Results

CONTROL = "control.json"


def stated_numbers(results: Results, root: Path) -> list[str]:
    """Return the table; the authors' own numbers are in a file under ``root``, where there is one."""
    lines = ["| what | stated | ours | commit |", "|---|---|---|---|"]
    counts = results.cells[
        (results.cells["spec"] == "main") & results.cells["label"].isin([*READINGS, *BASELINES])
    ]
    batch = results.cells[results.cells["spec"] == "batch"]
    lines.append(f"| runs per method and task | 10 | {_range(counts)} | |")
    lines.append(f"| runs per batch schedule | 5 | {_range(batch)} | |")
    for task in TRUSS:
        found, commit = restarts(results, task, "scbo"), commits(results, "main", task, "scbo")
        often = ", ".join(map(str, sorted(found.counts))) or "not run"
        lines.append(f"| restarts of SCBO per run, {task} | at least 2 in all 10 | {often} | {commit} |")
        for name, paper, s in (
            ("first", "350 [338, 383]", found.first),
            ("second", "747 [657, 756]", found.second),
        ):
            ours = f"{number(s.median)} [{number(s.low)}, {number(s.high)}] (n = {s.n})"
            lines.append(f"| evaluations at SCBO's {name} restart, {task} | {paper} | {ours} | {commit} |")
    for task in ("synthetic-100", "synthetic-50"):
        for label, paper in (("mini-batch", "about 700"), ("large-batch", "below 50")):
            stated = paper if task == "synthetic-100" else "-"
            updates = spread(results.values("batch", task, label, "iterations"))
            where = commits(results, "batch", task, label)
            lines.append(
                f"| updates within 5000 evaluations, {label}, {task} | {stated} | {updates} | {where} |"
            )
    return [*lines, "", *_control(results, root)]


def _control(results: Results, root: Path) -> list[str]:
    path = root / CONTROL
    if not path.exists():
        return []
    control = json.loads(path.read_text())
    lines = [
        f"A control: {control['origin']}; `lcbo-authors` on the same problems, where its initial design is "
        "noisy.\n",
        "| problem | authors' code, run by run | its median | `lcbo-authors` | commit |",
        "|---|---|---|---|---|",
    ]
    for row in control["runs"]:
        spec, task, values, label = row["spec"], row["task"], row["final"], READINGS[0]
        theirs, own = pd.Series(values), results.values(spec, task, label)
        ours = spread(own / row["unit"])
        commit = commits(results, spec, task, label)
        runs = " ".join(number(value) for value in values)
        lines.append(
            f"| {task} | {runs} | {number(theirs.median())} (n = {len(values)}) | {ours} | {commit} |"
        )
    return lines


def commits(results: Results, spec: str, task: str, label: str) -> str:
    """Return the commits a method was run with, shortened."""
    r = results.runs
    own = r[(r["spec"] == spec) & (r["task"] == task) & (r["label"] == label)]
    return ", ".join(sorted({str(commit)[:7] for commit in own["commit"]}))


def _range(cells: pd.DataFrame) -> str:
    least, most = (int(n) if len(cells) else 0 for n in (cells["done"].min(), cells["done"].max()))
    return f"{least}" if least == most else f"{least} to {most}"
