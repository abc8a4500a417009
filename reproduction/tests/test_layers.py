"""The rooms of the study import in one direction."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW = {
    "harness": set(),
    "claims": {"harness"},
    "figures": {"harness", "claims"},
    "pages": {"harness", "claims", "figures", "theory"},
    "theory": {"harness", "claims", "figures"},
}
MODULES = [path for room in BELOW for path in sorted((ROOT / room).glob("*.py"))]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_imports_only_lower_rooms(path):
    room = path.parent.name
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("reproduction."):
            assert str(node.module).split(".")[1] in BELOW[room] | {room}


def test_rooms_are_small():
    assert all(len(list((ROOT / room).glob("*.py"))) <= 14 for room in BELOW)
