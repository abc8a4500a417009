"""Who writes to a run: identity of a process, and whether it is still alive."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process on a machine; ``birth`` tells it from a later process with the same number.

    Attributes:
        host: name of the machine.
        boot: id of the machine's current boot, empty where it cannot be read.
        pid: process number.
        birth: start of the process in clock ticks after boot, empty where it cannot be read.
    """

    host: str
    boot: str
    pid: int
    birth: str

    @classmethod
    def this_process(cls) -> Owner:
        """Return the identity of the running process."""
        return cls(socket.gethostname(), _boot(), os.getpid(), _birth(os.getpid()))

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
            pass
        return self.birth == _birth(self.pid)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _boot() -> str:
    return _text("/proc/sys/kernel/random/boot_id")


def _birth(pid: int) -> str:
    """Return field 22 of ``/proc/PID/stat``; the name in field 2 may hold spaces and brackets."""
    after_name = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return after_name[19] if len(after_name) > 19 and after_name[0] != "Z" else ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
