"""The page "Reproducing the paper", written from the runs that are there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lcbo.compare.score import Spread
from reproduction.claims.comparisons import ends_below
from reproduction.claims.metrics import BASELINES, READINGS, STRONGER, strongest
from reproduction.claims.paper import CLAIMS, REAL, SYNTHETIC, Judged, judge, judge_all
from reproduction.claims.statistics import (
    AGREE,
    CONTRADICTED,
    LEAST,
    UNDECIDED,
    Check,
    Comparison,
    Count,
    verdict,
)
from reproduction.claims.wording import effect, number, seen, spread
from reproduction.figures.appearance import view
from reproduction.harness.results import Results
from reproduction.pages.stated import commits, stated_numbers
from reproduction.pages.text import CAPTIONS, DEVELOPED, INTRODUCTION, SCORING
from reproduction.theory.claims import TheoryClaim, theory_claims

DEFAULT = "lcbo"
TASKS = (*REAL, *SYNTHETIC)


def write_page(results: Results, path: Path, images: Path, root: Path) -> None:
    """Write the page with links to the figures in a folder; ``root`` holds the results of the theory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(results, link_to(images, path), pictures(images), root), encoding="utf-8")


def link_to(images: Path, path: Path) -> str:
    """Return the link from a page to a folder."""
    return Path(os.path.relpath(images, path.parent)).as_posix()


def pictures(images: Path) -> list[str]:
    """Return the names of the pictures a folder holds."""
    return [name for name in CAPTIONS if (images / f"{name}.png").exists()]


def page(results: Results, images: str, there: Sequence[str], root: Path) -> str:
    """Return the page as Markdown.

    Args:
        results: the runs.
        images: link to the folder of the figures.
        there: names of the figures in that folder.
        root: folder of ``results/``, for the runs of the theory.
    """
    judged, theory = judge_all(results), theory_claims(root)
    shown = [_picture(images, name, CAPTIONS[name]) for name in there]
    first = [_picture(images, "overview", OVERVIEW)]
    return "\n".join(
        [
            INTRODUCTION,
            "## In one minute\n",
            *_five_lines(results, judged, theory),
            "",
            *first,
            "## The claims\n",
            *_claims(judged, theory),
            "",
            "## Our default, `lcbo`\n",
            *_default(results),
            "",
            "## The numbers the paper states\n",
            *stated_numbers(results, root),
            "",
            _folded("All numbers: one row per method and task", _numbers(results)),
            _folded("Every comparison of every claim", [line for one in judged for line in _details(one)]),
            _folded("Figures", shown),
            _folded("How it is scored and judged", [SCORING]),
            _folded("What was run, with commits and machines", _runs(results)),
        ]
    )


NUMBERS = (
    "The lead of a reading over a method is a share of that method's value, seed by seed; *first* is the "
    "number of evaluations to the first feasible point, *recommended* the value and the largest violation of "
    "the point a method recommends at the end.\n"
)
OVERVIEW = (
    "Final values on the paper's tasks: every dot is a run, the bar its median, for the paper's five methods "
    "(both readings of LCBO) and our default; less is better, n below each column."
)


def _five_lines(results: Results, judged: Sequence[Judged], theory: Sequence[TheoryClaim]) -> list[str]:
    code, text = READINGS
    claimed = [checks for one in judged if one.claim in CLAIMS for checks in one.checks.values()]
    words = [*map(verdict, claimed), *(one.verdict for one in theory)]
    counts = {word: words.count(word) for word in (AGREE, CONTRADICTED, UNDECIDED)}
    short = sum(verdict(checks) == UNDECIDED and _too_few(checks) for checks in claimed)
    on = {task: _on_task(judged, task, code) for task in TASKS}
    tasks = {word: [task for task in TASKS if verdict(on[task]) == word] for word in counts}
    few = [task for task in tasks[UNDECIDED] if _too_few(on[task])]
    level = [task for task in tasks[UNDECIDED] if task not in few]
    between = [(task, _readings_differ(results, task)) for task in REAL]
    done, wanted = int(results.cells["done"].sum()), int(results.cells["wanted"].sum())
    own = [(task, ends_below(results, task, DEFAULT, code)) for task in REAL]
    return [
        "1. **Does LCBO work?** Its authors' code, against the strongest of the paper's four rivals on the "
        f"real tasks: {leads_over_strongest(results, REAL, code)}.",
        f"2. **Where?** Below all four rivals: {_names(tasks[AGREE])}; not below all four: "
        f"{_names(tasks[CONTRADICTED])}; no difference shown to the strongest: "
        f"{leads_over_strongest(results, level, code) if level else 'none'}; too few runs: {_names(few)}.",
        f"3. **How sure?** {counts[AGREE]} verdicts agree with the paper, {counts[CONTRADICTED]} contradict "
        f"it, {counts[UNDECIDED]} are undecided, {short} of them for lack of runs: {done} of {wanted} are "
        f"done. {_extremes(judged)}.",
        f"4. **Which reading?** The code's (`{code}`) ends below the text's (`{text}`) by {_listed(between)} "
        "([why](readings.md)).",
        "5. **What should I use?** `lcbo` for problems of your own (here, against "
        f"`{code}`: {_listed(own)}), `{code}` to compare with the paper.",
    ]


