"""Write docs/api.md, the API reference, from the signatures and docstrings of the public names.

Run: python docs/build_api.py [--check]
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lcbo
from lcbo import cli
from lcbo.methods import registry
from lcbo.optimizer.log import EvaluationTable
from lcbo.optimizer.sensitivity import Sensitivities

PAGE = Path(__file__).with_name("api.md")
SECTIONS = ("Args", "Attributes", "Returns", "Raises")

GROUPS: dict[str, list[tuple[str, Any]]] = {
    "Run": [
        ("lcbo.minimize", lcbo.minimize),
        ("lcbo.Optimizer", lcbo.Optimizer),
        ("lcbo.scipy_method", lcbo.scipy_method),
    ],
    "State a problem": [
        ("lcbo.Problem", lcbo.Problem),
        ("lcbo.Constraint", lcbo.Constraint),
        ("lcbo.Objective", lcbo.Objective),
        ("lcbo.Variable", lcbo.Variable),
        ("lcbo.Known", lcbo.Known),
    ],
    "Read the answer": [
        ("lcbo.Result", lcbo.Result),
        ("EvaluationTable", EvaluationTable),
        ("Sensitivities", Sensitivities),
        ("lcbo.Snapshot", lcbo.Snapshot),
        ("lcbo.plot_convergence", lcbo.plot_convergence),
        ("lcbo.plot_sensitivities", lcbo.plot_sensitivities),
    ],
    "Stored runs and simulators": [
        ("lcbo.open_run", lcbo.open_run),
        ("lcbo.StoredRun", lcbo.StoredRun),
        ("lcbo.Command", lcbo.Command),
    ],
    "Records": [
        ("lcbo.Evaluation", lcbo.Evaluation),
        ("lcbo.Candidate", "The name of an `Evaluation` that is pending, as `ask` returns it."),
        ("lcbo.Record", lcbo.Record),
        ("lcbo.Measured", lcbo.Measured),
    ],
    "Methods of your own": [
        ("lcbo.Method", lcbo.Method),
        ("lcbo.MethodSpec", lcbo.MethodSpec),
        ("lcbo.Proposal", lcbo.Proposal),
        ("lcbo.register", lcbo.register),
    ],
    "Benchmark problems": [
        ("lcbo.problems.make", lcbo.problems.make),
        ("lcbo.problems.names", lcbo.problems.names),
        ("lcbo.problems.Benchmark", lcbo.problems.Benchmark),
        ("lcbo.problems.NoisyView", lcbo.problems.NoisyView),
        ("lcbo.problems.BestKnown", lcbo.problems.BestKnown),
        ("lcbo.problems.from_botorch", lcbo.problems.from_botorch),
        ("lcbo.problems.to_botorch", lcbo.problems.to_botorch),
    ],
    "Errors and warnings": [
        ("lcbo.LcboError", lcbo.LcboError),
        ("lcbo.ArgumentError", lcbo.ArgumentError),
        ("lcbo.OutcomeError", lcbo.OutcomeError),
        ("lcbo.TellError", lcbo.TellError),
        ("lcbo.TooManyFailuresError", lcbo.TooManyFailuresError),
        ("lcbo.ModelError", lcbo.ModelError),
        ("lcbo.EvaluationError", lcbo.EvaluationError),
        ("lcbo.FunctionError", lcbo.FunctionError),
        ("lcbo.WorkerError", lcbo.WorkerError),
        ("lcbo.StoreError", lcbo.StoreError),
        ("lcbo.RunInUseError", lcbo.RunInUseError),
        ("lcbo.DataWarning", lcbo.DataWarning),
        ("lcbo.StoreWarning", lcbo.StoreWarning),
        ("lcbo.NumericalRescueWarning", lcbo.NumericalRescueWarning),
    ],
}


def page() -> str:
    """Return the whole page."""
    lines = [
        "# API reference",
        "",
        "Written by `docs/build_api.py` from the docstrings (`make docs`); edit those, not this page.",
        "",
    ]
    for title, members in GROUPS.items():
        lines += [f"## {title}", ""]
        for name, member in members:
            lines += entry(name, member)
    return "\n".join([*lines, *methods(), *command_line()]).rstrip() + "\n"


def entry(name: str, member: Any) -> Iterator[str]:
    """Yield the lines of one function or class with its public methods and properties."""
    yield from (f"### `{name}`", "")
    if isinstance(member, str):
        yield from (member, "")
        return
    if not (inspect.isclass(member) and _is_plain_record(member)):
        yield from signature(name, member)
    yield from body(inspect.getdoc(member) or "")
    if inspect.isclass(member):
        for method, value in vars(member).items():
            if not method.startswith("_") and getattr(value, "__doc__", None):
                yield from part(f"{name.rpartition('.')[2]}.{method}", value)


def _is_plain_record(member: type) -> bool:
    """Whether a class is not built by users with arguments worth showing: a result or an error."""
    return issubclass(member, dict | Exception)


def part(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of one method or property."""
    if isinstance(value, property):
        yield from (f"#### `{name}`", "")
    elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        yield from (f"#### `{name}`", "")
        yield from signature(name, function)
    else:
        return
    yield from body(inspect.getdoc(value) or "")


