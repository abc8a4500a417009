"""The documentation is true: its code runs, its links lead somewhere, the reference is complete.

The site itself is built by `make docs`, which executes the gallery and follows every link and anchor. Here
every block of code runs: with a budget of a few evaluations by default, as it stands in the slow tests. Three
pages have tests of their own, beside what they are about; blocks in `sh` are run by tests/cli/test_tour.py.
"""

import inspect
import logging
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import suite

import lcbo

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "gallery" not in page.parts]
ELSEWHERE = {"doors.md", "durable-runs.md", "testing.md"}
FENCE = re.compile(r"^```(\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CAP = 6  # evaluations of a run that only shows that its block is right


def blocks_of(page: Path, kind: str) -> list[str]:
    """Return the blocks of a page in one language, without those that are files for its commands."""
    blocks = [text for name, text in FENCE.findall(page.read_text()) if name == kind]
    return [text for text in blocks if not re.match(r"# \S+\.(py|toml)\n", text)]


RUN_HERE = [page for page in PAGES if page.name not in ELSEWHERE and blocks_of(page, "python")]


def test_floor_plan_is_up_to_date() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
    edges, _, _ = drawn["survey"]()
    assert drawn["PICTURE"].read_text() == drawn["drawing"](edges), "run make docs"


def documented() -> set[str]:
    texts = [page.read_text() for page in (ROOT / "docs" / "reference" / "api").glob("*.md")]
    return {name for text in texts for name in re.findall(r"^\.\. auto\w+:: lcbo\.([\w.]+)$", text, re.M)}


def test_every_public_name_is_in_the_reference() -> None:
    assert documented() >= set(lcbo.__all__) - {"problems"}


@pytest.mark.parametrize("name", sorted(documented()))
def test_docstrings_say_what_every_argument_means(name: str) -> None:
    found: Any = lcbo
    for part in name.split("."):
        found = sys.modules.get(f"{found.__name__}.{part}") or getattr(found, part)
    said = inspect.getdoc(found) or ""
    assert said
    if isinstance(found, type) and issubclass(found, dict | Exception):
        return  # a result or an error: not built by users
    for argument in list(inspect.signature(found).parameters)[:40]:
        if argument not in ("self", "args", "kwargs", "options") and "Args:" in said:
            assert re.search(rf"^\s+\**{argument}:", said, re.M), f"{name}: {argument}"


def test_every_option_and_command_is_explained() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "builder" / "pages.py"))
    options, commands = ("\n".join(written[name]()) for name in ("options", "command_line"))
    assert "| `explore` |" in options
    assert "### lcbo run" in commands
    assert not re.search(r"\|  \|$", options + commands, re.M)


def test_pages_are_in_the_tree_of_the_site() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "builder" / "pages.py"))
    listed = {page for pages in written["TREE"].values() for page in pages} | {"index"}
    below = [pattern.removesuffix("/*") for pattern in written["BELOW"].values()]
    for page in PAGES[2:]:
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert name in listed or name.rpartition("/")[0] in below, f"{name} is in no table of contents"
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_modules_named_by_the_algorithm_page_exist() -> None:
    text = (ROOT / "docs" / "understanding" / "algorithm.md").read_text()
    named = re.findall(r"`((?:problem|models|acquisition|steps|methods|optimizer)/[\w/]+\.py)", text)
    assert named
    for module in named:
        assert (ROOT / "src" / "lcbo" / module).exists(), module


@pytest.fixture
def empty_folder(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to run a page in; what it says to the log goes with it."""
    monkeypatch.chdir(quick_folder)
    logger = logging.getLogger("lcbo")
    before, level = list(logger.handlers), logger.level
    yield quick_folder
    for handler in [handler for handler in logger.handlers if handler not in before]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def run_blocks(page: Path) -> dict[str, Any]:
    """Run the blocks of a page in turn; those of a method or a problem take `lcbo` for granted."""
    names: dict[str, Any] = {}
    if page.parent.name in ("methods", "problems"):
        problem = lcbo.problems.make("welded_beam")
        names = {"lcbo": lcbo, "problem": problem, "X": np.ones((2, 25))}
    for block in blocks_of(page, "python"):
        exec(compile(block, str(page.relative_to(ROOT)), "exec"), names)
    return names


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda p: str(p.relative_to(ROOT)))
@pytest.mark.usefixtures("empty_folder")
def test_code_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem == "halfcheetah":
        pytest.importorskip("gymnasium")
    full, begun = lcbo.minimize, lcbo.Optimizer

    def capped(*given: Any, budget: int, **named: Any) -> Any:
        return full(*given, budget=min(budget, CAP), **named)

    def capped_loop(*given: Any, budget: int | None = None, **named: Any) -> Any:
        return begun(*given, budget=budget and min(budget, 3 * CAP), **named)

    monkeypatch.setattr(lcbo, "minimize", capped)
    monkeypatch.setattr(lcbo, "Optimizer", capped_loop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs of a few evaluations have every reason to warn
        run_blocks(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in RUN_HERE if page.parent.name != "problems"],
    ids=lambda p: str(p.relative_to(ROOT)),
)
@pytest.mark.usefixtures("empty_folder")
def test_code_of_a_page_runs_as_it_stands(page: Path) -> None:
    run_blocks(page)


def test_no_block_is_forgotten() -> None:
    kinds = {"python", "sh", "toml", "text", "sql", "{eval-rst}", "{include}"}
    for page in PAGES:
        assert {kind for kind, _ in FENCE.findall(page.read_text())} <= kinds, page
        for text in blocks_of(page, "toml"):
            assert not text, f"{page}: a problem file begins with its name"


def test_commands_that_take_hours_are_read() -> None:
    """The two pages whose commands no test runs: their arguments are understood, their targets are there."""
    for block in blocks_of(ROOT / "docs" / "suite.md", "sh"):
        for line in re.findall(r"^python benchmarks/suite.py (.*?)(?:\s+#.*)?$", block, re.M):
            suite.arguments().parse_args(line.replace("'", "").split(" ") if "{" not in line else ["run"])
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", "\n".join(blocks_of(ROOT / "README.md", "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M)