def leads_over_strongest(results: Results, tasks: Sequence[str], reading: str) -> str:
    """Return by task how far a reading ends below the strongest of four rivals, where all were run."""
    rivals = [(task, strongest(results, task, BASELINES)) for task in tasks]
    return _listed([(task, ends_below(results, task, reading, rival)) for task, rival in rivals])


def _readings_differ(results: Results, task: str) -> Comparison:
    return ends_below(results, task, *READINGS)


def _listed(pairs: Sequence[tuple[str, Comparison]]) -> str:
    run = [f"{_short(task)} {effect(pair)}" for task, pair in pairs if pair.n]
    return "; ".join(run) or "not all are run yet"


def _short(task: str) -> str:
    """Return the title of a task, without its dimension where no other task has the same one."""
    titles = [view(other).title.rpartition(",")[0] for other in TASKS]
    short = view(task).title.rpartition(",")[0]
    return short if titles.count(short) == 1 else view(task).title


def _names(tasks: Sequence[str]) -> str:
    return ", ".join(view(task).title.replace(",", "") for task in tasks) or "none"


def _on_task(judged: Sequence[Judged], task: str, reading: str) -> list[Check]:
    """Return the checks of whether LCBO ends below all rivals on one task."""
    return [
        check
        for one in judged
        if one.claim.key in ("real-best", "synthetic-best")
        for check in one.checks[reading]
        if check.of.what.endswith(f" on {task}")
    ]


def _too_few(checks: Sequence[Check]) -> bool:
    """Return whether a check has fewer runs than anything is concluded from."""
    return any(check.n < (check.of.wanted if isinstance(check.of, Count) else LEAST) for check in checks)


def _claims(judged: Sequence[Judged], theory: Sequence[TheoryClaim]) -> list[str]:
    lines = [
        "Each cell: the verdict, how many comparisons agree and are contradicted (the others are open), and "
        'the comparison that speaks least for the claim with its effect. "-": not about this reading.\n',
        "| the paper's claim | the code's reading | the text's reading |",
        "|---|---|---|",
    ]
    for one in judged:
        cells = [_cell(one.checks[reading]) if reading in one.checks else "-" for reading in READINGS]
        lines.append(f"| {one.claim.title} | {' | '.join(cells)} |")
    lines += [f"| {one.title} | **{one.verdict}**: {one.seen} | |" for one in theory]
    return lines


def _cell(checks: Sequence[Check]) -> str:
    counts = [sum(check.verdict == word for check in checks) for word in (AGREE, CONTRADICTED)]
    words = f"**{verdict(checks)}** ({counts[0]} of {len(checks)} agree, {counts[1]} contradicted)"
    run = [check for check in checks if check.n]
    return f"{words}: {_weakest(run)}" if run else f"{words}: not run (n = 0)"


def _weakest(checks: Sequence[Check]) -> str:
    """Return the comparison that speaks least for a claim, with its effect."""
    least = min(checks, key=_support)
    return f"{least.of.what}, {seen(least)}"


def _support(check: Check) -> tuple[int, float]:
    """Return how much a comparison speaks for its claim: its verdict first, then its effect."""
    order, of = (CONTRADICTED, UNDECIDED, AGREE), check.of
    return order.index(check.verdict), of.effect - of.threshold if isinstance(of, Comparison) else 0.0


def _extremes(judged: Sequence[Judged]) -> str:
    """Return the claims that are supported best and contradicted most, each by what speaks least for it."""
    claims = [
        (min(map(_support, checks)), one.claim.title, checks)
        for one in judged
        if one.claim in CLAIMS
        for checks in one.checks.values()
    ]
    words = []
    for word, choose, wanted in (("Best supported", max, AGREE), ("contradicted most", min, CONTRADICTED)):
        found = [claim for claim in claims if verdict(claim[2]) == wanted]
        if found:
            _, title, checks = choose(found, key=lambda claim: claim[0])
            words.append(f"{word}: *{title}* ({_weakest(checks)})")
        else:
            words.append(f"{word}: none yet")
    return "; ".join(words)


