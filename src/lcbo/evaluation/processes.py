"""Ending a process together with everything it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import NamedTuple


class Process(NamedTuple):
    """A living process: its parent, and its session (its process group where sessions cannot be listed)."""

    pid: int
    parent: int
    family: int


def table() -> list[Process]:
    """Return every living process the system shows; a zombie is no longer one."""
    return _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()


def children(root: int) -> list[int]:
    """Return the living direct children of a process, orphans it has adopted included."""
    return [process.pid for process in table() if process.parent == root]


def members(root: int) -> list[int]:
    """Return the living descendants of a process and the members of its session, itself left out."""
    processes = table()
    below: dict[int, list[int]] = {}
    for process in processes:
        below.setdefault(process.parent, []).append(process.pid)
    found = {process.pid for process in processes if process.family == root}
    heads = [root, *found]
    while heads:
        new = [pid for pid in below.get(heads.pop(), []) if pid not in found]
        found.update(new)
        heads.extend(new)
    return sorted(found - {root})


def kill_members(root: int, patience: float = 5.0) -> None:
    """Kill the members of ``root`` until none is left, or ``patience`` seconds have passed.

    Those forked while the others were killed are found in the next round. A process in uninterruptible
    sleep (a hung network disk) cannot be killed.
    """
    deadline, pause = time.monotonic() + patience, 0.001
    while alive := members(root):
        for pid in alive:
            kill(pid)
        if time.monotonic() > deadline:
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def kill_tree(root: int, patience: float = 5.0) -> None:
    """Kill a process and its members."""
    alive = members(root)  # found while their parent lives: a member with a session of its own is lost later
    for pid in [root, *alive]:
        kill(pid)
    kill_members(root, patience)


def kill(pid: int) -> None:
    """Kill a process that may have ended already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _from_proc() -> list[Process]:
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                stat = file.read()
        except OSError:  # it has just ended
            continue
        state, parent, _, session = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
        if state not in b"ZX":
            found.append(Process(int(entry), int(parent), int(session)))
    return found


def _from_ps() -> list[Process]:
    command = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat="]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [Process(int(r[0]), int(r[1]), int(r[2])) for r in rows if len(r) == 4 and r[3][0] != "Z"]
