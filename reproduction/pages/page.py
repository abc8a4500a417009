"""The page "Reproducing the paper", written from the runs that are there."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from lcbo.compare.score import Spread
from reproduction.claims.claims import Check, Judged
from reproduction.claims.explanations import explanation
from reproduction.claims.metrics import paired, ranks
from reproduction.claims.paper import judge_all
from reproduction.claims.wording import against, number, spread
from reproduction.figures.appearance import view
from reproduction.harness.results import Results
from reproduction.pages.text import (
    INTRODUCTION,
    MECHANISM_2D,
    NUMBERS,
    RANKS,
    SCORING,
    SECTIONS,
    THEORY_PICTURES,
)

THEORY = "theory-results.md"  # page of the theory's runs, beside this one
WRITTEN = "- page written on "  # the one line that changes without new runs


def write_page(results: Results, path: Path, images: Path) -> None:
    """Write the page with links to the figures in a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    theory = path.with_name(THEORY).exists()
    path.write_text(
        page(results, link_to(images, path), more_pictures(images), theory=theory), encoding="utf-8"
    )


def link_to(images: Path, path: Path) -> str:
    """Return the link from a page to a folder."""
    return Path(os.path.relpath(images, path.parent)).as_posix()


def more_pictures(images: Path) -> list[str]:
    """Return the names of the theory's and the 2-D mechanism's pictures that a folder holds."""
    return sorted(p.stem for p in images.glob("*.png") if p.stem.startswith(("theory-", "mechanism-2d")))


def page(results: Results, images: str, more: Sequence[str] = (), *, theory: bool = False) -> str:
    """Return the page as Markdown.

    Args:
        results: the runs.
        images: link to the folder of the figures.
        more: names of further pictures in that folder (`more_pictures`).
        theory: whether the page of the theory's runs is there.
    """
    judged = {one.claim.key: one for one in judge_all(results)}
    parts = [INTRODUCTION, _summary(list(judged.values())), _runs(results), SCORING]
    for section in SECTIONS:
        parts += [f"## {section.title}\n", _picture(images, section.figure, section.caption)]
        if section.figure == "mechanism" and "mechanism-2d" in more:
            parts.append(_picture(images, "mechanism-2d", MECHANISM_2D))
        parts += [_claim(results, judged[key]) for key in section.claims]
    parts += ["## Theory\n", _theory(images, [name for name in more if name.startswith("theory-")], theory)]
    parts += ["## All numbers\n", _picture(images, "ranks", RANKS), NUMBERS]
    parts += [_numbers(results, task) for task in _tasks(results)]
    return "\n".join(parts)


def _summary(judged: Sequence[Judged]) -> str:
    lines = [
        "## In short\n",
        "| the paper's claim | `lcbo-paper` | `lcbo`, our default | n per method |",
        "|---|---|---|---|",
    ]
    for one in judged:
        title = f"[{one.claim.title}](#{_anchor(_heading(one))})"
        lines.append(f"| {title} | {one.verdict} | {one.default_verdict or '-'} | {one.n} |")
    return "\n".join(lines) + "\n"


def _runs(results: Results) -> str:
    lines = ["## What was run\n", "| experiment | task | runs done of wanted, by method |", "|---|---|---|"]
    counts: dict[tuple[str, str], list[str]] = {}
    for row in results.cells.to_dict("records"):
        counts.setdefault((row["spec"], row["task"]), []).append(
            f"{row['label']} {row['done']}/{row['wanted']}"
        )
    lines += [f"| {spec} | {task} | {', '.join(words)} |" for (spec, task), words in counts.items()]
    done, wanted = int(results.cells["done"].sum()), int(results.cells["wanted"].sum())
    hours = float(results.runs["seconds"].sum()) / 3600.0
    lines += [
        f"\n{done} of {wanted} runs are done. The methods used {hours:.1f} hours of processor time in all, "
        "one thread per run; the evaluations themselves are not counted.\n"
    ]
    versions = [", ".join(f"{name} {v[name]}" for name in v) for v in results.runs["versions"]]
    for kind, texts in (("machine", list(results.runs["machine"])), ("versions", versions)):
        lines += [f"- {kind}: {text} ({texts.count(text)} runs)" for text in sorted(set(texts))]
    for commit, part in results.runs.groupby("commit"):
        methods = ", ".join(dict.fromkeys(part["method"]))
        lines.append(f"- commit {commit}: {methods} ({len(part)} runs)")
    return "\n".join([*lines, f"{WRITTEN}{date.today().isoformat()}", ""])


