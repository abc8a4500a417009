"""Draw docs/images/architecture.svg, the floor plan of the package, from the imports of its modules.

A room is a folder of src/lcbo or a module beside them; it stands on the floor above the highest room it
imports from. With --table the rooms are printed with their lines, modules, fan-in and fan-out.

Run: python docs/draw_architecture.py [--check] [--table]
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "lcbo"
PICTURE = Path(__file__).with_name("images") / "architecture.svg"
WORDS = {
    "types": "records and glossary",
    "errors": "errors and warnings",
    "text": "words in messages",
    "checks": "argument checks",
    "random": "random streams",
    "lbfgs": "many climbs at once",
    "linalg": "Cholesky and jitter",
    "scaling": "standardized outputs",
    "terms": "feasibility arithmetic",
    "problem": "what is to be solved",
    "problems": "benchmarks with known answers",
    "models": "Gaussian processes",
    "steps": "from gradients to a step",
    "acquisition": "where to evaluate next",
    "methods": "LCBO and its rivals",
    "optimizer": "ask and tell, the answer",
    "store": "a run in one file",
    "evaluation": "calling the simulator",
    "loop": "minimize",
    "compare": "methods side by side",
    "reporting": "pictures and reports",
    "testing": "conformance of methods",
    "integrations": "doors to other tools",
    "cli": "the command line",
}
UPWARDS = {("optimizer", "store")}  # the one late import upwards: run files are opened when a path is given
WIDTH, HEIGHT, GAP, RISE = 184, 44, 14, 40


def imports(path: Path) -> set[str]:
    """Return the rooms a module imports from, late imports included."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "lcbo"
            names = [f"lcbo.{alias.name}" for alias in node.names] if whole else [node.module]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("lcbo.")}
    return rooms


def survey() -> tuple[dict[str, set[str]], dict[str, int], dict[str, int]]:
    """Return what every room imports, its lines and its modules."""
    edges: dict[str, set[str]] = defaultdict(set)
    lines: dict[str, int] = defaultdict(int)
    modules: dict[str, int] = defaultdict(int)
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        edges[room] |= {other for other in imports(path) - {room} if (room, other) not in UPWARDS}
        lines[room] += len(path.read_text().splitlines())
        modules[room] += 1
    return edges, lines, modules


def floors(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms floor by floor: a room stands one above the highest it imports from."""
    height: dict[str, int] = {}

    def of(room: str, above: tuple[str, ...] = ()) -> int:
        if room in above:
            raise SystemExit(f"a circle of imports: {' -> '.join([*above, room])}")
        if room not in height:
            height[room] = 1 + max((of(other, (*above, room)) for other in edges[room]), default=-1)
        return height[room]

    for room in edges:
        of(room)
    return [[room for room in edges if height[room] == level] for level in range(max(height.values()) + 1)]


def drawing(edges: dict[str, set[str]]) -> str:
    """Return the floor plan as SVG: rooms as boxes, an arrow from a room to each it stands directly on."""
    plan = floors(edges)
    span = max(len(floor) for floor in plan) * (WIDTH + GAP) + GAP
    tall = len(plan) * (HEIGHT + RISE) + GAP
    at: dict[str, tuple[float, float]] = {}
    for level, floor in enumerate(plan):
        left = (span - len(floor) * (WIDTH + GAP) + GAP) / 2
        for i, room in enumerate(floor):
            at[room] = left + i * (WIDTH + GAP), tall - (level + 1) * (HEIGHT + RISE) + RISE / 2
    parts = []
    for room, others in sorted(edges.items()):
        for other in sorted(others):
            if any(other in _reach(edges, between) for between in others - {other}):
                continue  # it stands on it by way of another room already
            (x1, y1), (x2, y2) = at[room], at[other]
            x1, x2 = x1 + WIDTH / 2, x2 + WIDTH / 2
            y1 += HEIGHT
            bend = (y2 - y1) / 2
            kind = "edge far" if bend > RISE else "edge"
            parts.append(
                f'<path class="{kind}" d="M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} '
                f'{x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}"><title>{room} imports {other}</title></path>'
            )
    for room, (x, y) in at.items():
        middle = x + WIDTH / 2
        parts.append(
            f'<rect class="room" x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
            f'<text class="name" x="{middle:.0f}" y="{y + 18:.0f}">{room}</text>'
            f'<text class="words" x="{middle:.0f}" y="{y + 34:.0f}">{WORDS[room]}</text>'
        )
    style = (
        ".room{fill:#eef3fb;stroke:#4c72b0}.edge{fill:none;stroke:#7a808a;stroke-width:1.2}.far{stroke:#c3c7cd}"
        "text{font-family:sans-serif;text-anchor:middle;fill:#1a1a1a}.name{font-weight:bold;font-size:13px}"
        ".words{font-size:11px;fill:#444}.paper{fill:#ffffff}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {span:.0f} {tall:.0f}" role="img">'
        f"<title>The rooms of lcbo, each above the rooms it imports from</title><style>{style}</style>"
        f'<rect class="paper" width="100%" height="100%" rx="8"/>{"".join(parts)}</svg>\n'
    )


def _reach(edges: dict[str, set[str]], room: str) -> set[str]:
    """Return every room that one imports from, directly or not."""
    found: set[str] = set()
    todo = [room]
    while todo:
        for other in edges[todo.pop()] - found:
            found.add(other)
            todo.append(other)
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the picture is up to date")
    parser.add_argument("--table", action="store_true", help="print the rooms instead")
    given = parser.parse_args()
    edges, lines, modules = survey()
    if given.table:
        print("| room | lines | modules | fan-in | fan-out |\n|---|---|---|---|---|")
        for floor in floors(edges):
            for room in floor:
                fan_in = sum(room in others for others in edges.values())
                print(f"| {room} | {lines[room]} | {modules[room]} | {fan_in} | {len(edges[room])} |")
        return
    text = drawing(edges)
    if given.check:
        sys.exit(PICTURE.read_text() != text and "run make docs")
    PICTURE.write_text(text)


if __name__ == "__main__":
    main()
