"""Texts a simulator gets and texts it wrote.

Its input files and its command line may hold placeholders: ``{{ name }}``, or ``{{ name:12.5e }}`` with a
Python format. A program written for Dakota or NOMAD gets the files it knows: see `FORMATS`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lcbo.errors import ArgumentError, EvaluationError, OutcomeError
from lcbo.evaluation.command import search

FORMATS = {  # the file with the parameters, the one with the outcomes, and which of them are arguments
    "json": ("parameters.json", "stdout", ()),
    "dakota": ("params.in", "results.out", ("params.in", "results.out")),
    "nomad": ("x.txt", "stdout", ("x.txt",)),
}
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
    return _number(name, file, found)


def last_lines(place: Path) -> str:
    """Return the last lines of stderr, or of stdout where that is empty, as the end of a message."""
    for file in (STDERR, STDOUT):
        path = place / file
        text = search.end_of(path, 4 * _LAST_CHARACTERS)[-_LAST_CHARACTERS:].strip() if path.exists() else ""
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
