"""The command line; every command is a function of its own.

What a command needs of the library is imported when it runs, so that ``lcbo --help`` answers at once.
"""

from lcbo.cli.main import app

__all__ = ["app"]
