"""Who writes to a run: identity of a process, and whether it is still alive."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, replace
from pathlib import Path

_ENDED = "ended"


@dataclass(frozen=True)
class Owner:
    """A process on a machine that has opened a run for writing; what cannot be read is empty."""

    host: str
    boot: str  # id of the machine's current boot
    pid: int
    birth: str  # in clock ticks after boot: tells it from a later process with the same number
    token: str  # random, tells two openings by one process apart

    @classmethod
    def this_process(cls) -> Owner:
        """Return the running process, about to open a run."""
        return cls(socket.gethostname(), _boot(), os.getpid(), _birth(os.getpid()), secrets.token_hex(8))

    def same_process(self, other: Owner) -> bool:
        """Return whether both are openings by one process."""
        return replace(self, token="") == replace(other, token="")

    def alive(self) -> bool | None:
        """Return whether the process still runs; ``None`` when it cannot be known from this machine."""
        if self.host != socket.gethostname():
            return None
        if self.boot != _boot():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it lives, as another user
        return not self.birth or _birth(self.pid) in (self.birth, "")

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _boot() -> str:
    return _text("/proc/sys/kernel/random/boot_id")


def _birth(pid: int) -> str:
    """Return field 22 of ``/proc/PID/stat``; the name in field 2 may hold spaces and brackets."""
    after_name = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(after_name) < 20:
        return ""
    return _ENDED if after_name[0] in "ZX" else after_name[19]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""
