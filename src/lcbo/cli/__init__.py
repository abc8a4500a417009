"""The command line; every command is a function of its own.

What a command needs of the library is imported when it runs, so that ``lcbo --help`` answers at once. Exit
codes: 0 done, 1 an error (one line says which), 2 a wrong command line, 3 no feasible design, 4 nothing to
hand out, 130 interrupted.
"""

from lcbo.cli.main import app

__all__ = ["app"]
