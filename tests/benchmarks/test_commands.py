"""Every benchmark starts as its docstring says, by its path: only its own folder is on the module path."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_imports_its_neighbors_by_their_own_names(path: Path) -> None:
    """``python benchmarks/NAME.py`` finds the files beside it, but no package ``benchmarks``."""
    tree = ast.parse(path.read_text())
    froms = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert "benchmarks" not in {name.split(".")[0] for name in [*froms, *names]}
