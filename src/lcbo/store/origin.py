"""Where a run file was made: who continues it runs the command it names, so it matters who named it."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path

_BY = {"user": "by the user", "machine": "on the machine", "folder": "in the folder"}


def origin_of(path: Path) -> dict[str, str]:
    """Return user, machine and folder of a run file that is made here and now."""
    return {"user": _user(), "machine": socket.gethostname(), "folder": str(path.absolute().parent.resolve())}


def strange(path: Path, origin: Mapping[str, str] | None) -> str | None:
    """Return why a run file may be somebody else's, in words; ``None`` where this user made it here."""
    here = origin_of(path)
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        return "the file belongs to another user"
    if origin is None:
        return "the file does not say who wrote it"
    for fact, mine in here.items():
        if origin.get(fact) != mine:
            return f"it was written {_BY[fact]} {origin.get(fact)!r}, here it is {mine!r}"
    return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return str(os.getuid())
