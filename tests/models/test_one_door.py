"""Only the models touch kernels, masks and factors."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lcbo"
INNER = re.compile(r"PROFILES|CURVATURE|squared_distance|\.(present|complete|factor|alpha|whiten|cross)\b")


@pytest.mark.parametrize("folder", ["acquisition", "methods", "steps", "optimizer"])
def test_nothing_outside_reaches_into_a_model(folder: str) -> None:
    for path in sorted((SOURCE / folder).rglob("*.py")):
        found = INNER.search(path.read_text())
        assert found is None, f"{path.relative_to(SOURCE)} uses {found.group() if found else ''}"
