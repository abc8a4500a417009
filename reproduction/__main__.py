"""``python -m reproduction``, at the root of the repository."""

from reproduction.command import app

app()
