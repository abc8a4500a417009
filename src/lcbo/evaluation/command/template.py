"""Input files with placeholders: ``{{ name }}``, or ``{{ name:12.5e }}`` with a Python format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lcbo.errors import ArgumentError

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}:]*?)\s*(?::\s*([^{}]*?)\s*)?\}\}")


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
