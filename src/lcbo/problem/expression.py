"""Conditions on the variables out of a text such as ``"height >= 2 * width"``: parsed, never executed.

Python's parser makes a tree of the text, and of its nodes only those are understood that are arithmetic.
They become a list of operations on a stack, all of them on floats: nothing in a text can call, import or
count beyond them, and no depth of parentheses is too deep.
"""

from __future__ import annotations

import ast
import math
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcbo.checks import is_number
from lcbo.errors import ArgumentError
from lcbo.text import shown
from lcbo.types import Array

LONGEST = 20_000  # characters of a text
FORMS = "a text such as 'height >= 2 * width', 'a + b + c == 1' or 'x2 * x3 <= 40'"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "abs": np.abs,
}
_BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.float_power,
}
Operation = tuple[str, Any]  # "number" and its value, "variable" and its index, or "apply" and the function
Affine = tuple[Array, float]  # coefficients of all variables and a constant


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of the variables, as operations on a stack."""

    operations: tuple[Operation, ...]

    def __call__(self, x: Array) -> Array:
        """Return the values at points, ``... x len(variables)``; NaN where it has none."""
        stack: list[Any] = []
        with np.errstate(all="ignore"):
            for kind, what in self.operations:
                if kind == "apply":
                    count = what.nin
                    stack[-count:] = [what(*stack[-count:])]
                else:
                    stack.append(what if kind == "number" else x[..., what])
        values: Array = np.broadcast_to(np.asarray(stack[0], dtype=np.float64), x.shape[:-1])
        return values

    def affine(self, n: int) -> Affine | None:
        """Return coefficients of the ``n`` variables and a constant, ``None`` where it is not linear."""
        stack: list[Affine] = []
        nothing = np.zeros(n)
        for kind, what in self.operations:
            if kind == "number":
                stack.append((nothing, what))
            elif kind == "variable":
                stack.append((np.eye(1, n, what)[0], 0.0))
            else:
                count = what.nin
                found = _combined(what, stack[-count:])
                if found is None:
                    return None
                stack[-count:] = [found]
        return stack[0]


def _combined(function: Any, parts: Sequence[Affine]) -> Affine | None:
    """Return a function of linear expressions where that is linear."""
    constant = [not a.any() for a, _ in parts]
    values = [b for _, b in parts]
    with np.errstate(all="ignore"):
        if all(constant):
            return parts[0][0], float(function(*values))
        if function in (np.add, np.subtract, np.negative):
            return function(*(a for a, _ in parts)), float(function(*values))
        if function is np.multiply and any(constant):
            (a, b), factor = (parts[1], values[0]) if constant[0] else (parts[0], values[1])
            return factor * a, factor * b
        if function is np.divide and constant[1]:
            return parts[0][0] / values[1], values[0] / values[1]
    return None


@dataclass(frozen=True)
class Comparison:
    """``expression <= 0``, or ``== 0``."""

    expression: Expression
    equality: bool


def parse(text: str, variables: Sequence[str]) -> list[Comparison]:
    """Return the comparisons of a text; a chain such as ``0 <= a + b <= 3`` has two."""
    names = {unicodedata.normalize("NFKC", name): i for i, name in enumerate(variables)}
    if len(text) > LONGEST:
        raise ArgumentError("known", f"a text of at most {LONGEST} characters", f"one of {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd is an error below or arithmetic
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ArgumentError("known", FORMS, shown(text)) from None
    if not isinstance(tree, ast.Compare):
        raise ArgumentError("known", FORMS, shown(text))
    found = []
    sides = [_operations(side, names, text) for side in (tree.left, *tree.comparators)]
    for left, operator, right in zip(sides, tree.ops, sides[1:], strict=False):
        if not isinstance(operator, ast.LtE | ast.GtE | ast.Eq):
            raise ArgumentError("known", f"{FORMS}, with <=, >= or ==", shown(text))
        less, more = (right, left) if isinstance(operator, ast.GtE) else (left, right)
        difference = Expression((*less, *more, ("apply", np.subtract)))
        found.append(Comparison(difference, isinstance(operator, ast.Eq)))
    return found


def _operations(tree: ast.expr, names: dict[str, int], text: str) -> list[Operation]:
    """Return a tree as operations, the arguments of each before it."""
    reverse: list[Operation] = []
    todo = [tree]
    while todo:
        operation, arguments = _understood(todo.pop(), names, text)
        reverse += operation
        todo += arguments
    return reverse[::-1]


def _understood(
    node: ast.expr, names: dict[str, int], text: str
) -> tuple[list[Operation], Sequence[ast.expr]]:
    """Return the operation of a node, none for a plus, and its arguments."""
    if isinstance(node, ast.Constant) and is_number(node.value):
        return [("number", float(node.value))], ()
    if isinstance(node, ast.Name) and node.id in names:
        return [("variable", names[node.id])], ()
    if isinstance(node, ast.Name) and node.id == "pi":
        return [("number", math.pi)], ()
    if isinstance(node, ast.Name):
        listed = ", ".join(list(names)[:20]) + ", ..." * (len(names) > 20)
        raise ArgumentError("known", f"variables out of {listed}", f"{node.id!r} in {shown(text)}")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return [("apply", np.negative)] if isinstance(node.op, ast.USub) else [], (node.operand,)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return [("apply", _BINARY[type(node.op)])], (node.left, node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in FUNCTIONS and len(node.args) == 1 and not node.keywords:
            return [("apply", FUNCTIONS[node.func.id])], node.args
        expected = f"numbers, variables, + - * / ** and {', '.join(FUNCTIONS)} of one argument"
        raise ArgumentError("known", expected, f"{node.func.id!r} in {shown(text)}")
    raise ArgumentError("known", f"{FORMS}; nothing but arithmetic", shown(text))
