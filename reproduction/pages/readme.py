"""The two sentences of the README that say what was found, between two marks in it."""

from __future__ import annotations

from pathlib import Path

from reproduction.claims.metrics import READINGS
from reproduction.claims.paper import CLAIMS, REAL, Judged, judge_all
from reproduction.claims.statistics import AGREE, CONTRADICTED, UNDECIDED
from reproduction.harness.results import Results
from reproduction.pages.page import leads_over_strongest

BEGIN, END = "<!-- found: written by make reproducing -->", "<!-- end of found -->"


def with_findings(text: str, results: Results) -> str:
    """Return the README with what the results say now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{findings(results)}\n{END}{after}" if end else text


def write_findings(results: Results, path: Path) -> None:
    """Bring the README up to date."""
    path.write_text(with_findings(path.read_text(encoding="utf-8"), results), encoding="utf-8")


def findings(results: Results) -> str:
    """Return two sentences: what LCBO does on the real tasks, and how its paper's claims fare."""
    code, text = (leads_over_strongest(results, REAL, reading) for reading in READINGS)
    judged = [one for one in judge_all(results) if one.claim in CLAIMS]
    words = {word: sum(_word(one) == word for one in judged) for word in (AGREE, CONTRADICTED, UNDECIDED)}
    return (
        "Against the strongest of the paper's four rivals on its real tasks, LCBO as its authors' code has "
        f"it leads by: {code}; as the paper's text has it by: {text} (median over seeds, 95 % interval).\n"
        f"Of {len(judged)} claims of the paper {words[AGREE]} are confirmed, {words[CONTRADICTED]} "
        f"contradicted and {words[UNDECIDED]} undecided so far, each in the better of the two readings."
    )


def _word(one: Judged) -> str:
    """Return the verdict of the reading that does better."""
    words = [one.verdict(reading) for reading in one.checks]
    return next(word for word in (AGREE, UNDECIDED, CONTRADICTED) if word in words)
