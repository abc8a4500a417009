"""The page "Reproducing the paper", written from hand-made results."""

import re

import pytest

from reproduction.figures.figures import FIGURES
from reproduction.pages.check import find_faults
from reproduction.pages.page import THEORY, page, write_page
from reproduction.pages.text import SECTIONS


@pytest.fixture
def results(lab):
    for seed in range(3):
        lab.run("main", "beam", "epbo", seed, [None])
        lab.run("main", "beam", "lcbo-paper", seed, [170.0 + seed])
    lab.want("main", "truss-case1", "cei", 3)
    return lab.read()


def test_page_states_verdicts_with_numbers_and_n(results):
    text = page(results, "pictures", ["mechanism-2d", "theory-residuals"])
    assert "### EPBO finds no feasible beam: agree" in text
    assert "| epbo finds no feasible point on beam | 3 of 3 runs without a feasible point | 3 | yes |" in text
    assert "### LCBO is best on every synthetic task: not run yet (n = 0)" in text
    assert "| main | truss-case1 | cei 0/3 |" in text
    assert "- machine: a machine, 2 cores (6 runs)" in text
    assert "- commit abc123: epbo, lcbo-paper (6 runs)" in text
    assert "6 of 9 runs are done" in text
    assert "| lcbo-paper | 171 [170.5, 171.5] (n = 3) |" in text
    assert "| 171 [170.5, 171.5] (n = 3) | 0 [0, 0] (n = 3), 3 of 3 feasible |" in text
    assert "(pictures/theory-residuals.png)" in text
    assert "(pictures/mechanism-2d.png)" in text


def test_page_names_what_beats_the_paper_and_what_a_sobol_search_beats(lab):
    finals = {"lcbo-paper": [5.0, 5.0], "lcbo": [4.0, 4.0], "cei": [None, None], "sobol": [6.0, 6.0, 0.0]}
    for label, values in finals.items():
        for seed, value in enumerate(values):
            lab.run("main", "beam", label, seed, [value])
    text = page(lab.read(), "pictures")
    assert "Lower median than `lcbo-paper` on common seeds: lcbo. Not below a Sobol search: cei." in text


def test_contents_of_the_page_lead_somewhere(results):
    text = page(results, "pictures")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#(.*?)\)", text)
    assert len(links) == 16
    assert set(links) <= anchors


def test_page_shows_every_figure_where_it_lies(results, tmp_path):
    write_page(results, tmp_path / "docs" / "page.md", tmp_path / "pictures")
    text = (tmp_path / "docs" / "page.md").read_text()
    assert {*re.findall(r"\(\.\./pictures/([\w-]+)\.png\)", text)} == set(FIGURES)
    assert {section.figure for section in SECTIONS} | {"ranks"} == set(FIGURES)
    assert "## Theory\n\nNot run yet (n = 0)." in text
    (tmp_path / "docs" / THEORY).write_text("numbers")
    write_page(results, tmp_path / "docs" / "page.md", tmp_path / "pictures")
    assert f"]({THEORY})" in (tmp_path / "docs" / "page.md").read_text()


def test_decided_claim_without_an_explanation_says_so(lab):
    for seed, value in enumerate([None, 9.0, None]):
        lab.run("main", "beam", "epbo", seed, [value])
    assert "- Our explanation: no explanation written yet." in page(lab.read(), "pictures")


def test_faults_are_a_stale_page_missing_explanations_and_large_results(results, lab, tmp_path, monkeypatch):
    out, images = tmp_path / "docs" / "page.md", tmp_path / "pictures"

    def faults(found):
        return find_faults(found, out, images, lab.folder / "results")

    write_page(results, out, images)
    assert faults(results) == []
    for seed, value in enumerate([None, 9.0, None]):
        lab.run("main", "beam", "epbo", seed, [value])
    new = lab.read()
    assert [line.split(": ")[-1] for line in faults(new)] == [
        f"{out} is not what the results say; run make reproducing",
        "decided, and no explanation written yet",
    ]
    write_page(new, out, images)
    monkeypatch.setattr("reproduction.pages.check.LARGEST", 100)
    assert len(faults(new)) == 2
    assert "MB of results" in faults(new)[-1]
