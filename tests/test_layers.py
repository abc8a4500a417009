"""A module imports only from lower layers or from its own folder."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "lcbo"

LAYERS = {
    "types": 0,
    "errors": 0,
    "text": 0,
    "checks": 1,
    "lbfgs": 1,
    "linalg": 1,
    "random": 1,
    "scaling": 1,
    "terms": 2,
    "problem": 3,
    "problems": 4,
    "models": 4,
    "steps": 4,
    "acquisition": 5,
    "methods": 6,
    "optimizer": 7,
    "store": 8,
    "evaluation": 8,
    "loop": 9,
    "reporting": 10,
    "compare": 10,
    "testing": 10,
    "integrations": 10,
    "cli": 11,
    "__init__": 12,
}
EXCEPTIONS = {
    # `Optimizer(store=path)` and `Optimizer.open(path)` are given a path, so somebody below the store has to
    # reach for it: `run_files`, when it is called, and nothing else.
    "optimizer/recorder.py": {"store"},
}


def imported_parts(tree: ast.AST) -> set[str]:
    """Return the parts of lcbo (``lcbo.part...``) a module imports, ``""`` for the package itself."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            whole = node.module == "lcbo"
            modules |= {f"lcbo.{alias.name}" for alias in node.names} if whole else {str(node.module)}
    return {f"{module}.".split(".")[1] for module in modules if module.split(".")[0] == "lcbo"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_module_imports_only_lower_layers(path):
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert part in LAYERS, f"give {part} a layer"
    if LAYERS[part] >= LAYERS["cli"]:
        return
    above = {
        other
        for other in imported_parts(ast.parse(path.read_text()))
        if other != part and LAYERS[other] >= LAYERS[part]
    }
    assert above == EXCEPTIONS.get(str(path.relative_to(SOURCE)), set()), (
        f"{part} imports from above: {above}"
    )


def test_violation_is_noticed():
    assert imported_parts(
        ast.parse("from lcbo import run\nimport lcbo.methods.lcbo.method\nimport torch")
    ) == {
        "run",
        "methods",
    }
    assert imported_parts(ast.parse("def f():\n    from lcbo.models.gp import GP")) == {"models"}


def imported_modules(path):
    """Return the modules of ``lcbo.problems`` that a module imports when it runs, at its top or later."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and id(n) not in typing_only]
    return {str(n.module) for n in imports if str(n.module).startswith("lcbo.problems.")}


def test_problems_and_their_drawings_do_not_import_each_other():
    paths = [p for p in (SOURCE / "problems").rglob("*.py") if p.name != "__init__.py"]
    names = {p: ".".join(["lcbo", *p.relative_to(SOURCE).with_suffix("").parts]) for p in paths}
    left = {names[p]: imported_modules(p) for p in paths}
    while free := [name for name, imports in left.items() if not imports & set(left)]:
        for name in free:
            del left[name]
    assert not left, f"these import each other: {sorted(left)}"
