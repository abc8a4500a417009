"""The application: all commands, and how their errors are reported."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import lcbo
from lcbo.cli import amending, asking, listing, running, screen
from lcbo.cli.arguments import ERROR, EXAMPLES, INTERRUPTED, SpacedLists, without_types
from lcbo.cli.inspecting import best, export, plot, report, status, unlock
from lcbo.errors import FunctionError, LcboError


class Commands(TyperGroup):
    """Runs a command and prints errors that a user can act on as one line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters as the help shows them."""
        return without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was chosen."""
        from lcbo.loop.interrupt import interruptible

        with interruptible(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: screen.remark(f"lcbo: warning: {message}")
            try:
                return super().invoke(ctx)
            except (LcboError, ImportError) as error:
                screen.remark(f"lcbo: {error}")
                if isinstance(error, FunctionError) and error.trace:
                    screen.remark(f"\n{error.trace.rstrip()}")
            except OSError as error:
                if error.errno == errno.EPIPE:  # the reader of our output has gone
                    raise
                screen.remark(f"lcbo: {error.filename or ''}: {error.strerror or error}")
            except KeyboardInterrupt:
                screen.remark("lcbo: interrupted")
                raise typer.Exit(INTERRUPTED) from None
            raise typer.Exit(ERROR)


app = typer.Typer(
    cls=Commands,
    epilog="Exit codes: 0 done, 1 error, 2 wrong command line, 3 no feasible design, 4 nothing to hand out, "
    "5 too many failures, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        screen.say(f"lcbo {lcbo.__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)


@app.callback()
def main(_version: Annotated[bool, _VERSION] = False) -> None:
    """Local constrained Bayesian optimization of expensive, noisy black boxes."""


_PANELS: dict[str, list[Callable[..., None]]] = {
    "Optimize": [running.run, running.resume, running.check, running.compare],
    "By hand or with a queue": [asking.new, asking.ask, asking.tell],
    "Change a run": [amending.amend],
    "Look at a run": [status, best, plot, report, export, unlock],
    "Choose from": [listing.problems, listing.methods],
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        _examples = "Examples:\n" + "\n".join(EXAMPLES[_command.__name__])
        app.command(rich_help_panel=_panel, epilog=_examples, cls=SpacedLists)(_command)
