"""Searches files by regular expressions: a process of its own, which can be killed.

Python's engine cannot be interrupted from another thread, and there are patterns that never end.
`lcbo.evaluation.command.exchange` runs this file by its path; it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

READ_LIMIT = 64 << 20  # bytes from the end of a file


def end_of(path: str | Path, limit: int = READ_LIMIT) -> str:
    """Return the text of a file, of a huge one the last ``limit`` bytes; one that grows is not waited for."""
    with open(path, "rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - limit))
        return stream.read(limit).decode(errors="replace")


def last_group(pattern: str, path: str) -> str | None:
    """Return the first group of the last match in a file, ``None`` without a match."""
    found = None
    for match in re.finditer(pattern, end_of(path), re.MULTILINE):
        found = match.group(1)
    return found


if __name__ == "__main__":
    searches = json.loads(sys.stdin.read())
    sys.stdout.write(json.dumps([last_group(pattern, path) for pattern, path in searches]))
