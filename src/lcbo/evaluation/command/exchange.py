"""Texts a simulator gets and texts it wrote.

Its input files and its command line may hold placeholders: ``{{ name }}``, or ``{{ name:12.5e }}`` with a
Python format. A program written for Dakota or NOMAD gets the files it knows: see `FORMATS`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lcbo.errors import ArgumentError, EvaluationError, OutcomeError

FORMATS = {  # the file with the parameters, the one with the outcomes, and which of them are arguments
    "json": ("parameters.json", "stdout", ()),
    "dakota": ("params.in", "results.out", ("params.in", "results.out")),
    "nomad": ("x.txt", "stdout", ("x.txt",)),
}
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
    return _number(name, file, matches[0].group(1))


def last_lines(place: Path) -> str:
    """Return the last lines of stderr, or of stdout where that is empty, as the end of a message."""
    for file in (STDERR, STDOUT):
        text = text_of(place, file)[-_LAST_CHARACTERS:].strip() if (place / file).exists() else ""
        if text:
            name = file.removesuffix(".txt")
            return f"; {name} ends with:\n" + "\n".join(text.splitlines()[-_LAST_LINES:])
    return ""


def parameters_text(format: str, values: Mapping[str, float], outcomes: Sequence[str], id: int | None) -> str:
    """Return the file with the parameters.

    Dakota's lists variables, functions with what is wanted of each (1: its value), variables for derivatives,
    analysis components and the number of the evaluation; NOMAD's has the numbers alone.
    """
    if format == "json":
        return json.dumps(values, indent=2) + "\n"
    if format == "nomad":
        return " ".join(map(repr, values.values())) + "\n"
    rows: list[tuple[object, str]] = [(len(values), "variables")]
    rows += [(f"{value:.16e}", name) for name, value in values.items()]
    rows += [(len(outcomes), "functions"), *((1, f"ASV_{i + 1}:{name}") for i, name in enumerate(outcomes))]
    rows += [(len(values), "derivative_variables")]
    rows += [(i + 1, f"DVV_{i + 1}:{name}") for i, name in enumerate(values)]
    rows += [(0, "analysis_components"), (1 if id is None else id + 1, "eval_id")]
    return "".join(f"{value:>40} {name}\n" for value, name in rows)


def listed_values(format: str, file: str, text: str, outcomes: Sequence[str]) -> dict[str, float]:
    """Return the outcomes out of a file that has them in their order.

    Dakota's has one per line, perhaps with a label, or the word FAIL; NOMAD's has all on its last line.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if format == "dakota":
        if lines and lines[0][0].lower().startswith("fail"):
            raise EvaluationError(f"{file}: the command says {' '.join(lines[0])}")
        words = [line[0] for line in lines if not line[0].startswith("[")]  # gradients have brackets
    else:
        words = lines[-1] if lines else []
    names = tuple(outcomes) or tuple(f"y{i}" for i in range(len(words)))
    if len(words) < len(names):
        expected = f"{len(names)} numbers ({', '.join(names)})"
        raise EvaluationError(f"{file}: expected {expected}; got {' '.join(words)[:200] or 'nothing'!r}")
    if len(words) > len(names):
        expected = f"the outcomes {list(names)} and nothing more"
        raise OutcomeError(f"{file}: expected {expected}; got {len(words)} numbers")
    return {name: _number(name, file, word) for name, word in zip(names, words, strict=True)}


def _number(name: str, file: str, word: str) -> float:
    try:
        return float(_FORTRAN_EXPONENT.sub("e", word))
    except ValueError:
        raise EvaluationError(f"outcome {name!r}: expected a number in {file}; got {word!r}") from None
