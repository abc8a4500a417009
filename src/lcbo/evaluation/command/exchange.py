"""Texts a simulator gets and texts it wrote.

Its input files and its command line may hold placeholders: ``{{ name }}``, or ``{{ name:12.5e }}`` with a
Python format.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lcbo.errors import ArgumentError, EvaluationError
from lcbo.evaluation.command import search

STDOUT, STDERR = "stdout.txt", "stderr.txt"
SEARCH_SECONDS = 30.0  # that all patterns of one evaluation may take
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


def output_path(place: Path, file: str) -> Path:
    """Return where an output is: ``stdout``, or a file in the working directory."""
    return place / (STDOUT if file == "stdout" else file)


def text_of(place: Path, file: str) -> str:
    """Return the text of an output; of a huge one the end."""
    try:
        return search.end_of(output_path(place, file))
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


def last_matches(place: Path, patterns: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    """Return by outcome the number in the first group of the last match: programs that iterate print many.

    ``patterns`` are ``(outcome, pattern, file)``. The search has a process of its own that is killed when
    it takes too long: a pattern such as ``(a+)+b`` may take longer than anybody waits.
    """
    for _, _, file in patterns:
        if not output_path(place, file).is_file():
            text_of(place, file)  # raises with the reason
    searches = [(pattern, str(output_path(place, file))) for _, pattern, file in patterns]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", search.__file__],
            input=json.dumps(searches),
            capture_output=True,
            text=True,
            timeout=SEARCH_SECONDS,
            start_new_session=True,  # Ctrl-C is for the run to deal with
        )
    except subprocess.TimeoutExpired:
        listed = ", ".join(repr(pattern) for _, pattern, _ in patterns)
        reason = f"patterns: no end of the search for {listed} in {SEARCH_SECONDS:g} s"
        raise EvaluationError(reason) from None
    if done.returncode:
        raise EvaluationError(f"patterns: the search failed: {done.stderr[-500:].strip()}")
    return {
        name: _matched(name, pattern, file, found)
        for (name, pattern, file), found in zip(patterns, json.loads(done.stdout), strict=True)
    }


def _matched(name: str, pattern: str, file: str, found: str | None) -> float:
    if found is None:
        raise EvaluationError(f"outcome {name!r}: no match of {pattern!r} in {file}")
    number = _FORTRAN_EXPONENT.sub("e", found)
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
