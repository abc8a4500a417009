"""Arguments that several commands share, how they are read, and the examples in a command's help."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

import lcbo
from lcbo.errors import ArgumentError

if TYPE_CHECKING:
    from lcbo.evaluation.command.problem_file import RunSpec

ERROR, NOT_FEASIBLE, NOTHING, FAILURES, INTERRUPTED = 1, 3, 4, 5, 130  # exit codes beside 0, 2
_PER_VARIABLE = 40  # evaluations of a named problem, unless the user says how many

RunFile = Annotated[Path, typer.Argument(metavar="RUN", help="File of the run, such as run.db.")]
Target = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A problem file, or a name from `lcbo problems`.")
]
Budget = Annotated[int | None, typer.Option(help="Total number of evaluations.", min=1)]
Method = Annotated[str | None, typer.Option(help="Name from `lcbo methods`; lcbo by default.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the run; 0 by default.", min=0)]
Confidence = Annotated[
    float | None,
    typer.Option(help="Probability with which a noisy answer is to be feasible; 0.9 by default."),
]
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
Retries = Annotated[int | None, typer.Option(help="Number of times a failed evaluation is repeated.", min=0)]
_RATE = "Part of the evaluations that may fail, 0 to 1, before the run stops; 0.5 by default."
FailureRate = Annotated[float | None, typer.Option("--max-failure-rate", help=_RATE, min=0.0, max=1.0)]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after this many seconds.", min=0.0)]
Goal = Annotated[float | None, typer.Option("--target", help="Stop at a feasible value this good.")]
_DATA = "Evaluations made before: a .csv or .json file, or another run's file."
Data = Annotated[Path | None, typer.Option(metavar="FILE", help=_DATA)]
Device = Annotated[str, typer.Option(help="Where the models compute: cpu, cuda, cuda:1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Command = TypeVar("Command", bound=Callable[..., Any])
EXAMPLES: dict[str, tuple[str, ...]] = {}


def examples(*lines: str) -> Callable[[Command], Command]:
    """Show command lines at the end of a command's help."""

    def keep(command: Command) -> Command:
        EXAMPLES[command.__name__] = lines
        return command

    return keep


def without_types(params: list[Any]) -> list[Any]:
    """Return the parameters of a command, of which those that are flags say no type in the help."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class SpacedLists(TyperCommand):
    """A command that reads ``--methods a b`` as ``--methods a --methods b`` and joins ``--correct 7 f=3``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters as the help shows them."""
        return without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after repeating the option."""
        spread, option = list[str](), ""
        for word in args:
            if option == "--correct" and spread[-1] != option and "=" in word and not word.startswith("-"):
                spread[-1] += f"\n{word}"
                continue
            if option == "--methods" and not word.startswith("-") and spread[-1] != option:
                spread.append(option)
            option = word if word.startswith("-") else option
            spread.append(word)
        return super().parse_args(ctx, spread)


def read_task(target: str, variant: list[str] | None, noise: float | None, seed: int | None) -> RunSpec:
    """Return the task of a problem file or of a named benchmark, whose noise has the run's seed."""
    from lcbo.evaluation.command.problem_file import RunSpec, read_problem_file

    given, known = pairs("--variant", variant), lcbo.problems.names()
    if target.lower() in known:
        problem = lcbo.problems.make(target, **given)
        seen = problem if noise is None else problem.noisy(rng=seed or 0, sd=noise)
        return RunSpec(target.lower(), seen, {"budget": _PER_VARIABLE * problem.dim})
    if not target.endswith(".toml") and not Path(target).is_file():
        expected = f"a problem file (problem.toml) or one of {', '.join(known)}"
        raise ArgumentError("PROBLEM", expected, repr(target))
    if given or noise is not None:
        option = "--variant" if given else "--noise"
        raise ArgumentError(option, "a named problem beside it", f"the file {target}")
    return read_problem_file(target)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text


def pairs(
    option: str, texts: Iterable[str] | None, read: Callable[[str], Any] = _toml_value
) -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping; a value that is not valid TOML is a text."""
    found: dict[str, Any] = {}
    for text in texts or ():
        key, sign, value = (part.strip() for part in text.partition("="))
        try:
            entry = read(value)
        except ValueError:
            sign = ""
        if not sign or not key:
            form = "NAME=NUMBER" if read is float else "KEY=VALUE"
            raise typer.BadParameter(f"expected {form}; got {text!r}", param_hint=option)
        if key in found:
            raise typer.BadParameter(f"expected every key once; got {key!r} twice", param_hint=option)
        found[key] = entry
    return found
