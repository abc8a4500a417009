"""What is wrong between the committed results and the pages written from them."""

from __future__ import annotations

from pathlib import Path

from reproduction.harness.results import Results
from reproduction.harness.runner import RESULTS
from reproduction.pages.page import link_to, page, pictures
from reproduction.pages.readings import readings_page
from reproduction.pages.readme import with_findings

LARGEST = 8e6  # bytes of all results together
READINGS = "readings.md"  # beside the page


def find_faults(
    results: Results, out: Path, images: Path, root: Path, readme: Path | None = None
) -> list[str]:
    """Return one line for everything that should be mended before the results are committed.

    Args:
        results: the runs.
        out: the page.
        images: folder of the figures.
        root: folder of ``results/``.
        readme: a file with the findings, where they are to be checked too.
    """
    computed = {
        out: page(results, link_to(images, out), pictures(images), root),
        out.with_name(READINGS): readings_page(results),
    }
    if readme is not None:
        computed[readme] = with_findings(readme.read_text(encoding="utf-8"), results)
    faults = [
        f"{path} is not what the results say; run make reproducing"
        for path, text in computed.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    size = sum(path.stat().st_size for path in (root / RESULTS).rglob("*.json"))
    if size > LARGEST:
        faults.append(f"{root / RESULTS} holds {size / 1e6:.1f} MB; at most {LARGEST / 1e6:g} MB")
    return faults
