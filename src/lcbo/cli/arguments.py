"""Arguments that several commands share, and reading them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

RunFile = Annotated[Path, typer.Argument(metavar="RUN", help="File of the run, such as run.db.")]
Target = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A problem file, or a name out of `lcbo problems`.")
]
Budget = Annotated[int | None, typer.Option(help="Evaluations in all.", min=1)]
Method = Annotated[str | None, typer.Option(help="Name out of `lcbo methods`; lcbo by default.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the run; 0 by default.", min=0)]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Option of the method; repeatable.")
]
Variant = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="KEY=VALUE", help="Argument of a named problem; repeatable."),
]
Noise = Annotated[float | None, typer.Option(help="Noise level of a named problem.", min=0.0)]
Workers = Annotated[int | None, typer.Option(help="Worker processes; -1 for one per core.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds one evaluation may take.", min=0.0)]
Retries = Annotated[int | None, typer.Option(help="How often a failed evaluation is tried again.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wait = Annotated[
    float, typer.Option(help="Seconds to wait while another process writes to the run.", min=0.0)
]


class SpacedLists(TyperCommand):
    """A command that reads ``--methods a b`` as ``--methods a --methods b``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after repeating the option."""
        spread, option = list[str](), ""
        for word in args:
            if option == "--methods" and not word.startswith("-") and spread[-1] != option:
                spread.append(option)
            option = word if word.startswith("-") else option
            spread.append(word)
        return super().parse_args(ctx, spread)


def pairs(option: str, texts: Iterable[str] | None) -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping; a value is read as TOML where it is TOML, else as text."""
    found: dict[str, Any] = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise typer.BadParameter(f"expected KEY=VALUE; got {text!r}", param_hint=option)
        if key.strip() in found:
            raise typer.BadParameter(f"expected every key once; got {key.strip()!r} twice", param_hint=option)
        found[key.strip()] = _value(value.strip())
    return found


def numbers(option: str, texts: Iterable[str] | None) -> dict[str, float]:
    """Return ``KEY=NUMBER`` texts as a mapping."""
    found: dict[str, float] = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        try:
            found[key.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign or not key.strip():
            raise typer.BadParameter(f"expected NAME=NUMBER; got {text!r}", param_hint=option)
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text
