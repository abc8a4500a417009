"""Rules that must be written once: a second copy is a bug waiting to differ from the first."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "lcbo"
FILES = {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}

ONCE = {  # what is counted: its pattern and the file it belongs to
    "the array type": (r"^Array\b.*= ", "types.py"),
    "slack of a constraint": (r"def slack\(self, value: ", "problem/constraint.py"),
    "values of the terms": (r"_along\(self\.sign", "terms.py"),
    "the objective's sign": (r"-1\.0 if [^\n]*maximize", "problem/constraint.py"),
    "an integer check": (r"isinstance\([^)\n]*\b(Integral|np\.integer)\b", "checks.py"),
    "a number check": (r"isinstance\([^)\n]*\bReal\b", "checks.py"),
    "a standard deviation with a fallback": (r"1e-12 \* level", "scaling.py"),
    "the jitter ladder": (r"^JITTERS = ", "linalg.py"),
    "the rescue ladder": (r"needed a rescue", "models/builder.py"),
}


@pytest.mark.parametrize("what", ONCE)
def test_it_is_written_once(what):
    pattern, home = ONCE[what]
    places = {name: len(re.findall(pattern, text, re.MULTILINE)) for name, text in FILES.items()}
    assert {name: count for name, count in places.items() if count} == {home: 1}


@pytest.mark.parametrize("word", ["PROFILES", "CURVATURE", "squared_distance"])
def test_kernels_are_used_by_models_alone(word):
    users = {name.split("/")[0] for name, text in FILES.items() if re.search(rf"\b{word}\b", text)}
    assert users == {"models"}


@pytest.mark.parametrize("attribute", ["factor", "alpha", "present", "complete"])
def test_the_inside_of_a_model_is_used_by_models_alone(attribute):
    used = re.compile(rf"\b(gp|model|one|base|self\.gp)\.{attribute}\b")
    assert {name.split("/")[0] for name, text in FILES.items() if used.search(text)} <= {"models"}


def test_no_folder_is_a_hall():
    folders = {}
    for name in FILES:
        folders.setdefault(str(Path(name).parent), []).append(name)
    assert {folder: len(names) for folder, names in folders.items() if len(names) > 14} == {}


def test_only_files_of_the_repository_are_cited():
    cited = re.compile(r"\b(facts|design|house|lab2?|rivals|doors|problems)\.md\b")
    assert [name for name, text in FILES.items() if cited.search(text)] == []