def _default(results: Results) -> list[str]:
    lines = [
        DEVELOPED,
        "",
        f"| task | `lcbo` | lead over the strongest rival of the paper | lead over `{READINGS[0]}` | "
        "lead over two rivals at their best |",
        "|---|---|---|---|---|",
    ]
    for task in TASKS:
        rival = strongest(results, task, BASELINES)
        better = strongest(results, task, STRONGER)
        leads = [ends_below(results, task, DEFAULT, other) for other in (rival, READINGS[0], better)]
        cells = [effect(pair) for pair in leads]
        cells[0], cells[2] = f"{rival}: {cells[0]}", f"{better}: {cells[2]}"
        final = spread(results.values("main", task, DEFAULT))
        lines.append(f"| {view(task).title} | {final} | {' | '.join(cells)} |")
    claims = [
        judge(claim, results, [DEFAULT]) for claim in CLAIMS if claim.key in ("real-best", "synthetic-best")
    ]
    words = [f"{one.claim.title}: {_cell(one.checks[DEFAULT])}" for one in claims]
    return [*lines, "", "With `lcbo` in LCBO's place: " + "; ".join(words) + "."]


def _numbers(results: Results) -> list[str]:
    """Return the final numbers of every method on every task of the main experiment."""
    columns = ("task", "method", "final value", *(f"lead of `{r}`" for r in READINGS))
    columns += ("first", "recommended", "commit")
    lines = [NUMBERS, f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for task in TASKS:
        for label in results.labels("main", task):
            final = results.values("main", task, label)
            leads = [
                "" if label == reading else effect(ends_below(results, task, reading, label))
                for reading in READINGS
            ]
            first = _median(results.values("main", task, label, "first_feasible"))
            advised = results.recommended("main", task, label)
            handed = "-"
            if advised["value"].notna().any():  # the model-free methods recommend nothing
                handed = f"{_median(advised['value'])}, {_median(advised['violation'])}"
            cells = [view(task).title, f"`{label}`", spread(final), *leads, first, handed]
            cells.append(commits(results, "main", task, label))
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _details(one: Judged) -> list[str]:
    lines = [
        f"#### {one.claim.title[0].upper()}{one.claim.title[1:]}\n",
        f"{one.claim.rule} {one.claim.why}".strip(),
    ]
    lines += ["", "| comparison | effect | values | verdict |", "|---|---|---|---|"]
    for check in {check.of.what: check for checks in one.checks.values() for check in checks}.values():
        lines.append(f"| {check.of.what} | {seen(check)} | {_values(check.of)} | {check.verdict} |")
    return [*lines, ""]


def _values(of: Comparison | Count) -> str:
    if isinstance(of, Count) or of.first is None or of.second is None:
        return ""
    common = of.first.index.intersection(of.second.index)
    return " against ".join(_median(side[common]) for side in (of.first, of.second))


def _median(values: pd.Series) -> str:
    return number(Spread.of(values).median)


def _folded(title: str, lines: Sequence[str]) -> str:
    inside = "\n".join(lines)
    return f"<details>\n<summary>{title}</summary>\n\n{inside}\n\n</details>\n"


def _picture(images: str, name: str, caption: str) -> str:
    words = re.split(r"[.;]", caption)[0]  # for those who do not see the picture
    return f"![{words}]({images}/{name}.png)\n\n*{caption}*\n"


def _runs(results: Results) -> list[str]:
    """Return runs done of wanted, commits by method, machines and versions."""
    lines = ["| experiment | task | runs done of wanted |", "|---|---|---|"]
    counts: dict[tuple[str, str], list[str]] = {}
    for row in results.cells.to_dict("records"):
        words = f"{row['label']} {row['done']}/{row['wanted']}"
        counts.setdefault((row["spec"], row["task"]), []).append(words)
    lines += [f"| {spec} | {task} | {', '.join(words)} |" for (spec, task), words in counts.items()]
    done, wanted = int(results.cells["done"].sum()), int(results.cells["wanted"].sum())
    hours = float(results.runs["seconds"].sum()) / 3600.0
    lines.append(
        f"\n{done} of {wanted} runs are done; the methods used {hours:.1f} hours of processor time, one "
        "thread per run, evaluations not counted. Where a machine names a GPU, it had the models "
        "(`--device cuda`). What comes next: `reproduction/plan.txt`.\n"
    )
    versions = [", ".join(f"{name} {v[name]}" for name in v) for v in results.runs["versions"]]
    for kind, texts in (("machine", list(results.runs["machine"])), ("versions", versions)):
        lines += [f"- {kind}: {text} ({texts.count(text)} runs)" for text in sorted(set(texts))]
    for commit, part in results.runs.groupby("commit"):
        labels = part.groupby("label").size()
        lines.append(f"- commit {commit}: {', '.join(f'{label} ({n})' for label, n in labels.items())}")
    return lines
