"""One self-contained HTML page: a skeleton with its style sheet, tables, tiles, folds.

The content security policy forbids every request and every script, so that names and failure texts of a run
cannot do harm even where an escape is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, body: Iterable[str], every: float | None = None) -> str:
    """Return the whole page; ``body`` holds HTML. A browser loads it again ``every`` so many seconds."""
    again = "" if every is None else f'<meta http-equiv="refresh" content="{max(1, round(every))}">'
    style = (files("lcbo.reporting") / "report.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{again}<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main>\n{chr(10).join(part for part in body if part)}\n</main></body></html>\n"
    )


def breakable(text: object) -> str:
    """Return plain text as HTML in which a long name may go on in the next line, after a part of it."""
    return re.sub(r"(?<=[_/])(?=\w)", "<wbr>", escape(str(text)))


def section(title: str, *parts: str) -> str:
    """Return a titled part of the page, nothing where it would be empty."""
    inside = "\n".join(part for part in parts if part)
    return f"<section><h2>{escape(title)}</h2>\n{inside}</section>" if inside else ""


def columns(parts: Sequence[str]) -> str:
    """Return pieces in two columns where there is room for two."""
    return f'<div class="grid2">{"".join(parts)}</div>' if any(parts) else ""


def tiles(entries: Iterable[tuple[str, str]]) -> str:
    """Return the figures a reader looks for first, as ``(value, meaning)``."""
    cells = "".join(
        f"<div><b>{escape(value)}</b><span>{breakable(name)}</span></div>" for value, name in entries
    )
    return f'<div class="tiles">{cells}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """Return a table; cells are HTML, those of the columns ``numeric`` are set to the right."""
    kind = [' class="n"' if i in numeric else "" for i in range(len(head))]
    top = "".join(f"<th{k}>{escape(name)}</th>" for k, name in zip(kind, head, strict=True))
    lines = "".join(
        "<tr>" + "".join(f"<td{k}>{cell}</td>" for k, cell in zip(kind, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and what they are; names are plain text, the rest is HTML."""
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{cell}</td></tr>" for name, cell in rows)
    return f'<div class="scroll"><table class="facts"><tbody>{lines}</tbody></table></div>'


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """Return a paragraph of plain text in a soft color, nothing where it would be empty."""
    return f"<p class=soft>{escape(text)}</p>" if text else ""


def fold(summary: str, inside: str) -> str:
    """Return a part that opens on demand; ``inside`` holds HTML."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def code(text: str, *, trace: bool = False) -> str:
    """Return preformatted plain text."""
    return f"<pre{' class=trace' if trace else ''}>{escape(text)}</pre>"


def place(share: float) -> str:
    """Return a mark that shows where between its bounds a value lies, 0 to 1."""
    edge = " edge" if share <= 0.001 or share >= 0.999 else ""
    return f'<span class="place{edge}"><i style="left:{100 * min(max(share, 0.0), 1.0):.1f}%"></i></span>'
