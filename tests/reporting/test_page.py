"""The page on durable runs is true: its code runs, its tables are those of the file."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "durable-runs.md").read_text()


def test_code_runs_as_it_stands(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(quick_folder)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "durable-runs.md", "exec"), names)
    assert names["result"].nfev == 30
    assert names["run"].status.ended == 34
    assert (quick_folder / "run.csv").exists()
    db = sqlite3.connect("run.db")
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables | {"amendments"} == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(db.execute(query).fetchall()) == 34
    db.close()
