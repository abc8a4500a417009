"""Exit codes, and the examples that a command's help ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

ERROR, NOT_FEASIBLE, NOTHING, INTERRUPTED = 1, 3, 4, 130

Command = TypeVar("Command", bound=Callable[..., Any])
EXAMPLES: dict[str, tuple[str, ...]] = {}


def examples(*lines: str) -> Callable[[Command], Command]:
    """Keep command lines to show in the help of a command."""

    def keep(command: Command) -> Command:
        EXAMPLES[command.__name__] = lines
        return command

    return keep
