"""A function in a Python file, ``model.py:simulate``: a run file remembers it by its name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Self

from lcbo.errors import ArgumentError, EvaluationError
from lcbo.problem import Problem
from lcbo.problem.sources import plain_problem


@dataclass(frozen=True)
class FileFunction:
    """The function ``name`` of a Python file; the file is executed when the function is first called.

    Attributes:
        function: ``"model.py:simulate"``, relative to ``folder``.
        folder: where the file is, and other modules it imports.
        named: whether it takes its variables by name.
        vectorized: whether it takes many points at once.
        takes_seed: whether it declares a parameter ``seed``.
    """

    function: str
    folder: str
    named: bool = False
    vectorized: bool = False
    takes_seed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        path, name = _parts(self.function)
        try:
            tree = ast.parse((Path(self.folder) / path).read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            raise ArgumentError("function", "a Python file that can be read", error) from None
        kinds = (ast.FunctionDef, ast.ClassDef)
        defined = [node.name for node in tree.body if isinstance(node, kinds)]
        others = {n.id for node in tree.body for n in ast.walk(node) if isinstance(n, ast.Name)}
        others |= {a.asname or a.name for node in tree.body for a in getattr(node, "names", ())}
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        declared = [a.arg for node in found for a in (*node.args.args, *node.args.kwonlyargs)]
        object.__setattr__(self, "takes_seed", "seed" in declared)
        if name not in defined and name not in others:
            raise ArgumentError(
                "function", f"a function of {path}: {', '.join(defined) or 'none'}", repr(name)
            )

    @property
    def source(self) -> Mapping[str, Any]:
        """The recipe a run file keeps."""
        return {
            "function": self.function,
            "folder": self.folder,
            "named": self.named,
            "vectorized": self.vectorized,
        }

    def bound_to(self, problem: Problem, outcomes: Sequence[str]) -> Self:  # noqa: ARG002  (a Command needs them)
        """Return the function; it knows no names."""
        return self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        return self.loaded(*arguments, **named)

    @property
    def loaded(self) -> Callable[..., Any]:
        """The function itself."""
        path, name = _parts(self.function)
        return _load(str(Path(self.folder) / path), name)


def from_source(source: Mapping[str, Any], description: Mapping[str, Any]) -> Problem:
    """Return the problem of a recipe whose function is in a Python file."""
    fields = ("function", "folder", "named", "vectorized")
    return plain_problem(description, FileFunction(**{key: source[key] for key in fields}))


def _parts(function: Any) -> tuple[str, str]:
    path, colon, name = str(function).rpartition(":")
    if not isinstance(function, str) or not colon or not path.endswith(".py") or not name.isidentifier():
        raise ArgumentError(
            "function", "a file and a function in it such as 'model.py:simulate'", repr(function)
        )
    return path, name


@cache
def _load(path: str, name: str) -> Callable[..., Any]:
    """Execute a file once in this process and return its function."""
    spec = spec_from_file_location(f"lcbo_function_{abs(hash(path))}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise EvaluationError(f"{path}: expected a function {name!r}; got {found!r}")
    loaded: Callable[..., Any] = found
    return loaded
