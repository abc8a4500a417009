"""The documentation is true: its code runs, its links lead somewhere, the reference is up to date."""

import logging
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import lcbo

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_floor_plan_is_up_to_date() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
    edges, _, _ = drawn["survey"]()
    assert drawn["PICTURE"].read_text() == drawn["drawing"](edges), "run make docs"


def test_reference_is_up_to_date() -> None:
    built = runpy.run_path(str(ROOT / "docs" / "build_api.py"))
    page = (ROOT / "docs" / "api.md").read_text()
    assert page == built["page"](), "run make docs"
    for name in set(lcbo.__all__) - {"problems"}:
        assert f"### `lcbo.{name}`" in page


@pytest.mark.parametrize("most", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_readme_code_runs(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every day with small budgets, now and then as it stands."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 6
    for block in blocks:
        small = re.sub(r"budget=(\d+)", lambda found: f"budget={min(int(found[1]), most)}", block)
        exec(compile(small, "README.md", "exec"), names)
    assert (tmp_path / "run.png").exists()
    assert names["result"].nfev == min(60, most)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_modules_named_by_the_algorithm_page_exist() -> None:
    text = (ROOT / "docs" / "algorithm.md").read_text()
    named = re.findall(r"`((?:problem|models|acquisition|steps|methods|optimizer)/[\w/]+\.py)`", text)
    assert named
    for module in named:
        assert (ROOT / "src" / "lcbo" / module).exists(), module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "section"),
    [
        ("running", "Coming from SciPy"),
        ("running", "Known conditions on the inputs"),
        ("running", "Many points at once, and by name"),
        ("running", "Values that know their error"),
        ("running", "Random simulations"),
        ("running", "In a notebook and in a log"),
        ("durable-runs", "Starting from evaluations made before"),
        ("durable-runs", "Amending"),
        ("problem-file", "Known conditions"),
        ("problem-file", "How to run your program: `[command]`"),
    ],
)
def test_examples_of_a_section_run_as_they_stand(
    page: str, section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    logger = logging.getLogger("lcbo")
    before, level = list(logger.handlers), logger.level
    exec(compile(blocks[0], f"{page}.md", "exec"), {})
    for handler in [handler for handler in logger.handlers if handler not in before]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)
