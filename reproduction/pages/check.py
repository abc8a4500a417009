"""What is wrong between the committed results and the page written from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.claims.explanations import explanation
from reproduction.claims.paper import judge_all
from reproduction.harness.results import Results
from reproduction.pages.page import THEORY, WRITTEN, link_to, more_pictures, page

LARGEST = 5e6  # bytes of all results together


def find_faults(results: Results, out: Path, images: Path, folder: Path) -> list[str]:
    """Return one line for everything that should be mended before the results are committed.

    Args:
        results: the runs.
        out: the page.
        images: folder of the figures.
        folder: of all result files.
    """
    faults = []
    theory = out.with_name(THEORY).exists()
    computed = page(results, link_to(images, out), more_pictures(images), theory=theory)
    written = out.read_text(encoding="utf-8") if out.exists() else ""
    if _undated(written) != _undated(computed):
        faults.append(f"{out} is not what the results say; run make reproducing")
    faults += [f"{key}: decided, and no explanation written yet" for key in unexplained(results)]
    size = sum(path.stat().st_size for path in folder.rglob("*.json"))
    if size > LARGEST:
        faults.append(f"{folder} holds {size / 1e6:.1f} MB of results; at most {LARGEST / 1e6:g} MB")
    return faults


def unexplained(results: Results) -> Sequence[str]:
    """Return the keys of the claims whose checks are all decided and which have no explanation."""
    return [
        one.claim.key
        for one in judge_all(results)
        if one.decided and not explanation(results, one.claim.key, one.checks)
    ]


def _undated(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(WRITTEN))
