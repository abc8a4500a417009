"""What the site adds to the Markdown pages: the tree of pages, and tables written from the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from lcbo.cli import app as commands
from lcbo.methods import registry

if TYPE_CHECKING:
    import click
    from sphinx.application import Sphinx

# The tree: a caption in the sidebar and its pages. On GitHub docs/index.md has the same order in words.
TREE: dict[str, list[str]] = {
    "Start": ["start", "gallery/index"],
    "How to": [
        "howto/problem",
        "howto/program",
        "howto/noise",
        "howto/failures",
        "howto/data",
        "howto/workers",
        "howto/known",
        "howto/laboratory",
        "howto/durable-runs",
        "howto/watching",
        "howto/comparing",
        "howto/doors",
    ],
    "Understanding": [
        "understanding/answer",
        "understanding/algorithm",
        "understanding/confidence",
        "understanding/wrong-tool",
    ],
    "Methods and problems": ["methods/index", "problems/README"],
    "Reference": ["reference/api", "reference/options", "reference/cli", "reference/problem-file"],
    "Evidence": ["suite", "reproducing", "readings", "theory-results"],
    "Inside": ["architecture", "contributing", "testing", "changelog"],
}
BELOW = {"methods/index": "methods/*", "problems/README": "problems/*", "reference/api": "reference/api/*"}


def tree(caption: str, pages: list[str], *options: str) -> str:
    """Return a table of contents that only the sidebar shows."""
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", *options, "", *pages, "```", ""]
    )


def add(_: Sphinx, docname: str, source: list[str]) -> None:
    """Add to a page, when it is read, what Sphinx needs and what the code says."""
    if docname == "index":
        source[0] += "".join(tree(caption, [f"/{page}" for page in pages]) for caption, pages in TREE.items())
    elif docname in BELOW:
        source[0] += tree("", [f"/{BELOW[docname]}"], ":glob:").replace(":caption: \n", "")
    elif docname in WRITTEN:
        source[0] += "\n" + "\n".join(WRITTEN[docname]()) + "\n"


def options() -> Iterator[str]:
    """Yield for every family of methods its options, their defaults and what they mean."""
    families: dict[type, list[str]] = {}
    for name in registry.names():
        kind = registry.spec(name).options_class
        assert kind is not None, f"{name} has no class of options"
        families.setdefault(kind, []).append(name)
    for kind, names in families.items():
        yield from (f"## {', '.join(names)}", "")
        for name in names:
            yield f"- `{name}`: {registry.spec(name).summary}"
        yield ""
        if not registry.spec(names[0]).options:
            yield from ("No options.", "")
            continue
        yield from ("| option | meaning | default |", "|---|---|---|")
        meanings = said_by(kind)
        for option in registry.spec(names[0]).options:
            yield f"| `{option}` | {meanings[option]} | {defaults(option, names)} |"
        yield ""


def defaults(option: str, names: list[str]) -> str:
    """Return the default of an option, and where some methods of a family differ, which have which."""
    methods: dict[str, list[str]] = {}
    for name in names:
        methods.setdefault(repr(registry.spec(name).options[option]), []).append(name)
    if len(methods) == 1:
        return f"`{next(iter(methods))}`"
    return "; ".join(f"{', '.join(which)}: `{value}`" for value, which in methods.items())


def said_by(kind: type) -> dict[str, str]:
    """Return what the docstring of a class of options, and of its bases, says about each."""
    meanings: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        listed = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        for item in re.split(r"\n(?=\S)", inspect.cleandoc(listed)):
            name, _, meaning = item.partition(": ")
            meanings[name] = " ".join(meaning.split()).replace("``", "`").replace("|", "\\|")
    return meanings


def command_line() -> Iterator[str]:
    """Yield every command with its arguments, options and examples."""
    yield from ("## Every command and option", "")
    for name, command in typer.main.get_command(commands).commands.items():  # type: ignore[attr-defined]
        yield from (f"### lcbo {name}", "", quoted(command.help), "", "| | |", "|---|---|")
        for given in command.params:
            if given.name == "help":
                continue
            written = given.metavar if given.param_type_name == "argument" else ", ".join(given.opts)
            value = f" {given.metavar}" if given.metavar and given.metavar != written else ""
            yield f"| `{written}{value}` | {quoted(given.help or '')}{default_of(given)} |"
        examples = (command.epilog or "").removeprefix("Examples:\n")
        yield from ("", "```text", examples, "```", "") if examples else ("",)


def quoted(text: str) -> str:
    """Return a help text with its options as code; typesetting would make one dash of the two."""
    return re.sub(r"(?<![`\w-])(--[a-z-]+)", r"`\1`", text)


def default_of(given: click.Parameter) -> str:
    """Return the default of an option in words, where it has one that its help does not tell."""
    default = given.default
    if default in (None, "", False) or "default" in (given.help or ""):
        return ""
    words = " ".join(default) if isinstance(default, list | tuple) else str(default).removesuffix(".0")
    return f" Default: {words}."


WRITTEN: dict[str, Callable[[], Iterator[str]]] = {
    "reference/options": options,
    "reference/cli": command_line,
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect."""
    app.connect("source-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