def signature(name: str, function: Any) -> Iterator[str]:
    """Yield the call as a code block, one argument per line when it is long."""
    spec = inspect.signature(function)
    kept = [p for p in spec.parameters.values() if p.name not in ("self", "cls")]
    result = "" if inspect.isclass(function) else f" -> {spec.return_annotation}"
    # Annotations are texts here; show them without their quotes.
    arguments = [re.sub(r"(?<=: )'(.*?)'(?=$| = )", r"\1", str(p)) for p in kept]
    first_keyword = next((i for i, p in enumerate(kept) if p.kind is p.KEYWORD_ONLY), None)
    if first_keyword is not None:
        arguments.insert(first_keyword, "*")
    call = f"{name}({', '.join(arguments)}){result}"
    if len(call) > 100:
        call = f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"
    yield from ("```python", call, "```", "")


def body(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown: prose, then its sections as lists."""
    section = ""
    for block in re.split(r"\n(?=(?:Args|Attributes|Returns|Raises):\n)", doc):
        head, _, rest = block.partition(":\n")
        section = head if head in SECTIONS else ""
        if section:
            yield from (f"*{section}*", "")
            yield from items(inspect.cleandoc(rest), named=section != "Returns")
        else:
            yield from prose(block)


def prose(text: str) -> Iterator[str]:
    """Yield paragraphs; indented ones are code."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.startswith("    "):
            yield from ("```text", inspect.cleandoc("\n" + paragraph), "```", "")
        else:
            yield from (code_marks(paragraph), "")


def items(text: str, named: bool) -> Iterator[str]:
    """Yield ``name: text`` entries as a list."""
    for item in re.split(r"\n(?=\S)", text):
        line = " ".join(item.split())
        name, colon, rest = line.partition(": ")
        yield code_marks(f"- `{name}`: {rest}" if named and colon else f"- {line}")
    yield ""


def code_marks(text: str) -> str:
    """Double backticks of docstrings are single ones in Markdown."""
    return text.replace("``", "`")


def methods() -> Iterator[str]:
    """Yield the list of methods, then for every family of them its options with their defaults."""
    yield from ("## Methods and their options", "")
    for name in registry.names():
        yield f"- `{name}`: {registry.spec(name).summary}"
    families: dict[type, list[str]] = {}
    for name in registry.names():
        options = registry.spec(name).options_class
        assert options is not None, f"{name} has no class of options"
        families.setdefault(options, []).append(name)
    yield ""
    for options, names in families.items():
        yield from options_table(names, options)
    yield from (
        "Some defaults depend on d: those of `lcbo-paper` are shown for d = 25, of `lcbo-theory` for d = 8.",
        "A schedule is a number or a function of the iteration k = 1, 2, ...; `Power(a, b)` is `a * k**b`.",
        "",
    )


def options_table(names: list[str], options: type) -> Iterator[str]:
    """Yield what every option means, and its default in each method of a family."""
    meanings: dict[str, str] = {}
    for base in reversed(options.__mro__):
        listed = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        meanings.update(item.partition(": ")[::2] for item in re.split(r"\n(?=\S)", inspect.cleandoc(listed)))
    if not registry.spec(names[0]).options:
        yield from (f"`{names[0]}` has no options.", "")
        return
    yield f"| option | {' | '.join(f'`{n}`' for n in names)} | meaning |"
    yield "|---" * (len(names) + 2) + "|"
    for option in registry.spec(names[0]).options:
        defaults = " | ".join(f"`{registry.spec(name).options[option]!r}`" for name in names)
        yield code_marks(f"| `{option}` | {defaults} | {' '.join(meanings[option].split())} |")
    yield ""


def command_line() -> Iterator[str]:
    """Yield the commands with what they do."""
    yield from ("## Command line", "")
    groups = [("", cli.app), *((f"{g.name} ", g.typer_instance) for g in cli.app.registered_groups)]
    for prefix, app in groups:
        for command in app.registered_commands:
            callback = command.callback
            assert callback is not None
            name = command.name or callback.__name__.replace("_", "-")
            said = (inspect.getdoc(callback) or "").partition("\n\n")[0]
            yield f"- `lcbo {prefix}{name}`: {' '.join(said.split())}"
    yield from ("", "`lcbo COMMAND --help` shows a command's options and examples.")


def main() -> None:
    """Write the page, or with ``--check`` fail when it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit("docs/api.md is out of date: run make docs")


if __name__ == "__main__":
    main()
