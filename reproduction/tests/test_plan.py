"""The order of the grid."""

from fnmatch import fnmatchcase
from pathlib import Path

from reproduction.harness.plan import PLAN, planned, read_plan, stage
from reproduction.harness.runner import Places

ROOT = Path(__file__).parents[1]


def test_runs_go_by_the_plan_and_then_by_seed(lab):
    for label in ("late", "early", "other"):
        lab.want("main", "beam", label, 2)
    (places,) = lab.write()
    assert [name for name, _ in planned([places])][:3] == [
        "main/beam/late/0",
        "main/beam/early/0",
        "main/beam/other/0",
    ]
    (lab.folder / PLAN).write_text("# why\n\nmain/*/early/*\nmain/beam/late/1\n")
    names = [name for name, _ in planned([places])]
    assert names == [
        f"main/beam/{run}" for run in ("early/0", "early/1", "late/1", "late/0", "other/0", "other/1")
    ]
    assert stage("main/beam/other/0", ["a", "b"]) == 2


def test_every_pattern_of_the_plan_matches_a_run_and_every_run_a_pattern():
    specs = [Places.of(path) for path in sorted(ROOT.glob("*.toml"))]
    names = [name for name, _ in planned(specs)]
    patterns = read_plan(ROOT / PLAN)
    assert all(any(fnmatchcase(name, pattern) for name in names) for pattern in patterns)
    assert all(stage(name, patterns) < len(patterns) for name in names)
    assert len(names) == len(set(names))
