"""A worker: a supervisor that runs no user code, and below it the process that does.

The supervisor leads a session of its own. It reads what the function prints (keeping the last lines), ends
the whole tree below it when its parent says so or is gone, and tells how the evaluating process ended. That
takes a second process, because the function may hold Python's lock, print without end or crash.

On Linux the supervisor also adopts what the function leaves behind (a process whose own parent has ended)
and kills it after the evaluation; a process the function still holds, such as a simulation server that
serves all evaluations, lives as long as the worker.

`lcbo.evaluation.supervised` runs this file by its path, so that only the standard library is needed until the
search path of the parent is known.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import mmap
import os
import pickle
import select
import signal
import socket
import sys
import time
import traceback
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lcbo.problem import Problem

OUTPUT_LIMIT = 16_384  # bytes of output kept for the record of a failure
_SUBREAPER, _PARENT_DEATH_SIGNAL = 36, 1  # options of Linux's prctl


def main(control_fd: int, connection_fd: int, payload_fd: int, parent: int) -> None:
    """Fork the evaluating process and supervise it.

    ``control_fd`` leads to the pool, whose process is ``parent``; when its other end closes, the tree is
    killed. Over ``connection_fd`` the evaluating process gets tasks and sends results. The file of
    ``payload_fd`` holds the search path as a line of JSON, then the pickled problem.
    """
    with mmap.mmap(payload_fd, 0, prot=mmap.PROT_READ) as payload:
        sys.path[:] = json.loads(payload.readline())
    _prctl(_SUBREAPER, 1)
    wake, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    output, printed = os.pipe()
    above, below = socket.socketpair()
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have it ignored
        for fd in (wake, alarm, output, control_fd):
            os.close(fd)
        above.close()
        for fd in (1, 2):
            os.dup2(printed, fd)
        os.close(printed)
        _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == supervisor:
            serve(Connection(connection_fd), payload_fd, below)
        return
    for fd in (printed, connection_fd, payload_fd):
        os.close(fd)
    below.close()
    with socket.socket(fileno=control_fd) as control:
        Supervisor(control, above, child, output, wake, parent).run()


class Supervisor:
    """Watches over the evaluating process ``child``, for the pool with process id ``parent``.

    Over ``leash`` the child asks for a sweep after every evaluation; it prints to the pipe ``output``, and
    ``wake`` gets a byte when one of our children ends.
    """

    def __init__(
        self, control: socket.socket, leash: socket.socket, child: int, output: int, wake: int, parent: int
    ) -> None:
        from lcbo.evaluation import processes  # not found before the search path is known

        self._processes = processes
        self._control, self._leash, self._child, self._parent = control, leash, child, parent
        self._output, self._wake = output, wake
        self._printed = b""
        self._status: int | None = None
        os.set_blocking(output, False)

    def run(self) -> None:
        """Watch until the child has ended or is to be ended, then end everything and say how it went."""
        watched: list[Any] = [self._control, self._leash, self._output, self._wake]
        # A copy of the pool's end of the socket, in another child of its process, hides that it is gone.
        while os.getppid() == self._parent:
            ready = select.select(watched, [], [], 1.0)[0]
            if self._output in ready and not self._read_output():
                watched.remove(self._output)  # nobody can print any more
            if self._leash in ready:
                if self._leash.recv(1):
                    self._sweep()
                else:
                    watched.remove(self._leash)
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap()
            if self._status is not None or self._control in ready:
                break
        self._processes.kill_members(os.getpid())
        self._reap()
        self._read_output(pieces=8)
        last = {"status": self._status, "output": self._printed.decode(errors="replace")}
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(last).encode())

    def _read_output(self, pieces: int = 1) -> bool:
        """Read up to so many pieces of what was printed, keeping the end; False at the end of the pipe."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(pieces):
                data = os.read(self._output, 1 << 16)
                if not data:
                    return False
                self._printed = (self._printed + data)[-OUTPUT_LIMIT:]
        return True

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._status = ended[1]

    def _sweep(self) -> None:
        """Kill what the evaluation left to us, forget what it printed, and let the child go on."""
        self._read_output(pieces=8)
        self._printed = b""
        deadline = time.monotonic() + 1.0
        while (strays := self._strays()) and time.monotonic() < deadline:
            for pid in strays:
                self._processes.kill(pid)
            time.sleep(0.001)
            self._reap()
        with contextlib.suppress(OSError):
            self._leash.send(b".")

    def _strays(self) -> list[int]:
        """Return our children beside the evaluating process; Linux lists them at little cost."""
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                ours = [int(pid) for pid in file.read().split()]
        except OSError:
            ours = self._processes.children(os.getpid())
        return [pid for pid in ours if pid != self._child]


def serve(connection: Connection, payload_fd: int, leash: socket.socket) -> None:
    """Load the problem, then evaluate one task after the other until the pool hangs up.

    A task is ``(candidate, timeout)``. Messages are ``("ready",)``, ``("broken", traceback)`` when the
    problem cannot be loaded, and ``("done", attempt, leaving)``.
    """
    os.setpgid(0, 0)  # a script's "kill 0" must not reach the supervisor
    os.set_inheritable(connection.fileno(), False)
    errors = os.dup(2)
    faulthandler.enable(errors)
    try:
        from lcbo.evaluation.evaluate import evaluate
        from lcbo.evaluation.processes import children

        problem = _load(payload_fd)
    except BaseException:
        connection.send(("broken", traceback.format_exc()))
        return
    connection.send(("ready",))
    while True:
        try:
            candidate, timeout = connection.recv()
        except (EOFError, ConnectionError):
            return
        if timeout is not None:
            faulthandler.dump_traceback_later(timeout, file=errors)  # says where it hangs, then it is killed
        attempt = evaluate(problem, candidate)
        faulthandler.cancel_dump_traceback_later()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # After a failure nobody may be left to wait for what was started: the pool then starts a new worker.
        leaving = attempt.evaluation.failed is not None and bool(children(os.getpid()))
        leash.send(b".")
        leash.recv(1)
        connection.send(("done", attempt.portable(), leaving))


def _load(payload_fd: int) -> Problem:
    with mmap.mmap(payload_fd, 0, prot=mmap.PROT_READ) as payload:
        payload.readline()
        problem: Problem = pickle.loads(payload.read())
    os.close(payload_fd)
    return problem


def _prctl(option: int, value: int) -> None:
    """Call Linux's prctl; elsewhere do nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
