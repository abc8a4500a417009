"""The pages written from hand-made results."""

import json
import re

import pytest

from reproduction.claims.paper import CLAIMS
from reproduction.figures.figures import FIGURES
from reproduction.pages.check import find_faults
from reproduction.pages.page import page, write_page
from reproduction.pages.readings import readings_page, write_readings
from reproduction.pages.readme import BEGIN, END, with_findings
from reproduction.pages.text import CAPTIONS


@pytest.fixture
def results(lab):
    for seed in range(10):
        lab.run("main", "beam", "epbo", seed, [None])
        lab.run("main", "beam", "lcbo-paper", seed, [200.0 + seed])
        lab.run("main", "beam", "lcbo-authors", seed, [100.0 + seed])
    lab.want("main", "truss-case1", "cei", 3)
    return lab.read()


def test_page_answers_first_and_shows_numbers_with_n_and_commit(results, tmp_path):
    text = page(results, "pictures", ["real"], tmp_path)
    top, _, folded = text.partition("<details>")
    assert len(re.findall(r"^\d\. \*\*", top, re.MULTILINE)) == 5
    assert "Stepped beam +48.9 % [+48.9 %, +48.9 %] (n = 10)" in top
    assert "| EPBO finds no feasible beam | **agree** (1 of 1 agree, 0 contradicted): epbo finds no" in top
    assert "10 of 10 runs" in top
    assert "30 of 33 are done" in top
    assert "| `lcbo-authors` | 104 [102, 107] (n = 10) |" in folded
    assert "abc123" in folded
    assert "| main | truss-case1 | cei 0/3 |" in folded
    assert "(pictures/real.png)" in folded
    assert "(pictures/overview.png)" in top
    assert top.count("**undecided**") > 10


def test_minute_names_what_is_supported_best_and_contradicted_most(results, lab, tmp_path):
    supported = "Best supported: *EPBO finds no feasible beam* (epbo finds no feasible point on beam, 10 of"
    assert supported in page(results, "pictures", [], tmp_path)
    for seed in range(10):
        for task, epbo in (("synthetic-25", -6.0), ("synthetic-50", -8.0), ("synthetic-100", -6.0)):
            lab.run("main", task, "lcbo-authors", seed, 2 * [-5.0 - 0.01 * seed])
            lab.run("main", task, "epbo", seed, 2 * [epbo - 0.01 * seed])
    text = page(lab.read(), "pictures", [], tmp_path)
    line = next(line for line in text.splitlines() if line.startswith("3. "))
    assert "contradicted most: *LCBO " in line
    assert "below epbo" in line.partition("contradicted most")[2]
    assert "on synthetic-50, -37" in line


def test_page_names_every_claim_once_and_folds_its_comparisons(results, tmp_path):
    text = page(results, "pictures", [], tmp_path)
    for claim in CLAIMS:
        assert text.count(f"| {claim.title} |") == 1
        assert f"#### {claim.title[0].upper()}{claim.title[1:]}" in text
    assert text.count("<details>") == text.count("</details>") == 5


def test_every_figure_has_its_caption():
    assert set(FIGURES) <= {*CAPTIONS, "overview"}


def test_authors_numbers_stand_beside_ours(results, tmp_path):
    row = {"spec": "main", "task": "beam", "unit": 100, "final": [3.84, 2.82]}
    (tmp_path / "control.json").write_text(json.dumps({"origin": "made up", "runs": [row]}))
    text = page(results, "pictures", [], tmp_path)
    assert "| beam | 3.84 2.82 | 3.33 (n = 2) | 1.04 [1.02, 1.07] (n = 10) | abc123 |" in text


def test_readings_are_measured_where_runs_exist(results):
    text = readings_page(results)
    assert "| lengthscales |" in text
    assert "| not measured |" in text
    row = next(line for line in text.splitlines() if line.startswith("| Stepped beam"))
    assert row.startswith("| Stepped beam, d = 50 | +48.9 % [+48.9 %, +48.9 %] (n = 10) | not run (n = 0) |")


def test_the_readme_gets_two_sentences_between_its_marks(results):
    text = with_findings(f"before\n{BEGIN}\nold\n{END}\nafter\n", results)
    assert text.startswith(f"before\n{BEGIN}\nAgainst the strongest of the paper's four rivals")
    assert text.endswith(f"{END}\nafter\n")
    assert "has it leads by: not all are run yet" in text, "a rival that was not run may be the strongest"
    assert f"Of {len(CLAIMS)} claims of the paper 1 are confirmed, 1 contradicted" in text
    assert with_findings(text, results) == text
    assert with_findings("no marks", results) == "no marks"


def test_faults_are_stale_pages_and_large_results(results, lab, tmp_path, monkeypatch):
    out, images = tmp_path / "docs" / "page.md", tmp_path / "pictures"
    write_page(results, out, images, lab.folder)
    write_readings(results, out.with_name("readings.md"))
    assert find_faults(results, out, images, lab.folder) == []
    lab.run("main", "beam", "lcbo-authors", 0, [500.0])
    stale = find_faults(lab.read(), out, images, lab.folder)
    assert stale == [f"{out} is not what the results say; run make reproducing"]
    monkeypatch.setattr("reproduction.pages.check.LARGEST", 100)
    assert "MB; at most" in find_faults(results, out, images, lab.folder)[-1]
