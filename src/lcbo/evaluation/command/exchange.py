"""Texts a simulator gets and texts it wrote.

Its input files and its command line may hold placeholders: ``{{ name }}``, or ``{{ name:12.5e }}`` with a
Python format.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lcbo.errors import ArgumentError, EvaluationError

STDOUT, STDERR = "stdout.txt", "stderr.txt"
_READ_LIMIT = 64 << 20  # bytes from the end of a file
_LAST_LINES, _LAST_CHARACTERS = 15, 1_500
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}:]*?)\s*(?::\s*([^{}]*?)\s*)?\}\}")
_FORTRAN_EXPONENT = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")  # 1.5D+03


def placeholders(text: str) -> list[str]:
    """Return the names a text has placeholders for, in order."""
    return [name for name, _ in _PLACEHOLDER.findall(text)]


def render(text: str, values: Mapping[str, float]) -> str:
    """Return the text with every placeholder replaced; without a format a number keeps all its digits."""

    def number(match: re.Match[str]) -> str:
        name, form = match.groups()
        return repr(values[name]) if form is None else format(values[name], form)

    return _PLACEHOLDER.sub(number, text)


def check(where: str, text: str, names: Iterable[str]) -> set[str]:
    """Return the names a text uses; raise `ArgumentError` when one is unknown or a format is wrong."""
    known = list(names)
    for name, form in _PLACEHOLDER.findall(text):
        if name not in known:
            raise ArgumentError(where, f"placeholders out of {', '.join(known)}", f"{{{{ {name} }}}}")
        try:
            format(1.0, form)
        except ValueError as error:
            expected = f"a format for {name!r} such as .6g or 12.5e"
            raise ArgumentError(where, expected, f"{form!r} ({error})") from None
    return set(placeholders(text))


def text_of(place: Path, file: str) -> str:
    """Return the text of an output, ``stdout`` or a file in the working directory; of a huge one the end."""
    path = place / (STDOUT if file == "stdout" else file)
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _READ_LIMIT))
            return stream.read().decode(errors="replace")
    except OSError as error:
        reason = f"{file}: the command did not write it ({error.strerror})"
        raise EvaluationError(reason + last_lines(place)) from None


def json_object(file: str, text: str) -> dict[str, Any]:
    """Return the object a JSON text holds; on stdout the last line that is one will do."""
    lines = reversed(text.splitlines()) if file == "stdout" else []
    for candidate in [text, *(line for line in lines if line.lstrip().startswith("{"))]:
        try:
            read = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(read, dict):
            return read
    end = text.strip()[-200:] or "nothing"
    raise EvaluationError(f"{file}: expected a JSON object with the outcomes; got {end!r}")


def last_match(name: str, pattern: str, file: str, text: str) -> float:
    """Return the number in the first group of the last match: programs that iterate print many."""
    matches = deque(re.finditer(pattern, text, re.MULTILINE), maxlen=1)
    if not matches:
        raise EvaluationError(f"outcome {name!r}: no match of {pattern!r} in {file}")
    number = _FORTRAN_EXPONENT.sub("e", matches[0].group(1))
    try:
        return float(number)
    except ValueError:
        raise EvaluationError(f"outcome {name!r}: expected a number in {file}; got {number!r}") from None


def last_lines(place: Path) -> str:
    """Return the last lines of stderr, or of stdout where that is empty, as the end of a message."""
    for file in (STDERR, STDOUT):
        text = text_of(place, file)[-_LAST_CHARACTERS:].strip() if (place / file).exists() else ""
        if text:
            name = file.removesuffix(".txt")
            return f"; {name} ends with:\n" + "\n".join(text.splitlines()[-_LAST_LINES:])
    return ""