def _heading(judged: Judged) -> str:
    title = judged.claim.title
    return f"{title[0].upper()}{title[1:]}: {judged.verdict}"


def _anchor(heading: str) -> str:
    """Return the link GitHub gives a heading."""
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def _claim(results: Results, judged: Judged) -> str:
    claim, default = judged.claim, judged.default_verdict
    lines = [f"### {_heading(judged)}\n", f"- The paper: {claim.says}", f"- Rule: {claim.rule}"]
    if default:
        lines.append(f"- With `lcbo` in place of `lcbo-paper`: {default}.")
    why = explanation(results, claim.key, judged.checks)
    if why or judged.decided:
        lines.append(f"- Our explanation: {why or 'no explanation written yet.'}")
    lines += ["", "| check | what we saw | n | holds |", "|---|---|---|---|"]
    lines += [_row(c) for c in dict.fromkeys([*judged.checks, *judged.default_checks])]
    return "\n".join(lines) + "\n"


def _row(check: Check) -> str:
    holds = {True: "yes", False: "no", None: "open"}[check.holds]
    return f"| {check.what} | {check.seen} | {check.n} | {holds} |"


def _picture(images: str, name: str, caption: str) -> str:
    return f"![{name}]({images}/{name}.png)\n\n*{caption}*\n"


def _theory(images: str, names: Sequence[str], page_there: bool) -> str:
    if not names and not page_there:
        return "Not run yet (n = 0).\n"
    link = f"Within-model runs of `lcbo-theory`, with their numbers and n: [{THEORY}]({THEORY}).\n"
    pictures = [_picture(images, name, THEORY_PICTURES[name]) for name in names]
    return "\n".join([link] * page_there + pictures)


def _tasks(results: Results) -> list[str]:
    return list(dict.fromkeys(results.cells[results.cells["spec"] == "main"]["task"]))


def _numbers(results: Results, task: str) -> str:
    """Return the final numbers of every method on one task of the main experiment."""
    lines = [
        f"### {view(task).title}\n",
        "| method | final value | regret | evaluations to first feasible | rank | against lcbo-paper "
        "| recommended value | its violation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    labels = results.labels("main", task)
    rank = ranks(results.wide("main", task), labels).rank
    own = results.values("main", task, "lcbo-paper")
    for label in labels:
        final = results.values("main", task, label)
        regret = results.values("main", task, label, "regret")
        first = results.values("main", task, label, "first_feasible")
        pair = paired(final, own)
        words = [label, spread(final), spread(regret) if len(regret) else "-", spread(first)]
        words += [
            number(rank.get(label, math.nan)),
            against(pair) if pair.n and label != "lcbo-paper" else "-",
        ]
        advised = results.recommended("main", task, label)
        feasible = f"{int((advised['violation'] <= 0.0).sum())} of {len(advised)} feasible"
        advises = advised["value"].notna().any()  # the model-free methods recommend nothing
        words += (
            [spread(advised["value"]), f"{spread(advised['violation'])}, {feasible}"]
            if advises
            else ["-"] * 2
        )
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join([*lines, "", _yardsticks(results, task)]) + "\n"


def _yardsticks(results: Results, task: str) -> str:
    """Return which methods beat ``lcbo-paper`` and which do not beat a Sobol search, on common seeds."""
    finals = results.wide("main", task)

    def below(label: str, other: str) -> bool:
        both = finals[[label, other]].dropna()
        return Spread.of(both[label]).median < Spread.of(both[other]).median

    words, there = [], [str(label) for label in finals]
    if "lcbo-paper" in finals:
        ahead = [label for label in there if below(label, "lcbo-paper")]
        words.append(f"Lower median than `lcbo-paper` on common seeds: {', '.join(ahead) or 'none'}.")
    if "sobol" in finals:
        behind = [label for label in there if label != "sobol" and not below(label, "sobol")]
        words.append(f"Not below a Sobol search: {', '.join(behind) or 'none'}.")
    return " ".join(words)
